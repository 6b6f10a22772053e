"""The ladder from the book's model to a library's transformer: each rung is its parent with one
thing changed."""

import math
from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from randomised import at_random_weights
from sampling import OUTCOMES
from sized import marked
from torch import nn

import recallbook as rb
from recallbook_studies.ch12 import ladder
from recallbook_studies.ch12.models import LadderModel, write
from recallbook_studies.ch12.rungs import LADDER, RUNGS, Rung
from recallbook_studies.ch12.training import (
    TEST,
    best_lock_on,
    book_rates,
    orders,
    problem_for,
    schedule,
    train,
)

pytestmark = pytest.mark.essential

SETTING = marked(10, 5, 8, 24)
DOUBLE = {"dtype": torch.float64}


def model_of(name, seed=0, setting=SETTING):
    problem = problem_for(RUNGS[name], setting, seed, **DOUBLE)
    return LadderModel(RUNGS[name], problem), problem


def trained(name, seeds=(0,), setting=SETTING, **given):
    return train(RUNGS[name], setting, list(seeds), **{**DOUBLE, "test_samples": 64, **given})


def shaken(model):
    return at_random_weights(model, 0.5)


def copied(model, name):
    """The model of another rung at the same weights, wherever both have them."""
    other = model_of(name)[0]
    own = {key: tensor for key, tensor in model.state_dict().items() if key in other.state_dict()}
    other.load_state_dict({**other.state_dict(), **own})
    return other


def asked(problem, trigger, count=30):
    written = write(problem.fresh(count), trigger, problem.setting.vocab)
    return written.tokens, written.marked


@pytest.mark.parametrize(
    "rung", [rung for rung in RUNGS.values() if rung.parent], ids=lambda rung: rung.name
)
def test_a_rung_changes_one_thing(rung):
    own, parent = asdict(rung), asdict(RUNGS[rung.parent])
    differ = {name for name in own if own[name] != parent[name]} - {"name", "parent", "change"}
    assert differ == {rung.change}


def test_the_ladder_goes_from_the_books_model_to_two_layers_of_the_library():
    assert [rung.parent for rung in LADDER[1:]] == [rung.name for rung in LADDER[:-1]]
    assert LADDER[0] == Rung(name="three steps")
    assert LADDER[-1].layers == 2 and LADDER[-1].residual and LADDER[-1].mlp
    assert [RUNGS[f"{n} heads"].heads for n in ("two", "four", "eight")] == [2, 4, 8]


# How sequences are written


def test_sequences_written_by_hand():
    sequences = rb.Sequences(
        torch.tensor([[3, 1, 2], [0, 4, 4]]).int(), torch.tensor([1, 2]), torch.tensor([7, 8])
    )
    end, marker, none = 5, 6, [-1, -1]
    for trigger, *expected in (
        ("feature", [[3, 1, 2, end], [0, 4, 4, end]], [1, 2], [1, 2]),
        ("marker", [[3, marker, 1, 2, end], [0, 4, marker, 4, end]], [2, 3], none),
    ):
        found = write(sequences, trigger, 5)
        assert [
            part.tolist() for part in (found.tokens, found.informative, found.marked)
        ] == expected, trigger
        assert found.labels.tolist() == [7, 8]


def test_epochs_show_every_sequence_once():
    order = orders(3, 12, 4, 9)  # three epochs of three batches
    epochs = order.reshape(3, 12)
    assert (epochs.sort(dim=1).values == torch.arange(12)).all()
    assert (epochs[0] != epochs[1]).any() and (orders(4, 12, 4, 9) != order).any()
    assert (orders(3, 12, 12, 2) == torch.arange(12)).all()


# Each rung with its change undone is the one before


@pytest.mark.parametrize("name", ["many steps", "trigger in the values"])
def test_the_first_rungs_are_the_books_model(name):
    model, problem = model_of(name)
    book = shaken(rb.RecallTransformer(problem))
    model.book.value.data, model.book.key_query.data = book.value.data, book.key_query.data
    fresh = problem.fresh(30)
    logits, (weights,) = model(*asked(problem, "feature"))
    torch.testing.assert_close(logits, book(fresh.tokens, fresh.positions))
    torch.testing.assert_close(weights[:, 0, 0, :-1], book.attention(fresh.tokens, fresh.positions))
    assert (weights[:, 0, 0, -1] == 0).all()
    assert [name for name, one in model.named_parameters() if one.requires_grad] == [
        "book.value",
        "book.key_query",
    ]


