"""The ladder's sweep: what is committed, made again; laws and tables of it, on made-up runs whose
answers are known."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sized import sized

import recallbook as rb
from recallbook_studies.ch12 import (
    capacity,
    histories,
    ladder_laws,
    minimisers,
    order,
    oscillation,
    runs,
    sizes,
    tuning,
)
from recallbook_studies.ch12.rungs import LADDER, RUNGS
from recallbook_studies.ch12.training import train

MIDDLE = 3.2  # critical N over V at the base, in made-up runs
LEVEL_TOLERANCE = {"accuracy": 0.03, "recall": 0.03, "lock_on": 0.03, "cosine": 1e-3}
CHEAP = [
    "three steps 64 8 32 256 400 0 tuned", "tuned rates 64 8 16 64 400 0 tuned",
    "learned embeddings 64 8 32 128 400 1 tuned",
    pytest.param("MLP 64 8 32 64 400 0 0.3", marks=pytest.mark.nightly),
]  # fmt: skip


# Made-up runs


def made_up(names=("many steps",), exponents=(0.5, -1.0, 1.5), top=1.0, lock_on=0.97, cosine=0.95):
    """Accuracy as a logistic function of log N, whose middle is a product of powers of L, d and
    V."""
    rows = []
    for name, shape in product(names, sizes.shapes()):
        ratios = (shape.seq_len / sizes.LENGTH, shape.dim / sizes.DIM, shape.vocab / sizes.VOCAB)
        middle = (
            MIDDLE
            * sizes.VOCAB
            * math.prod(r**power for r, power in zip(ratios, exponents, strict=True))
        )
        for count, seed in product(sizes.samples(RUNGS[name], shape.vocab), sizes.SEEDS):
            shift = 0.1 * np.random.default_rng([seed, count, *shape]).standard_normal()
            accuracy = top / (1 + (middle / count) ** 2 * math.exp(shift))
            row = {
                "rung": name,
                **shape._asdict(),
                "samples": count,
                "seed": seed,
                "accuracy": accuracy,
            }
            row |= {"lock_on": lock_on, "cosine": cosine, "recall": accuracy}
            rows.append(
                row | {"step_lock_on": 20 + 40 * (seed > 7), "step_recall": 40, "step_accuracy": 60}
            )
    return pd.DataFrame(rows)


def test_exponents_of_made_up_runs():
    fits = ladder_laws.fitted(made_up()).set_index("size")
    # read off a grid of factors of two
    assert fits["exponent"].to_dict() == pytest.approx(
        {"seq_len": 0.5, "dim": -1.0, "vocab": 1.5}, abs=0.12
    )
    assert (fits["low"] < fits["exponent"]).all() and (fits["exponent"] < fits["high"]).all()
    table = ladder_laws.critical(made_up()).set_index(["vocab", "seq_len", "dim"])
    assert table.loc[tuple(sizes.BASE), "critical"] == pytest.approx(MIDDLE * 64, rel=0.05)
    never = ladder_laws.fitted(made_up(top=0.4))
    assert len(never) == 3 and never["exponent"].isna().all()
    assert fits["curves"].tolist() == [3] * 3 and fits["outside"].tolist() == [0] * 3


def test_critical_sizes_beside_the_theorys():
    table = ladder_laws.at_base(ladder_laws.critical(made_up()))
    for rung, tau in (("AdamW", False), ("MLP", True)):
        found = ladder_laws.with_theory(table.assign(rung=rung, dim=64)).iloc[0]
        at = sized(64, 8, 64, round(found["predicted"]), trigger_in_values=tau)
        assert rb.predict(at, warn=False).accuracy == pytest.approx(0.5, abs=0.02)


def test_laws_that_hold_on_made_up_runs():
    names = [rung.name for rung in LADDER if rung.trigger == "feature"]
    frame = pd.concat([
        made_up(names[:4]), made_up(names[4:8], exponents=(0.0, 0.0, 1.0), top=0.95, cosine=0.5), made_up(names[8:]),
    ])  # fmt: skip
    frame["lock_on"] = np.where(frame["rung"].isin(names[8:]), 0.5, frame["accuracy"])
    frame.loc[frame["rung"] == names[5], "step_lock_on"] = 50
    held = ladder_laws.held(frame, frame)
    assert list(held.index) == [*names, "second layer"]  # not made up here
    held = held.loc[names]
    first = [True] * 4 + [False] * 8
    ends = [True] * 4 + [False] * 4 + [True] * 4
    expected = dict.fromkeys(("L costs attention", "d saves attention"), first)
    expected |= dict.fromkeys(("first step", "L costs data", "d² cap"), ends)
    expected |= {"locks on": [True] * 8 + [False] * 4, "coverage": [True] * 12}
    assert {law: held[law].tolist() for law in expected} == expected
    assert not held.loc[names[5], "locates first"] and held.loc[names[6], "locates first"]
    factor = MIDDLE * 64 / ladder_laws.predicted_critical(sizes.BASE, False, 0.5)
    assert 1 / 1.25 < factor < 1.25 and held.loc[names[1], "predicted N"]
    assert not held.loc[
        names[6], "predicted N"
    ]  # with the trigger in the values no N is predicted to be enough
    assert ladder_laws.held(made_up(names, top=0.85), frame)["d² cap"].all()


def test_coverage():
    rng = np.random.default_rng(0)
    seen = [len(set(rng.integers(100, size=230))) / 100 for _ in range(400)]
    assert np.mean(seen) == pytest.approx(0.9, abs=0.01) and ladder_laws.coverage(
        100, 0.9
    ) == pytest.approx(230, abs=0.5)


# Capacity


def test_weights_that_move():
    at = sized(12, 4, 8, 10)
    assert capacity.weights("AdamW", at) == capacity.weights("three steps", at) == 2 * 8 * 8
    # tokens and end token, outputs, trigger
    assert capacity.weights("learned embeddings", at) == 2 * 64 + 13 * 8 + 12 * 8 + 8
    # attention with biases, two norms and the last one, two linear maps, positions
    layer = 4 * 64 + 4 * 8 + 3 * 16 + 2 * 8 * 32 + 32 + 8
    assert capacity.weights("MLP", at) == layer + 13 * 8 + 12 * 8 + 8 + 5 * 8
    assert capacity.bits_per_weight(32.0, 64, 96) == pytest.approx(32 * 6 / 96)


def test_facts_held_by_plain_calls():
    found = [
        rb.evaluate(p, rb.three_steps(p), 256).recall
        for p in (rb.draw(sized(64, 1, 8, 512), seed) for seed in sizes.SEEDS)
    ]
    assert capacity.held(capacity.Case("three steps", 8), 64).tolist() == pytest.approx(found)


def test_some_of_many_facts_are_asked_about():
    """With every fact asked about seen, the share of those is recall over the share that was
    seen."""
    case = capacity.Case("three steps", 8, "some")
    at = capacity.setting(case, 100)
    assert at.vocab == 1024 and at.samples == round(-1024 * math.log(1 - 100 / 1024))
    problem = rb.draw(at, 0)
    seen = len(set(problem.labels.tolist()))
    assert seen == pytest.approx(100, abs=15)
    expected = rb.evaluate(problem, rb.three_steps(problem), 256).recall * 1024 / seen
    assert capacity.held(case, 100)[0] == pytest.approx(expected)


# What is committed


def test_the_search_ends_inside_its_grid():
    frame = tuning.load()
    for (name, shape), pair in tuning.choose(frame).items():
        if shape in (sizes.BASE, sizes.LARGE):
            rates, decayed = tuning.grid(RUNGS[name], shape)
            assert pair.rate not in (rates[0], rates[-1]), name
            assert not pair.decay == decayed[-1] > 0, name  # below the smallest is next to none
    assert frame["diverged"].sum() > 0  # what diverges is kept


def test_a_pair_made_again():
    frame = tuning.load()
    kept = frame.query("rung == 'learned embeddings' and rate == 0.03 and decay == 1")
    kept = kept.query("vocab == 64 and dim == 32 and seq_len == 8")
    made = [tuning.row(key)["accuracy"] for key in kept["key"]]
    assert np.mean(made) == pytest.approx(kept["accuracy"].mean(), abs=0.03)


def test_runs_are_made_at_the_pairs_that_were_chosen():
    for (name, *shape), part in rb.load_results("survives").groupby(
        ["rung", "vocab", "seq_len", "dim"]
    ):
        pair = tuning.pair_of(RUNGS[name], sizes.Shape(*shape))
        assert (part["rate"] == pair["rate"]).all() and (
            part["decay"][part["tuned"]] == pair["decay"]
        ).all(), name


@pytest.mark.slow
@pytest.mark.parametrize("key", CHEAP)
def test_committed_runs_made_again(key):
    cell, _ = runs.cell_of(key + " 0")
    both = runs.again(rb.load_results("survives"), cell).set_index("column")
    for column, tolerance in LEVEL_TOLERANCE.items():
        kept, made = both.loc[column]
        assert (math.isnan(kept) and math.isnan(made)) or made == pytest.approx(
            kept, abs=tolerance
        ), column


def test_curves_end_where_the_runs_end():
    """The same training: the sweep's runs at that number of sequences are the last look of the
    curves."""
    frame, last = runs.load(), histories.load().iloc[-1]
    count = histories.PER_FACT * sizes.VOCAB
    keys = [runs.Cell(histories.NAME, sizes.BASE, count).key(seed) for seed in sizes.SEEDS]
    own = frame[frame["key"].isin(keys)]
    for column in ("accuracy", "recall", "lock_on"):
        assert last[column] == pytest.approx(own[column].mean(), abs=LEVEL_TOLERANCE[column])


def test_crossing_by_hand():
    for values, expected in (
        ([-1, 1, -1, 3], 320 * 2**0.25),
        ([1, 2, 2, 1], 0),
        ([1] * 3 + [-1], math.inf),
    ):
        assert ladder_laws.crossing(pd.Series(values, index=[80, 160, 320, 640])) == pytest.approx(
            expected
        )


@pytest.mark.slow
def test_half_of_attention_comes_when_predicted():
    """Hardly any noise: orthogonal embeddings and twelve sequences for each fact."""
    for factor in (6.0, 20.0):
        at = sized(16, 4, 32, 192, trigger_in_values=False, embeddings="orthogonal")
        rates = (factor * 4 * 16 / 200, factor * 4 / 20)
        found = order.attends(16, 4, rates)
        steps = train(
            RUNGS["many steps"], at, range(3), rate=factor, steps=2 * found, looks=2 * found
        )
        history = steps.history.groupby("step")["attention"].mean()
        assert found == pytest.approx(history[history > 0.5].index[0], rel=0.1)
    few, many = (order.attends(64, 8, (2.56 * f, 0.4 * f)) for f in (0.5, 0.05))
    assert many == pytest.approx(10 * few, rel=0.02)  # inverse in the rates


def test_least_norm_by_hand():
    """Two orthogonal sequences and two labels: each has margin 1 where its functions differ by 1."""
    low, high = minimisers.least_norm(np.diag([1.0, 4.0]), np.eye(2), np.array([0, 1]))
    assert low <= 0.5 + 0.5 / 4 + 1e-9 <= high + 2e-9 and high < 1.2 * low
    kernel, problem, cost = minimisers.tangent("AdamW", 4, 0, 0.0)
    bags = problem.input_embeddings[problem.tokens.long()].mean(dim=1).numpy()
    ratio = kernel / (bags @ bags.T)
    assert (
        cost == 0
        and ratio.std() < 1e-6 * ratio.mean()
        and ratio.mean() == pytest.approx(1, abs=0.3)
    )


def test_falls_by_hand():
    history = pd.DataFrame({
        "seed": [0] * 8 + [1] * 4, "step": [0, 0, 20, 20, 40, 40, 60, 60, 0, 20, 40, 60],
        "accuracy": [0.1, 0.1, 0.8, 0.8, 0.5, 0.5, 0.9, 0.9, 0.2, 0.3, 0.3, 0.25],
    })  # fmt: skip
    assert oscillation.falls(history).to_dict() == pytest.approx({0: 0.3, 1: 0.05})
    assert oscillation.falls(history.sample(frac=1, random_state=0)).to_dict() == pytest.approx(
        {0: 0.3, 1: 0.05}
    )


@pytest.mark.essential
def test_which_end_is_dearer():
    frame = made_up(["many steps"])
    for size, largest in (("seq_len", True), ("dim", False)):
        assert ladder_laws.dearer(frame, size, 0.5, largest=largest).all()
        assert not ladder_laws.dearer(frame, size, 0.5, largest=not largest).any()
    low = frame.assign(
        accuracy=frame["accuracy"] * np.where(frame["dim"] == 16, 0.4, 1)
    )  # beyond the grid
    assert ladder_laws.dearer(low, "dim", 0.5, largest=False).all()
    nowhere = frame.assign(accuracy=0.4 * frame["accuracy"])
    assert not ladder_laws.dearer(nowhere, "dim", 0.5, largest=False).any()
    assert not ladder_laws.dearer(nowhere, "dim", 0.5).any()
