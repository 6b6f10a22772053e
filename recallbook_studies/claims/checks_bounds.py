r"""What our own lower bound shows where a claim is about the paper's, which is not available: it
decides no verdict."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any

from recallbook.analysis.intervals import Interval, over_seeds, seed_interval
from recallbook.bounds import information
from recallbook.bounds.coverage import minimum_samples
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook_studies.ch06 import sandwich
from recallbook_studies.ch08 import estimators
from recallbook_studies.claims.findings import (
    LOCKS,
    OUT,
    SYMBOLS,
    Finding,
    decided_by,
    ends,
    fitted,
)

EXACT: dict[str, Any] = {"vocab": 7, "seq_len": 2, "dim": 2, "samples": 30}
BEYOND: dict[str, Any] = {"vocab": 256, "seq_len": 96, "dim": 80, "samples": 1400}


def _bound_holds() -> SimpleNamespace:
    """Recall of the best readers with what our bound allows, where that is below 0.9; recall by
    exact arithmetic."""
    near = []
    for setting in estimators.collapse(
        64, **OUT
    ):  # a small V, so that the strongest readers are quick
        if (
            information.maximum_accuracy(
                setting.vocab, setting.seq_len, setting.dim, setting.samples
            )
            < 0.9
        ):
            near.append(setting)
    table = estimators.accuracies(near, range(5), ("refined", "descent"))
    exact = estimators.lattice_runs([Setting(**EXACT, **OUT)], (64,), range(8))["right"]
    sizes = ["seq_len", "dim", "samples", "method", "allowed"]
    return SimpleNamespace(readers=over_seeds(table, sizes, "accuracy"), exact=seed_interval(exact))


@decided_by(_bound_holds)
def bound_holds(found: SimpleNamespace) -> Finding:
    """Does a reader of one gradient cross our bound, at limited and at exact precision?"""
    crossed = int((found.readers["low"] > found.readers["allowed"]).sum())
    closest = float((found.readers["allowed"] - found.readers["mean"]).min())
    text = f"V = 64, the two best readers cross our bound in {crossed} of {len(found.readers)} cases (nearest: "
    text += f"{closest:.2f} below it); V = 7, L = d = 2, N = 30: from 64 exact binary digits lattice reduction finds "
    text += f"{ends(found.exact)} of the facts, where a reader with an error may find "
    return Finding(text + f"{information.maximum_accuracy(**EXACT):.2f}")


@cache
def beyond_the_bound() -> Interval:
    """Recall of three steps where our bound for one gradient allows few facts."""
    return seed_interval(
        estimators.against_three_steps([Setting(**BEYOND, **OUT)], range(10))["three steps"]
    )


@decided_by(beyond_the_bound)
def any_method(found: Interval) -> Finding:
    """Do three steps obey our bound for one gradient?"""
    text = "our bound, V = 256, L = 96, d = 80, N = 1400: readers of one gradient "
    return Finding(
        text + f"{information.maximum_accuracy(**BEYOND):.2f} at most, three steps {ends(found)}"
    )


@decided_by(lambda: {dim: minimum_samples(64, 256, dim, accuracy=1.0) for dim in (32, 63, 66, 128)})
def intrinsic(found: dict[int, float]) -> Finding:
    """Is the product in our bound?"""
    text = "our bound, V = 64, L = 256: N ≥ " + ", ".join(
        f"{n:.0f} at d = {dim}" for dim, n in found.items()
    )
    return Finding(text + ", orthogonal or not")


def _same_order() -> SimpleNamespace:
    """N of three steps for accuracy 0.9 over the larger of coverage and our bound, by case; our
    bound's power of L."""
    cases = sandwich.table(load_results("sandwich"))
    cases = cases[~cases["trigger_in_values"]]
    ratio = cases["measured"] / cases[["covered", "readers"]].max(axis=1)
    short, long = (
        information.information_samples(256, length, 64, accuracy=0.5) for length in (64, 256)
    )
    return SimpleNamespace(
        gaps=ratio.set_axis(cases["case"]), bound=math.log(long / short) / math.log(4)
    )


@decided_by(_same_order)
def same_order(found: SimpleNamespace) -> Finding:
    """Three steps against what is necessary."""
    text = f"N for accuracy 0.9, three steps over what is necessary by our bounds, {len(found.gaps)} cases: "
    for word, case in (("from", found.gaps.idxmin()), ("to", found.gaps.idxmax())):
        size, value = str(case).split()
        text += f"{word} {found.gaps[case]:.1f} with {SYMBOLS[size]} = {value} "
    text += (
        f"; exponent in L: lock-on {ends(fitted(LOCKS)['seq_len'])}, our bound {found.bound:.1f}"
    )
    return Finding(text.replace(" ;", ";"))
