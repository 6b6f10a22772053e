"""The ladder's sweep: what is committed, made again; laws and tables of it, on made-up runs whose
answers are known."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sampling import by_night
from sized import sized

import recallbook as rb
from recallbook_studies.ch12 import (
    capacity,
    ladder_laws,
    oscillation,
    runs,
    sizes,
    tuning,
)
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train

MIDDLE = 3.2  # critical N over V at the base, in made-up runs
LEVEL_TOLERANCE = {"accuracy": 0.03, "recall": 0.03, "lock_on": 0.03}
CHEAP = [
    "three steps 64 8 32 256 400 0", "tuned rates 64 8 16 64 400 0",
    "AdamW 64 8 32 64 400 0", "learned embeddings 64 8 32 128 400 1", "MLP 64 8 32 64 400 0",
]  # fmt: skip


# Made-up runs


def made_up(exponents=(0.5, -1.0, 1.5), top=1.0):
    """Accuracy as a logistic function of log N, whose middle is a product of powers of L, d and
    V."""
    rows = []
    for shape in sizes.shapes():
        ratios = (shape.seq_len / sizes.LENGTH, shape.dim / sizes.DIM, shape.vocab / sizes.VOCAB)
        powers = [r**power for r, power in zip(ratios, exponents, strict=True)]
        middle = MIDDLE * sizes.VOCAB * math.prod(powers)
        for count, seed in product(sizes.samples(RUNGS["AdamW"], shape.vocab), sizes.SEEDS):
            shift = 0.1 * np.random.default_rng([seed, count, *shape]).standard_normal()
            accuracy = top / (1 + (middle / count) ** 2 * math.exp(shift))
            found = {"rung": "AdamW", "samples": count, "seed": seed, "accuracy": accuracy}
            rows.append(found | shape._asdict())
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


def test_coverage():
    rng = np.random.default_rng(0)
    seen = [len(set(rng.integers(100, size=230))) / 100 for _ in range(400)]
    assert np.mean(seen) == pytest.approx(0.9, abs=0.01) and ladder_laws.coverage(
        100, 0.9
    ) == pytest.approx(230, abs=0.5)


def test_facts_held_by_plain_calls():
    found = [
        rb.evaluate(p, rb.three_steps(p), 256).recall
        for p in (rb.draw(sized(64, 1, 8, 512), seed) for seed in sizes.SEEDS)
    ]
    assert capacity.held(capacity.Trial("three steps", 8), 64).tolist() == pytest.approx(found)


# What is committed


def test_the_search_ends_inside_its_grid():
    """At the pair that is kept; a longer search is as good at any rate."""
    for search, pair in tuning.choose(tuning.load()).items():
        first = search.steps == sizes.BUDGETS[0] and search.samples >= 2 * search.shape.vocab
        if first and search.shape in (sizes.BASE, sizes.LARGE):
            rates, decayed = tuning.grid(RUNGS[search.rung], search.shape)
            assert pair.rate not in (rates[0], rates[-1]), search
            assert not pair.decay == decayed[-1] > 0, search


@pytest.mark.nightly
def test_a_search_made_again():
    """Seeds side by side at pairs of their own, on another machine."""
    pairs = (tuning.Pair(0.03, 1), tuning.Pair(0.001, 0))
    at = sizes.setting(sizes.BASE, 128)
    runs_of = [(pair, seed) for pair in pairs for seed in tuning.SEEDS]
    rates, decays = zip(*(pair for pair, _ in runs_of), strict=True)
    seeds = [seed for _, seed in runs_of]
    made = train(RUNGS["learned embeddings"], at, seeds, rate=rates, decay=decays, looks=1).outcomes
    kept = tuning.load().query("rung == 'learned embeddings' and steps == 400 and samples == 128")
    kept = ladder_laws.at_base(kept).groupby(["rate", "decay"])["accuracy"].mean()
    for index, pair in enumerate(pairs):
        again = made["accuracy"][10 * index : 10 * index + 10].mean()
        assert again == pytest.approx(kept[tuple(pair)], abs=0.03)


def test_runs_are_made_at_the_pairs_that_were_chosen():
    kept = rb.load_results("survives").set_index("key")[["rate", "decay"]]
    pairs = {key: cell.pair() for key, (cell, _) in runs.every().items()}
    assert np.array(list(pairs.values())) == pytest.approx(kept.loc[list(pairs)].to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("key", by_night(CHEAP, day=2))
def test_committed_runs_made_again(key):
    cell, _ = runs.every()[key + " 0"]
    frame = rb.load_results("survives").set_index("key").loc[[cell.key(s) for s in cell.seeds]]
    for column, tolerance in LEVEL_TOLERANCE.items():
        kept, made = frame[column].mean(), runs.outcomes(cell)[column].mean()
        assert (math.isnan(kept) and math.isnan(made)) or made == pytest.approx(
            kept, abs=tolerance
        ), column


def test_falls_by_hand():
    history = pd.DataFrame({
        "seed": [0] * 8 + [1] * 4, "step": [0, 10, 20, 30, 40, 50, 60, 70, 0, 20, 40, 60],
        "accuracy": [0.1, 0.1, 0.8, 0.8, 0.5, 0.5, 0.9, 0.9, 0.2, 0.3, 0.3, 0.25],
    })  # fmt: skip
    assert oscillation.falls(history).to_dict() == pytest.approx({0: 0.3, 1: 0.05})
    assert oscillation.falls(history.sample(frac=1, random_state=0)).to_dict() == pytest.approx(
        {0: 0.3, 1: 0.05}
    )
