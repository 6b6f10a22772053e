"""Cosines of token embeddings."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

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
