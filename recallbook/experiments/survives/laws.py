r"""Which laws hold at which rung: critical N and its exponents, rung by rung, from the sweep's table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from recallbook.analysis.critical import critical_table, exponents, predicted_size
from recallbook.experiments.survives import sizes
from recallbook.practice.rungs import LADDER, RUNGS

LEVELS = (0.5, 0.9)
SIZES = ("vocab", "seq_len", "dim")
TIMES = ("step_lock_on", "step_recall", "step_accuracy")


def critical(frame: pd.DataFrame, outcome: str = "accuracy", level: float = 0.5) -> pd.DataFrame:
    """Critical N of every rung and shape, with its interval over seeds."""
    parts = [
        critical_table(part, list(SIZES), outcome=outcome, level=level).assign(rung=name)
        for name, part in frame.groupby("rung", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def along(frame: pd.DataFrame, size: str) -> pd.DataFrame:
    """The rows where the other two sizes are the base's."""
    base = sizes.shapes()[0]._asdict()
    fixed = [name for name in SIZES if name != size]
    return frame[np.logical_and.reduce([frame[name] == base[name] for name in fixed])]


def fitted(frame: pd.DataFrame, outcome: str = "accuracy", level: float = 0.5) -> pd.DataFrame:
    r"""Exponent of critical N in each size for every rung, along that size alone, with its 95 % interval over seeds.

    Columns: ``rung``, ``size``, ``exponent``, ``low``, ``high``, ``curves`` and those ``outside`` their grid. No
    numbers where fewer than two curves cross on the grid.
    """
    parts = []
    for name, part in frame.groupby("rung", sort=False):
        for size in SIZES:
            parts.append(_exponent(along(part, size), size, outcome, level).assign(rung=name))
    return pd.concat(parts, ignore_index=True)


def _exponent(frame: pd.DataFrame, size: str, outcome: str, level: float) -> pd.DataFrame:
    found = critical_table(frame, [size], outcome=outcome, level=level, resamples=2)["critical"]
    crossed = int(((found > 0) & np.isfinite(found)).sum())
    if crossed > 1:
        return exponents(frame, [size], outcome=outcome, level=level)
    empty = {"exponent": np.nan, "low": np.nan, "high": np.nan, "curves": crossed, "outside": len(found) - crossed}
    return pd.DataFrame({"size": [size], **empty})


def with_theory(table: pd.DataFrame, outcome: str = "accuracy", level: float = 0.5) -> pd.DataFrame:
    """The table of critical N with ``predicted``: what :func:`recallbook.predict` says of three steps there.

    Infinite where the prediction stays below the level at every N. With the trigger in or out of the values as the
    rung has it.
    """
    known: dict[tuple[bool, sizes.Shape], float] = {}
    for marked in (False, True):
        for shape in {sizes.Shape(*key) for key in table[list(SIZES)].itertuples(index=False)}:
            setting = sizes.setting(shape, 1000, marked_values=marked)
            known[marked, shape] = predicted_size(setting, outcome, level)
    keys = zip(table["rung"], *(table[name] for name in SIZES), strict=True)
    return table.assign(predicted=[known[RUNGS[name].marked_values, sizes.Shape(*shape)] for name, *shape in keys])


def coverage(vocab: int, level: float) -> float:
    r"""Number of sequences that show a share ``level`` of the facts: $-V\log(1-\text{level})$. No model needs fewer.

    Up to what guessing adds.
    """
    return -vocab * float(np.log1p(-level))


def phases(frame: pd.DataFrame) -> pd.DataFrame:
    """When each rung got there, over the runs that ended above 1/2 in accuracy: median steps, and how often lock-on
    came strictly before recall. ``runs``: how many there are.
    """
    late = frame[(frame["accuracy"] > 0.5) & frame["step_lock_on"].notna()]
    table = late.groupby("rung")[list(TIMES)].median()
    earlier = (late["step_lock_on"] < late["step_recall"]).groupby(late["rung"]).mean()
    runs = late.groupby("rung").size()
    return table.assign(lock_on_first=earlier, runs=runs).reindex([rung.name for rung in LADDER]).reset_index()
