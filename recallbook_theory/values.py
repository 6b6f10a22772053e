r"""A setting as values of symbols: the one place where fields meet
$V,N,L,d,\tau$."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

# scipy.stats takes a third of the time of a session's first prediction to load
from scipy.special import betaincc, betaincinv, betaln, gammaincinv, ndtri

from recallbook.setting import Setting
from recallbook_theory.symbolic.expressions import Array, L, N, V, Values, d, tau
from recallbook_theory.symbolic.lock_terms import M, Q, T

FAR = 1e9  # stands for d = infinity: orthogonal embeddings do not interfere


def effective_dim(setting: Setting) -> float:
    """The dimension that enters overlaps."""
    return FAR if setting.law.geometry == "orthonormal" else float(setting.dim)


def is_far(dim: float) -> bool:
    """Whether random directions count as orthogonal."""
    return dim > 1e6


def sizes(setting: Setting) -> Values:
    r"""$V,N,L,\tau$ and the effective $d$."""
    return {
        V: setting.vocab,
        N: setting.samples,
        L: setting.seq_len,
        d: effective_dim(setting),
        tau: float(setting.trigger_in_values),
    }


POINTS = 12  # log2 of the number of points of the average
# of SciPy's Sobol sequence, unscrambled, by axis, in units of one part in their number
TABLE = Path(__file__).with_name("points.npy")
AXES = (
    "trigger labels mean shift own count input output along across overlap thinning neurons".split()
)


@cache
def uniform() -> dict[str, Array]:
    """Low-discrepancy points in the open cube, by axis; the same on every machine."""
    return dict(zip(AXES, (np.load(TABLE).astype(float) + 0.5) / 2**POINTS, strict=True))


@cache
def normal(axis: str) -> Array:
    """Standard normal variable."""
    return np.asarray(ndtri(uniform()[axis]))


@lru_cache(maxsize=256)
def gamma_variable(axis: str, variance: float) -> Array:
    r"""Gamma variable of mean 1 and this variance: $\chi^2_d/d$ at $2/d$; constant for variance
    0."""
    if variance < 1e-8:
        return np.ones(2**POINTS)
    return np.asarray(gammaincinv(1 / variance, uniform()[axis]) * variance)


@lru_cache(maxsize=64)
def lognormal_variable(axis: str, variance: float) -> Array:
    """Lognormal variable of mean 1 and this variance: for means over few neurons, which have heavy
    tails."""
    spread = math.log1p(variance)
    return np.exp(math.sqrt(spread) * normal(axis) - spread / 2)


@lru_cache(maxsize=64)
def cosine(axis: str, dim: float) -> Array:
    """Cosine of two random directions."""
    half = max((dim - 1) / 2, 0.5)
    if is_far(dim):
        return normal(axis) / math.sqrt(dim)
    return np.asarray(2 * betaincinv(half, half, uniform()[axis]) - 1)


def binomial_quantile(level: Array, n: Array | int, p: Array | float) -> Array:
    """The least count that ``n`` trials of chance ``p`` do not exceed with probability ``level``: a
    normal guess, and from there count by count."""
    p, xi = np.clip(p, 1e-300, 1 - 1e-16), ndtri(level)
    guess = n * p + np.sqrt(n * p * (1 - p)) * xi + (1 - 2 * p) * (xi**2 - 1) / 6
    k: Array = np.clip(np.rint(guess), 0, n)

    def chance(k: Array) -> Any:
        logs = k * np.log(p) + (n - k) * np.log1p(-p) - betaln(k + 1, n - k + 1)
        return np.exp(logs) / (n + 1)

    up_to = np.where(k < n, betaincc(k + 1, np.maximum(n - k, 1), p), 1.0)
    while True:
        last = chance(k)
        high = (k > 0) & (up_to - last >= level)
        if not high.any():
            break
        up_to, k = up_to - high * last, k - high
    while True:
        low = up_to < level
        if not low.any():
            return k
        k = k + low
        up_to = up_to + low * chance(k)


def coordinate_shape(dim: float) -> float:
    """Both parameters of the beta law of (1 + a coordinate) / 2 on the sphere; in one dimension it
    is two points."""
    return max((dim - 1) / 2, 1e-3)


def lengths(setting: Setting, axis: str) -> Array:
    """Squared length of an embedding."""
    return gamma_variable(axis, setting.law.length_variance(setting.dim))


def shared_by_tokens(setting: Setting) -> Values:
    r"""What all tokens of a draw share: $T=|t|^2$, $Q$ and $M$."""
    dim = effective_dim(setting)
    kappa = 1 / dim + 1 / setting.vocab
    mean = gamma_variable("mean", min(2 / dim, 2.0))
    return {T: lengths(setting, "trigger"), Q: gamma_variable("labels", 2 * kappa), M: mean}
