"""The ladder from the book's model to a library's transformer: each rung is its parent with one thing changed."""

import math
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import recallbook as rb
from recallbook_studies.ch12 import heads as heads_study, order, pictures, runs, sizes, tuning
from recallbook_studies.ch12.measures import best, cosine, heads, marker_attention, theory_of_first_update
from recallbook_studies.ch12.models import LadderModel
from recallbook_studies.ch12.rungs import LADDER, RUNGS, Rung, rung_named
from recallbook_studies.ch12.training import TEST, orders, problem_for, train
from recallbook_studies.ch12.updates import Stepper, book_rates, schedule
from recallbook_studies.ch12.writing import end_token, marker_token, repeated, write

pytestmark = pytest.mark.essential

SETTING = rb.Setting(vocab=10, seq_len=5, dim=8, samples=24, trigger_in_values=True)
DOUBLE = {"dtype": torch.float64}


def model_of(name, seed=0, setting=SETTING):
    problem = problem_for(RUNGS[name], setting, seed, **DOUBLE)
    return LadderModel(RUNGS[name], problem), problem


def shaken(model, seed=5):
    """The model at random weights."""
    generator = torch.Generator().manual_seed(seed)
    for one in model.parameters():
        one.data = 0.5 * torch.randn(one.shape, generator=generator, dtype=one.dtype)
    return model


def copied(model, name, **left_out):
    """The model of another rung at the same weights, wherever both have them."""
    other, problem = model_of(name)
    own = {key: tensor for key, tensor in model.state_dict().items() if key in other.state_dict()}
    other.load_state_dict({**other.state_dict(), **own})
    return other, problem


def asked(problem, trigger, count=30):
    written = write(problem.fresh(count), trigger, problem.setting.vocab)
    return written.tokens, written.marked


@pytest.mark.parametrize("rung", [rung for rung in RUNGS.values() if rung.parent], ids=lambda rung: rung.name)
def test_a_rung_changes_one_thing(rung):
    own, parent = asdict(rung), asdict(RUNGS[rung.parent])
    differ = {name for name in own if own[name] != parent[name]} - {"name", "parent", "change"}
    assert differ == {rung.change}


def test_the_ladder_goes_from_the_books_model_to_two_layers_of_the_library():
    assert [rung.parent for rung in LADDER[1:]] == [rung.name for rung in LADDER[:-1]]
    assert LADDER[0] == Rung(name="three steps")
    last = LADDER[-1]
    assert (last.layers, last.heads, last.trigger, last.optimiser) == (2, 4, "marker", "adamw")
    assert last.learned and last.positions and last.residual and last.mlp
    with pytest.raises(ValueError, match=r"rung='fifth layer' is not allowed: one of 'three steps'"):
        rung_named("fifth layer")


# How sequences are written


def test_sequences_written_by_hand():
    sequences = rb.Sequences(torch.tensor([[3, 1, 2], [0, 4, 4]]).int(), torch.tensor([1, 2]), torch.tensor([7, 8]))
    end, marker = end_token(5), marker_token(5)
    feature, marked, moved = (write(sequences, trigger, 5) for trigger in ("feature", "marker", "position"))
    assert feature.tokens.tolist() == [[3, 1, 2, end], [0, 4, 4, end]]
    assert marked.tokens.tolist() == [[3, marker, 1, 2, end], [0, 4, marker, 4, end]]
    assert moved.tokens.tolist() == [[1, 3, 2, end], [4, 4, 0, end]]
    assert [part.informative.tolist() for part in (feature, marked, moved)] == [[1, 2], [2, 3], [0, 0]]
    assert [part.marked.tolist() for part in (feature, marked, moved)] == [[1, 2], [-1, -1], [-1, -1]]
    assert [part for part in (feature, marked, moved) if part.labels.tolist() != [7, 8]] == []
    with pytest.raises(ValueError, match="trigger='colour' is not allowed"):
        write(sequences, "colour", 5)


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
    assert [name for name, one in model.named_parameters() if one.requires_grad] == ["book.value", "book.key_query"]


