r"""A setting, or a table of settings, as values of symbols: the one place where fields meet
$V,N,L,d,\tau$."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta, gamma, qmc

from recallbook.setting import Setting
from recallbook.theory.symbolic.expressions import Array, L, N, V, Values, d, tau
from recallbook.theory.symbolic.lock_terms import M, Q, T

if TYPE_CHECKING:
    import pandas as pd

FIELDS = {V: "vocab", N: "samples", d: "dim", L: "seq_len"}
FAR = 1e9  # stands for d = infinity: orthogonal embeddings do not interfere


def effective_dim(setting: Setting) -> float:
    """The dimension that enters overlaps."""
    return FAR if setting.law.geometry == "orthonormal" else float(setting.dim)


def is_far(dim: float) -> bool:
    """Whether random directions count as orthogonal."""
    return dim > 1e6


def length_variance(setting: Setting) -> float:
    """Variance of an embedding's squared length, whose mean is 1."""
    return setting.law.length_variance(setting.dim)


def mean_value_variance(setting: Setting) -> float:
    r"""Variance of the pre-activation of a mean value, $\frac1{s^2}\big(\frac1L+\frac
    RV+\frac\tau{L^2}\big)$."""
    length, tau = setting.seq_len, float(setting.trigger_in_values)
    return (1 / length + (1 - 1 / length) / setting.vocab + tau / length**2) / (1 + tau)


def sizes(setting: Setting) -> Values:
    r"""$V,N,L,\tau$ and the effective $d$."""
    return {
        V: setting.vocab,
        N: setting.samples,
        L: setting.seq_len,
        d: effective_dim(setting),
        tau: float(setting.trigger_in_values),
    }


def columns(frame: pd.DataFrame) -> Values:
    """The sizes in a table's columns, as arrays; :data:`FIELDS` that it lacks are left out."""
    return {
        symbol: frame[name].to_numpy(float)
        for symbol, name in FIELDS.items()
        if name in frame.columns
    }


POINTS = 12  # log2 of the number of points of the average
AXES = (
    "trigger labels mean shift own count input output along across overlap thinning neurons".split()
)


@cache
def uniform() -> dict[str, Array]:
    """Low-discrepancy points in the open cube, by axis; unscrambled, so the same on every
    machine."""
    points = qmc.Sobol(len(AXES), scramble=False).random_base2(POINTS) + 0.5 / 2**POINTS
    return dict(zip(AXES, points.T, strict=True))


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
    return np.asarray(gamma.ppf(uniform()[axis], 1 / variance, scale=variance))


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
    return np.asarray(2 * beta.ppf(uniform()[axis], half, half) - 1)


def coordinate_shape(dim: float) -> float:
    """Both parameters of the beta law of (1 + a coordinate) / 2 on the sphere; in one dimension it
    is two points."""
    return max((dim - 1) / 2, 1e-3)


def lengths(setting: Setting, axis: str) -> Array:
    """Squared length of an embedding."""
    return gamma_variable(axis, length_variance(setting))


def shared_by_tokens(setting: Setting) -> Values:
    r"""What all tokens of a draw share: $T=|t|^2$, $Q$ and $M$."""
    dim = effective_dim(setting)
    kappa = 1 / dim + 1 / setting.vocab
    mean = gamma_variable("mean", min(2 / dim, 2.0))
    return {T: lengths(setting, "trigger"), Q: gamma_variable("labels", 2 * kappa), M: mean}
