r"""Step 3 in the early-phase limit: signal and noise when a located token is looked up in $W_V^{(2)}/\gamma$.

A logit of label $k$ is $u_k^\top g$ with $g=\sum_jw_j\tilde u_j$: the sum over facts $j$ of how often each was located,
times how much it overlaps with the asked vector $h=z_v+\tau t$.
"""

from __future__ import annotations

from typing import NamedTuple

import sympy as sp

from recallbook.symbolic.locking import N, V, d, tau

n, k = sp.symbols("n k", nonnegative=True)  # how often the asked fact, and a wrong label's fact, were located
mu = sp.Symbol("mu", positive=True)  # mean of these counts
nu = sp.Symbol("nu", nonnegative=True)  # variance of their means from token to token: some are located more easily
wrong = sp.Symbol("omega", nonnegative=True)  # sequences that located a wrong token
caught = sp.Symbol("chi", nonnegative=True)  # of these, the ones that located the asked token itself
again = sp.Symbol("g", real=True)  # overlap of h with the asked token where it is located wrongly, without the trigger
H = sp.Symbol("H", positive=True)  # |h|^2
theta = sp.Symbol("theta", real=True)  # tau t.h: what every stored vector shares with h
b = sp.Symbol("b", positive=True)  # |u_v|^2
xi = sp.Symbol("xi", real=True)  # stray part along u_v, in standard deviations
r = sp.Symbol("r", positive=True)  # squared length of the stray part across u_v, over its mean

# 1, or 0 to remove a source of noise and see what it costs
SWITCHES = dict(
    zip(
        ("label frequencies", "interference", "label overlap", "own fact"),
        sp.symbols("s_f s_i s_o s_w", nonnegative=True),
        strict=True,
    )
)
LOOKUP = (V, N, d, n, mu, nu, wrong, caught, again, H, theta, b, xi, r, *SWITCHES.values())


class LookupTerms(NamedTuple):
    """Right logit; variance of a wrong logit without its own fact; and how its own weight enters it, per unit."""

    signal: sp.Expr
    noise: sp.Expr
    pull: sp.Expr


def stray_square() -> sp.Expr:
    r"""$C=\sum_jw_j^2$: Poisson counts times Gaussian overlaps, plus the shared part, plus wrong locations."""
    interference = V * (mu**2 + nu + mu) * H / d + wrong * H / d + caught * again**2
    shared = V * theta**2 * (nu + mu)
    return (SWITCHES["interference"] * interference + SWITCHES["label frequencies"] * shared) / N**2


def lookup_terms() -> LookupTerms:
    r"""Signal and noise given the asked fact's count $n$ and what the draw fixes.

    The shared part $\theta\sum_jf_j\tilde u_j$ loses its mean because $\sum_j\tilde u_j=0$, so the asked fact weighs
    $(nH-\theta\mu)/N$. Given $g$, a wrong label's $u_k$ has mean $w_k\,e/C$ and is isotropic around it.
    """
    total = stray_square()
    along = sp.sqrt(total / d) * xi
    across = r * (d - 1) * total / d
    asked = (n * H - theta * mu) / N * sp.sqrt(b)
    answer = asked + along
    # what a wrong label's own fact adds, per unit of its weight, is left as it is when a source is switched off
    whole = total.subs(dict.fromkeys(SWITCHES.values(), 1))
    whole_along = sp.sqrt(whole / d) * xi
    return LookupTerms(
        signal=sp.sqrt(b) * answer,
        noise=(SWITCHES["label overlap"] * answer**2 + across) / d,
        pull=r * (d - 1) / d + whole_along * (asked + whole_along) / whole,
    )


def own_mean() -> sp.Expr:
    r"""Mean weight of a wrong label's own fact, seen $k$ times: $\theta(k-\mu)/N$."""
    return SWITCHES["label frequencies"] * theta * (k - mu) / N


def own_variance() -> sp.Expr:
    r"""Variance of that weight through the overlap $z_k^\top h$: $(k/N)^2|h|^2/d$."""
    return SWITCHES["own fact"] * (k / N) ** 2 * H / d


def mean_squares() -> dict[str, sp.Expr]:
    r"""Mean square of a wrong logit by origin, over the squared right one, at the typical draw with perfect attention.

    $|t|^2=|z|^2=|u|^2=1$, $h=z_v+\tau t$, every count at its mean.
    """
    typical = {H: 1 + tau, theta: tau, mu: N / V, nu: 0, n: N / V, wrong: 0, caught: 0, again: 1, b: 1, xi: 0, r: 1}
    right = ((n * H - theta * mu) / N).subs(typical)
    stray, count = stray_square().subs(typical), N / V
    only = {name: {s: int(s is switch) for s in SWITCHES.values()} for name, switch in SWITCHES.items()}
    own = (own_variance() / SWITCHES["own fact"]).subs(typical)
    parts = {
        "label frequencies": stray.subs(only["label frequencies"]) / d + (tau / N) ** 2 * count,
        "interference": stray.subs(only["interference"]) / d,
        "label overlap": right**2 / d,
        "own fact": sp.expand(own).subs(k**2, count**2 + count),
    }
    return {name: sp.factor(part / right**2) for name, part in parts.items()}
