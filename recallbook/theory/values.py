r"""A setting, or a table of settings, as values of symbols: the one place where fields meet $V,N,L,d,\tau$."""

from __future__ import annotations

import pandas as pd

from recallbook.setting import Setting
from recallbook.theory.symbolic.expressions import L, N, V, Values, d, tau

FIELDS = {V: "vocab", N: "samples", d: "dim", L: "seq_len"}
FAR = 1e9  # stands for d = infinity: orthogonal embeddings do not interfere


def effective_dim(setting: Setting) -> float:
    """The dimension that enters overlaps."""
    return FAR if setting.embeddings == "orthogonal" else float(setting.dim)


def is_far(dim: float) -> bool:
    """Whether random directions count as orthogonal."""
    return dim > 1e6


def length_variance(setting: Setting) -> float:
    """Variance of an embedding's squared length, whose mean is 1; laws other than Gaussian have equal lengths."""
    return 2 / setting.dim if setting.embeddings == "gaussian" else 0.0


def mean_value_variance(setting: Setting) -> float:
    r"""Variance of the pre-activation of a mean value, $\frac1{s^2}\big(\frac1L+\frac RV+\frac\tau{L^2}\big)$."""
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
    return {symbol: frame[name].to_numpy(float) for symbol, name in FIELDS.items() if name in frame.columns}
