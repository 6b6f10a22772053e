r"""Checks of claims about orthogonal against random embeddings, and about the table of critical N."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from recallbook.analysis import critical
from recallbook.analysis.intervals import Interval
from recallbook.claims.findings import CONFIRMED, OUT, PARTLY, REFUTED, Finding, corners, decided_by, ends, rough, said
from recallbook.experiments.scaling import geometry
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.training.simulation import simulate

LAWS = {"random": "gaussian, d = 258", "orthogonal": "orthogonal, d = 258"}

# Orthogonal embeddings


def _optimism() -> dict[str, Interval]:
    """Critical N of random over that of orthogonal embeddings at equal d, by outcome and L."""
    results, found = load_results("geometry"), {}
    for name, outcome, flag in (
        ("lock-on", "lock_on", False),
        ("accuracy", "accuracy", False),
        ("accuracy with the trigger in the values", "accuracy", True),
    ):
        for row in geometry.ratios(results, flag, outcome).itertuples():
            found[f"{name} at L = {row.seq_len}"] = Interval(row.ratio, row.low, row.high)
    return found


@decided_by(
    _optimism,
    "Optimistic: random embeddings of the same d need at least a tenth more sequences, by the whole interval."
    " Confirmed if so in every case, true only where if in some, refuted if in none.",
)
def optimism(found: dict[str, Interval]) -> Finding:
    """Critical N of random over that of orthogonal embeddings at equal d."""
    text = "N random over orthogonal, V = 256, d = 258: " + said(*found.items())
    more = [x.low > 1.1 for x in found.values()]
    return Finding(text, CONFIRMED if all(more) else PARTLY if any(more) else REFUTED)


def growth(law: str) -> Interval:
    """Exponent of critical N for lock-on in L from 64 to 256, for one law of embeddings."""
    rows = geometry.labelled(load_results("geometry").query("not trigger_in_values and seq_len != 16"))
    rows = rows[rows["law"] == LAWS[law]]
    found = critical.exponents(rows, ["seq_len"]).iloc[0]
    return Interval(float(found["exponent"]), float(found["low"]), float(found["high"]))


class Separate(NamedTuple):
    """With orthogonal embeddings: largest change of an outcome between dimensions, draw by draw; growth of N with L."""

    change: float
    growth: Interval


def _separates() -> Separate:
    runs = [
        [
            simulate(Setting(vocab=64, seq_len=32, dim=dim, samples=256, embeddings="orthogonal", **OUT), s)
            for s in (0, 1)
        ]
        for dim in (66, 200)
    ]
    outcomes = np.array([[(run.accuracy, run.lock_on) for run in row] for row in runs])
    return Separate(float(np.abs(np.diff(outcomes, axis=0)).max()), growth("orthogonal"))


@decided_by(
    _separates,
    "Separate: N is a function of d times a function of L. If outcomes are the same at d and at three times d,"
    " draw by draw (within 0.001), the first function is a constant, and N cannot be anything else. True only"
    " where if they differ by up to 0.1, refuted if by more: d would then act in a way of its own.",
)
def orthogonal_separates(found: Separate) -> Finding:
    """Does d matter at all for orthogonal embeddings, and how does N grow with L?"""
    text = f"orthogonal, V = 64, L = 32, N = 256: accuracy and lock-on differ by {found.change:.3f} at most between "
    text += f"d = 66 and 200, in two draws; V = 256: N for lock-on grows as L^ {ends(found.growth)} from L = 64 to 256"
    return Finding(text, CONFIRMED if found.change < 0.001 else PARTLY if found.change < 0.1 else REFUTED)


def _both_grow() -> dict[str, Interval]:
    return {law: growth(law) for law in LAWS}


@decided_by(
    _both_grow,
    "Only the embeddings differ. Confirmed if the exponent of N in L is larger with random ones, by intervals"
    " that do not overlap, and by at least one half: a power of the length and no mere constant. True only where"
    " if larger by less.",
)
def interference_multiplies(found: dict[str, Interval]) -> Finding:
    """How N grows with L for random and orthogonal embeddings of the same dimension."""
    text = "d = 258, L from 64 to 256: N for lock-on grows as " + ", ".join(
        f"L^ {ends(x)} with {law} embeddings" for law, x in found.items()
    )
    random, ideal = found["random"], found["orthogonal"]
    if random.low <= ideal.high:
        return Finding(text, REFUTED)
    return Finding(text, CONFIRMED if random.mean - ideal.mean > 0.5 else PARTLY)


# The table of critical N


def _tables() -> dict[str, pd.DataFrame]:
    return {
        f"trigger {'in' if flag else 'out of'} the values": corners("accuracy", flag)[["critical", "low", "high"]]
        for flag in (False, True)
    }


ORDER = ((128, 8), (128, 256), (512, 8), (512, 256))


@decided_by(
    _tables,
    "Low, high, low, moderate: both short corners below the long one at large d, and that below the long one at"
    " small d, each by intervals that do not overlap. Confirmed if so with the trigger in and out of the values,"
    " true only where if in one case.",
)
def table_order(found: dict[str, pd.DataFrame]) -> Finding:
    """Low, high, low, moderate?"""
    text = "N for accuracy 1/2, V = 512, in the order of the table, " + "; ".join(
        f"{name}: " + ", ".join(_rounded(table.loc[corner]) for corner in ORDER) for name, table in found.items()
    )
    holds = [_ordered(table) for table in found.values()]
    return Finding(text, CONFIRMED if all(holds) else PARTLY if any(holds) else REFUTED)


def _rounded(row: pd.Series) -> str:
    return f"{rough(row['critical'])} [{rough(row['low'])}, {rough(row['high'])}]"


def _ordered(table: pd.DataFrame) -> bool:
    short = max(table.loc[corner, "high"] for corner in ((128, 8), (512, 8)))
    wide, narrow = table.loc[(512, 256)], table.loc[(128, 256)]
    return bool(short < wide["low"] and wide["high"] < narrow["low"])


def _predicted() -> pd.Series:
    found = pd.concat([corners("accuracy", flag) for flag in (False, True)])
    return found["predicted"] / found["critical"]


@decided_by(_predicted)
def table_match(found: pd.Series) -> Finding:
    """Our predictions against our observations in the corners."""
    return Finding(f"our predicted over our observed N, {len(found)} corners: {found.min():.2f} to {found.max():.2f}")
