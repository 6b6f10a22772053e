r"""Checks of claims about how many facts a memory holds, with and without an MLP."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from recallbook_studies.ch02.associative import capacity, recalled
from recallbook_studies.ch07.features import alone, drawn, perfect_recall
from recallbook_studies.ch09 import mlp_sizes
from recallbook_studies.ch12 import capacity as trained_matrices
from recallbook_studies.claims.findings import Found, measure
from recallbook_studies.intervals import Interval, seed_interval
from recallbook_studies.running.archive import load_results

HELD = 0.99  # of the facts: what counts as held, as in the public code on trained memories
SMALL = 8  # d of the memories that are compared

# Facts held


@cache
def facts_held(dim: int) -> Interval:
    """Facts that a sum of outer products holds, simulated: the mean of eight draws on the
    sphere."""

    def held(seed: int) -> float:
        return capacity(lambda facts: float(recalled(facts, dim, seed, "sphere").mean()), HELD)

    return seed_interval([held(seed) for seed in range(8)])


def _matrices(rung: str) -> pd.DataFrame:
    """Trained matrices of chapter 12 by d, all facts in the loss: the ``bits`` that come back,
    and the ``facts`` of which nine tenths are held, between the last two sizes tried."""
    rows = trained_matrices.load().query("steps == 1000 and decay == 0 and rung == @rung")
    most = rows["next"].clip(upper=trained_matrices.LARGEST)
    ends = zip((rows["facts"] * most) ** 0.5, rows["facts"], rows["next"], strict=True)
    bits = rows["facts"] * rows["recall"] * np.log2(rows["facts"].clip(lower=2))
    return pd.DataFrame({"facts": [Interval(*x) for x in ends], "bits": [*bits]}, rows["dim"])


def _for_each_dim(facts: dict[int, Interval]) -> dict[str, Interval]:
    return {f"d = {dim}": Interval(*(x / dim for x in found)) for dim, found in facts.items()}


@measure(
    superposition=lambda sums, trained: [
        x.low > 1 for line in (sums, trained) for x in line.values()
    ]
)
def superposition() -> Found:
    """Facts for each dimension, of a sum of outer products and of a trained matrix, by d."""
    sums = {dim: facts_held(dim) for dim in (16, 32, 64, 128)}
    trained = _matrices("AdamW")["facts"].to_dict()
    return {"sums": _for_each_dim(sums), "trained": _for_each_dim(trained)}


@measure(
    nearly_optimal=lambda fixed, learned, fixed_bits, learned_bits: [
        2 * fixed.high >= learned.low,
        2 * fixed_bits >= learned_bits,
    ]
)
def nearly_optimal() -> Found:
    """Facts that three memories hold at one d, and bits for each weight of the two that are trained
    to the end."""
    once, fixed, learned = (
        _matrices(rung).loc[SMALL] for rung in ("three steps", "AdamW", "learned embeddings")
    )
    found = {"once": once["facts"], "fixed": fixed["facts"], "learned": learned["facts"]}
    # trained weights: two matrices, and where they learn both tables, the trigger and the query
    matrices, tables = 2 * SMALL**2, 2 * SMALL * (learned["facts"].low + 1)
    bits = {
        "fixed_bits": fixed["bits"] / matrices,
        "learned_bits": learned["bits"] / (matrices + tables),
    }
    return {"dim": SMALL, **found, **bits}


@measure(
    smaller_dim_stores_more=lambda held, shared: [
        held[32].low > held[128].high,
        all(x.low > shared["d = 96, no MLP"].high for x in [*shared.values()][1:]),
    ]
)
def smaller_dim_stores_more() -> Found:
    """Facts held by d without MLP, and recall of 512 facts with the same number of parameters, by d
    and m."""

    def recall(dim: int, width: int | None) -> Interval:
        memory = alone(512, dim, width, "he3", embeddings="sphere")
        return seed_interval([perfect_recall(drawn(memory, seed)) for seed in range(8)])

    shared = {
        f"d = {dim}, m = {width}": recall(dim, width) for dim, width in ((64, 656), (32, 2336))
    }
    held = {dim: facts_held(dim) for dim in (32, 128)}
    return {"held": held, "shared": {"d = 96, no MLP": recall(96, None), **shared}}


# The MLP

NAMES = {
    "none": "no MLP",
    "relu": "ReLU",
    "tanh": "tanh",
    "he2": "quadratic Hermite",
    "he3": "cubic Hermite",
}
WIDEST = 4096
Cells = dict[tuple[str, int], Interval]  # by activation and width; without MLP the width is 0


def _cells(table: pd.DataFrame, outcome: str, samples: int = 8192) -> Cells:
    """Means with intervals by activation and width at one N."""
    rows = mlp_sizes.means(table, outcome).query("samples == @samples")
    return {
        (r.activation, r.activation != "none" and int(r.features)): Interval(r.mean, r.low, r.high)
        for r in rows.itertuples()
    }


def _where(cells: Cells) -> str:
    """Activations and widths that stay below no MLP, by intervals that do not overlap."""
    below = [key for key, x in cells.items() if x.high < cells["none", 0].low]
    widths = {name: ", ".join(str(m) for other, m in below if other == name) for name in NAMES}
    return ", ".join(f"{NAMES[name]} at m = {m}" for name, m in widths.items() if m) or "none"


@measure(
    width_helps=lambda large: [
        large[name, WIDEST].low > large["none", 0].high for name in ("he3", "relu")
    ],
    width_at_small_dim=lambda out, inside: [
        x.low >= 0.9 > line["none", 0].high
        for line in (out, inside)
        for (_, width), x in line.items()
        if width == WIDEST
    ],
    mlp_harder=lambda out, inside, locks, large: [
        x.high < line["none", 0].low
        for line in (out, inside, locks, large)
        for (_, width), x in line.items()
        if width
    ],
)
def mlps() -> Found:
    """Recall at d = 32 with the trigger out of and in the values, lock-on with few sequences,
    recall at V = 1024; and where they are below those without MLP."""
    results = load_results("mlp_sizes")
    out = mlp_sizes.small(results, False)
    cells = {
        "out": _cells(out, "recall"),
        "inside": _cells(mlp_sizes.small(results, True), "recall"),
        "locks": _cells(out, "lock_on", 512),
        "large": _cells(mlp_sizes.large(results), "recall"),
    }
    below = [x.high < line["none", 0].low for line in cells.values() for x in line.values()]
    counts = {"below": sum(below), "cases": len(below) - len(cells)}
    where = {key: _where(line) for key, line in cells.items()}
    widest = {
        key: {text: cells[key][name, WIDEST * (name != "none")] for name, text in NAMES.items()}
        for key in ("out", "inside")
    }
    large = cells["large"]
    widths = {name: {f"m = {m}": large[name, m] for m in (256, WIDEST)} for name in ("he3", "relu")}
    none = {NAMES["none"]: large["none", 0]}
    return {**cells, **counts, "where": where, "widest": widest, "widths": widths, "none": none}


@measure(
    phase_diagram=lambda counts: [
        counts.get(term, 0) > 0 for term in ("mean bias", "gradient noise", "MLP noise")
    ]
)
def phase_diagram() -> Found:
    """Cells of the plane of N and L, by the term that asks for the width there."""
    counts = load_results("mlp_phase")["term"].value_counts().to_dict()
    gradient = counts.get("gradient noise", 0)
    return {"counts": {**counts, "gradient noise": gradient}, "cells": sum(counts.values())}
