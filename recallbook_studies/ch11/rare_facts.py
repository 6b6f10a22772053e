r"""Step 3 when facts are not equally frequent, with perfect attention: the error against $N$ and
$d$. Ours.

Facts follow Zipf's law $p_v=p_1v^{-\alpha}$, the error is weighted by frequency. Memories of this
kind, a sum of outer products under Zipf's law, are those of Cabannes, Dohmatob and Bietti (arXiv
2310.02984); constants and exponents here are derived from this model's own noises, and measured.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from recallbook.theory.symbolic.expressions import N, d, tau

alpha = sp.Symbol("alpha", positive=True)  # exponent of Zipf's law
p1 = sp.Symbol("p_1", positive=True)  # the most frequent fact
weight, wrong = sp.symbols(
    "f_v f_k", nonnegative=True
)  # weights of the asked fact and of a wrong label's own
squares = sp.Symbol("F_2", positive=True)  # sum of squared weights of all facts
own_pull, wrong_pull = sp.symbols(
    "g_v g_k", real=True
)  # parts of g along the right and the wrong label
pull = sp.Symbol("g2", nonnegative=True)  # |g|^2
own_zero, wrong_zero = sp.symbols("c_v c_k", nonnegative=True)  # predictions at zero
lengths = sp.Symbol("lambda", nonnegative=True)  # variance of a squared length
chance = sp.Symbol("xi", real=True)  # deviation of the right logit


def signal() -> sp.Expr:
    r"""Weight of the asked fact along its own label, $f_v(1-c_v)$."""
    return weight * (1 - own_zero)


@cache
def wrong_variance() -> sp.Expr:
    r"""Variance of a wrong label's logit; with $c=0$,

    $$(1+\tau)\Big(\frac{F_2-f_v^2-f_k^2}{d^2}+\frac{f_k^2}d\Big)+\tau\frac{\lvert
    g\rvert^2}d+\frac{f_v^2}d.$$

    All facts interfere through both embeddings; the label's own fact through the input alone, which
    is why frequent labels win; label frequencies and the asked fact through the output alone."""
    others = sp.Max(squares - weight**2 - wrong**2, 0)
    own = wrong**2 * (1 - 2 * wrong_zero) + wrong_zero**2 * squares
    return (1 + tau) * (others / d**2 + own / d) + tau * pull / d + signal() ** 2 / d


@cache
def right_variance() -> sp.Expr:
    r"""Variance of the right logit: the other facts, $g$, and $\lambda$, that of squared lengths of
    embeddings.

    Lengths count as far as the noise does not grow with them: of $|u_v|^2$ that of the asked fact,
    its share $o$ of the wrong label's variance, and of $|z_v|^2$ all do: $\lambda\big((1-\frac
    o2)^2+\frac{(1-o)^2}4\big)$."""
    share = signal() ** 2 / d / wrong_variance()
    long = lengths * ((1 - share / 2) ** 2 + (1 - share) ** 2 / 4) * signal() ** 2
    return (1 + tau) * (squares - weight**2) / d**2 + tau * pull / d + long


@cache
def margin() -> sp.Expr:
    r"""Right logit over a wrong label's, in standard deviations of the latter.

    Means are $f_v(1-c_v)+\tau g_v$ and $\tau g_k-c_kf_v$; ``xi`` is the right logit's own chance.
    """
    right = signal() + tau * own_pull + chance * sp.sqrt(sp.Max(right_variance(), 0))
    return (right - tau * wrong_pull + wrong_zero * weight) / sp.sqrt(wrong_variance())


@cache
def uncovered_law() -> sp.Expr:
    r"""For $\alpha>1$, $Np_1\gg1\gg Np_V$: $\frac{\Gamma(1-1/\alpha)}\alpha
    p_1^{1/\alpha}N^{-(1-1/\alpha)}$."""
    return sp.gamma(1 - 1 / alpha) / alpha * p1 ** (1 / alpha) * N ** -(1 - 1 / alpha)


def plain_floor() -> sp.Expr:
    r"""Error that no $N$ removes with equal loss weights, $\alpha>1$: $p_1I\,d^{-(1-1/\alpha)/2}$.

    A fact loses against a label $k$ whose own fact weighs $p_k\ge\sqrt d\,p_v$, as often as not. In
    $y=vd^{-1/(2\alpha)}$ recall is $\prod_k\Phi\big((k/y)^\alpha\big)$, and $I=\int_0^\infty
    y^{-\alpha}\big(1-\prod_k\Phi\big)\,dy$ (``rare_located.floor_integral``), for $\tau=0$;
    interference of all facts is smaller by $d^{-1/2}$."""
    return p1 * sp.Symbol("I", positive=True) * d ** (-(1 - 1 / alpha) / 2)
