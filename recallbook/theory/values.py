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
