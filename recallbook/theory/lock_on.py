"""Probability that attention locks on: exact moments, and the fluctuations of its terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, log_ndtr, ndtr, roots_hermitenorm

from recallbook.setting import Setting
from recallbook.theory.feature_kernels import near_zero
from recallbook.theory.moments import exact
from recallbook.theory.symbolic import lock_terms as symbolic
from recallbook.theory.symbolic.expressions import Values, numeric
from recallbook.theory.values import (
    POINTS,
    Array,
    coordinate_shape,
    effective_dim,
    length_variance,
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
    the informative one."""

    token: Array
    draw: Array
    decoys: Array

    @property
    def mean(self) -> Array:
        """Lock-on of each draw."""
        return np.asarray(self.draw @ NODE_WEIGHTS)

    @property
    def variance(self) -> Array:
        """Its variance from token to token."""
        return np.asarray(np.maximum(self.draw**2 @ NODE_WEIGHTS - self.mean**2, 0))


class Leading(NamedTuple):
    """The ledger's leading terms at every point: the mark's score, the same at Q = 1, and the
    scatter of tokens.

    ``scatter`` is that of all terms but trigger overlap, which is ``overlap`` times the squared
    score; ``mark`` is how much they move the mark's score."""

    score: Array
    even: Array
    mark: Array
    scatter: Array
    overlap: Array
    unequal: Array


class Scores(NamedTuple):
    r"""Step 2 at every point: the mark's score $t^\top w$, variance of the scores of tokens, and
    their skewness."""

    mark: Array
    variance: Array
    skew: Array


def values(setting: Setting, shared: Values | None = None) -> Values:
    """Values of all symbols of step 2 at every point, or where tokens share ``shared``, a value for
    each of T, Q, M."""
    found = {**sizes(setting), **(shared_by_tokens(setting) if shared is None else shared)}
    if setting.width is None:
        return found
    tau = int(setting.trigger_in_values)
    features = near_zero(
        setting.activation, setting.seq_len, setting.vocab, dim=effective_dim(setting), tau=tau
    )
    return {**found, symbolic.epsilon: 1 / setting.width, **features}


def leading_terms(setting: Setting, without: tuple[str, ...] = ()) -> Leading:
    """The expressions of step 2 at every point, some terms left out."""
    given, mlp, nothing = values(setting), setting.width is not None, np.zeros(2**POINTS)
    left_out = {*without} if length_variance(setting) else {*without, "unequal lengths"}
    terms = {name: term for name, term in symbolic.lock_terms(mlp).items() if name not in left_out}
    token = {name: numeric(term.token)(given) + nothing for name, term in terms.items()}
    mark = sum((numeric(term.trigger)(given) for term in terms.values()), start=nothing)
    score, even = (
        numeric(symbolic.trigger_score(mlp))(at) + nothing
        for at in (given, {**given, symbolic.Q: 1.0})
    )
    overlap = np.divide(
        token.pop("trigger overlap", nothing), score**2, out=np.zeros(2**POINTS), where=score != 0
    )
    unequal = token.get("unequal lengths", nothing)
    return Leading(score, even, mark, sum(token.values(), start=nothing), overlap, unequal)


def score_laws(setting: Setting, without: tuple[str, ...] = ()) -> Scores:
    r"""Scores with the exact moments, which fluctuate from draw to draw as the ledger's leading
    terms do.

    $t^\top w=P+X$, with $P$ even and $X$ odd in the embeddings. $P$ moves with $T$ and $Q$, and by
    a lognormal factor for the rest of its variance; $X$ is normal. The variance of token scores is
    $c\,(P+X)^2$, their overlap with the part of $w$ along $t$, and a rest that moves with $T$, $Q$,
    $M$. The laws are a closure. Exact are the mean and the variance of $t^\top w$ and the mean over
    draws of the variance of token scores, and for orthonormal embeddings of the third moment, which
    is kept for all. The MLP changes all of this by what it changes in the leading terms, and moves
    the mark's score beyond that where it has few neurons."""
    leading, trigger = (
        leading_terms(setting, without),
        shared_by_tokens(setting)[symbolic.T] + np.zeros(2**POINTS),
    )
    plain = (
        leading
        if setting.width is None and not without
        else leading_terms(replace(setting, width=None))
    )
    moments = exact(setting)
    labels = plain.score / plain.even
    score, square, none = (
        moments.score(trigger),
        moments.pull(trigger),
        np.zeros(2**POINTS),
    )  # none: where d = 1
    rest = np.divide(square, score**2, out=none + 1, where=score != 0) / (1 + labels.var()) - 1
    pull = score * leading.score / plain.even / labels.mean()
    pull = pull * lognormal_variable("neurons", max(float(rest.mean()), 0.0))
    fluctuation = leading.scatter / max(plain.scatter.mean(), TINY)
    odd = np.maximum(moments.noise(trigger), 0)
    few = leading.mark.mean() - plain.mark.mean() * fluctuation.mean() if setting.width else 0.0
    mark = pull + np.sqrt(odd * fluctuation + max(float(few), 0.0)) * normal("shift")
    share = np.divide(moments.overlap(trigger), square, out=none.copy(), where=square != 0)
    along = share * np.divide(leading.overlap, plain.overlap, out=none, where=plain.overlap > 0)
    across = np.maximum(moments.scatter(trigger) - share * odd, 0) * fluctuation
    variance = along * mark**2 + across + TINY
    lengths = {symbolic.lengths_variance: leading.unequal, symbolic.total_variance: variance}
    skew = numeric(symbolic.skewness())({**sizes(setting), **lengths})
    skew = skew + max(moments.cube, 0) / max(variance.mean(), 1e-100) ** 1.5
    return Scores(mark, variance, np.minimum(skew, 2.0))


