"""Optimisers and learned embeddings, against loops written out with autograd."""

from dataclasses import replace

import pytest
import torch
from disguises import shuffled
from hypothesis import given, settings as profile, strategies as st
from randomised import at_random_weights, largest_difference
from sampling import generator
from settings import settings
from sized import marked, sized
from unequal import plain_loss

import recallbook as rb
from recallbook.training.gradients import descent_directions
from recallbook.training.optimizers import Adam, Muon, orthogonalised, sign

pytestmark = pytest.mark.essential

NAMES = ("value", "key_query", "input_embeddings", "output_embeddings")
SETTING = marked(9, 4, 7, 60)
RATES = {
    "gd": (4.0, 6.0, 0.5),
    "sign": (0.05, 0.03, 0.01),
    "adam": (0.05, 0.03, 0.01),
    "muon": (0.1, 0.05, 0.02),
}


@pytest.fixture
def problem():
    return rb.draw(SETTING, seed=0)


def with_weights(problem, size=0.5):
    """A model at weights of which none is zero."""
    return at_random_weights(rb.RecallTransformer(problem), size)


def autograd(model, problem, sequences):
    """The loss and its gradients in all four matrices, by autograd through the model."""
    for name in NAMES[2:]:
        setattr(model, name, getattr(model, name).detach().clone().requires_grad_())
    model.output_bias.zero_()  # which is that of the loss written out
    loss = plain_loss(problem, model(sequences.tokens, sequences.positions), sequences.labels)
    gradients = torch.autograd.grad(loss, [getattr(model, name) for name in NAMES])
    return loss.item(), dict(zip(NAMES, gradients, strict=True))


def polar(matrix):
    """Muon's iteration on singular values alone."""
    left, values, right = torch.linalg.svd(
        matrix / max(float(matrix.norm()), 1e-7), full_matrices=False
    )
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return left @ torch.diag(values) @ right


def stepper(optimizer):
    """The direction of descent of one matrix, gradient by gradient, written out."""
    state = {"t": 0, "m": 0.0, "v": 0.0}

    def direction(gradient):
        state["t"] += 1
        if optimizer == "gd":
            return -gradient
        if optimizer == "sign":
            return -gradient.sign()
        if optimizer == "adam":
            state["m"] = 0.9 * state["m"] + 0.1 * gradient
            state["v"] = 0.999 * state["v"] + 0.001 * gradient**2
            unbiased = state["m"] / (1 - 0.9 ** state["t"]), state["v"] / (1 - 0.999 ** state["t"])
            return -unbiased[0] / (unbiased[1] ** 0.5 + 1e-8)
        assert optimizer == "muon", f"{optimizer} is not written out here"
        state["m"] = 0.95 * state["m"] + 0.05 * gradient
        ahead = 0.05 * gradient + 0.95 * state["m"]
        return -polar(ahead) * max(1, gradient.shape[0] / gradient.shape[1]) ** 0.5

    return direction


@pytest.mark.parametrize("optimizer", RATES)
@pytest.mark.parametrize("learn", [NAMES[:2], NAMES, ("value", "output_embeddings")], ids=len)
@pytest.mark.parametrize(
    ("batch", "given"),
    [
        (None, {}),
        (25, {"width": 12, "activation": "tanh"}),
        (25, {"zipf": 0.8, "loss_weights": "inverse", "output_bias": "calibrated"}),
        (None, {"zipf": 0.8, "output_bias": "trained"}),
        # a label that the problem lacks weighs nothing in fresh sequences
        (40, {"samples": 25, "zipf": 1.0, "loss_weights": "inverse", "output_bias": "trained"}),
    ],
)
def test_every_optimiser_matches_a_plain_loop(optimizer, learn, batch, given):
    problem = rb.draw(replace(SETTING, **given), seed=0)
    eta, gamma, rate = RATES[optimizer]
    ours, theirs = with_weights(problem, 0.1), with_weights(problem, 0.1)
    history = rb.descend(
        ours, problem, 8, eta=eta, gamma=gamma, batch=batch, optimizer=optimizer, learn=learn,
        embedding_rate=rate if set(learn) & set(NAMES[2:]) else None, chunk=17,
    )  # fmt: skip
    rates, directions, losses = dict(zip(NAMES, (eta, gamma, rate, rate), strict=True)), {}, []
    for step in range(8):
        sequences = (
            problem.sequences if batch is None else problem.fresh(batch, role="batch", block=step)
        )
        loss, gradients = autograd(theirs, problem, sequences)
        losses.append(loss)
        for name in learn:
            follow = directions.setdefault(name, stepper(optimizer))
            getattr(theirs, name).data.add_(rates[name] * follow(gradients[name]))
    assert history["loss"].to_numpy() == pytest.approx(losses, rel=1e-9)
    for name in NAMES:
        assert (
            largest_difference(getattr(ours, name).detach(), getattr(theirs, name).detach()) < 1e-8
        ), name
        assert (name in learn) != torch.equal(
            getattr(ours, name), getattr(with_weights(problem, 0.1), name)
        ), name


