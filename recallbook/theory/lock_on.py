"""Probability that attention locks on, from the terms of :mod:`recallbook.theory.symbolic.lock_on`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, roots_hermitenorm

from recallbook.setting import Setting
from recallbook.theory.feature_kernels import near_zero
from recallbook.theory.fluctuations import POINTS, Array, normal, shared_by_tokens
from recallbook.theory.symbolic import lock_on as symbolic
from recallbook.theory.symbolic.expressions import Values, numeric
from recallbook.theory.values import effective_dim, length_variance, sizes

NODES, NODE_WEIGHTS = roots_hermitenorm(13)  # scores of a draw's tokens, in standard deviations
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
CERTAIN = 8.0  # standard deviations beyond which a comparison is won


class Lock(NamedTuple):
    """Lock-on probability of each point's own token, and of the tokens of its draw at ``NODES`` ``(points, nodes)``.

    ``decoys`` is the share of all sequences in which the point's own token is located, and is not the informative one.
    """

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


def values(setting: Setting, shared: Values | None = None) -> Values:
    """Values of all symbols of step 2 at every point, or where tokens share ``shared``, a value for each of T, Q, M."""
    found = {**sizes(setting), **(shared_by_tokens(setting) if shared is None else shared)}
    if setting.width is None:
        return found
    tau = int(setting.trigger_in_values)
    features = near_zero(setting.activation, setting.seq_len, setting.vocab, dim=effective_dim(setting), tau=tau)
    return {**found, symbolic.epsilon: 1 / setting.width, **features}


def lock(setting: Setting, without: tuple[str, ...] = ()) -> Lock:
    """Lock-on of every point: the mark must lift its token above the others."""
    shape = 2**POINTS
    if setting.seq_len == 1:
        return Lock(np.ones(shape), np.ones((shape, NODES.size)), np.zeros(shape))
    given, mlp = values(setting), setting.width is not None
    token, trigger, unequal = np.full(shape, 1e-300), np.zeros(shape), np.zeros(shape)
    for name, term in symbolic.lock_terms(mlp).items():
        if name in without or (name == "unequal lengths" and not length_variance(setting)):
            continue
        of_token = numeric(term.token)(given)
        token, trigger = token + of_token, trigger + numeric(term.trigger)(given)
        unequal = unequal + of_token if name == "unequal lengths" else unequal
    both = {symbolic.lengths_variance: unequal, symbolic.total_variance: token}
    skew = numeric(symbolic.skewness())({**given, **both})
    score = numeric(symbolic.trigger_score(mlp))(given)
    lift = (score + np.sqrt(trigger) * normal("shift")) / np.sqrt(token)
    # only distinct tokens compete: a sequence of L tokens repeats some
    others = setting.vocab * -math.expm1((setting.seq_len - 1) * math.log1p(-1 / setting.vocab))
    own, nodes = _skewed(normal("own"), skew), _skewed(NODES, skew[:, None])
    draw = np.exp(others * _log_below(nodes + lift[:, None], skew[:, None]))
    decoys = others / setting.vocab * np.exp((others - 1) * _log_below(own, skew)) * ndtr(own - lift)
    return Lock(np.exp(others * _log_below(own + lift, skew)), draw, decoys)


def _skewed(standard: Array, skew: Array) -> Array:
    """A score in deviations from a standard normal variable: Cornish and Fisher's first correction."""
    return standard + skew * (standard**2 - 1) / 6


def _log_below(score: Array, skew: Array) -> Array:
    """Log probability that a token scores less; the inverse of :func:`_skewed` to the same order."""
    score = np.minimum(score, CERTAIN)
    below: Array = log_ndtr(score - skew * (score**2 - 1) / 6)
    return below
