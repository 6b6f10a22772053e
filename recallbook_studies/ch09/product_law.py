"""Do sizes multiply? Tests and pictures of product laws of the critical size."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import isotonic_regression

from recallbook.analysis.intervals import check_target, crossing, curves, log_crossing
from recallbook.arguments import not_allowed


class Separability(NamedTuple):
    """Test of a product law: ``p_value`` and ``f`` of Hotelling's test that all interactions
    vanish.

    ``interaction`` is what is left of the mean $\\log$ critical size after row and column effects,
    one row for each value of the first size; ``censored`` is the fraction of curves that did not
    cross on their grid."""

    p_value: float
    f: float
    interaction: pd.DataFrame
    censored: float


def separability(
    frame: pd.DataFrame,
    first: str,
    second: str,
    *,
    vary: str = "samples",
    outcome: str = "lock_on",
    level: float = 0.5,
) -> Separability:
    r"""Is $\log N_c$ a function of one size plus a function of the other?

    Every seed has its own table of critical sizes. Its interactions (differences of differences)
    are independent from seed to seed, with mean zero under a product law of any form; Hotelling's
    $T^2$ tests that. Curves that do not cross count at the end of their grid, so few may."""
    check_target(outcome, level)

    every = curves(frame, [first, second], vary, outcome)
    rows, columns = (sorted(frame[name].unique()) for name in (first, second))
    seeds = every[0].values.shape[1]
    wanted = (len(rows) - 1) * (len(columns) - 1)
    if len(every) != len(rows) * len(columns) or wanted < 1 or seeds <= wanted:
        allowed = f"a full table of {first} and {second}, at least 2 x 2, with more seeds than interactions"
        raise not_allowed("frame", f"{len(every)} curves, {seeds} seeds", allowed)
    logs = np.array(
        [[log_crossing(c.sizes, c.values[:, [i]], level) for c in every] for i in range(seeds)]
    )
    outside = [
        crossing(c.sizes, c.values[:, i], level) in (0.0, math.inf)
        for c in every
        for i in range(seeds)
    ]
    table = logs.reshape(seeds, len(rows), len(columns))
    differences = np.diff(np.diff(table, axis=1), axis=2).reshape(seeds, wanted)
    middle, spread = (
        differences.mean(axis=0),
        np.cov(differences, rowvar=False).reshape(wanted, wanted),
    )
    squared = seeds * float(middle @ np.linalg.solve(spread, middle))
    f = squared * (seeds - wanted) / ((seeds - 1) * wanted)
    mean = table.mean(axis=0)
    left = mean - mean.mean(axis=0) - mean.mean(axis=1, keepdims=True) + mean.mean()
    interaction = pd.DataFrame(
        left, index=pd.Index(rows, name=first), columns=pd.Index(columns, name=second)
    )
    p_value = float(stats.f.sf(f, wanted, seeds - wanted))
    return Separability(p_value, f, interaction, float(np.mean(outside)))


def collapse(frame: pd.DataFrame, axis: str, outcome: str, by: list[str]) -> float:
    """Root mean square distance of the curves' means over seeds from the one rising curve in
    ``axis`` nearest to all.

    0 if all curves fall together; ``by`` names what a mean over seeds keeps apart.
    """
    means = frame.groupby([*by, axis], sort=True)[outcome].mean().reset_index().sort_values(axis)
    rising = isotonic_regression(means[outcome].to_numpy()).x
    return float(np.sqrt(np.mean((means[outcome].to_numpy() - rising) ** 2)))


def relative(frame: pd.DataFrame, table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rows of results with ``relative``: their number of sequences over the critical one of their
    row of ``table``."""
    merged = frame.merge(table[[*by, "predicted"]], on=by, how="inner", validate="many_to_one")
    return merged.assign(relative=merged["samples"] / merged["predicted"])


def local_slopes(
    table: pd.DataFrame, along: str, by: str | list[str] | None, column: str
) -> dict[Any, list[float]]:
    """Slopes of the logarithm of a column between neighbouring sizes ``along``, for each group;
    finite rows only."""
    known = table[np.isfinite(table[column]) & (table[column] > 0)].sort_values(along)
    found = {}
    for key, rows in known.groupby(by) if by else [("", known)]:
        slopes = np.diff(np.log(rows[column])) / np.diff(np.log(rows[along]))
        if len(slopes):
            found[key] = slopes.tolist()
    return found
