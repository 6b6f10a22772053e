"""Probability that attention locks on: exact moments, and the fluctuations of its terms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, log_ndtr, ndtr, roots_hermitenorm

from recallbook.setting import Setting
from recallbook_theory.feature_kernels import near_zero
from recallbook_theory.moments import exact
from recallbook_theory.symbolic import lock_terms as symbolic
from recallbook_theory.symbolic.expressions import Array, Values, numeric
from recallbook_theory.values import (
    POINTS,
    coordinate_shape,
    effective_dim,
    lognormal_variable,
    normal,
    shared_by_tokens,
    sizes,
)

NODES, NODE_WEIGHTS = roots_hermitenorm(13)  # scores of a draw's tokens, in standard deviations
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
CERTAIN = 8.0  # standard deviations beyond which a comparison is won
TINY = 1e-300  # keeps 0/0 away where nothing scatters
SMALL_SKEW = 1e-3  # as good as none


class Lock(NamedTuple):
    """Lock-on probability of each point's own token, and of the tokens of its draw at ``NODES``
    ``(points, nodes)``.

    ``decoys`` is the share of all sequences in which the point's own token is located, and is not
    the informative one; ``draw_decoys`` the same of the tokens at the nodes."""

    token: Array
    draw: Array
    decoys: Array
    draw_decoys: Array

    @property
    def mean(self) -> Array:
        """Lock-on of each draw."""
        return np.asarray(self.draw @ NODE_WEIGHTS)

    @property
    def variance(self) -> Array:
        """Its variance from token to token."""
        return np.asarray(np.maximum(self.draw**2 @ NODE_WEIGHTS - self.mean**2, 0))


class Leading(NamedTuple):
    """What the ledger says to leading order at every point.

    The mean of the trigger's ``score`` given T and Q, the same at the ``typical`` Q = 1, and its
    ``variance`` through the noises; the variance of token scores through ``overlap`` with the
    trigger, over the squared score, through unequal ``lengths``, and their ``scatter`` through all
    noises but trigger overlap."""

    score: Array
    typical: Array
    variance: Array
    scatter: Array
    overlap: Array
    lengths: Array


class ScoreLaws(NamedTuple):
    r"""Step 2 at every point: the trigger's score $t^\top w$, variance of the scores of tokens, and
    their skewness."""

    trigger: Array
    variance: Array
    skew: Array


def values(setting: Setting, shared: Values | None = None) -> Values:
    """Values of all symbols of step 2 at every point, or where tokens share ``shared``, a value for
    each of T, Q, M."""
    known = {**sizes(setting), **(shared_by_tokens(setting) if shared is None else shared)}
    if setting.width is None:
        return known
    tau = int(setting.trigger_in_values)
    features = near_zero(
        setting.activation, setting.seq_len, setting.vocab, dim=effective_dim(setting), tau=tau
    )
    return {**known, symbolic.epsilon: 1 / setting.width, **features}


def leading_terms(setting: Setting, without: tuple[str, ...] = ()) -> Leading:
    """Evaluate the expressions of step 2 at every point, some noises left out."""
    given, mlp, zero = values(setting), setting.width is not None, np.zeros(2**POINTS)
    if not setting.law.length_variance(setting.dim):
        without = (*without, "unequal lengths")
    terms = [(name, x) for name, x in symbolic.lock_terms(mlp).items() if name not in without]
    token = {name: numeric(term.token)(given) + zero for name, term in terms}
    variance = sum((numeric(term.trigger)(given) for _, term in terms), start=zero)
    score, typical = (
        numeric(symbolic.trigger_score(mlp))(at) + zero
        for at in (given, {**given, symbolic.Q: 1.0})
    )
    overlap = _ratio(token.pop("trigger overlap", zero), score**2)
    scatter = sum(token.values(), start=zero)
    return Leading(score, typical, variance, scatter, overlap, token.get("unequal lengths", zero))


def score_laws(setting: Setting, without: tuple[str, ...] = ()) -> ScoreLaws:
    r"""Draw the scores of step 2 at every point from laws with the exact moments.

    $t^\top w=P+X$, with $P$ even and $X$ odd in the embeddings, and token scores have the variance
    $c\,(P+X)^2$, where $c$ is their overlap with the part of $w$ along $t$, and a rest ("From
    scatter to lock-on", appendix of chapter 5). Exact, at $T=|t|^2$ (prop-exact-moments, there),
    are the means of $P,P^2,X^2$ and of both parts of the variance, and for orthonormal embeddings
    of the third moment, which is kept for all. The laws are a closure: $P$ moves with $Q$ as the
    leading order does, and by a lognormal factor for what is left of its variance; $X$ is normal;
    $X^2$ and the rest move with $T,Q,M$ as the ledger's scatter does. The MLP, and what is left
    out, change all of this by what they change in the leading order, and few neurons move the
    trigger's score beyond that."""
    T = shared_by_tokens(setting)[symbolic.T] + np.zeros(2**POINTS)
    moments, leading = exact(setting), leading_terms(setting, without)
    whole = leading  # the leading order of the exact moments: Attention-only, every noise
    if setting.width is not None or without:
        whole = leading_terms(replace(setting, width=None))
    change = leading.scatter / max(whole.scatter.mean(), TINY)

    # P, the even part of the trigger's score: its exact mean and mean square given T
    mean_P, square_P = moments.score(T), moments.pull(T)
    by_Q = whole.score / whole.typical
    spread = _ratio(square_P, mean_P**2, empty=1.0) / (1 + by_Q.var()) - 1
    P = mean_P * leading.score / whole.typical / by_Q.mean()
    P = P * lognormal_variable("neurons", max(float(spread.mean()), 0.0))

    # X, its odd part: normal, with the exact mean square and what few neurons add
    square_X = np.maximum(moments.noise(T), 0)
    few = leading.variance.mean() - whole.variance.mean() * change.mean() if setting.width else 0.0
    X = np.sqrt(square_X * change + max(float(few), 0.0)) * normal("shift")

    # token scores: their overlap c with the trigger's score, and the rest
    c = _ratio(moments.overlap(T), square_P)
    rest = np.maximum(moments.scatter(T) - c * square_X, 0) * change
    c = c * _ratio(leading.overlap, whole.overlap)
    variance = c * (P + X) ** 2 + rest + TINY

    # skewness: of unequal lengths, and the exact one that orthonormal embeddings leave
    lengths = {symbolic.lengths_variance: leading.lengths, symbolic.total_variance: variance}
    skew = numeric(symbolic.skewness())({**sizes(setting), **lengths})
    skew = skew + max(moments.cube, 0) / max(variance.mean(), 1e-100) ** 1.5
    return ScoreLaws(P + X, variance, np.minimum(skew, 2.0))


def _ratio(above: Array, below: Array, empty: float = 0.0) -> Array:
    """Quotients at every point; ``empty`` where nothing is below, as in one dimension."""
    return np.divide(above, below, out=np.full(2**POINTS, empty), where=below != 0)


def lock(setting: Setting, without: tuple[str, ...] = (), nodes: Array = NODES) -> Lock:
    r"""Predict lock-on of every point: the trigger must lift its token above the others,
    $\Phi(\xi+r)^{L-1}$ with the law of scores for $\Phi$ (eq-lock-on, chapter 5)."""
    shape = 2**POINTS
    if setting.seq_len == 1:
        certain = np.ones((shape, nodes.size))
        return Lock(np.ones(shape), certain, np.zeros(shape), 0 * certain)
    scores = score_laws(setting, without)
    r = scores.trigger / np.sqrt(scores.variance)
    # for L - 1: only distinct tokens compete, and a sequence repeats some
    others = setting.vocab * -math.expm1((setting.seq_len - 1) * math.log1p(-1 / setting.vocab))
    law = StandardLaw(scores.skew, setting.dim if setting.law.geometry == "spherical" else None)
    at_nodes = law._replace(skew=scores.skew[:, None])
    own = law.quantile(normal("own"))
    drawn, shift = at_nodes.quantile(nodes), r[:, None]

    def located(
        law: StandardLaw, score: Array, shift: Array
    ) -> Array:  # in an informative one's place
        rivals = np.exp((others - 1) * law.log_below(score))
        return np.asarray(others / setting.vocab * rivals * ndtr(score - shift))

    token = np.exp(others * law.log_below(own + r))
    draw = np.exp(others * at_nodes.log_below(drawn + shift))
    return Lock(token, draw, located(law, own, r), located(at_nodes, drawn, shift))


class StandardLaw(NamedTuple):
    r"""A law of mean 0 and variance 1 at every point, as of a token's score in deviations.

    With ``sphere`` one coordinate of a point on the sphere of this dimension. Otherwise Pearson's
    third law, a gamma variable with the ``skew`` of each point, through Wilson and Hilferty's cube
    root: $\Gamma/k=(1-s+\sqrt s\,\xi)^3$ with $s=\frac1{9k}$, shape $k=4/\text{skew}^2$ and $\xi$
    standard normal."""

    skew: Array
    sphere: int | None

    def quantile(self, xi: Array) -> Array:
        """Quantiles at the levels that a standard normal variable has at ``xi``."""
        if self.sphere is not None:
            half = coordinate_shape(self.sphere)
            return np.asarray(math.sqrt(self.sphere) * (2 * betaincinv(half, half, ndtr(xi)) - 1))
        s = self.scale
        return np.asarray(((1 - s + np.sqrt(s) * xi) ** 3 - 1) / (3 * np.sqrt(s)))

    def log_below(self, score: Array) -> Array:
        """Log probability of being less."""
        if self.sphere is not None:
            half = coordinate_shape(self.sphere)
            beyond = betainc(half, half, np.clip((1 - score / math.sqrt(self.sphere)) / 2, 0, 1))
            return np.asarray(np.log1p(-np.minimum(beyond, 1 - 1e-16)))
        s = self.scale
        xi = (np.cbrt(np.maximum(1 + 3 * np.sqrt(s) * score, 0)) - 1 + s) / np.sqrt(s)
        return np.asarray(log_ndtr(np.minimum(xi, CERTAIN)))

    @property
    def scale(self) -> Array:
        """s of each point."""
        return np.asarray(np.maximum(self.skew, SMALL_SKEW) ** 2 / 36)