@profile(max_examples=40, deadline=None, derandomize=True)
@given(settings(), st.integers(0, 99), st.sets(st.sampled_from(NAMES), min_size=1))
def test_gradients_that_are_asked_for_match_autograd(setting, seed, wrt):
    problem = rb.draw(setting, seed)
    model = with_weights(problem)
    own = problem.sequences
    found = descent_directions(
        problem, own, model.value.data, model.key_query.data @ problem.query, wrt=wrt, chunk=7
    )
    _, gradients = autograd(model, problem, own)
    for name in NAMES:
        if name in wrt:
            assert largest_difference(-getattr(found, name), gradients[name], least=1e-3) < 1e-10
        else:
            assert not getattr(found, name).any(), name


@pytest.mark.parametrize("wrt", [(), "value", ("value", "tokens"), ("key",), None, 3])
def test_gradients_of_nothing_known_are_refused(wrt, problem):
    at = problem.input_embeddings.new_zeros(7, 7), problem.query
    with pytest.raises(ValueError, match=r"^wrt=.* is not allowed: .*'value', "):
        descent_directions(problem, problem.sequences, *at, wrt=wrt)


@pytest.mark.slow
def test_adam_and_muon_are_those_of_torch():
    random = generator()
    for shape in ((6, 6), (9, 4), (4, 9)):
        gradients = [torch.randn(shape, dtype=torch.float64, generator=random) for _ in range(5)]
        for ours, theirs, near in (
            (Adam(), lambda p: torch.optim.Adam([p], lr=1.0), 1e-12),
            (
                Muon(),
                lambda p: torch.optim.Muon([p], lr=1.0, weight_decay=0.0),
                0.1,
            ),  # theirs has 3 digits
        ):
            parameter = torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64))
            optimiser, moved = theirs(parameter), torch.zeros(shape, dtype=torch.float64)
            for gradient in gradients:
                moved = moved + ours(-gradient)
                parameter.grad = gradient.clone()
                optimiser.step()
            assert largest_difference(moved, parameter.detach()) < near


def test_muon_levels_singular_values_and_keeps_zero():
    matrix = torch.randn(12, 5, dtype=torch.float64, generator=generator())
    values = torch.linalg.svdvals(orthogonalised(matrix))
    assert 0.6 < float(values.min()) and float(values.max()) < 1.25
    rank_one = torch.outer(matrix[:, 0], matrix[0])
    assert float(torch.linalg.svdvals(orthogonalised(rank_one))[1]) < 1e-12
    zero = torch.zeros(4, 6, dtype=torch.float64)
    assert torch.equal(orthogonalised(zero), zero) and torch.equal(Muon()(zero), zero)


def test_sign_of_rounding_is_zero_and_overflow_is_seen():
    direction = torch.tensor([[3.0, -2.0], [1e-14, 0.0]], dtype=torch.float64)
    assert torch.equal(
        sign(direction), torch.tensor([[1.0, -1.0], [0.0, 0.0]], dtype=torch.float64)
    )
    assert torch.equal(sign(torch.zeros(2, 2)), torch.zeros(2, 2))
    for wrong in (torch.inf, torch.nan):
        assert bool(sign(torch.tensor([[wrong, 1.0]])).isnan().any())


def ends(problem, optimizer, steps=8, **given):
    """All four matrices after some steps from zero, at the optimiser's rates."""
    model, (eta, gamma, rate) = rb.RecallTransformer(problem), RATES[optimizer]
    given = {"learn": NAMES, "embedding_rate": rate, **given}
    rb.descend(model, problem, steps, eta=eta, gamma=gamma, optimizer=optimizer, **given)
    return {name: getattr(model, name).detach() for name in NAMES}


