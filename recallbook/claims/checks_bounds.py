r"""Checks of claims about lower bounds. The bound is ours: the paper's is not available."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recallbook.analysis.intervals import Interval, over_seeds, seed_interval
from recallbook.bounds import information
from recallbook.bounds.coverage import minimum_samples
from recallbook.claims.findings import (
    CONFIRMED,
    LOCKS,
    OUT,
    PARTLY,
    REFUTED,
    SYMBOLS,
    Finding,
    decided_by,
    ends,
    fitted,
)
from recallbook.experiments.lower_bounds import estimators
from recallbook.experiments.upper_bounds import sandwich
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results

EXACT: dict[str, Any] = {"vocab": 7, "seq_len": 2, "dim": 2, "samples": 30}
BEYOND: dict[str, Any] = {"vocab": 256, "seq_len": 96, "dim": 80, "samples": 1400}


class Held(NamedTuple):
    """Recall of the best readers with what the bound allows; of exact arithmetic, with what a reading error allows."""

    readers: pd.DataFrame
    exact: Interval
    allowed: float


def _bound_holds() -> Held:
    vocab = 64  # small, so that the strongest readers are quick
    near = [setting for setting in estimators.collapse(vocab, **OUT) if _below(setting, 0.9)]
    table = estimators.accuracies(near, range(5), ("refined", "descent"))
    sizes = ["seq_len", "dim", "samples", "method", "allowed"]
    exact = estimators.lattice_runs([Setting(**EXACT, **OUT)], (64,), range(8))["right"]
    return Held(over_seeds(table, sizes, "accuracy"), seed_interval(exact), information.maximum_accuracy(**EXACT))


def _below(setting: Setting, accuracy: float) -> bool:
    """Does the bound allow less? Elsewhere nothing could cross it."""
    sizes = (setting.vocab, setting.seq_len, setting.dim, setting.samples)
    return information.maximum_accuracy(*sizes) < accuracy


@decided_by(
    _bound_holds,
    "Only sizes at which the bound allows less than 0.9 of the facts: elsewhere nothing could cross it. Crossed"
    " means that the whole interval lies above it. Refuted if a reader with an error crosses it, true only where"
    " if only exact arithmetic does, confirmed if nothing does.",
)
def bound_holds(found: Held) -> Finding:
    """Does a reader of one gradient cross the bound, at limited and at exact precision?"""
    crossed = int((found.readers["low"] > found.readers["allowed"]).sum())
    closest = float((found.readers["allowed"] - found.readers["mean"]).min())
    text = f"V = 64, the two best readers cross our bound in {crossed} of {len(found.readers)} cases (nearest: "
    text += f"{closest:.2f} below it); V = 7, L = d = 2, N = 30: from 64 exact binary digits lattice reduction finds "
    text += f"{ends(found.exact)} of the facts, where a reader with an error may find {found.allowed:.2f}"
    return Finding(text, REFUTED if crossed else PARTLY if found.exact.low > found.allowed else CONFIRMED)


class Beyond(NamedTuple):
    """Facts that three steps recall, and what the bound for one gradient allows."""

    three: Interval
    allowed: float


@cache
def beyond_the_bound() -> Beyond:
    """Three steps where the bound for one gradient allows few facts."""
    runs = estimators.against_three_steps([Setting(**BEYOND, **OUT)], range(10))
    return Beyond(seed_interval(runs["three steps"]), information.maximum_accuracy(**BEYOND))


@decided_by(beyond_the_bound)
def any_method(found: Beyond) -> Finding:
    """Do three steps obey our bound for one gradient?"""
    text = f"our bound, V = 256, L = 96, d = 80, N = 1400: readers of one gradient {found.allowed:.2f} at most, three "
    return Finding(text + f"steps {ends(found.three)}")


class Intrinsic(NamedTuple):
    """The necessary N by d for random and by law, and a method outside the bound's scope."""

    needs: dict[int, float]
    beyond: Beyond


def _intrinsic() -> Intrinsic:
    return Intrinsic(
        {dim: minimum_samples(64, 256, dim, accuracy=1.0) for dim in (32, 63, 66, 128)}, beyond_the_bound()
    )


@decided_by(
    _intrinsic,
    "Two things must hold for our bound: the necessary N falls with d all the way, so that the product is in it,"
    " and no method gets below it (whole interval). Confirmed if both, true only where if the product holds for"
    " some d or for readers of one gradient only, refuted if the necessary N never depends on d.",
)
def intrinsic(found: Intrinsic) -> Finding:
    """Is the product in the bound, and does every method obey it?"""
    text = "our bound, V = 64, L = 256: N ≥ " + ", ".join(f"{n:.0f} at d = {dim}" for dim, n in found.needs.items())
    text += f", orthogonal or not; V = 256, L = 96, d = 80, N = 1400: three steps {ends(found.beyond.three)} where it "
    text += f"allows {found.beyond.allowed:.2f}"
    needs = np.array([found.needs[dim] for dim in sorted(found.needs)])
    falls = np.diff(needs) < 0
    everywhere = bool(falls.all()) and found.beyond.three.low <= found.beyond.allowed
    return Finding(text, CONFIRMED if everywhere else PARTLY if falls.any() else REFUTED)


class Orders(NamedTuple):
    """N of three steps for accuracy 0.9 over the best bound, by case; exponents in L of lock-on and of the bound."""

    gaps: pd.DataFrame
    three: Interval
    bound: float


def _same_order() -> Orders:
    cases = sandwich.table(load_results("sandwich"))
    cases = cases[~cases["trigger_in_values"]]
    necessary = cases[["covered", "readers"]].max(axis=1)
    gaps = pd.DataFrame({name: cases[name] / necessary for name in ("measured", "low", "high")})
    lengths = [64, 256]
    needs = [information.information_samples(256, length, 64, accuracy=0.5) for length in lengths]
    return Orders(
        gaps.assign(case=cases["case"]), fitted(LOCKS)["seq_len"], float(np.diff(np.log(needs))[0] / np.log(4))
    )


@decided_by(
    _same_order,
    "The upper bound is that of the transformer trained by descent, so three steps are compared with the larger"
    " of coverage and our bound. Of the same order: measured N between once and twice what is necessary, by an"
    " interval that reaches there; over sizes that change N thirtyfold a constant factor would show. Confirmed if"
    " in all cases, true only where if in some.",
)
def same_order(found: Orders) -> Finding:
    """Three steps against what is necessary."""
    gaps = found.gaps.set_index("case")
    close = (gaps["low"] <= 2) & (gaps["high"] >= 1)
    least, most = gaps["measured"].idxmin(), gaps["measured"].idxmax()
    shown = ((name, Interval(*gaps.loc[name, ["measured", "low", "high"]])) for name in (least, most))
    text = f"N for accuracy 0.9, three steps over what is necessary: between 1 and 2 in {close.sum()} of {len(gaps)} "
    text += "cases, " + " and ".join(f"{ends(x)} with {_sizes(str(name))}" for name, x in shown)
    text += f" at the ends; exponent in L: lock-on {ends(found.three)}, our bound {found.bound:.1f}"
    return Finding(text, CONFIRMED if close.all() else PARTLY if close.any() else REFUTED)


def _sizes(case: str) -> str:
    size, value = case.split()
    return f"{SYMBOLS[size]} = {value}"
