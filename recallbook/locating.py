"""Probability that attention locks on, from the terms of :mod:`recallbook.symbolic.locking`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, roots_hermitenorm

from recallbook import symbolic
from recallbook.fluctuations import POINTS, Array, effective_dim, normal, shared_by_tokens, sizes
from recallbook.kernels import LINEAR, NearZero, near_zero
from recallbook.setting import Setting
from recallbook.symbolic import locking

NODES, NODE_WEIGHTS = roots_hermitenorm(13)  # scores of a draw's tokens, in standard deviations
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
CERTAIN = 8.0  # standard deviations beyond which a comparison is won


class Lock(NamedTuple):
    """Lock-on probability of each point's own token, and of the tokens of its draw at ``NODES`` ``(points, nodes)``.

    ``caught`` is the share of all sequences in which the point's own token is located, and is not the informative one.
    """

    token: Array
    draw: Array
    caught: Array

    @property
    def mean(self) -> Array:
        """Lock-on of each draw."""
        return self.draw @ NODE_WEIGHTS

    @property
    def variance(self) -> Array:
        """Its variance from token to token."""
        return np.maximum(self.draw**2 @ NODE_WEIGHTS - self.mean**2, 0)


def features_near_zero(setting: Setting) -> NearZero:
    """The feature numbers of step 2."""
    if setting.width is None:
        return LINEAR
    dim, tau = effective_dim(setting), int(setting.trigger_in_values)
    return near_zero(setting.activation, setting.seq_len, setting.vocab, dim, tau)


def arguments(setting: Setting, shared: tuple[float | Array, ...] | None = None) -> tuple[float | Array, ...]:
    """Values of :func:`symbols` at every point, or where tokens share ``shared``, the values of ``locking.SEED``."""
    values: tuple[float | Array, ...] = (*sizes(setting), *(shared_by_tokens(setting) if shared is None else shared))
    return values if setting.width is None else (*values, 1 / setting.width, *features_near_zero(setting))


def lock(setting: Setting, without: tuple[str, ...] = ()) -> Lock:
    """Lock-on of every point: the mark must lift its token above the others."""
    shape = 2**POINTS
    if setting.seq_len == 1:
        return Lock(np.ones(shape), np.ones((shape, NODES.size)), np.zeros(shape))
    values, mlp = arguments(setting), setting.width is not None
    token, trigger, unequal = np.full(shape, 1e-300), np.zeros(shape), np.zeros(shape)
    for name, (of_token, of_trigger) in term_functions(mlp).items():
        if name in without or (name == "unequal lengths" and setting.embeddings != "gaussian"):
            continue
        token, trigger = token + of_token(*values), trigger + of_trigger(*values)
        unequal = unequal + of_token(*values) if name == "unequal lengths" else unequal
    skew = skewness_function()(*sizes(setting), unequal, token)
    lift = (score_function(mlp)(*values) + np.sqrt(trigger) * normal("shift")) / np.sqrt(token)
    # only distinct tokens compete: a sequence of L tokens repeats some
    others = setting.vocab * -math.expm1((setting.seq_len - 1) * math.log1p(-1 / setting.vocab))
    own, nodes = _skewed(normal("own"), skew), _skewed(NODES, skew[:, None])
    draw = np.exp(others * _log_below(nodes + lift[:, None], skew[:, None]))
    caught = others / setting.vocab * np.exp((others - 1) * _log_below(own, skew)) * ndtr(own - lift)
    return Lock(np.exp(others * _log_below(own + lift, skew)), draw, caught)


def _skewed(standard: Array, skew: Array) -> Array:
    """A score in deviations from a standard normal variable: Cornish and Fisher's first correction."""
    return standard + skew * (standard**2 - 1) / 6


def _log_below(score: Array, skew: Array) -> Array:
    """Log probability that a token scores less; the inverse of :func:`_skewed` to the same order."""
    score = np.minimum(score, CERTAIN)
    return log_ndtr(score - skew * (score**2 - 1) / 6)


def symbols(mlp: bool) -> tuple:
    """Symbols of :func:`arguments`."""
    return (*locking.SIZES, *locking.SEED, *(locking.FEATURES if mlp else ()))


@cache
def term_functions(mlp: bool = False) -> dict[str, tuple[Callable, Callable]]:
    """Variance over tokens, and of the trigger's own score, by term."""
    terms = locking.lock_terms(mlp)
    names = symbols(mlp)
    return {k: (symbolic.numeric(t.token, *names), symbolic.numeric(t.trigger, *names)) for k, t in terms.items()}


@cache
def score_function(mlp: bool = False) -> Callable:
    """Mean score of the mark."""
    return symbolic.numeric(locking.trigger_score(mlp), *symbols(mlp))


@cache
def skewness_function() -> Callable:
    """Skewness of token scores."""
    return symbolic.numeric(locking.skewness(), *locking.SIZES, *locking.SCATTER)