@pytest.mark.parametrize("optimizer", RATES)
def test_from_zero_only_the_values_move_first(optimizer, problem):
    found = ends(problem, optimizer, steps=1)
    assert float(found["value"].abs().max()) > 1e-4 and not found["key_query"].any()
    for name in NAMES[2:]:
        assert torch.equal(found[name], getattr(problem, name)), name


@pytest.mark.parametrize("optimizer", RATES)
def test_chunks_and_order_change_rounding_alone(optimizer):
    problem = rb.draw(SETTING, seed=2)
    mixed, _ = shuffled(problem, problem.sequences, generator())
    whole, again, *others = (
        ends(given, optimizer, chunk=chunk)
        for given, chunk in ((problem, None), (problem, None), (problem, 40), (mixed, None))
    )
    for name in NAMES:
        assert torch.equal(again[name], whole[name]), name
        for other in others:
            assert largest_difference(other[name], whole[name]) < 1e-9, name


def test_learned_tables_are_the_models_and_are_used():
    problem = rb.draw(sized(24, 6, 6, 400), seed=0)
    before = {name: getattr(problem, name).clone() for name in NAMES[2:]}
    model, drawn = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    first = rb.descend(model, problem, 40, eta=10.0, gamma=1.0, learn=NAMES, embedding_rate=2.0)
    again = rb.descend(model, problem, 1, eta=10.0, gamma=1.0)
    assert again["loss"][0] < first["loss"].iloc[-1], "a later call goes on with the learned tables"
    for name, table in before.items():
        assert torch.equal(getattr(problem, name), table) and not torch.equal(
            getattr(model, name), table
        ), name
    # by hand: accuracy from the model's own logits, recall with attention on the mark
    test = problem.fresh(3000)
    with torch.no_grad():
        right = model(test.tokens, test.positions).argmax(dim=1) == test.labels
        locked = model.attention(test.tokens, test.positions).argmax(dim=1) == test.positions
        alone = (model.input_embeddings @ model.value.T @ model.output_embeddings.T).argmax(dim=1)
    by_hand = rb.Outcome(
        *(float(part.double().mean()) for part in (right, locked, alone == problem.permutation))
    )
    assert rb.evaluate(problem, model, 3000) == by_hand
    held = model.problem_as_held(problem)
    assert held.own == ("input", "output") and problem.own == ()
    with pytest.raises(ValueError, match=r"^problem.own="):
        rb.certify(held)  # a proof is over embeddings that a law drew
    assert drawn.problem_as_held(problem) is problem
    drawn.value.data, drawn.key_query.data = model.value.data, model.key_query.data
    assert rb.evaluate(problem, drawn, 3000) != by_hand


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("optimizer", {"optimizer": "sgd"}),
        *(("learn", {"learn": wrong}) for wrong in ("value", ("value", "trigger"), (["value"],))),
        ("embedding_rate", {"embedding_rate": 1.0}),
        ("embedding_rate", {"learn": NAMES, "embedding_rate": 0.0}),
    ],
)
def test_wrong_choices_are_refused_before_any_step(field, given, problem):
    model = rb.RecallTransformer(problem)
    with pytest.raises(ValueError, match=rf"^{field}="):
        rb.descend(model, problem, 3, eta=1.0, gamma=1.0, **given)
    assert not model.value.detach().any()


# Where it stops, what it learns, what it says


def test_descend_goes_on_where_it_stopped(problem):
    once, twice = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    rb.descend(once, problem, 10, eta=4.0, gamma=6.0)
    for _ in range(2):
        rb.descend(twice, problem, 5, eta=4.0, gamma=6.0)
    assert torch.equal(once.value, twice.value) and torch.equal(once.key_query, twice.key_query)


def test_descend_learns_the_task():
    problem = rb.draw(sized(16, 4, 24, 600), seed=0)
    model = rb.RecallTransformer(problem)
    history = rb.descend(model, problem, steps=300, eta=20.0, gamma=20.0)
    outcome = rb.evaluate(problem, model, 2000)
    assert history["loss"].iloc[-1] < 0.2 * history["loss"].iloc[0]
    assert outcome.accuracy > 0.95 and outcome.lock_on > 0.95


@pytest.mark.parametrize("progress", [False, True])
def test_progress_bar_goes_to_standard_error(problem, capsys, progress):
    rb.descend(rb.RecallTransformer(problem), problem, 2, eta=1.0, gamma=1.0, progress=progress)
    said = capsys.readouterr().err
    assert ("2/2" in said) == progress == bool(said)
