"""Many steps of gradient descent, against loops written out with autograd."""

from dataclasses import replace

import pytest
import torch
from randomised import at_random_weights, largest_difference
from sampling import generator
from sized import marked, sized
from unequal import plain_loss

import recallbook as rb

pytestmark = pytest.mark.essential

NAMES = ("value", "key_query")
SETTING = marked(9, 4, 7, 60)
ETA, GAMMA = 4.0, 6.0


@pytest.fixture
def problem():
    return rb.draw(SETTING, seed=0)


def with_weights(problem, size=0.5):
    """A model at weights of which none is zero."""
    return at_random_weights(rb.RecallTransformer(problem), size)


def autograd(model, problem, sequences):
    """The loss and its gradients in both matrices, by autograd through the model."""
    model.output_bias.zero_()  # which is that of the loss written out
    loss = plain_loss(problem, model(sequences.tokens, sequences.positions), sequences.labels)
    gradients = torch.autograd.grad(loss, [getattr(model, name) for name in NAMES])
    return loss.item(), dict(zip(NAMES, gradients, strict=True))


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
def test_steps_are_those_of_a_plain_loop(batch, given):
    problem = rb.draw(replace(SETTING, **given), seed=0)
    ours, theirs = with_weights(problem, 0.1), with_weights(problem, 0.1)
    history = rb.descend(ours, problem, 8, eta=ETA, gamma=GAMMA, batch=batch, chunk=17)
    losses = []
    for step in range(8):
        sequences = (
            problem.sequences if batch is None else problem.fresh(batch, role="batch", block=step)
        )
        loss, gradients = autograd(theirs, problem, sequences)
        losses.append(loss)
        for name, rate in zip(NAMES, (ETA, GAMMA), strict=True):
            getattr(theirs, name).data.sub_(rate * gradients[name])
    assert history["loss"].to_numpy() == pytest.approx(losses, rel=1e-9)
    for name in NAMES:
        assert largest_difference(getattr(ours, name).data, getattr(theirs, name).data) < 1e-8, name


def ends(problem, steps=8, **given):
    """Both matrices after some steps from zero."""
    model = rb.RecallTransformer(problem)
    rb.descend(model, problem, steps, eta=ETA, gamma=GAMMA, **given)
    return {name: getattr(model, name).detach() for name in NAMES}


def test_from_zero_only_the_values_move_first(problem):
    moved = ends(problem, steps=1)
    assert float(moved["value"].abs().max()) > 1e-4 and not moved["key_query"].any()


def shuffled(problem, generator):
    """Sequences in another order, and the tokens of each in another order too."""
    order = torch.randperm(len(problem.labels), generator=generator)
    inside = torch.rand(problem.tokens.shape, generator=generator).argsort(dim=1)
    positions = (inside == problem.positions[:, None]).int().argmax(dim=1)
    mixed = replace(
        problem,
        tokens=problem.tokens.gather(1, inside)[order],
        positions=positions[order],
        labels=problem.labels[order],
    )
    return mixed


def test_chunks_and_order_change_rounding_alone():
    problem = rb.draw(SETTING, seed=2)
    mixed = shuffled(problem, generator())
    whole, again, *others = (
        ends(given, chunk=chunk)
        for given, chunk in ((problem, None), (problem, None), (problem, 40), (mixed, None))
    )
    for name in NAMES:
        assert torch.equal(again[name], whole[name]), name
        for other in others:
            assert largest_difference(other[name], whole[name]) < 1e-9, name


def test_tables_that_a_model_holds_are_used():
    problem = rb.draw(sized(24, 6, 6, 400), seed=0)
    model, drawn = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    assert drawn.problem_as_held(problem) is problem
    for name in ("input_embeddings", "output_embeddings"):
        setattr(model, name, getattr(model, name).flip(0))
    held = model.problem_as_held(problem)
    assert held.own == ("input", "output") and problem.own == ()
    with pytest.raises(ValueError, match=r"^problem.own="):
        rb.certify(held)  # a proof is over embeddings that a law drew
    same = rb.RecallTransformer(held)
    first = rb.descend(model, problem, 40, eta=10.0, gamma=1.0)
    assert rb.descend(same, held, 40, eta=10.0, gamma=1.0).equals(first)
    assert torch.equal(model.value, same.value)
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
    drawn.value.data, drawn.key_query.data = model.value.data, model.key_query.data
    assert rb.evaluate(problem, drawn, 3000) != by_hand


# Where it stops, what it learns, what it says


def test_descend_goes_on_where_it_stopped(problem):
    once, twice = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    rb.descend(once, problem, 10, eta=4.0, gamma=6.0)
    for _ in range(2):
        rb.descend(twice, problem, 5, eta=4.0, gamma=6.0)
    assert torch.equal(once.value, twice.value) and torch.equal(once.key_query, twice.key_query)


@pytest.mark.parametrize("progress", [False, True])
def test_progress_bar_goes_to_standard_error(problem, capsys, progress):
    rb.descend(rb.RecallTransformer(problem), problem, 2, eta=1.0, gamma=1.0, progress=progress)
    said = capsys.readouterr().err
    assert ("2/2" in said) == progress == bool(said)
