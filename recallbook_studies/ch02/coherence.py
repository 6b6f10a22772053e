"""Cosines of token embeddings, and their law where directions are random."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64
from scipy.special import beta

from recallbook.arguments import check_size
from recallbook.data.embeddings import draw_embeddings
from recallbook.setting import Setting


def cosines(
    vocab: int, dim: int, seed: int, embeddings: str = "gaussian"
) -> Float64[np.ndarray, " pairs"]:
    """Cosines of all pairs of different token embeddings, shape ``(V(V-1)/2,)``."""
    table = draw_embeddings(
        Setting(vocab=vocab, seq_len=1, dim=dim, samples=1, embeddings=embeddings), seed
    ).input
    table = table / np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray((table @ table.T)[np.triu_indices(vocab, 1)])


def cosine_density(x: float | Float64[np.ndarray, "*n"], dim: int) -> Float64[np.ndarray, "*n"]:
    r"""Density of the cosine of two random directions in $\mathbb R^d$:
    $(1-x^2)^{(d-3)/2}/B(\frac12,\frac{d-1}2)$."""
    dim = check_size("dim", dim, smallest=2)
    return np.asarray((1 - np.square(x)) ** ((dim - 3) / 2) / beta(0.5, (dim - 1) / 2))
