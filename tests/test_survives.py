"""The ladder's sweep: what is committed, made again; laws and tables of it, on made-up runs whose
answers are known."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sized import sized

import recallbook as rb
from recallbook_studies.ch12 import capacity, ladder
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.critical import critical_table
from recallbook_studies.running.committed import again
from recallbook_studies.sweeps import ROW_TABLES
from recallbook_theory.prediction import theory_of

MIDDLE = 3.2  # critical N over V at the base, in made-up runs
LEVEL_TOLERANCE = {"accuracy": 0.03, "recall": 0.03, "lock_on": 0.03}
CHEAP = [  # rung, L, d, N
    ("three steps", 8, 32, 256), ("AdamW", 8, 32, 64),
    pytest.param("tuned rates", 8, 16, 64, marks=pytest.mark.nightly),
    pytest.param("MLP", 8, 32, 64, marks=pytest.mark.nightly),
]  # fmt: skip


# Made-up runs


def made_up(exponents=(0.5, -1.0, 1.5), top=1.0):
    """Accuracy as a logistic function of log N, whose middle is a product of powers of L, d and
    V."""
    rows = []
    base = ladder.BASE
    shapes = {tuple({**base, name: f * x}.items()) for name, x in base.items() for f in (0.5, 1, 2)}
    for shape in map(dict, sorted(shapes)):
        ratios = [shape[name] / base[name] for name in ("seq_len", "dim", "vocab")]
        powers = [r**power for r, power in zip(ratios, exponents, strict=True)]
        middle = MIDDLE * base["vocab"] * math.prod(powers)
        counts = [round(share * shape["vocab"]) for share in (0.5, 1, 2, 4, 8, 16)]
        for count, seed in product(counts, ladder.SEEDS):
            place = [seed, count, *map(int, shape.values())]
            shift = 0.1 * np.random.default_rng(place).standard_normal()
            accuracy = top / (1 + (middle / count) ** 2 * math.exp(shift))
            found = {"rung": "AdamW", "samples": count, "seed": seed, "accuracy": accuracy}
            rows.append(found | shape)
    return pd.DataFrame(rows)


def test_exponents_of_made_up_runs():
    fits = ladder.fitted(made_up()).set_index("size")
    # read off a grid of factors of two
    assert fits["exponent"].to_dict() == pytest.approx(
        {"seq_len": 0.5, "dim": -1.0, "vocab": 1.5}, abs=0.12
    )
    assert (fits["low"] < fits["exponent"]).all() and (fits["exponent"] < fits["high"]).all()
    table = critical_table(made_up(), ["rung", *ladder.BASE], outcome="accuracy").set_index(
        ["vocab", "seq_len", "dim"]
    )
    assert table.loc[tuple(ladder.BASE.values()), "critical"] == pytest.approx(
        MIDDLE * 64, rel=0.05
    )
    never = ladder.fitted(made_up(top=0.4))
    assert len(never) == 3 and never["exponent"].isna().all()
    assert fits["curves"].tolist() == [3] * 3 and fits["outside"].tolist() == [0] * 3


def test_facts_held_by_plain_calls():
    found = [
        rb.evaluate(p, rb.three_steps(p), 256).recall
        for p in (rb.draw(sized(64, 1, 8, 512), seed) for seed in ladder.SEEDS)
    ]
    assert capacity.held(64, rung="three steps", dim=8).tolist() == pytest.approx(found)


# What is committed


def test_the_search_ends_inside_its_grid():
    """At the pair that is kept; a longer search is as good at any rate."""
    search, base = ladder.at_base(rb.load_results("survives_tuning")), ladder.BASE["vocab"]
    for (name, *_, samples, steps), pair in ladder.choose(search).items():
        if steps == 400 and samples >= 2 * base:
            part = search[search["rung"] == name]
            part = part[(part["steps"] == steps) & (part["samples"] == samples)]
            assert part["rate"].min() < pair.rate < part["rate"].max(), name
            assert not pair.decay == part["decay"].max() > 0, name


def test_runs_are_made_at_the_pairs_that_were_chosen():
    """After the same steps at the base, else after 400; with Zipf's law at those of the coarse search."""
    kept, base = ladder.choose(rb.load_results("survives_tuning")), list(ladder.BASE.values())
    by = ["zipf", "rung", *ladder.BASE, "steps"]
    for (zipf, name, *sizes, steps), part in rb.load_results("survives").groupby(by):
        tuned_at = (4 if RUNGS[name].trigger == "marker" else 2) * sizes[0]
        search = (name, *sizes, tuned_at, steps if sizes == base else 400)
        pair = ladder.coarse(name) if zipf else kept.get(search, ladder.coarse(name))
        assert (part[["rate", "decay"]] == [*pair]).all(axis=None), (name, sizes)


