"""Means and confidence intervals over independent seeds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import logit, stdtrit

from recallbook.arguments import not_allowed
from recallbook_theory.symbolic.expressions import Array


class Interval(NamedTuple):
    """Mean, and the ends of its confidence interval."""

    mean: float
    low: float
    high: float


def seed_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    r"""Mean over seeds with Student's interval $\bar x\pm t_{n-1}\,s/\sqrt n$.

    Raises
    ------
    ValueError
        With fewer than two values.
    """
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1 or sample.size < 2:
        raise not_allowed("values", values, "a list of at least two numbers, one for each seed")
    half = stdtrit(sample.size - 1, (1 + level) / 2) * sample.std(ddof=1) / np.sqrt(sample.size)
    mean = float(sample.mean())
    return Interval(mean, mean - half, mean + half)


def over_seeds(
    frame: pd.DataFrame,
    by: list[str],
    column: str,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> pd.DataFrame:
    """``mean``, ``low``, ``high`` of ``column`` and the number of ``seeds`` for each group of
    ``by``.

    ``within`` are the ends of the possible range, such as 0 and 1 for a fraction: intervals are cut
    there."""
    groups = frame.groupby(by, sort=True)[column]
    rows = [(*key, *seed_interval(values), len(values)) for key, values in groups]
    out = pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "seeds"])
    return out.assign(low=out["low"].clip(*within), high=out["high"].clip(*within))


def fitted_slope(sizes: ArrayLike, values: ArrayLike) -> Interval:
    r"""Exponent of ``values`` in ``sizes``: slope of log on log, fitted seed by seed.

    ``values`` has shape ``(seeds, sizes)`` and must be positive. The interval is over seeds.
    """
    x = np.log(np.asarray(sizes, dtype=float))
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[1] != x.size or x.size < 2 or (table <= 0).any():
        allowed = "positive numbers, one row for each seed and one column for each size"
        raise not_allowed("values", values, allowed)
    return seed_interval(np.polyfit(x, np.log(table).T, 1)[0])


FLAT = 0.005  # fractions so near to 0 or 1 do not say how near


def crossing(sizes: ArrayLike, means: ArrayLike, level: float = 0.5) -> float:
    """Where the rising curve nearest to ``means`` (isotonic regression) crosses ``level``.

    Between grid points the logit is taken as linear in the logarithm of the size: fractions rise in
    that shape, so that where the grid lies does not matter. ``inf`` if the largest size falls
    short, 0 if the smallest is enough: the answer is outside the grid."""
    x = np.log(np.asarray(sizes, dtype=float))
    rising = np.asarray(means, dtype=float)
    if (np.diff(rising) < 0).any():
        rising = isotonic_regression(rising).x
    if rising[-1] < level:
        return math.inf
    first = int(np.argmax(rising >= level))
    if first == 0:
        return 0.0
    before, goal, after = logit(np.clip([rising[first - 1], level, rising[first]], FLAT, 1 - FLAT))
    return float(
        np.exp(x[first - 1] + (goal - before) / (after - before) * (x[first] - x[first - 1]))
    )


class Curve(NamedTuple):
    """One curve: who it is, its sizes ``(n,)``, and outcomes ``(n, seeds)``."""

    key: tuple[Any, ...]
    sizes: Array
    values: Array


def curves(frame: pd.DataFrame, by: list[str], outcome: str, along: str = "samples") -> list[Curve]:
    """Curves along N, or another size, with the same seeds everywhere; ``ValueError`` where one is
    missing."""
    every, seeds = [], sorted(frame["seed"].unique())
    for key, part in frame.groupby(by, sort=True):
        table = part.pivot(index=along, columns="seed", values=outcome)
        if list(table.columns) != seeds or table.isna().any(axis=None):
            allowed = "curves with all seeds at all sizes, without failures"
            raise not_allowed("frame", dict(zip(by, key, strict=True)), allowed)
        every.append(Curve(key, table.index.to_numpy(dtype=float), table.to_numpy(dtype=float)))
    return every


def log_crossing(
    sizes: Array, values: Array, level: float, seeds: slice | NDArray[np.intp] = slice(None)
) -> float:
    """Logarithm of the crossing of the mean over these seeds; at the ends of the grid where it is
    outside."""
    size = crossing(sizes, values[:, seeds].mean(axis=1), level)
    return math.log(min(max(size, sizes[0]), sizes[-1]))