@pytest.mark.parametrize("name", ["learned embeddings", "positions"])
def test_embeddings_start_where_they_are_drawn_and_positions_at_zero(name):
    fixed, problem = model_of("trigger in the values")
    fixed.book.value.data.normal_()
    fixed.book.key_query.data.normal_()
    other, _ = copied(fixed, name)
    torch.testing.assert_close(other(*asked(problem, "feature"))[0], fixed(*asked(problem, "feature"))[0])
    moving = {name for name, one in other.named_parameters() if one.requires_grad}
    assert {"embedding.weight", "output.weight", "trigger"} <= moving


def test_the_librarys_attention_with_one_head_is_the_books_matrices_in_factors():
    book, problem = model_of("positions")
    shaken(book)
    model, _ = copied(book, "library attention")
    dim, end = problem.setting.dim, (book.embedding.weight[-1] + book.positions[-1]).data
    blind = book.book.key_query.data - 1e4 * torch.outer(end, end)  # so that the end token does not see itself,
    rows = torch.cat([book.embedding.weight[:-1].data, book.trigger.data[None], book.positions[:-1].data])
    others = rows - torch.outer(rows @ end, end) / (end @ end)  # as the book's; others lie across it here
    for target in (book, model):
        target.embedding.weight.data[:-1] = others[: problem.setting.vocab]
        target.trigger.data, target.positions.data[:-1] = others[problem.setting.vocab], others[-5:]
    attention = model.layers[0].self_attn
    attention.in_proj_weight.data = torch.cat([blind, dim**0.5 * torch.eye(dim), torch.eye(dim)]).double()
    attention.out_proj.weight.data = book.book.value.data
    attention.in_proj_bias.data.zero_()
    attention.out_proj.bias.data.zero_()
    inputs = asked(problem, "feature")
    torch.testing.assert_close(model(*inputs)[0], book(*inputs)[0])
    torch.testing.assert_close(model(*inputs)[1][0], book(*inputs)[1][0])


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
        for weight, bias in zip(attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3), strict=True)
    )
    weights = torch.softmax(torch.einsum("bhc,bthc->bht", query[:, -1], key) / (8 / count) ** 0.5, dim=2)
    read = torch.einsum("bht,bthc->bhc", weights, value).flatten(1)
    logits, (seen,) = model(tokens, marked)
    torch.testing.assert_close(seen[:, :, 0], weights)
    torch.testing.assert_close(logits, attention.out_proj(read) @ model.output.weight.T)


def test_layers_are_the_librarys_own():
    model, problem = model_of("second layer")
    shaken(model)
    tokens, marked = asked(problem, "marker")
    layer = nn.TransformerEncoderLayer(8, 4, 32, 0.0, "gelu", batch_first=True, norm_first=True)
    library = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False).double()
    state = {f"layers.{key}": tensor for key, tensor in model.layers.state_dict().items()}
    library.load_state_dict({**state, **{f"norm.{key}": tensor for key, tensor in model.norm.state_dict().items()}})
    mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=torch.float64)
    last = library(model.embedding(tokens) + model.positions, mask=mask, is_causal=True)[:, -1]
    torch.testing.assert_close(model(tokens, marked)[0], last @ model.output.weight.T)


@pytest.mark.parametrize(
    "name, parent, silent",
    [
        ("MLP", "residual and norm", ["layers.0.linear2.weight", "layers.0.linear2.bias"]),
        ("second layer", "marker token", [f"layers.0.{part}" for part in ("linear2", "self_attn.out_proj")]),
    ],
)
def test_a_part_that_writes_nothing_is_no_part(name, parent, silent):
    model, problem = model_of(name)
    shaken(model)
    for key, one in model.named_parameters():
        if key.startswith(tuple(silent)):
            one.data.zero_()
    former, _ = copied(model, parent)
    if model.rung.layers > RUNGS[parent].layers:  # what was the only layer is now the second
        former.layers[0].load_state_dict(model.layers[1].state_dict())
    inputs = asked(problem, model.rung.trigger)
    torch.testing.assert_close(model(*inputs)[0], former(*inputs)[0])


# Training