@pytest.mark.parametrize("name", ["learned embeddings", "positions"])
def test_embeddings_start_where_they_are_drawn_and_positions_at_zero(name):
    fixed, problem = model_of("trigger in the values")
    fixed.book.value.data.normal_()
    fixed.book.key_query.data.normal_()
    other, inputs = copied(fixed, name), asked(problem, "feature")
    torch.testing.assert_close(other(*inputs)[0], fixed(*inputs)[0])
    moving = {name for name, one in other.named_parameters() if one.requires_grad}
    assert {"embedding.weight", "output.weight", "trigger"} <= moving


@pytest.mark.parametrize("name", ["library attention", "four heads"])
def test_heads_by_their_formula(name):
    model, problem = model_of(name)
    shaken(model)
    tokens, marked = asked(problem, "feature")
    stream = model.embedding(tokens) + model.positions
    stream[torch.arange(30), marked] += model.trigger
    attention, count = model.layers[0].self_attn, model.rung.heads
    query, key, value = (
        (stream @ weight.T + bias).unflatten(-1, (count, -1))
        for weight, bias in zip(
            attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3), strict=True
        )
    )
    weights = torch.softmax(
        torch.einsum("bhc,bthc->bht", query[:, -1], key) / (8 / count) ** 0.5, dim=2
    )
    read = torch.einsum("bht,bthc->bhc", weights, value).flatten(1)
    logits, (seen,) = model(tokens, marked)
    torch.testing.assert_close(seen[:, :, 0], weights)
    torch.testing.assert_close(logits, attention.out_proj(read) @ model.output.weight.T)


def test_layers_are_the_librarys_own():
    model, problem = model_of("second layer")
    tokens, marked = asked(problem, "marker")
    layer = nn.TransformerEncoderLayer(8, 4, 32, 0.0, "gelu", batch_first=True, norm_first=True)
    library = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False).double()
    state = shaken(model).state_dict()
    library.load_state_dict({name: state[name] for name in library.state_dict()})
    mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=torch.float64)
    last = library(model.embedding(tokens) + model.positions, mask=mask, is_causal=True)[:, -1]
    torch.testing.assert_close(model(tokens, marked)[0], last @ model.output.weight.T)


def test_an_mlp_that_writes_nothing_is_none():
    model, problem = model_of("MLP")
    linear, inputs = shaken(model).layers[0].linear2, asked(problem, "feature")
    linear.weight.data.zero_()
    linear.bias.data.zero_()
    torch.testing.assert_close(model(*inputs)[0], copied(model, "residual and norm")(*inputs)[0])


# Training


def test_many_steps_on_all_sequences_are_the_books_descent():
    found = trained("many steps", [2], steps=12, test_samples=TEST)
    problem = problem_for(RUNGS["many steps"], SETTING, 2, **DOUBLE)
    book, rates = rb.RecallTransformer(problem), book_rates(problem.setting)
    assert rates == {"book.value": 5 * 10 / 200, "book.key_query": 5 / 20}
    history = rb.descend(book, problem, 12, eta=rates["book.value"], gamma=rates["book.key_query"])
    for name in ("value", "key_query"):
        torch.testing.assert_close(getattr(found.models[0].book, name), getattr(book, name))
    assert found.outcomes["loss"].item() == pytest.approx(history["loss"].iloc[-1], rel=1e-12)
    assert found.outcomes[OUTCOMES].iloc[0].to_dict() == pytest.approx(
        vars(rb.evaluate(problem, book, TEST))
    )


def test_three_steps_are_the_books():
    found = train(RUNGS["three steps"], SETTING, [0, 1]).outcomes
    for seed in (0, 1):
        problem = problem_for(RUNGS["three steps"], SETTING, seed, dtype=torch.float32)
        outcome = rb.evaluate(problem, rb.three_steps(problem), TEST)
        assert found[OUTCOMES].iloc[seed].to_dict() == pytest.approx(vars(outcome))


def test_minibatches_of_all_and_rates_times_one_change_nothing():
    full, all_in_one, tuned = (
        trained(name, [1], steps=6, batch=24).models[0].book.value
        for name in ("many steps", "minibatches", "tuned rates")
    )
    torch.testing.assert_close(full, all_in_one)
    assert torch.equal(tuned, all_in_one)
    faster, slower = (
        trained("tuned rates", rate=r, steps=1, batch=24).models[0] for r in (2.0, 1.0)
    )
    torch.testing.assert_close(faster.book.value, 2 * slower.book.value)


