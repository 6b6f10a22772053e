r"""Critical numbers of sequences, where a mean over seeds crosses a level, and the exponents with
which they grow.

Read off a grid (:func:`critical_table`), or predicted. Seeds are the only independent draws, so every
interval resamples whole seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from recallbook.arguments import not_allowed
from recallbook.setting import Setting
from recallbook_studies.intervals import crossing, curves, log_crossing
from recallbook_theory.critical import critical_samples
from recallbook_theory.symbolic.expressions import Array

RESAMPLES = 400


def _bootstrap(statistic: Callable[[Any], Any], seeds: int) -> tuple[Array, Array]:
    """Ends of Student's interval with the bootstrap's standard error over whole seeds.

    Percentiles of so few seeds cover too rarely; for a mean this is Student's own interval.
    """
    if seeds < 2:
        raise not_allowed("seeds", seeds, "at least 2, to see how much they differ")
    drawn = np.random.default_rng(0).integers(0, seeds, (RESAMPLES, seeds))
    spread = np.nanstd([statistic(chosen) for chosen in drawn], axis=0, ddof=1)
    error = spread * math.sqrt(seeds / (seeds - 1))
    centre, half = np.asarray(statistic(np.arange(seeds))), stdtrit(seeds - 1, 0.975) * error
    return centre - half, centre + half


def critical_table(
    frame: pd.DataFrame,
    by: list[str],
    *,
    outcome: str = "lock_on",
    level: float = 0.5,
    along: str = "samples",
) -> pd.DataFrame:
    """Critical N, or another size ``along`` which the outcome rises, of every curve on a grid:
    ``critical``, with the ends ``low`` and ``high`` of its 95 % interval over seeds.

    One row for each group of ``by``, with the number of ``seeds``. The interval is not a number
    where the crossing is outside the grid."""
    rows = []
    for key, sizes, values in curves(frame, by, outcome, along):
        crossed = crossing(sizes, values.mean(axis=1), level)
        low = high = math.nan
        if 0 < crossed < math.inf:
            ends = _bootstrap(partial(log_crossing, sizes, values, level), values.shape[1])
            low, high = np.exp(ends).tolist()
        rows.append((*key, crossed, low, high, values.shape[1]))
    return pd.DataFrame(rows, columns=[*by, "critical", "low", "high", "seeds"])


def with_predictions(
    table: pd.DataFrame, outcome: str = "lock_on", level: float = 0.5, **fixed: Any
) -> pd.DataFrame:
    """The table of critical ``samples`` with a column ``predicted`` (:func:`recallbook.critical_samples`).

    Sizes are taken from columns of the table that are fields of a setting, all others from
    ``fixed``."""
    names = [field.name for field in fields(Setting) if field.name in table.columns]
    rows = table[names].to_dict("records")
    asked = {"outcome": outcome, "accuracy": level, "warn": False, **fixed}
    return table.assign(predicted=[float(critical_samples(**{**asked, **row})) for row in rows])


def exponents(
    frame: pd.DataFrame, sizes: list[str], *, outcome: str = "lock_on", level: float = 0.5
) -> pd.DataFrame:
    r"""Exponents $a_k$ of $\log N_c=a_0+\sum_ka_k\log(\text{size}_k)$, by least squares over all
    curves.

    Rows: one for each of ``sizes``, with ``exponent``, the ends ``low`` and ``high`` of its 95 %
    interval (all curves recomputed from resampled whole seeds), ``curves`` used, and ``outside``:
    curves left out because they do not cross on the grid; ``ValueError`` where too few are left."""
    every = curves(frame, sizes, outcome)
    crossed = [c for c in every if 0 < crossing(c.sizes, c.values.mean(axis=1), level) < math.inf]
    keys = np.reshape([curve.key for curve in crossed], (-1, len(sizes))).astype(float)
    design = np.column_stack([np.ones(len(crossed)), np.log(keys)])
    if len(crossed) <= len(sizes) or np.linalg.matrix_rank(design) <= len(sizes):
        allowed = "enough curves that cross the level on their grid to tell the sizes apart"
        raise not_allowed("frame", len(crossed), allowed)
    solve = np.linalg.pinv(design)[1:]

    def fitted(seeds: Any) -> Array:
        logs = [log_crossing(c.sizes, c.values, level, seeds) for c in crossed]
        return np.asarray(solve @ logs)

    count = crossed[0].values.shape[1]
    low, high = _bootstrap(fitted, count)
    columns = {"size": sizes, "exponent": fitted(np.arange(count)), "low": low, "high": high}
    return pd.DataFrame(columns).assign(curves=len(crossed), outside=len(every) - len(crossed))
