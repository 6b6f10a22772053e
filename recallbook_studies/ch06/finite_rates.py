r"""What a finite $\eta$ removes of the part that all questions share, and accuracy over the plane
of rates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import sympy as sp
from numpy.typing import NDArray

from recallbook.setting import Setting
from recallbook.theory.symbolic.expressions import L, N, V, d, numeric
from recallbook.theory.values import sizes
from recallbook.training.evaluation import evaluate
from recallbook_studies.ch03.rates import in_the_limit, saturated

SEEDS = range(8)
TEST = 1000  # fresh sequences a seed
ETAS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8)  # in units of L V
Array = NDArray[np.float64]
rate = sp.Symbol("x", nonnegative=True)  # eta / (L V)


def shared_square() -> sp.Expr:
    r"""$N\|W_V^{(2)}t\|^2/\gamma^2$ at $x=\eta/(LV)$, $|t|=1$, $\tau=1$: what every question reads.
    Ours.

    In the limit it is $N|g|^2=1+\frac{1+N/V}d$ for $g=\tilde U^\top\delta f+\sum_vf_v(z_v^\top
    t)\tilde u_v$. The predictions of step 1 turn $g$ into $g-xB\,(ag+e)$ with $B=\tilde
    U^\top\tilde U$ and $a=1+L|\bar z|^2+L\,\bar z^\top t$: trigger, mean embedding, and their
    overlap are in every sequence. $e$ comes from the other tokens of each, $N|e|^2=\frac{L-1}d$. So
    $a$ has mean $1+\frac LV$ and variance $\frac{L^2}{Vd}(1+\frac2V)$. The eigenvalues of $B$ have
    mean $\beta=V/d$ and, weighted by themselves, moments $\beta(1+y)$ and $\beta^2(1+3y+y^2)$,
    $y=d/V$. Softmax is taken to first order: its curvature adds a relative 1/V."""
    y, limit = d / V, 1 + (1 + N / V) / d
    first, second = V / d * (1 + y), (V / d) ** 2 * (1 + 3 * y + y**2)
    mean, variance = 1 + L / V, L**2 / (V * d) * (1 + 2 / V)
    square = limit * (mean**2 + variance) + (L - 1) / d
    return limit - 2 * mean * rate * first * limit + rate**2 * second * square


def best_eta(setting: Setting) -> float:
    r"""The minimum of :func:`shared_square`, in units of $LV$."""
    (best,) = sp.solve(sp.diff(shared_square(), rate), rate)
    return float(numeric(best)(sizes(setting)))


def shared_squares(setting: Setting, etas: Iterable[float]) -> Array:
    r"""The values of :func:`shared_square` at these $\eta$, in units of $LV$."""
    return np.asarray(
        numeric(shared_square())({**sizes(setting), rate: np.asarray(etas, dtype=float)})
    )


def finite_eta(
    setting: Setting, seeds: Iterable[int] = SEEDS, etas: Iterable[float] = ETAS
) -> pd.DataFrame:
    r"""Three steps with the trigger in the values, finite $\eta$ and saturated attention.

    ``shared`` is $N\|W_V^{(2)}t\|^2/(\gamma^2|t|^4)$, without the part $W_V^{(1)}/\gamma$.
    """
    rows = []
    etas = list(etas)
    for seed in seeds:
        problem, limit = in_the_limit(setting, seed)
        for ratio in etas:
            weights, gamma = saturated(problem, limit, ratio)
            stored = (weights.value2 - weights.value1) / gamma @ problem.trigger
            shared = float(
                setting.samples * (stored @ stored) / (problem.trigger @ problem.trigger) ** 2
            )
            gain = evaluate(problem, weights, TEST).accuracy - limit.accuracy
            rows.append({"eta": ratio, "seed": seed, "shared": shared, "gain": gain})
    return pd.DataFrame(rows)
