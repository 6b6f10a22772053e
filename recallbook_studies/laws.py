r"""The laws that set the number of sequences, each alone and to leading order. Estimates, not
bounds; ours.

Noise is a mean square $s$ in units of the squared signal, taken from the ledger's own terms: each
is expanded along a path on which all sizes grow, at the typical draw. Variances add. A noise alone
is as large as its signal allows where $s$ times twice the logarithm of the number of competitors is
1: $2\log L$ in step 2, $2\log V$ in step 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import brentq
from scipy.special import log_ndtr

from recallbook.setting import Setting
from recallbook_theory.critical import critical_dim
from recallbook_theory.prediction import predict
from recallbook_theory.search import bracket
from recallbook_theory.symbolic import lock_terms as of_lock_on, recall_terms as of_recall
from recallbook_theory.symbolic.expressions import L, N, V, d, tau

MOST = sp.Rational(9, 10)  # of the facts
PRICE = sp.sqrt(2 * sp.log(L))  # the largest of L normal scores, at most
GROWTH = {
    V: 8,
    N: 10,
    L: 5,
    d: 8,
}  # step 2: powers of a size that grows; 1 << L << V << N << LV, d of the order of V
SMALL_DIM = {**GROWTH, d: 6}  # the same with d << V
PROPORTIONAL = {V: 1, N: 1, d: 1}  # step 3: sequences, dimensions and facts grow together
TYPICAL = {of_lock_on.T: 1, of_lock_on.Q: 1, of_lock_on.M: 1}  # the typical draw
NODES, WEIGHTS = hermegauss(64)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
WIDEST_RATIO = 40.0
LAW_OF_STEP_2 = ("mean bias", "frequency noise", "gradient noise")


def leading(expression: sp.Expr, growth: Mapping[sp.Symbol, int]) -> sp.Expr:
    """What is left of a rational function of the sizes when they grow as these powers of something
    large."""
    x = sp.Symbol("x", positive=True)
    along = sp.together(
        expression.subs({size: size * x**k for size, k in growth.items()}, simultaneous=True)
    )
    above, below = (sp.Poly(part, x) for part in sp.fraction(along))
    left = above.LC() / below.LC() * x ** (above.degree() - below.degree())
    return sp.factor(left.subs(x, 1))


@cache
def lock_on_noises(trigger_in_values: bool = False, small_dim: bool = False) -> dict[str, sp.Expr]:
    r"""Each scatter of scores over the squared score of the mark, by name: what attention must
    beat.

    For $1\ll L\ll V\ll N\ll LV$; with ``small_dim`` $d\ll V$ too, else $d$ is of the order of $V$.
    """
    typical = {**TYPICAL, tau: int(trigger_in_values)}
    growth = SMALL_DIM if small_dim else GROWTH
    score = leading(of_lock_on.trigger_score().subs(typical), growth)
    return {
        name: sp.factor(leading(term.token.subs(typical), growth) / score**2)
        for name, term in of_lock_on.lock_terms().items()
    }


@cache
def recall_noises(trigger_in_values: bool) -> dict[str, sp.Expr]:
    r"""Each mean square of a wrong logit over that of the right one, by name, with perfect
    attention.

    For large $V$, with $N/V$ and $d/V$ as they are: $\frac{(1+\tau)V}{d^2}(1+\frac VN)$ for
    interference."""
    parts = of_recall.mean_squares()
    return {
        name: leading(part.subs(tau, int(trigger_in_values)), PROPORTIONAL)
        for name, part in parts.items()
    }


@cache
def lock_on() -> dict[str, sp.Expr]:
    r"""$\sqrt{2\log L}\,L/d^{3/2}$ times $L\sqrt V$ (mean bias), $V\sqrt{L/d}$ (frequency noise),
    $V$ (gradient noise).

    The largest binds. For $d\ll V$; each is where $2\log L$ times its noise is 1.
    """
    noises = lock_on_noises(small_dim=True)
    return {name: PRICE * sp.sqrt(sp.expand(noises[name] * N**2)) for name in LAW_OF_STEP_2}


@cache
def cliff() -> sp.Expr:
    r"""$\sqrt{2\log L}\,\sqrt5\,L^2/d$: attention asks for so many sequences whatever $V$ is, so that no
    fact is read from longer ones.

    Mean bias asks for least at $V=d$, where $V/d+3+d/V$ is least. For a share of lock-on other than
    that of the price, :func:`ratio_for` stands in place of the first root."""
    square = lock_on_noises()["mean bias"] * N**2
    (best,) = sp.solve(sp.diff(square, V), V)
    return PRICE * sp.sqrt(sp.factor(square.subs(V, best)))


@cache
def label_frequencies() -> sp.Expr:
    r"""$2V\log V\,(V+d)/d$: with the trigger in the values, half of the facts are recalled."""
    return 2 * sp.log(V) * sp.factor(recall_noises(True)["label frequencies"] * N)


@cache
def superposition(trigger_in_values: bool) -> sp.Expr:
    r"""$\sqrt{2(1+\tau)V\log V}$: the dimension that half of the facts need, whatever $N$ is."""
    many = sp.limit(recall_noises(trigger_in_values)["interference"], N, sp.oo)
    return sp.sqrt(2 * sp.log(V) * sp.factor(many * d**2))


def coverage(share: sp.Expr = MOST) -> sp.Expr:
    r"""$V\log\frac1{1-\text{share}}$: this share of the facts is seen."""
    return V * sp.log(1 / (1 - share))


def samples(trigger_in_values: bool) -> dict[str, sp.Expr]:
    """All of them by name; label frequencies cost nothing without the trigger in the values."""
    laws = {**lock_on(), "coverage": coverage()}
    return {**laws, "label frequencies": label_frequencies()} if trigger_in_values else laws


def lock_on_at(ratio: float, others: float, variance: float = 1.0) -> float:
    r"""$\mathbb E\,\Phi(r+x)^K$: normal scores, $K$ other tokens, $x$ the informative token's own
    score; with a ``variance`` of 2 the mean over draws (eq-lock-on, chapter 5)."""
    return float(WEIGHTS @ np.exp(others * log_ndtr(variance**0.5 * NODES + ratio)))


def ratio_for(share: float, others: float, variance: float = 1.0) -> float:
    r"""The ratio $r$ at which :func:`lock_on_at` is ``share``, a number between chance and 1."""

    def above(ratio: float) -> float:
        return lock_on_at(ratio, others, variance) - share

    return float(brentq(above, 0, WIDEST_RATIO))


@cache
def random_dim(setting: Setting, accuracy: float) -> int | None:
    """Find the dimension in which random embeddings of the setting's other sizes do as well: the
    smallest whose predicted accuracy is at least this; ``None`` where none is."""

    def reached(dim: int) -> bool:
        return random_accuracy(setting, dim) >= accuracy

    enough = bracket(reached, min(setting.dim, 16), smallest=2).high
    return int(enough) if math.isfinite(enough) else None


def random_accuracy(setting: Setting, dim: int) -> float:
    """Predict the accuracy of Gaussian embeddings in this dimension, at the setting's other sizes."""
    return predict(replace(setting, dim=dim, embeddings="gaussian"), warn=False).accuracy


def least_dim(
    vocab: int,
    accuracy: float,
    *,
    value_steps: int = 1,
    rate: float | None = None,
    **setting: Any,
) -> int:
    """The smallest dimension whose predicted recall at perfect attention and unlimited N is this
    accuracy; to one part in a hundred after several value steps."""
    steps: dict[str, Any] = {"value_steps": value_steps, "rate": rate}
    return int(critical_dim(vocab, 1, accuracy=accuracy, warn=False, **steps, **setting))