def lock(setting: Setting, without: tuple[str, ...] = (), nodes: Array = NODES) -> Lock:
    """Lock-on of every point: the mark must lift its token above the others."""
    shape = 2**POINTS
    if setting.seq_len == 1:
        return Lock(np.ones(shape), np.ones((shape, nodes.size)), np.zeros(shape))
    return lock_given(setting, score_laws(setting, without), nodes=nodes)


def lock_given(
    setting: Setting,
    found: Scores,
    beaten: Callable[[Array, Array], tuple[Array, Array]] | None = None,
    nodes: Array = NODES,
) -> Lock:
    """Lock-on of every point at these scores.

    ``beaten`` turns the log chances that a random token scores less than the point's own one and
    than those at ``nodes`` with the mark on them, into chances that all others of a sequence do;
    without it, where tokens are drawn."""
    lift = found.mark / np.sqrt(found.variance)
    # only distinct tokens compete: a sequence of L tokens repeats some
    others = setting.vocab * -math.expm1((setting.seq_len - 1) * math.log1p(-1 / setting.vocab))
    law = Tokens(found.skew, setting.dim if setting.law.geometry == "spherical" else None)
    own, drawn = law.quantile(normal("own")), law.quantile(nodes, column=True)
    below = law.log_below(own + lift), law.log_below(drawn + lift[:, None], column=True)
    decoys = others / setting.vocab * np.exp((others - 1) * law.log_below(own)) * ndtr(own - lift)
    token, draw = (
        beaten(*below) if beaten else (np.exp(others * below[0]), np.exp(others * below[1]))
    )
    return Lock(token, draw, decoys)


class Tokens(NamedTuple):
    r"""The law of a token's score, in deviations.

    Embeddings on the sphere: one coordinate of a point on it. Otherwise Pearson's third law, a
    gamma variable with the ``skew`` of each point, through Wilson and Hilferty's cube root:
    $\Gamma/k=(1-s+\sqrt s\,\xi)^3$ with $s=\frac1{9k}$, shape $k=4/\text{skew}^2$ and $\xi$
    standard normal."""

    skew: Array
    sphere: int | None

    def quantile(self, standard: Array, column: bool = False) -> Array:
        """Scores at the levels that a standard normal variable has at ``standard``."""
        if self.sphere is not None:
            half = coordinate_shape(self.sphere)
            return np.asarray(
                math.sqrt(self.sphere) * (2 * betaincinv(half, half, ndtr(standard)) - 1)
            )
        small = self._small(column)
        return np.asarray(((1 - small + np.sqrt(small) * standard) ** 3 - 1) / (3 * np.sqrt(small)))

    def log_below(self, score: Array, column: bool = False) -> Array:
        """Log probability that a token scores less."""
        if self.sphere is not None:
            half = coordinate_shape(self.sphere)
            beyond = betainc(half, half, np.clip((1 - score / math.sqrt(self.sphere)) / 2, 0, 1))
            return np.asarray(np.log1p(-np.minimum(beyond, 1 - 1e-16)))
        small = self._small(column)
        standard = (np.cbrt(np.maximum(1 + 3 * np.sqrt(small) * score, 0)) - 1 + small) / np.sqrt(
            small
        )
        return np.asarray(log_ndtr(np.minimum(standard, CERTAIN)))

    def _small(self, column: bool) -> Array:
        small = np.maximum(self.skew, SMALL_SKEW) ** 2 / 36
        return small[:, None] if column else small
