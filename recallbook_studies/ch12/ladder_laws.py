r"""Which laws hold at which rung: critical N and its exponents, rung by rung, from the sweep's
table."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies import grids
from recallbook_studies.ch12 import order, sizes
from recallbook_studies.ch12.rungs import LADDER, RUNGS
from recallbook_studies.critical import critical_table, exponents, predicted_size

LEVELS = (0.5, 0.9)
SIZES = ("vocab", "seq_len", "dim")
HELD = 0.9
NOTHING = dict.fromkeys(("exponent", "low", "high", "curves", "outside"), math.nan)


def critical(frame: pd.DataFrame, outcome: str = "accuracy", level: float = 0.5) -> pd.DataFrame:
    """Critical N of every rung and shape, with its interval over seeds."""
    parts = [
        critical_table(part, list(SIZES), outcome=outcome, level=level).assign(rung=name)
        for name, part in frame.groupby("rung", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def along(frame: pd.DataFrame, size: str) -> pd.DataFrame:
    """The rows where the other two sizes are the base's."""
    base = sizes.BASE._asdict()
    return grids.at(frame, **{name: base[name] for name in SIZES if name != size})


def at_base(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows at the base's sizes."""
    return grids.at(frame, **sizes.BASE._asdict())


def fitted(frame: pd.DataFrame, level: float = 0.5) -> pd.DataFrame:
    r"""Exponent of critical N for accuracy in each size for every rung, along that size alone, with
    its 95 % interval over seeds.

    Columns: ``rung``, ``size``, ``exponent``, ``low``, ``high``, ``curves`` and those ``outside``
    their grid. No numbers where fewer than two curves cross on the grid."""
    parts = []
    for name, part in frame.groupby("rung", sort=False):
        for size in SIZES:
            try:
                found = exponents(along(part, size), [size], outcome="accuracy", level=level)
            except ValueError:  # too few curves cross to tell the sizes apart
                found = pd.DataFrame([{"size": size, **NOTHING}])
            parts.append(found.assign(rung=name))
    return pd.concat(parts, ignore_index=True)


def with_theory(table: pd.DataFrame, level: float = 0.5) -> pd.DataFrame:
    """The table of critical N for accuracy with ``predicted``: what :func:`recallbook.predict` says
    of three steps there.

    Infinite where the prediction stays below the level at every N. With the trigger in or out of
    the values as the rung has it."""
    shapes = table[list(SIZES)].itertuples(index=False)
    found = [
        predicted_critical(sizes.Shape(*shape), RUNGS[name].marked_values, level)
        for name, shape in zip(table["rung"], shapes, strict=True)
    ]
    return table.assign(predicted=found)


@lru_cache
def predicted_critical(shape: sizes.Shape, marked_values: bool, level: float = 0.5) -> float:
    """The N that :func:`recallbook.predict` names for three steps at this shape."""
    return predicted_size(sizes.setting(shape, 1000, marked_values), "accuracy", level)


def coverage(vocab: int, level: float) -> float:
    r"""Number of sequences that show a share ``level`` of the facts: $-V\log(1-\text{level})$. No
    model needs fewer.

    Up to what guessing adds.
    """
    return -vocab * float(np.log1p(-level))


def seen(vocab: int, samples: int) -> float:
    """Expected share of the facts that this many sequences show."""
    return 1 - (1 - 1 / vocab) ** samples


def crossing(values: pd.Series) -> float:
    """The number of sequences, which is the index, from which on values stay above zero, on a line
    in log N. Zero if all are above, infinite if the last is not."""
    below = np.flatnonzero(values <= 0)
    if not len(below) or below[-1] == len(values) - 1:
        return math.inf if len(below) else 0.0
    ends = slice(below[-1], below[-1] + 2)
    return float(np.exp(np.interp(0, values.iloc[ends], np.log(values.index[ends]))))


def dearer(
    frame: pd.DataFrame, size: str, level: float, largest: bool = True, outcome: str = "accuracy"
) -> pd.Series:
    """Whether one end of a size needs clearly more sequences than the other: intervals of N that do
    not overlap.

    ``largest``: whether the largest size is to be the dearer one, or the smallest. Beyond the grid
    N lies between its last number and infinity, below it between zero and its first; where both
    ends lie beyond, neither is dearer."""
    found = {}
    for name, part in along(frame, size).groupby("rung", sort=False):
        table = critical_table(part, [size], level=level, outcome=outcome).set_index(size)
        first, last = (_ends(part, table, size, end(table.index)) for end in (min, max))
        cheap, dear = (first, last) if largest else (last, first)
        found[name] = dear[0] >= cheap[1] and dear != cheap
    return pd.Series(found, dtype=bool)


def _ends(frame: pd.DataFrame, table: pd.DataFrame, size: str, value: int) -> tuple[float, float]:
    """Interval of critical N at one value of a size."""
    row, counts = table.loc[value], frame.loc[frame[size] == value, "samples"]
    if row["critical"] == 0:
        return 0.0, float(counts.min())
    if row["critical"] == math.inf:
        return float(counts.max()), math.inf
    return float(row["low"]), float(row["high"])


def held(frame: pd.DataFrame, first: pd.DataFrame) -> pd.DataFrame:
    r"""Which law holds at which rung of the ladder: a row for each rung, a column of booleans for
    each law.

    ``predicted N``: the interval of critical N at the base meets 0.8 to 1.25 times the predicted
    one. ``first step``: mean cosine with the theory's first update at least 0.9 at the base. ``L
    costs attention``, ``d saves attention``: N for lock-on 0.9 is larger at the longest length, or
    the smallest dimension, than at the other end (:func:`dearer`). ``L costs data``: so is N for
    accuracy 0.5 or 0.9 at the longest. ``d² cap``: at the smallest d accuracy stays below 0.9 at
    every N. ``locates first``: lock-on passes 1/2 before recall in more runs than after it. ``locks
    on``: mean lock-on at least 0.9 at the base and the largest N. ``coverage``: no rung needs
    clearly fewer than
    :func:`coverage`. Rungs that were trained at every shape.
    """
    ladder = [rung.name for rung in LADDER if sizes.shapes_of(rung) == sizes.shapes()]
    base = at_base(frame)
    cosine = base.groupby("rung")["cosine"].mean()
    times = order.phases(first).set_index("rung")
    table = with_theory(critical(base)).set_index("rung")
    narrow = grids.at(frame, dim=min(sizes.DIMS)).groupby(["rung", "samples"])["accuracy"].mean()
    last = base[base["samples"] == base.groupby("rung")["samples"].transform("max")]
    attention: dict[str, Any] = {"level": HELD, "outcome": "lock_on"}
    columns = {
        "predicted N": (table["high"] >= table["predicted"] / 1.25)
        & (table["low"] <= 1.25 * table["predicted"]),
        "first step": (cosine >= HELD) | cosine.isna(),
        "L costs attention": dearer(frame, "seq_len", **attention),
        "d saves attention": dearer(frame, "dim", largest=False, **attention),
        "d² cap": narrow.groupby("rung").max() < HELD,
        "L costs data": dearer(frame, "seq_len", LEVELS[0]) | dearer(frame, "seq_len", LEVELS[1]),
        "locates first": (times["lock_on_first"] > times["recall_first"]) | times["runs"].isna(),
        "locks on": last.groupby("rung")["lock_on"].mean() >= HELD,
        "coverage": table["high"] >= coverage(sizes.VOCAB, 0.5),
    }
    return pd.DataFrame(columns).reindex(ladder).astype(bool)
