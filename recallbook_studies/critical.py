r"""Critical sizes, where a mean over seeds crosses a level, and the exponents with which they grow.

A critical size is found by bisection on paired draws (:func:`critical_size`), or read off a grid
(:func:`critical_table`). Seeds are the only independent draws, so every interval resamples whole
seeds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from recallbook.arguments import check_choice, check_rate, check_size, not_allowed
from recallbook.setting import Setting
from recallbook.sweeps.point import Point
from recallbook.sweeps.run import run_sweep
from recallbook.theory.prediction import predict, predicted_lock_on
from recallbook.theory.search import bracket
from recallbook_studies.intervals import check_target, crossing, curves, log_crossing

VARIED = ("samples", "dim", "width")
RESAMPLES = 400
LARGEST = 2**20
Array = NDArray[np.float64]


class Critical(NamedTuple):
    """A critical size between two tested ones; infinite if even the largest falls short.

    The mean outcome is ``below`` the level at ``low`` and ``above`` it at ``high``. ``low`` is 0
    and ``below`` is not a number if the smallest size is enough; ``above`` is not a number if the
    largest is not."""

    size: float
    low: float
    high: float
    below: float
    above: float


def critical_size(
    setting: Setting,
    vary: str = "samples",
    outcome: str = "lock_on",
    level: float = 0.5,
    seeds: Iterable[int] = range(10),
    *,
    tolerance: float = 0.1,
    smallest: int = 1,
    largest: int = LARGEST,
    test_samples: int = 4000,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Critical:
    r"""Size at which the mean outcome over seeds reaches a level, by bracketing and bisection on
    paired draws.

    From the setting's own size, doubled or halved until two sizes lie on different sides of the
    level; then bisected on the logarithmic scale. Both ends are always simulated, with the same
    seeds.

    Parameters
    ----------
    setting : Setting
        Everything but the size that varies, and where to start.
    vary : str
        ``"samples"``, ``"dim"`` or ``"width"``.
    outcome : str
        ``"accuracy"``, ``"lock_on"`` or ``"recall"``.
    level : float
        Between 0.005 and 0.995.
    tolerance : float
        Largest ``high / low - 1`` at the end, unless they are neighbours.
    smallest, largest : int
        Ends of the search.
    executor, store, progress
        As in :func:`recallbook.run_sweep`. With a store a search that was killed goes on where it
        was.

    Returns
    -------
    Critical
        ``size`` is interpolated between the ends on the logarithmic scale.

    Raises
    ------
    ValueError
        If a name, level or size is not allowed.
    RuntimeError
        If a simulation failed.
    """
    check_target(outcome, level)
    check_choice("vary", vary, VARIED)
    check_rate("tolerance", tolerance)
    start = getattr(setting, vary)
    start = check_size(vary, start)
    if not check_size("smallest", smallest) <= start <= check_size("largest", largest):
        raise not_allowed(
            vary, start, f"from smallest={smallest} to largest={largest}, to start from"
        )
    chosen = list(seeds)
    if not chosen:
        raise not_allowed("seeds", chosen, "at least one seed")

    def mean(size: int) -> float:
        changed: dict[str, Any] = {vary: size}
        points = [
            Point(replace(setting, **changed), seed, test_samples=test_samples) for seed in chosen
        ]
        frame = run_sweep(points, executor, store, progress=progress)
        if frame["error"].notna().any():
            raise RuntimeError(f"{vary}={size}: " + frame["error"].dropna().iloc[0])
        return float(frame[outcome].mean())

    return _crossing(mean, level, start, tolerance=tolerance, smallest=smallest, largest=largest)


def predicted_size(
    setting: Setting, outcome: str = "lock_on", level: float = 0.5, *, largest: int = 2**27
) -> float:
    """Number of sequences at which the *predicted* outcome reaches the level; infinite where it
    does not.

    As :func:`recallbook.critical_samples`, for lock-on and recall too, and with no simulation.
    Warnings that a size is outside the range where predictions were checked are not shown: the
    search goes there."""
    check_target(outcome, level)

    def mean(size: int) -> float:
        at = replace(setting, samples=size)
        return (
            predicted_lock_on(at, warn=False)
            if outcome == "lock_on"
            else getattr(predict(at, warn=False), outcome)
        )

    return _crossing(mean, level, setting.samples, tolerance=0.01, largest=largest).size


def _crossing(mean: Callable[[int], float], level: float, start: int, **search: Any) -> Critical:
    found: dict[float, float] = {0: math.nan, math.inf: math.nan}

    def reached(size: int) -> bool:
        found[size] = mean(size)
        return found[size] >= level

    low, high = bracket(reached, start, logarithmic=True, **search)
    below, above = found[low], found[high]
    if low == 0 or high == math.inf:
        return Critical(high, float(low), float(high), below, above)
    return Critical(
        low * (high / low) ** ((level - below) / (above - below)),
        float(low),
        float(high),
        below,
        above,
    )


def _bootstrap(statistic: Callable[[Any], Any], seeds: int, resamples: int) -> tuple[Array, Array]:
    """Ends of Student's interval with the bootstrap's standard error over whole seeds.

    Percentiles of so few seeds cover too rarely; for a mean this is Student's own interval.
    """
    if seeds < 2:
        raise not_allowed("seeds", seeds, "at least 2, to see how much they differ")
    drawn = stats.bootstrap(
        (np.arange(seeds),),
        statistic,
        n_resamples=check_size("resamples", resamples),
        vectorized=False,
        method="percentile",
        random_state=np.random.default_rng(0),
    ).bootstrap_distribution
    error = np.nanstd(drawn, axis=-1, ddof=1) * math.sqrt(seeds / (seeds - 1))
    centre, half = np.asarray(statistic(np.arange(seeds))), stats.t.ppf(0.975, seeds - 1) * error
    return centre - half, centre + half


def critical_table(
    frame: pd.DataFrame,
    by: list[str],
    *,
    vary: str = "samples",
    outcome: str = "lock_on",
    level: float = 0.5,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Critical size of every curve on a grid: ``critical``, with the ends ``low`` and ``high`` of its
    95 % interval over seeds.

    One row for each group of ``by``, with the number of ``seeds``. The interval is not a number
    where the crossing is outside the grid."""
    check_target(outcome, level)
    rows = []
    for key, sizes, values in curves(frame, by, vary, outcome):
        found = crossing(sizes, values.mean(axis=1), level)
        low, high = math.nan, math.nan
        if 0 < found < math.inf:
            ends = _bootstrap(
                partial(log_crossing, sizes, values, level), values.shape[1], resamples
            )
            low, high = float(np.exp(ends[0])), float(np.exp(ends[1]))
        rows.append((*key, found, low, high, values.shape[1]))
    return pd.DataFrame(rows, columns=[*by, "critical", "low", "high", "seeds"])