def test_many_steps_on_all_sequences_are_the_books_descent():
    found = train(RUNGS["many steps"], SETTING, [2], steps=12, looks=12, **DOUBLE)
    problem = problem_for(RUNGS["many steps"], SETTING, 2, **DOUBLE)
    book = rb.RecallTransformer(problem)
    sizes = book_rates(problem.setting)
    assert sizes == {"book.value": 5 * 10 / 200, "book.key_query": 5 / 20}
    history = rb.descend(book, problem, 12, eta=sizes["book.value"], gamma=sizes["book.key_query"])
    torch.testing.assert_close(found.models[0].book.value, book.value)
    torch.testing.assert_close(found.models[0].book.key_query, book.key_query)
    losses = found.history["loss"].to_numpy()[:12]
    assert losses == pytest.approx(history["loss"].to_numpy(), rel=1e-12)
    outcome = rb.evaluate(problem, book, TEST)
    assert found.outcomes[["accuracy", "lock_on", "recall"]].iloc[0].to_dict() == pytest.approx(vars(outcome))


def test_three_steps_are_the_books():
    found = train(RUNGS["three steps"], SETTING, [0, 1]).outcomes
    for seed in (0, 1):
        problem = problem_for(RUNGS["three steps"], SETTING, seed, dtype=torch.float32)
        outcome = rb.evaluate(problem, rb.three_steps(problem), TEST)
        assert found[["accuracy", "lock_on", "recall"]].iloc[seed].to_dict() == pytest.approx(vars(outcome))


def test_minibatches_of_all_and_rates_times_one_change_nothing():
    full, all_in_one, tuned = (
        train(RUNGS[name], SETTING, [0, 1], steps=6, batch=24, looks=2, **DOUBLE).models
        for name in ("many steps", "minibatches", "tuned rates")
    )
    for seed in (0, 1):
        torch.testing.assert_close(full[seed].book.value, all_in_one[seed].book.value)
        assert (tuned[seed].book.value == all_in_one[seed].book.value).all()
    faster = train(RUNGS["tuned rates"], SETTING, [0], rate=2.0, steps=1, batch=24, looks=1, **DOUBLE).models[0]
    slower = train(RUNGS["tuned rates"], SETTING, [0], steps=1, batch=24, looks=1, **DOUBLE).models[0]
    torch.testing.assert_close(faster.book.value, 2 * slower.book.value)


def optimiser_as_in_a_manual(rung, model, rate, decay):
    moving = [one for one in model.parameters() if one.requires_grad]
    if rung.optimiser == "sgd":
        return torch.optim.SGD(moving, lr=rate, momentum=0.9, weight_decay=decay)
    return torch.optim.AdamW(moving, lr=rate, weight_decay=decay)


@pytest.mark.parametrize("name", ["AdamW", "positions", "four heads", "second layer", "MLP, SGD"])
def test_seeds_side_by_side_are_what_a_plain_loop_gives_each(name):
    rung, steps, rate, decay = RUNGS[name], 12, 0.01, 0.5
    found = train(
        rung, SETTING, [0, 1, 2], rate=rate, decay=decay, steps=steps, batch=8, looks=2, test_samples=64, **DOUBLE
    )
    model, problem = model_of(name, seed=1)
    optimiser = optimiser_as_in_a_manual(rung, model, rate, decay)
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
    assert factors[22] == pytest.approx(0.5) and factors[-1] == pytest.approx(0.5 * (1 + math.cos(math.pi * 35 / 36)))
    assert max(factors) == 1


def test_a_run_that_diverges_is_recorded_and_its_neighbours_are_not_touched():
    rung = RUNGS["MLP, SGD"]
    lost = train(rung, SETTING, [0, 1], rate=1e6, steps=10, looks=2, test_samples=64).outcomes
    assert lost["diverged"].all() and len(lost) == 2 and (lost["accuracy"] < 0.5).all()
    kept = train(rung, SETTING, [0, 1], rate=0.1, steps=10, looks=2, test_samples=64).outcomes
    assert not kept["diverged"].any()


# What is measured


