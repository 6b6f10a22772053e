r"""Critical N and its exponents, rung by rung, from the sweep's table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies import grids
from recallbook_studies.ch12 import ladder
from recallbook_studies.critical import critical_table, exponents

SIZES = ["vocab", "seq_len", "dim"]
NOTHING = dict.fromkeys(("exponent", "low", "high", "curves", "outside"), math.nan)


def critical(frame: pd.DataFrame, outcome: str = "accuracy", level: float = 0.5) -> pd.DataFrame:
    """Critical N of every rung and shape, with its interval over seeds."""
    return critical_table(frame, ["rung", *SIZES], outcome=outcome, level=level)


def along(frame: pd.DataFrame, size: str) -> pd.DataFrame:
    """The rows where the other two sizes are the base's."""
    return grids.at(frame, **{name: ladder.BASE[name] for name in SIZES if name != size})


def at_base(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows at the base's sizes."""
    return grids.at(frame, **ladder.BASE)


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


def coverage(vocab: int, level: float) -> float:
    r"""Number of sequences that show a share ``level`` of the facts: $-V\log(1-\text{level})$. No
    model needs fewer.

    Up to what guessing adds.
    """
    return -vocab * float(np.log1p(-level))


def seen(vocab: int, samples: Any) -> Any:
    """Expected share of the facts that this many sequences show."""
    return 1 - (1 - 1 / vocab) ** samples
