r"""What rare facts cost under Zipf's law where attention cannot miss ($L=1$): facts that were never
seen, and facts that frequent ones outweigh. Ours.

Facts follow Zipf's law $p_v=p_1v^{-\alpha}$, the error is weighted by frequency; the trigger is out
of the values. Memories of this kind, a sum of outer products under Zipf's law, are those of
Cabannes, Dohmatob and Bietti (arXiv 2310.02984).
"""

from __future__ import annotations

import sympy as sp

from recallbook_theory.symbolic.expressions import N, d

alpha = sp.Symbol("alpha", positive=True)  # exponent of Zipf's law
p1 = sp.Symbol("p_1", positive=True)  # the most frequent fact
integral = sp.Symbol("I", positive=True)  # of the floor, see floor_law


def uncovered_law() -> sp.Expr:
    r"""For $\alpha>1$, $Np_1\gg1\gg Np_V$: $\frac{\Gamma(1-1/\alpha)}\alpha
    p_1^{1/\alpha}N^{-(1-1/\alpha)}$."""
    return sp.gamma(1 - 1 / alpha) / alpha * p1 ** (1 / alpha) * N ** -(1 - 1 / alpha)


def floor_law() -> sp.Expr:
    r"""Error that no $N$ removes with equal loss weights, $\alpha>1$: $p_1I\,d^{-(1-1/\alpha)/2}$.

    A fact loses against a label $k$ whose own fact weighs $p_k\ge\sqrt d\,p_v$, as often as not. In
    $y=vd^{-1/(2\alpha)}$ recall is $\prod_{k\ge1}\Phi\big((k/y)^\alpha\big)$, and
    $I=\int_0^\infty y^{-\alpha}(1-\text{recall})\,dy$; interference of all facts is smaller by
    $d^{-1/2}$."""
    return p1 * integral * d ** (-(1 - 1 / alpha) / 2)
