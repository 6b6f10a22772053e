"""Means and confidence intervals over independent seeds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from recallbook.arguments import check_share, not_allowed


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
        With fewer than two values, or a level outside 0 to 1.
    """
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1 or sample.size < 2:
        raise not_allowed("values", values, "a list of at least two numbers, one for each seed")
    half = (
        stats.t.ppf((1 + check_share("level", level)) / 2, sample.size - 1) * sample.std(ddof=1) / np.sqrt(sample.size)
    )
    mean = float(sample.mean())
    return Interval(mean, mean - half, mean + half)


def over_seeds(
    frame: pd.DataFrame,
    by: list[str],
    column: str,
    level: float = 0.95,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> pd.DataFrame:
    """``mean``, ``low``, ``high`` of ``column`` and the number of ``seeds`` for each group of ``by``.

    ``within`` are the ends of the possible range, such as 0 and 1 for a fraction: intervals are cut there.
    """
    groups = frame.groupby(by, sort=True)[column]
    rows = [(*key, *seed_interval(values, level), len(values)) for key, values in groups]
    out = pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "seeds"])
    return out.assign(low=out["low"].clip(*within), high=out["high"].clip(*within))


def fitted_slope(sizes: ArrayLike, values: ArrayLike, level: float = 0.95) -> Interval:
    r"""Exponent of ``values`` in ``sizes``: slope of log on log, fitted seed by seed.

    ``values`` has shape ``(seeds, sizes)`` and must be positive. The interval is over seeds.
    """
    x = np.log(np.asarray(sizes, dtype=float))
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[1] != x.size or x.size < 2 or (table <= 0).any():
        raise not_allowed("values", values, "positive numbers, one row for each seed and one column for each size")
    slopes = np.polyfit(x, np.log(table).T, 1)[0]
    return seed_interval(slopes, level)