@pytest.mark.slow
@pytest.mark.parametrize(("rung", "seq_len", "dim", "samples"), CHEAP)
def test_committed_runs_made_again(rung, seq_len, dim, samples):
    """Means over seeds, trained side by side."""
    frame = rb.load_results("survives").query(
        "rung == @rung and vocab == 64 and seq_len == @seq_len and dim == @dim"
        " and samples == @samples and steps == 400 and zipf == 0"
    )
    table = ROW_TABLES["survives"]
    kept, made = again(table, [table.key_of(row) for row in frame.to_dict("records")])
    for column, tolerance in LEVEL_TOLERANCE.items():
        old, new = kept[column].mean(), made[column].mean()
        assert len(made) >= 10 and new == pytest.approx(old, abs=tolerance, nan_ok=True), column


@pytest.mark.nightly
def test_long_sequences_made_again():
    frame = rb.load_results("survives_long").query("seq_len == 64 and samples == 512")
    table = ROW_TABLES["survives_long"]
    kept, made = again(table, [table.key_of(row) for row in frame.to_dict("records")])
    for column in ("accuracy", "lock_on"):
        assert len(made) == 10 and made[column].mean() == pytest.approx(
            kept[column].mean(), abs=0.03
        )


@pytest.mark.nightly
def test_a_search_made_again():
    """Seeds side by side at pairs of their own, on another machine."""
    pairs, table = ((0.03, 1), (0.001, 0)), ROW_TABLES["survives_tuning"]
    frame = ladder.at_base(rb.load_results("survives_tuning"))
    frame = frame.query("rung == 'learned embeddings' and steps == 400 and samples == 128")
    frame = frame[[pair in pairs for pair in zip(frame["rate"], frame["decay"], strict=True)]]
    kept, made = again(table, [table.key_of(row) for row in frame.to_dict("records")])
    by = [kept["rate"], kept["decay"]]
    old, new = kept["accuracy"].groupby(by).mean(), made["accuracy"].groupby(by).mean()
    assert len(made) == 20 and (old - new).abs().max() < 0.03


# Errors of several value steps


def told(row):
    """The typical error of accuracy that a prediction of this row of the map has."""
    setting = rb.Setting(**{name: row[name] for name in ("vocab", "seq_len", "dim", "samples")})
    theory = theory_of(setting, value_steps=row["value_steps"], rate=row["rate"])
    outcomes = {name: row[f"predicted_{name}"] for name in ("accuracy", "lock_on", "recall")}
    return theory.expected_errors(setting, outcomes)["accuracy"]


def test_typical_errors_are_those_of_the_map():
    """Beyond sampling, for each of the three reasons."""
    frame = rb.load_results("between_map").query("value_steps > 1")
    frame["told"] = [told(row) for row in frame.to_dict("records")]
    assert (frame["vocab"] < 64).sum() >= 30 and (frame["predicted_lock_on"] < 0.9).sum() >= 30
    square = (frame["predicted_accuracy"] - frame["accuracy"]) ** 2 - frame["accuracy_error"] ** 2
    found = square.groupby(frame["told"]).mean().clip(lower=0) ** 0.5
    assert len(found) == 3 and (found / found.index).between(0.7, 1.2).all(), found
