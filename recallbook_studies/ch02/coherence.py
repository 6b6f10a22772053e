"""Cosines of token embeddings."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64
from scipy.special import betaincinv

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


def coherence_quantile(vocab: int, dim: float, probability: float) -> float:
    r"""Compute a quantile of the coherence, the largest absolute cosine among $V$ random directions.

    Each of the $V(V-1)/2$ cosines has its exact law, and they are pairwise independent; this
    takes them as jointly independent: $P(\text{coherence}\le x)=(1-p(x))^{V(V-1)/2}$. Leading
    order."""
    tail = -np.expm1(2 * np.log(probability) / (vocab * (vocab - 1)))
    return float(np.sqrt(1 - betaincinv((dim - 1) / 2, 0.5, tail)))