@pytest.mark.parametrize("name", ["AdamW", "positions", "four heads", "second layer"])
def test_seeds_side_by_side_are_what_a_plain_loop_gives_each(name):
    rung, steps, given = RUNGS[name], 12, {"lr": 0.01, "weight_decay": 0.5}
    found = trained(name, range(3), rate=0.01, decay=0.5, steps=steps, batch=8)
    model, problem = model_of(name, seed=1)
    moving = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(moving, **given)
    decreasing = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: schedule(step, steps))
    data = write(problem.sequences, rung.trigger, problem.setting.vocab)
    for which in orders(1, 24, 8, steps):
        logits, _ = model(data.tokens[which], data.marked[which])
        loss = nn.functional.cross_entropy(logits, data.labels[which])
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        decreasing.step()
    for key, tensor in model.state_dict().items():
        torch.testing.assert_close(found.models[1].state_dict()[key], tensor, rtol=1e-6, atol=1e-9)
    assert found.outcomes["loss"].iloc[1] == pytest.approx(float(loss.detach()), rel=1e-6)


def test_the_schedule():
    factors = [schedule(step, 40) for step in range(40)]
    assert factors[:5] == [0.25, 0.5, 0.75, 1, 1]
    assert factors[22] == pytest.approx(0.5) and factors[-1] == pytest.approx(
        0.5 * (1 + math.cos(math.pi * 35 / 36))
    )
    assert max(factors) == 1


def test_a_run_that_diverges_is_recorded():
    found = trained("learned embeddings", [0, 1], rate=1e6, steps=10).outcomes
    assert (found["accuracy"] < 0.5).all() and not (found["loss"] < 2 * math.log(10)).any()


# What is measured


def test_heads_seen_by_hand():
    sure, wrong, tie = [0, 1.0, 0], [1.0, 0, 0], [0.5, 0.5, 0]
    weights = torch.tensor(
        [[[sure], [wrong]], [[tie], [wrong]]]
    )  # two sequences, two heads, from the last position
    informative = torch.tensor([1, 1])
    assert best_lock_on([weights.flip(1)], informative) == 0.75
    assert best_lock_on([weights[:, 1:], weights], informative) == 0.75
    assert best_lock_on([weights[:, 1:]], informative) == 0
    assert best_lock_on([torch.full_like(weights, math.nan)], informative) == 0


# How rates are chosen


RATES, DECAYS = [10.0**k for k in range(7)], [0.0, 0.01, 0.1, 0.3, 1, 3, 10]


def searched(accuracies, scatter=0.0):
    """A search of one rung at the base whose mean accuracy is a table over rates and decays; ten
    seeds."""
    rng, columns = np.random.default_rng(0), ["rate", "decay", "seed", "accuracy"]
    pairs = zip(product(RATES, DECAYS), accuracies.flat, strict=True)
    rows = [
        (*pair, seed, mean + scatter * rng.normal()) for pair, mean in pairs for seed in range(10)
    ]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(rung="MLP", **ladder.BASE, samples=128, steps=400)


def test_the_middle_of_the_pairs_as_good_as_the_best_is_chosen():
    table = np.full((7, 7), 0.1)
    table[1:4, 2:5] = 0.9
    at = ("MLP", *ladder.BASE.values(), 128, 400)
    frame = searched(table)
    assert ladder.choose(frame) == {at: (RATES[2], DECAYS[3])}
    assert len(ladder.as_good(frame)) == 9
    table[3, 4] = 0.95  # clearly better than the others, and at an end of the decays
    assert ladder.choose(searched(table, 0.01)) == {at: (RATES[3], DECAYS[4])}
    # with the scatter of seeds between runs 0.05 cannot be told from nothing, and the middle of
    # more is kept
    assert len(ladder.as_good(searched(table, 0.2))) > 3


def test_every_rung_was_swept_and_rates_were_searched_on_other_seeds():
    runs, search = rb.load_results("survives"), rb.load_results("survives_tuning")
    assert {*runs["rung"]} == {*RUNGS}
    assert {*runs["seed"]}.isdisjoint(search["seed"])
    assert (runs.query("rung == 'minibatches'")[["rate", "decay"]] == [1, 0]).all(axis=None)


def test_a_model_is_its_seeds_alone():
    state = torch.random.get_rng_state()
    first, second, other = (model_of("second layer", seed)[0] for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.testing.assert_close(first.state_dict(), second.state_dict(), rtol=0, atol=0)
    assert (first.layers[0].linear1.weight != other.layers[0].linear1.weight).any()
