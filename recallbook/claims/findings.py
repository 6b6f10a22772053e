r"""What decides a claim: shared measurements, and what they are called.

Every check of :mod:`recallbook.claims.checks` measures, says what it found in one line, and returns a verdict.
Measurements are committed results, predictions, or simulations of a few seconds. A check that can only illustrate a
claim returns no verdict (``None``).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from recallbook.analysis import critical
from recallbook.analysis.intervals import Interval
from recallbook.experiments.scaling import four_corners, geometry, lock_on_sizes, longer_training
from recallbook.memories.associative import capacity as held, predicted_recall
from recallbook.sweeps.archive import load_results

CONFIRMED, REFUTED, PARTLY = "confirmed", "refuted", "true only where"
OUT: dict[str, Any] = {"trigger_in_values": False}
LOCKS = "lock-on"
LABELS, ONE, SHORT, LONG = "label frequencies", "one gradient", "three steps (V = 64)", "300 steps (V = 64)"


class Finding(NamedTuple):
    """What a check measured, in one line, and the verdict that follows from it, if any."""

    measured: str
    verdict: str | None = None


def ends(found: Interval, digits: int = 2) -> str:
    """A number with its 95 % interval."""
    number = f"{found.mean:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return number.replace("-", "−")


def powers(size: str, *laws: str) -> tuple[dict[str, Interval], str]:
    """Exponents of measured critical N in one size, by law, and how they are said."""
    found = {law: fitted(law)[size] for law in laws}
    symbol = {"vocab": "V", "dim": "d", "seq_len": "L"}[size]
    return found, f"exponent of N in {symbol}: " + ", ".join(f"{law} {ends(x)}" for law, x in found.items())


def rough(size: float) -> str:
    """A critical size with two digits: its interval is wider than that."""
    return f"{float(f'{size:.2g}'):,.0f}".replace("inf", "infinite")


@cache
def fitted(law: str) -> dict[str, Interval]:
    """Exponents of measured critical N, by size: lock-on, label frequencies, one gradient, three and 300 steps."""
    if law == LOCKS:
        rows = lock_on_sizes.sizes(load_results("lock_on"), False)
        by_vocab = critical.exponents(lock_on_sizes.vocabularies(load_results("lock_on"), False), ["vocab"])
        table = pd.concat([critical.exponents(rows, ["dim", "seq_len"]), by_vocab])
    elif law == LABELS:
        rows = load_results("label_frequencies").query("trigger_in_values")
        table = critical.exponents(rows, ["vocab", "dim"], outcome="accuracy")
    elif law == ONE:
        rows = load_results("one_step").query("method == 'argmax' and not trigger_in_values")
        table = critical.exponents(rows, ["vocab", "seq_len", "dim"], outcome="recall")
    else:
        rows = longer_training.labelled(load_results("longer_training"))
        rows = rows[rows["training"] == ("three steps" if law == SHORT else "one batch")]
        table = critical.exponents(rows, ["dim", "seq_len"])
    return {row.size: Interval(row.exponent, row.low, row.high) for row in table.itertuples()}


@cache
def corners(outcome: str, trigger_in_values: bool) -> pd.DataFrame:
    """Critical N in the four corners of small and large d and L."""
    return four_corners.critical(load_results("four_corners"), trigger_in_values, outcome).set_index(["dim", "seq_len"])


@cache
def laws(outcome: str, trigger_in_values: bool = False) -> pd.DataFrame:
    """Critical N for orthogonal and random embeddings by law and L."""
    table = geometry.optimism(load_results("geometry"), trigger_in_values, outcome)
    return table.set_index(["law", "seq_len"])


@cache
def facts_held(dim: int) -> int:
    """Facts that a sum of outer products recalls with accuracy 0.99, as predicted in the chapter on interference."""
    return held(lambda n: predicted_recall(n, dim, "sphere"), 0.99)
