"""Lock-on, recall and accuracy against their definitions, written out plainly."""

import numpy as np
import pytest
import torch
from randomised import random_setting
from sized import marked, sized

import recallbook as rb
from recallbook.model import ties
from recallbook.training import evaluation

pytestmark = pytest.mark.essential


@pytest.fixture(params=[1024, 4])
def block(request, monkeypatch):
    """Answers are found by blocks of labels, of any size."""
    for module in (ties, evaluation):
        monkeypatch.setattr(module, "BLOCK_LABELS", request.param)


def largest(values, size):
    """Places of the largest, and of what differs from it by the rounding of numbers of this
    size."""
    return np.flatnonzero(values >= values.max() - 1e-10 * size)


def earned(rows, wanted):
    """Mean of what choosing the largest of each row earns: where k are equal, 1/k of the right
    one."""
    size = np.abs(rows).max()
    return np.mean(
        [np.mean(largest(row, size) == one) for row, one in zip(rows, wanted, strict=True)]
    )


@pytest.mark.parametrize("seed", range(12))
def test_finite_rates_against_the_model(seed, block):
    """Fresh sequences through RecallTransformer itself."""
    problem = rb.draw(random_setting(seed), seed)
    weights = rb.three_steps(problem, 10.0, 300.0)
    model = rb.RecallTransformer(problem)
    model.value.data, model.key_query.data = weights.value2, weights.key_query
    test = problem.fresh(400)
    outcome = rb.evaluate(problem, weights, 400)
    with torch.no_grad():
        logits, attention = (
            part(test.tokens, test.positions).numpy() for part in (model, model.attention)
        )
    assert outcome.accuracy == pytest.approx(earned(logits, test.labels.numpy()), abs=1e-12)
    assert outcome.lock_on == pytest.approx(earned(attention, test.positions.numpy()), abs=1e-12)
    assert rb.evaluate(problem, model, 400) == outcome


@pytest.mark.parametrize("seed", range(24))
def test_limit_against_a_plain_loop(seed, block):
    """Hard attention and arg max logits, one sequence at a time in NumPy; a tie is shared."""
    setting = random_setting(seed)
    problem = rb.draw(setting, seed)
    weights = rb.three_steps(problem)
    z, u, t = (
        x.numpy() for x in (problem.input_embeddings, problem.output_embeddings, problem.trigger)
    )
    w, value = (weights.key_query @ problem.query).numpy(), weights.value2.numpy()

    def answers(located):
        if setting.width:
            located = (
                setting.phi(torch.from_numpy(located) @ problem.mlp_weights.T).numpy()
                / setting.width**0.5
            )
        return located @ value.T @ u.T

    locked, logits, test = [], [], problem.fresh(200)
    for tokens, position in zip(test.tokens.numpy(), test.positions.numpy(), strict=True):
        marked = np.arange(setting.seq_len) == position
        best = largest((z @ w)[tokens] + (t @ w) * marked, np.abs(z @ w).max() + abs(t @ w))
        locked.append(np.mean(best == position))
        values = z[tokens] + setting.trigger_in_values * marked[:, None] * t
        logits.append(answers(values[best].mean(axis=0)))
    outcome = rb.evaluate(problem, weights, 200)
    right = earned(np.array(logits), test.labels.numpy())
    recall = earned(answers(z + setting.trigger_in_values * t), problem.permutation.numpy())
    assert list(vars(outcome).values()) == pytest.approx(
        [right, np.mean(locked), recall], abs=1e-12
    )


def test_untrained_weights_score_at_chance():
    setting = marked(40, 5, 10, 50)
    problem = rb.draw(setting, seed=0)
    outcome = rb.evaluate(problem, rb.RecallTransformer(problem), 4000)
    # zero scores tie everywhere and zero logits too: each of k earns 1/k
    expected = (1 / 40, 1 / 5, 1 / 40)
    assert (outcome.accuracy, outcome.lock_on, outcome.recall) == pytest.approx(expected, abs=1e-12)


@pytest.fixture
def orthogonal():
    """A problem and what one would write weights of by hand: tokens, the outputs of their labels,
    the trigger."""
    problem = rb.draw(marked(20, 6, 30, 10, embeddings="orthogonal"), seed=0)
    return (
        problem,
        problem.input_embeddings,
        problem.output_embeddings[problem.permutation],
        problem.trigger,
    )


def by_hand(problem, value, key):
    return rb.evaluate(
        problem, rb.Weights(value, torch.outer(key, problem.query), value, None, None), 500
    )


def test_perfect_weights_score_one(orthogonal):
    problem, z, u, t = orthogonal
    assert by_hand(problem, u.T @ z, t) == rb.Outcome(1.0, 1.0, 1.0)
    assert by_hand(problem, u.T @ z, -t).lock_on < 0.05


def test_simulate_is_draw_steps_evaluate():
    setting = marked(30, 5, 20, 900)
    problem = rb.draw(setting, seed=3)
    first, again, other = (rb.simulate(setting, seed=seed) for seed in (3, 3, 4))
    assert rb.evaluate(problem, rb.three_steps(problem)) == first == again != other
    assert type(first.accuracy) is float


def test_every_token_keeps_its_trigger(orthogonal):
    """The fact of token 0 is stored along the trigger alone: without it, token 0 gets token 1's
    label."""
    problem, z, u, t = orthogonal
    value = u[1:].T @ z[1:] + torch.outer(u[0], t) / 2 + torch.outer(u[1], z[0]) / 4
    assert by_hand(problem, value, t) == rb.Outcome(1.0, 1.0, 1.0)


def test_a_simulation_takes_as_many_fresh_sequences_as_it_is_asked_for():
    problem = rb.draw(sized(12, 6, 8, 60), seed=4)
    expected = rb.evaluate(problem, rb.three_steps(problem), 7)
    assert rb.simulate(problem.setting, seed=4, test_samples=7) == expected
