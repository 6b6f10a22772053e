"""Probability that the right logit is the largest, from the terms of :mod:`recallbook.symbolic.retrieval`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtr
from scipy.stats import binom

from recallbook import symbolic
from recallbook.fluctuations import (
    FAR,
    POINTS,
    Array,
    cosine,
    effective_dim,
    gamma_variable,
    lengths,
    lognormal_variable,
    normal,
    uniform,
)
from recallbook.kernels import Endless, Lookup, at_width, endless, linear_lookup, marked, square_variance
from recallbook.locating import NODE_WEIGHTS, Lock
from recallbook.setting import Setting
from recallbook.symbolic import retrieval

LARGEST_COUNT = 400.0  # mean count of a fact beyond which counts are taken as normal
TINY = 1e-30  # keeps 0/0 away where a fact was never seen and nothing interferes


def located_counts(setting: Setting, lock: Lock, without: tuple[str, ...] = ()) -> tuple[Array, Array]:
    """How often the asked fact was located, and how many sequences located a wrong token."""
    samples, vocab = setting.samples, setting.vocab
    if "coverage" in without:
        count = np.full(2**POINTS, samples / vocab)
        return count * lock.token, samples * (1 - lock.mean)
    if samples / vocab > LARGEST_COUNT:
        mean = samples / vocab * lock.token
        return np.maximum(mean + np.sqrt(mean) * normal("count"), 0), samples * (1 - lock.mean)
    return binom.ppf(uniform()["thinning"], _fact_counts(samples, vocab), lock.token), samples * (1 - lock.mean)


@lru_cache(maxsize=64)
def _fact_counts(samples: int, vocab: int) -> Array:
    """How often the asked fact occurs in the batch, at every point."""
    return binom.ppf(uniform()["count"], samples, 1 / vocab)


def overlaps(setting: Setting) -> Lookup:
    """Overlaps of the asked vector in feature space, at every point."""
    # neither the vocabulary, the batch nor the length enters: searches in them look this up
    return _overlaps(replace(setting, vocab=2, seq_len=1, samples=1))


@lru_cache(maxsize=32)
def _overlaps(setting: Setting) -> Lookup:
    dim, tau = effective_dim(setting), float(setting.trigger_in_values)
    if setting.width is None:
        asked, theta, again, *_ = _products(setting)
        return linear_lookup(asked, theta, again, dim)
    chi = lognormal_variable("neurons", square_variance(setting.activation, setting.width))
    psi = lognormal_variable("marked neurons", tau * marked(setting.activation).variance / setting.width)
    return at_width(setting, setting.width, _endless(replace(setting, width=1)), chi, psi)


@lru_cache(maxsize=8)
def _endless(setting: Setting) -> Endless:
    """What the features' overlaps owe to no width: a search in the width looks this up."""
    return endless(setting, *_products(setting), effective_dim(setting))


def _products(setting: Setting) -> tuple[Array, Array, Array, Array, Array]:
    """Asked vector with itself, with what all share, and with its token; and squares of trigger and token."""
    dim, tau = effective_dim(setting), float(setting.trigger_in_values)
    trigger, token = lengths(setting, "trigger"), lengths(setting, "input")
    angle = np.sqrt(trigger * token) * cosine("overlap", dim)  # t . z_v
    asked, theta, again = token + tau * (trigger + 2 * angle), tau * (trigger + angle), token + tau * angle
    return asked, theta, again, trigger, token


def right(setting: Setting, located: Array, wrong: Array, lock: Lock, without: tuple[str, ...] = ()) -> Array:
    """Probability that the right logit exceeds all V - 1 others, at every point."""
    vocab, dim = setting.vocab, effective_dim(setting)
    share = setting.samples / vocab
    counts = (located, np.maximum(share * lock.mean, 1e-9), share**2 * lock.variance, wrong)
    across = gamma_variable("across", _stray(dim, vocab))
    switches = [float(name not in without) for name in retrieval.SWITCHES]
    geometry = (lengths(setting, "output"), normal("along"), across)
    caught = setting.samples * lock.caught
    values = (vocab, setting.samples, dim, *counts, caught, *overlaps(setting), *geometry, *switches)
    signal, noise, pull, own_mean, own_variance = lookup_functions()
    columns = [_column(x) for x in values]
    reach = _column(pull(*values))
    below = _all_below(
        signal(*values),
        noise(*values),
        np.maximum(share * lock.draw, 1e-9),
        lambda k: own_mean(*columns, k) * reach,
        lambda k: own_variance(*columns, k) * reach**2,
        dim if setting.embeddings == "sphere" else FAR,
    )
    return np.exp((vocab - 1) * np.log(np.maximum(below, 1e-300)))


@cache
def lookup_functions() -> tuple[Callable, ...]:
    """Signal, noise and pull, then mean and variance of a wrong label's own weight."""
    terms = retrieval.lookup_terms()
    own = (retrieval.own_mean(), retrieval.own_variance())
    return (
        *(symbolic.numeric(term, *retrieval.LOOKUP) for term in terms),
        *(symbolic.numeric(term, *retrieval.LOOKUP, retrieval.k) for term in own),
    )


def _column(x: Any) -> Any:
    return x[:, None] if isinstance(x, np.ndarray) else x


@cache
def _stray(dim: float, vocab: int) -> float:
    function = symbolic.numeric(symbolic.stray_variance(), symbolic.n, symbolic.d)
    return float(function(vocab, dim))


def _all_below(
    signal: Array, noise: Array, means: Array, own_mean: Callable, own_variance: Callable, dim: float
) -> Array:
    """Probability that one wrong logit stays below the right one, averaged over how often its fact was located.

    ``means`` ``(points, nodes)`` are the mean counts of the draw's tokens. A logit is normal, or a coordinate on the
    sphere of dimension ``dim``.
    """
    largest = float(means.max())
    if largest > LARGEST_COUNT:  # counts as normal: three-point rule of the normal law
        mean = means @ NODE_WEIGHTS
        scatter = np.sqrt(mean + means**2 @ NODE_WEIGHTS - mean**2)
        counts = mean[:, None] + np.sqrt(3) * scatter[:, None] * np.array([-1.0, 0.0, 1.0])
        chances = np.array([1 / 6, 2 / 3, 1 / 6])
    else:
        counts = np.arange(int(largest + 7 * math.sqrt(largest) + 8))[None, :]
        chances = _count_chances(counts, means)
    ratio = (signal[:, None] - own_mean(counts)) / np.sqrt(noise[:, None] + own_variance(counts) + TINY)
    if dim == FAR:
        return np.sum(chances * ndtr(ratio), axis=1)
    half = (dim - 1) / 2  # (1 + coordinate) / 2 is a beta variable
    return np.sum(chances * betainc(half, half, np.clip((1 + ratio / np.sqrt(dim)) / 2, 0, 1)), axis=1)


def _count_chances(counts: NDArray[np.int64], means: Array) -> Array:
    """A mixture of Poisson laws over the nodes, ``(points, counts)``; one law where all nodes agree."""
    if np.ptp(means, axis=1).max() < 1e-3 * means.max():
        means, weights = means[:, :1], np.ones(1)
    else:
        weights = NODE_WEIGHTS
    chances = np.empty((counts.size, len(means)))
    term = np.exp(-means)  # of each law at the count reached; a product is far cheaper than an exponential
    for count in range(counts.size):
        np.dot(term, weights, out=chances[count])
        term *= means
        term /= count + 1
    return (chances / chances.sum(axis=0)).T
