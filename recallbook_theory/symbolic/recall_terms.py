r"""Step 3 in the early-phase limit: signal and noise when $W_V^{(2)}/\gamma$ is asked for a located
token.

A logit of label $k$ is $u_k^\top g$ with $g=\sum_jq_j\tilde u_j$ (eq-asked, chapter 6): the sum
over facts $j$ of how often each was located, times how much it overlaps with the asked vector
$h=z_v+\tau t$. Overlaps are taken in feature space, where the MLP's features replace $h$;
:data:`LINEAR` gives them for Attention-only."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import sympy as sp

from recallbook_theory.symbolic.expressions import N, V, d, tau

# how often the asked fact, and a wrong label's fact, were located
n, k = sp.symbols("n k", nonnegative=True)
mu = sp.Symbol("mu", positive=True)  # mean of these counts
# variance of their means from token to token: some are located more easily
nu = sp.Symbol("nu", nonnegative=True)
mislocated = sp.Symbol("omega", nonnegative=True)  # sequences that located a wrong token
# of these, the ones that located the asked token itself
decoys = sp.Symbol("chi", nonnegative=True)
H = sp.Symbol("H", positive=True)  # square of the asked vector
theta = sp.Symbol("theta", real=True)  # what every stored vector shares with it: tau t.h
theta2 = sp.Symbol("theta2", nonnegative=True)  # mean square of that
# variance of the overlap with a stored vector, at infinite width
J = sp.Symbol("J", nonnegative=True)
F = sp.Symbol("F", nonnegative=True)  # what a finite width adds to it
# mean square of the overlap with a token located wrongly, without the trigger
B = sp.Symbol("B", nonnegative=True)
again = sp.Symbol("g", real=True)  # overlap with the asked token where it is located wrongly
b = sp.Symbol("b", positive=True)  # |u_v|^2
xi = sp.Symbol("xi", real=True)  # part of the other facts along u_v, in standard deviations
r = sp.Symbol("r", positive=True)  # squared length of their part across u_v, over its mean

# 1, or 0 to remove a source of noise and see what it costs
SWITCHES = dict(
    zip(
        ("label frequencies", "interference", "label overlap", "own fact", "MLP noise"),
        sp.symbols("s_f s_i s_o s_w s_m", nonnegative=True),
        strict=True,
    )
)
LINEAR = {
    H: 1 + tau,
    theta: tau,
    theta2: tau**2,
    J: (1 + tau) / d,
    F: 0,
    B: (1 + tau) / d,
    again: 1,
}  # typical draw


class RecallTerms(NamedTuple):
    """Right logit; variance of a wrong logit without its own fact; and how its own weight enters
    it, per unit."""

    signal: sp.Expr
    noise: sp.Expr
    pull: sp.Expr


def others_square() -> sp.Expr:
    r"""$C=\sum_jq_j^2$ over all facts but the asked one and the wrong label's own, which are
    counted apart.

    Poisson counts times Gaussian overlaps, plus the shared part, plus wrong locations.
    """
    spread = (V - 2) * (mu**2 + nu + mu)
    interference = spread * J + mislocated * B + decoys * again**2
    shared = (V - 2) * theta2 * (nu + mu)
    parts = {"interference": interference, "label frequencies": shared, "MLP noise": spread * F}
    return sum((SWITCHES[name] * part for name, part in parts.items()), start=sp.Integer(0)) / N**2


@cache
def others_variance() -> sp.Expr:
    r"""Relative variance of $r$: that of a product of $\chi^2_{d-1}$ and $\chi^2_{V-1}$."""
    return sp.expand((1 + 2 / (d - 1)) * (1 + 2 / (V - 1)) - 1)


@cache
def recall_terms() -> RecallTerms:
    r"""Signal and noise given the asked fact's count $n$ and what the draw fixes.

    The shared part $\theta\sum_jf_j\tilde u_j$ loses its mean because $\sum_j\tilde u_j=0$, so the
    asked fact weighs $(nH-\theta\mu)/N$, which is $\frac xV$ of (eq-signal, chapter 6) at typical
    lengths. Given $g$, a wrong label's $u_k$ has mean $q_k\,e/C$ and is isotropic around it."""
    C = others_square()
    across = r * (d - 1) * C / d
    asked = (n * H - theta * mu) / N * sp.sqrt(b)
    answer = asked + sp.sqrt(C / d) * xi  # g along u_v
    # what a wrong label's own fact adds, per unit of its weight, is left as it is when a source is
    # switched off
    whole = C.subs(dict.fromkeys(SWITCHES.values(), 1))
    along = sp.sqrt(whole / d) * xi
    return RecallTerms(
        signal=sp.sqrt(b) * answer,
        noise=(SWITCHES["label overlap"] * answer**2 + across) / d,
        pull=r * (d - 1) / d + along * (asked + along) / whole,
    )


@cache
def own_mean() -> sp.Expr:
    r"""Mean weight of a wrong label's own fact, seen $k$ times: $\theta(k-\mu)/N$."""
    return SWITCHES["label frequencies"] * theta * (k - mu) / N


@cache
def own_variance() -> sp.Expr:
    r"""Variance of that weight through the overlap with the asked vector: $(k/N)^2(J+F)$."""
    return SWITCHES["own fact"] * (k / N) ** 2 * (J + F)


@cache
def mean_squares(mlp: bool = False) -> dict[str, sp.Expr]:
    r"""Mean square of a wrong logit by origin, over the squared right one, at the typical draw with
    perfect attention: the parts of (eq-recall-ratio, chapter 6), and of (eq-mlp-budget, chapter 7).

    Every count is at its mean and $|u|^2=1$. Attention-only with $|t|^2=|z|^2=1$, $h=z_v+\tau t$
    inserted; with ``mlp`` the overlaps in feature space are left as symbols."""
    typical = {
        mu: N / V,
        nu: 0,
        n: N / V,
        mislocated: 0,
        decoys: 0,
        b: 1,
        xi: 0,
        r: 1,
        **({} if mlp else LINEAR),
    }
    right = ((n * H - theta * mu) / N).subs(typical)
    others, count = others_square().subs(typical), N / V
    only = {
        name: {s: int(s is switch) for s in SWITCHES.values()} for name, switch in SWITCHES.items()
    }
    own = (own_variance() / SWITCHES["own fact"]).subs(typical)
    parts = {
        "label frequencies": others.subs(only["label frequencies"]) / d
        + theta2.subs(typical) / N**2 * count,
        "interference": others.subs(only["interference"]) / d,
        "label overlap": right**2 / d,
        "own fact": sp.expand(own).subs(k**2, count**2 + count),
        "MLP noise": others.subs(only["MLP noise"]) / d,
    }
    return {name: sp.factor(part / right**2) for name, part in parts.items() if part != 0}