def with_predictions(
    table: pd.DataFrame, outcome: str = "lock_on", level: float = 0.5, **fixed: Any
) -> pd.DataFrame:
    """The table of critical ``samples`` with a column ``predicted`` (:func:`predicted_size`).

    Sizes are taken from columns of the table that are fields of a setting, all others from
    ``fixed``."""
    names = [field.name for field in fields(Setting) if field.name in table.columns]
    settings = [
        Setting(**{"samples": 1000, **fixed, **row}) for row in table[names].to_dict("records")
    ]
    return table.assign(predicted=[predicted_size(setting, outcome, level) for setting in settings])


def table_exponents(table: pd.DataFrame, sizes: list[str], column: str = "predicted") -> pd.Series:
    """Exponents of one column of a table of critical sizes, as in :func:`exponents`, without an
    interval.

    Rows where the measured size is outside its grid are left out, so that both fits are over the
    same curves."""
    inside = table[
        (table["critical"] > 0) & np.isfinite(table["critical"]) & np.isfinite(table[column])
    ]
    solve = _least_squares(inside[sizes].to_numpy())
    return pd.Series(
        solve @ np.log(inside[column].to_numpy()), index=pd.Index(sizes, name="size"), name=column
    )


def _least_squares(sizes: ArrayLike) -> Array:
    """The matrix that takes log critical sizes to exponents; ``ValueError`` if these are not
    determined."""
    table = np.asarray(sizes, dtype=float)
    design = (
        np.column_stack([np.ones(len(table)), np.log(table)]) if len(table) else np.zeros((0, 2))
    )
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise not_allowed(
            "frame",
            len(table),
            "enough curves that cross the level on their grid to tell the sizes apart",
        )
    return np.asarray(np.linalg.pinv(design)[1:], dtype=np.float64)


def exponents(
    frame: pd.DataFrame,
    sizes: list[str],
    *,
    vary: str = "samples",
    outcome: str = "lock_on",
    level: float = 0.5,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    r"""Exponents $a_k$ of $\log N_c=a_0+\sum_ka_k\log(\text{size}_k)$, by least squares over all
    curves.

    Rows: one for each of ``sizes``, with ``exponent``, the ends ``low`` and ``high`` of its 95 %
    interval (all curves recomputed from resampled whole seeds), ``curves`` used, and ``outside``:
    curves left out because they do not cross on the grid."""
    check_target(outcome, level)
    every = curves(frame, sizes, vary, outcome)
    crossed = [c for c in every if 0 < crossing(c.sizes, c.values.mean(axis=1), level) < math.inf]
    solve = _least_squares([curve.key for curve in crossed])

    def fitted(seeds: Any) -> Array:
        return np.asarray(
            solve @ [log_crossing(c.sizes, c.values[:, seeds], level) for c in crossed]
        )

    count = crossed[0].values.shape[1]
    low, high = _bootstrap(fitted, count, resamples)
    found = {"size": sizes, "exponent": fitted(np.arange(count)), "low": low, "high": high}
    return pd.DataFrame(found).assign(curves=len(crossed), outside=len(every) - len(crossed))
