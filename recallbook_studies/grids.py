"""Grids of settings: their points in a sweep, rows at some of their sizes, and critical N on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies.critical import critical_table, exponents, with_predictions
from recallbook_studies.intervals import Interval

FLAGS = (False, True)  # the trigger out of the values, and in them


def at(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The rows in which these columns have these values."""
    return frame[np.logical_and.reduce([frame[name] == value for name, value in values.items()])]


def factors(
    frame: pd.DataFrame, outcome: str = "accuracy", **chosen: pd.Series
) -> dict[str, Interval]:
    """Critical N for one half of an outcome in the chosen rows over that in the others, with its 95 %
    interval; seeds are resampled together."""
    # the exponent of a size that is 1 and e is the logarithm of the ratio
    rows = frame.assign(**{name: np.where(rows, math.e, 1.0) for name, rows in chosen.items()})
    ratios = exponents(rows, list(chosen), outcome=outcome).set_index("size")
    ends = np.exp(ratios[["exponent", "low", "high"]].to_numpy(float))
    return {name: Interval(*line) for name, line in zip(chosen, ends.tolist(), strict=True)}


def critical(
    frame: pd.DataFrame, by: list[str], outcome: str = "lock_on", level: float = 0.5, **fixed: Any
) -> pd.DataFrame:
    """Critical N by these sizes, measured at the ``fixed`` others and predicted."""
    table = critical_table(at(frame, **fixed), by, outcome=outcome, level=level)
    return with_predictions(table, outcome, level, **fixed)


def interactions(table: pd.DataFrame) -> pd.DataFrame:
    """What is left of the logarithm of critical N after row and column effects, by L and d: zero
    under a product law."""
    logs = np.log(table.pivot(index="seq_len", columns="dim", values="critical"))
    return logs.sub(logs.mean(axis=1), axis=0) - logs.mean() + logs.to_numpy().mean()
