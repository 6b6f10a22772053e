r"""What rare facts cost under Zipf's law where attention cannot miss ($L=1$): facts that were never
seen, and facts that frequent ones outweigh. Ours.

Facts follow Zipf's law $p_v=p_1v^{-\alpha}$, the error is weighted by frequency; the trigger is out
of the values. Memories of this kind, a sum of outer products under Zipf's law, are those of
Cabannes, Dohmatob and Bietti (arXiv 2310.02984).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy as sp
from scipy.integrate import quad
from scipy.special import log_ndtr

from recallbook_theory.symbolic.expressions import N, d, numeric

alpha = sp.Symbol("alpha", positive=True)  # exponent of Zipf's law
p1 = sp.Symbol("p_1", positive=True)  # the most frequent fact
integral = sp.Symbol("I", positive=True)  # floor_integral


def uncovered_law() -> sp.Expr:
    r"""For $\alpha>1$, $Np_1\gg1\gg Np_V$: $\frac{\Gamma(1-1/\alpha)}\alpha
    p_1^{1/\alpha}N^{-(1-1/\alpha)}$."""
    return sp.gamma(1 - 1 / alpha) / alpha * p1 ** (1 / alpha) * N ** -(1 - 1 / alpha)


def floor_law() -> sp.Expr:
    r"""Error that no $N$ removes with equal loss weights, $\alpha>1$: $p_1I\,d^{-(1-1/\alpha)/2}$.

    A fact loses against a label $k$ whose own fact weighs $p_k\ge\sqrt d\,p_v$, as often as not. In
    $y=vd^{-1/(2\alpha)}$ recall is $\prod_k\Phi\big((k/y)^\alpha\big)$, and $I$ is
    :func:`floor_integral`; interference of all facts is smaller by $d^{-1/2}$."""
    return p1 * integral * d ** (-(1 - 1 / alpha) / 2)


@cache
def floor_integral(exponent: float) -> float:
    r"""$I=\int_0^\infty y^{-\alpha}\big(1-\prod_{k\ge1}\Phi((k/y)^\alpha)\big)\,dy$ of the floor,
    for $\alpha>1$."""

    def lost(y: float) -> float:
        far = 12 * max(y, 1.0)  # (k/y)^alpha beyond 12: Phi is 1 to rounding
        return float(-np.expm1(np.sum(log_ndtr((np.arange(1, far + 1) / y) ** exponent))))

    body = quad(
        lambda y: y**-exponent * lost(y), 1e-3, 60, limit=400, points=[0.1, 0.5, 1, 2, 5, 10, 20]
    )[0]
    return float(body + 60 ** (1 - exponent) / (exponent - 1))


def floor(exponent: float, dim: int, vocab: int) -> float:
    """The law of the floor; it also counts facts beyond ``vocab``, which are few if that is
    large."""
    first = 1 / float(np.sum(np.arange(1, vocab + 1, dtype=float) ** -exponent))
    own = {p1: first, integral: floor_integral(exponent), alpha: exponent, d: dim}
    return float(numeric(floor_law())(own))