@pytest.mark.parametrize("setting", [SETTING, replace(SETTING, samples=200)])
def test_the_first_full_step_is_the_theorys(setting):
    found = train(RUNGS["many steps"], setting, [0, 1], steps=1, looks=1, **DOUBLE).outcomes
    assert found["cosine"].to_numpy() == pytest.approx([1, 1], abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_first_minibatch_is_compared_with_all_sequences(seed):
    found = train(RUNGS["minibatches"], SETTING, [seed], steps=1, looks=1, batch=4, **DOUBLE).outcomes
    problem = problem_for(RUNGS["minibatches"], SETTING, seed, **DOUBLE)
    book, which = rb.RecallTransformer(problem), orders(seed, 24, 4, 1)[0]
    loss = nn.functional.cross_entropy(book(problem.tokens[which], problem.positions[which]), problem.labels[which])
    (gradient,) = torch.autograd.grad(loss, [book.value])
    tokens, outputs = problem.input_embeddings, problem.output_embeddings
    expected = cosine(-tokens @ gradient.T @ outputs.T, tokens @ rb.initial_gradient(problem).T @ outputs.T)
    assert found["cosine"][0] == pytest.approx(expected, rel=1e-9)
    assert abs(expected) < 0.9


def test_the_first_step_of_adamw_is_that_of_signs():
    rung = RUNGS["trigger in the values"]
    found = train(rung, SETTING, [0], rate=1e-3, steps=1, looks=1, **DOUBLE).outcomes
    problem = problem_for(rung, SETTING, 0, **DOUBLE)
    gradient = rb.initial_gradient(problem)
    tokens = problem.input_embeddings + problem.trigger / 5
    signs = tokens @ torch.sign(gradient).T @ problem.output_embeddings.T
    expected = cosine(signs, tokens @ gradient.T @ problem.output_embeddings.T)
    assert found["cosine"][0] == pytest.approx(expected, rel=1e-5)
    assert expected < 0.95


def test_the_theorys_first_update_by_its_formula():
    problem = problem_for(RUNGS["trigger in the values"], SETTING, 0)
    model = rb.RecallTransformer(problem)
    model.value.data = rb.initial_gradient(problem)
    facts = repeated(10, 5, problem.permutation)
    torch.testing.assert_close(theory_of_first_update(problem), model(facts.tokens, facts.positions).detach())
    assert facts.labels.tolist() == problem.permutation.tolist()


def test_heads_seen_by_hand():
    sure, wrong, tie = [0, 1.0, 0], [1.0, 0, 0], [0.5, 0.5, 0]
    weights = torch.tensor([[[sure], [wrong]], [[tie], [wrong]]])  # two sequences, two heads, from the last position
    found = heads([weights], torch.tensor([1, 1]))
    assert [tuple(head) for head in found] == [(0, 0, 0.75, 0.75), (0, 1, 0.0, 0.0)]
    assert best(found) == found[0]
    assert math.isnan(marker_attention([weights], torch.tensor([1, 1])))
    square = torch.tensor([[[[1.0, 0, 0], [0.9, 0.1, 0], [0.2, 0.3, 0.5]], [[1.0, 0, 0], [0.3, 0.7, 0], [0, 1, 0]]]])
    assert marker_attention([square, weights[:1]], torch.tensor([1])) == pytest.approx(0.9)
    assert marker_attention([square, weights[:1]], torch.tensor([2])) == pytest.approx(1.0)
    assert marker_attention([square, weights[:1]], torch.tensor([0])) == 0
    broken = heads([torch.full_like(weights, math.nan)], torch.tensor([1, 1]))
    assert [head.lock_on for head in broken] == [0, 0]


# What is refused, and how rates are chosen


@pytest.mark.parametrize(
    "change, message",
    [
        ({"rung": "MLP"}, "rung='MLP' is not allowed: a Rung"),
        ({"setting": replace(SETTING, zipf=1.0, balanced=True)}, "no remedy for unequal facts"),
        ({"setting": replace(SETTING, width=8)}, "with no MLP"),
        ({"setting": replace(SETTING, dim=6)}, "dim=6 is not allowed: a multiple of the 4 heads"),
        ({"seeds": []}, "seeds=.. is not allowed: at least one seed"),
        ({"rung": RUNGS["minibatches"], "rate": 2.0}, "rate=2.0 is not allowed: 1 for a rung at the book's own rates"),
        (
            {"rung": RUNGS["tuned rates"], "decay": 0.1},
            "decay=0.1 is not allowed: 0 for gradient descent on the book's",
        ),
        ({"decay": -1.0}, r"decay=-1.0 is not allowed: a finite number from 0 on"),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"rung": RUNGS["MLP"], "setting": SETTING, "seeds": [0], **change}
    rung, setting, seeds = (arguments.pop(name) for name in ("rung", "setting", "seeds"))
    with pytest.raises(ValueError, match=message):
        train(rung, setting, seeds, **arguments)


def searched(accuracies, scatter=0.0):
    """A search of one rung at the base whose mean accuracy is a table over rates and decays; ten seeds."""
    rates, decayed = tuning.grid(RUNGS["MLP"])
    rng, common = np.random.default_rng(0), {"rung": "MLP", **sizes.BASE._asdict()}
    return pd.DataFrame([
        {**common, "rate": rate, "decay": decay, "seed": seed, "accuracy": accuracies[i][j] + scatter * rng.normal()}
        for i, rate in enumerate(rates) for j, decay in enumerate(decayed) for seed in tuning.SEEDS
    ])  # fmt: skip


def test_the_middle_of_the_pairs_as_good_as_the_best_is_chosen():
    table = np.full((5, 5), 0.1)
    table[1:4, 2:5] = 0.9
    rates, decayed = tuning.grid(RUNGS["MLP"])
    frame = searched(table)
    assert tuning.choose(frame) == {("MLP", sizes.BASE): (rates[2], decayed[3])}
    assert len(tuning.as_good(frame)) == 9 and tuning.at_an_end(frame) == []
    table[3, 4] = 0.95  # clearly better than the others, and at an end of the decays
    assert tuning.choose(searched(table, 0.01)) == {("MLP", sizes.BASE): (rates[3], decayed[4])}
    assert tuning.at_an_end(searched(table, 0.01)) == [("MLP", "decay")]
    # with the scatter of seeds between runs 0.05 cannot be told from nothing, and the middle of more is kept
    assert len(tuning.as_good(searched(table, 0.2))) > 3


def test_shapes_beside_the_base_try_its_pair_and_its_neighbours(monkeypatch):
    rates, decayed = tuning.grid(RUNGS["MLP"])
    monkeypatch.setattr(tuning, "chosen", lambda: {("MLP", sizes.BASE): tuning.Pair(rates[2], decayed[0])})
    found = tuning.pairs(RUNGS["MLP"], sizes.BASE._replace(dim=64))
    assert set(found) == {*((rate, decayed[0]) for rate in rates[1:4]), (rates[2], decayed[1])}
    assert len(tuning.pairs(RUNGS["MLP"], sizes.BASE)) == 25


def test_the_sweep_names_each_run_once():
    cells = runs.cells()
    keys = [cell.key(seed) for cell in cells for seed in sizes.SEEDS]
    assert len(set(keys)) == len(keys) == 10 * len(cells)
    assert [cell for cell in cells[::17] if runs.cell_of(cell.key(7)) != (cell, 7)] == []
    assert {cell.rung for cell in cells} == set(RUNGS)
    assert set(tuning.SEEDS).isdisjoint(sizes.SEEDS)
    assert tuning.pair_of(RUNGS["minibatches"]) == {"rate": 1, "decay": 0}


def test_a_row_is_what_training_alone_gives(monkeypatch):
    pair = {"rate": 0.02, "decay": 0.3}
    monkeypatch.setattr(tuning, "pair_of", lambda rung, shape: pair)
    monkeypatch.setattr(sizes, "SEEDS", range(2))
    runs.outcomes.cache_clear()
    row = runs.row("learned embeddings 12 4 8 30 400 0 tuned 1")
    alone = train(RUNGS["learned embeddings"], replace(SETTING, vocab=12, seq_len=4, samples=30), [1], **pair).outcomes
    assert (row["rung"], row["vocab"], row["seq_len"], row["dim"]) == ("learned embeddings", 12, 4, 8)
    assert (row["samples"], row["seed"], row["rate"], row["decay"]) == (30, 1, 0.02, 0.3)
    assert row["accuracy"] == pytest.approx(alone["accuracy"][0], abs=0.02)  # float32, 400 steps
    assert row["loss"] == pytest.approx(alone["loss"][0], rel=0.02)
    kept = pd.DataFrame([runs.row(f"learned embeddings 12 4 8 30 400 0 tuned {seed}") for seed in (0, 1)])
    table = runs.again(kept, runs.cell_of(row["key"])[0])
    assert (table["kept"] == table["made"]).all() and len(table) == 4
    runs.outcomes.cache_clear()


def test_phases_in_time():
    common = {"rung": "MLP", "accuracy": 0.9}
    rows = [{**common, "step_lock_on": 20, "step_recall": 40, "step_accuracy": 40}]
    rows += [{**common, "step_lock_on": 60, "step_recall": 40, "step_accuracy": 60}]
    rows += [{**common, "accuracy": 0.3, "step_lock_on": 1, "step_recall": np.nan, "step_accuracy": np.nan}]
    row = order.phases(pd.DataFrame(rows)).set_index("rung").loc["MLP"]
    assert (row["step_lock_on"], row["step_recall"], row["runs"]) == (40, 40, 2)
    assert (row["lock_on_first"], row["recall_first"]) == (0.5, 0.5)
    even = order.phases(pd.DataFrame(rows).assign(step_lock_on=40)).set_index("rung").loc["MLP"]
    assert (even["lock_on_first"], even["recall_first"]) == (0, 0)


# What the other heads add


def test_heads_parts_add_up_to_the_layers_output():
    model, problem = model_of("four heads")
    written = write(problem.fresh(20), "feature", 10)
    added, seen = heads_study.parts(shaken(model), written)
    logits, (weights,) = model(written.tokens, written.marked)
    torch.testing.assert_close(model.output(added.sum(dim=1) + model.layers[0].self_attn.out_proj.bias), logits)
    assert added.shape == (20, 4, 8) and (seen[0] == weights).all()


def test_a_head_that_knows_nothing_can_be_taken_out():
    model, problem = model_of("four heads")
    written = write(problem.fresh(20), "feature", 10)
    weight = shaken(model).layers[0].self_attn.out_proj.weight
    with torch.no_grad():  # only the head that locks on most adds anything
        first = best(heads(model(written.tokens, written.marked)[1], written.informative)).head
        weight[:, [column for column in range(8) if column // 2 != first]] = 0
    found = heads_study.accuracies(model, written)
    assert found["all"] == found["best alone"]
    logits = model.output(
        heads_study.parts(model, written)[0].sum(dim=1).mean(dim=0) + model.layers[0].self_attn.out_proj.bias
    )
    assert found["others alone"] == pytest.approx(float((written.labels == logits.argmax()).double().mean()))


def test_the_pages_constants_are_those_of_training():
    """Optimisers and models as they are built, beside the words of the table."""
    said = {row["constant"]: row["value"] for row in pictures.constant_rows()}
    weights = {"weight": torch.zeros(1, 3, 3)}
    options = {"rate": 0.1, "decay": 0.7, "steps": 40}
    adamw, sgd = (Stepper(RUNGS[name], SETTING, dict(weights), **options) for name in ("MLP", "MLP, SGD"))
    (group,) = adamw.optimiser.param_groups
    assert said["AdamW"] == "betas {:g} and {:g}, epsilon {:g}".format(*group["betas"], group["eps"])
    assert group["weight_decay"] == 0.7 and not group["amsgrad"]
    (group,) = sgd.optimiser.param_groups
    assert f"momentum {group['momentum']:g}" in said["gradient descent, layers"]
    assert group["weight_decay"] == 0.7 and group["dampening"] == 0 and not group["nesterov"]
    rising = sum(schedule(step, 1000) < schedule(step + 1, 1000) for step in range(999)) / 1000
    assert f"{rising:.0%}" in said["schedule"]
    model, problem = model_of("MLP", setting=replace(SETTING, dim=16))
    layer, bound = model.layers[0], (6 / (16 + 48)) ** 0.5
    assert 0.9 * bound < layer.self_attn.in_proj_weight.abs().max() <= bound
    for linear, inputs in ((layer.self_attn.out_proj, 16), (layer.linear1, 16), (layer.linear2, 64)):
        assert 0.8 < linear.weight.abs().max() * inputs**0.5 <= 1
    assert f"epsilon {layer.norm1.eps:g}" in said["layer norm"] and (layer.norm1.weight == 1).all()
    assert (model.positions == 0).all() and (model.embedding.weight[:10] == problem.input_embeddings).all()
    dropped = [part.p for part in model.modules() if isinstance(part, nn.Dropout)]
    assert {*dropped, layer.self_attn.dropout} == {0}
    trained = train(RUNGS["MLP"], SETTING, [0], rate=0.01, steps=1, looks=1)
    assert str(trained.models[0].positions.dtype) == f"torch.{said['precision']}"


def test_a_model_is_its_seeds_alone():
    state = torch.random.get_rng_state()
    first, second, other = (model_of("second layer", seed)[0] for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.testing.assert_close(first.state_dict(), second.state_dict(), rtol=0, atol=0)
    assert (first.layers[0].linear1.weight != other.layers[0].linear1.weight).any()
