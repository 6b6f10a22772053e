"""Lock-on, recall and accuracy against their definitions, written out plainly."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from randomised import random_setting

import recallbook as rb
from recallbook.model import ties
from recallbook.model.attention import attention_scores
from recallbook.model.ties import credit, logit_slack, tied
from recallbook.training import evaluation
from recallbook.training.gradients import features

pytestmark = pytest.mark.essential


def largest(values, size):
    """Places of the largest, and of what differs from it by the rounding of numbers of this size."""
    return np.flatnonzero(values >= values.max() - 1e-10 * size)


def earned(rows, wanted):
    """Mean of what choosing the largest of each row earns: where k are equal, 1/k of the right one."""
    size = np.abs(rows).max()
    return np.mean([np.mean(largest(row, size) == one) for row, one in zip(rows, wanted, strict=True)])


@pytest.mark.parametrize("seed", range(12))
def test_finite_rates_against_the_model(seed):
    """Fresh sequences through RecallTransformer itself."""
    problem = rb.draw(random_setting(seed), seed)
    weights = rb.three_steps(problem, 10.0, 300.0)
    model = rb.RecallTransformer(problem)
    model.value.data, model.key_query.data = weights.value2, weights.key_query
    test = problem.fresh(400)
    outcome = rb.evaluate(problem, weights, 400)
    with torch.no_grad():
        logits, attention = (part(test.tokens, test.positions).numpy() for part in (model, model.attention))
    assert outcome.accuracy == pytest.approx(earned(logits, test.labels.numpy()), abs=1e-12)
    assert outcome.lock_on == pytest.approx(earned(attention, test.positions.numpy()), abs=1e-12)
    assert rb.evaluate(problem, model, 400) == outcome


@pytest.mark.parametrize("seed", range(12))
def test_limit_against_a_plain_loop(seed):
    """Hard attention and arg max logits, one sequence at a time in NumPy; a tie is shared."""
    setting = random_setting(seed, width=None)
    problem = rb.draw(setting, seed)
    weights = rb.three_steps(problem)
    z, u, t = (x.numpy() for x in (problem.input_embeddings, problem.output_embeddings, problem.trigger))
    w, value = (weights.key_query @ problem.query).numpy(), weights.value2.numpy()
    locked, logits, test = [], [], problem.fresh(200)
    for tokens, position in zip(test.tokens.numpy(), test.positions.numpy(), strict=True):
        marked = np.arange(setting.seq_len) == position
        best = largest((z @ w)[tokens] + (t @ w) * marked, np.abs(z @ w).max() + abs(t @ w))
        locked.append(np.mean(best == position))
        values = z[tokens] + setting.trigger_in_values * marked[:, None] * t
        logits.append(u @ value @ values[best].mean(axis=0))
    outcome = rb.evaluate(problem, weights, 200)
    right = earned(np.array(logits), test.labels.numpy())
    assert (outcome.lock_on, outcome.accuracy) == pytest.approx((np.mean(locked), right), abs=1e-12)
    logits = (z + setting.trigger_in_values * t) @ value.T @ u.T
    assert outcome.recall == pytest.approx(earned(logits, problem.permutation.numpy()), abs=1e-12)


def dense_outcome(problem, weights, test):
    """All logits of every test sequence and token at once, and every tie shared: what :func:`evaluate` must find."""
    scores = attention_scores(problem, weights.key_query @ problem.query)
    raw = scores.tokens[test.tokens.long()]
    raw[torch.arange(len(raw)), test.positions] += scores.trigger
    best = tied(raw, scores.slack).to(problem.dtype)
    shares = best / best.sum(dim=1, keepdim=True) if weights.limit else torch.softmax(raw, dim=1)
    marks = problem.setting.trigger_in_values * problem.trigger
    located = (shares[:, :, None] * problem.input_embeddings[test.tokens.long()]).sum(dim=1)
    located += shares[torch.arange(len(raw)), test.positions][:, None] * marks

    def earns(values, labels):
        images = features(problem, values)
        slack = logit_slack(problem.output_embeddings, weights.value2, images)
        return credit(images @ weights.value2.T @ problem.output_embeddings.T, labels, slack)

    right, recall = earns(located, test.labels), earns(problem.input_embeddings + marks, problem.permutation)
    return [float(part.mean()) for part in (right, credit(raw, test.positions, scores.slack), recall)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("rates", [(None, None), (10.0, 300.0)])
def test_answers_by_blocks_are_those_of_the_dense_oracle(monkeypatch, dtype, rates):
    """Also where many labels tie (orthogonal embeddings, few sequences), and in blocks of any size."""
    shared = 0
    for seed in range(40):
        problem = rb.draw(random_setting(seed), seed, dtype=dtype)
        weights, test = rb.three_steps(problem, *rates), problem.fresh(150)
        expected = dense_outcome(problem, weights, test)
        shared += (expected[0] * 150) % 1 > 1e-6
        for block in (1024, 4):
            monkeypatch.setattr(ties, "BLOCK_LABELS", block)
            monkeypatch.setattr(evaluation, "BLOCK_LABELS", block)
            found = rb.evaluate(problem, weights, sequences=test)
            assert [found.accuracy, found.lock_on, found.recall] == pytest.approx(expected, abs=1e-6, rel=0), seed
    assert shared >= 1  # ties that are shared between labels were met


def test_untrained_weights_score_at_chance():
    setting = rb.Setting(vocab=40, seq_len=5, dim=10, samples=50, trigger_in_values=True)
    problem = rb.draw(setting, seed=0)
    outcome = rb.evaluate(problem, rb.RecallTransformer(problem), 4000)
    # zero scores tie everywhere and zero logits too: each of k earns 1/k
    expected = (1 / 40, 1 / 5, 1 / 40)
    assert (outcome.accuracy, outcome.lock_on, outcome.recall) == pytest.approx(expected, abs=1e-12)


def test_perfect_weights_score_one():
    """Orthogonal embeddings and the weights one would write by hand."""
    problem = rb.draw(
        rb.Setting(vocab=20, seq_len=6, dim=30, samples=10, embeddings="orthogonal", trigger_in_values=True), seed=0
    )
    z, u = problem.input_embeddings, problem.output_embeddings
    value, key_query = u[problem.permutation].T @ z, torch.outer(problem.trigger, problem.query)
    by_hand = rb.Weights(value, key_query, value, None, None)
    assert rb.evaluate(problem, by_hand, 500) == rb.Outcome(1.0, 1.0, 1.0)
    assert rb.evaluate(problem, replace(by_hand, key_query=-key_query), 500).lock_on < 0.05


def test_simulate_is_draw_steps_evaluate():
    setting = rb.Setting(vocab=30, seq_len=5, dim=20, samples=900, trigger_in_values=True)
    problem = rb.draw(setting, seed=3)
    assert rb.simulate(setting, seed=3) == rb.evaluate(problem, rb.three_steps(problem))
    assert rb.simulate(setting, seed=3) == rb.simulate(setting, seed=3)
    assert rb.simulate(setting, seed=3) != rb.simulate(setting, seed=4)
    assert type(rb.simulate(setting, seed=3).accuracy) is float


@pytest.mark.slow
def test_mlp_recalls_where_the_matrix_cannot():
    """V log V far above d^2: a linear map fails, random features of degree three do not."""
    sizes = {"vocab": 256, "seq_len": 4, "dim": 32, "samples": 8000}
    linear = rb.simulate(rb.Setting(**sizes), seed=0).recall
    mlp = rb.simulate(rb.Setting(**sizes, width=3072, activation="he3"), seed=0).recall
    assert linear < 0.4 and mlp > 0.9


def test_every_token_keeps_its_trigger():
    """The fact of token 0 is stored along the trigger alone: without it, token 0 gets token 1's label."""
    problem = rb.draw(
        rb.Setting(vocab=20, seq_len=6, dim=30, samples=10, embeddings="orthogonal", trigger_in_values=True), seed=0
    )
    z, u, t = problem.input_embeddings, problem.output_embeddings[problem.permutation], problem.trigger
    value = u[1:].T @ z[1:] + torch.outer(u[0], t) / 2 + torch.outer(u[1], z[0]) / 4
    by_hand = rb.Weights(value, torch.outer(t, problem.query), value, None, None)
    assert rb.evaluate(problem, by_hand, 500) == rb.Outcome(1.0, 1.0, 1.0)
