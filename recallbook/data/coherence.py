"""How far random embeddings are from orthogonal: cosines, their law, and the largest of them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64
from scipy.optimize import brentq
from scipy.special import beta, betainc, betaincinv

from recallbook.arguments import check_share, check_size
from recallbook.data.embeddings import draw_embeddings
from recallbook.setting import Setting

LARGEST_DIM = (
    1e9  # no table has so many columns: what is less coherent than random directions there counts as orthogonal
)


def cosines(vocab: int, dim: int, seed: int, embeddings: str = "gaussian") -> Float64[np.ndarray, " pairs"]:
    """Cosines of all pairs of different token embeddings, shape ``(V(V-1)/2,)``."""
    table = draw_embeddings(Setting(vocab=vocab, seq_len=1, dim=dim, samples=1, embeddings=embeddings), seed).input
    table = table / np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray((table @ table.T)[np.triu_indices(vocab, 1)])


def cosine_density(x: float | Float64[np.ndarray, "*n"], dim: int) -> Float64[np.ndarray, "*n"]:
    r"""Density of the cosine of two random directions in $\mathbb R^d$: $(1-x^2)^{(d-3)/2}/B(\frac12,\frac{d-1}2)$."""
    dim = check_size("dim", dim, smallest=2)
    return np.asarray((1 - np.square(x)) ** ((dim - 3) / 2) / beta(0.5, (dim - 1) / 2))


def beyond(x: float | Float64[np.ndarray, "*n"], dim: int) -> Float64[np.ndarray, "*n"]:
    r"""Probability that the cosine of two random directions exceeds $x\ge0$ in absolute value; exact."""
    dim = check_size("dim", dim, smallest=2)
    return np.asarray(betainc((dim - 1) / 2, 0.5, 1 - np.square(x)))


def coherence_quantile(vocab: int, dim: int, probability: float) -> float:
    r"""Quantile of the coherence, the largest absolute cosine among $V$ random directions.

    All $V(V-1)/2$ cosines have the exact law :func:`beyond` and are pairwise independent; this takes them as
    jointly independent: $P(\text{coherence}\le x)=(1-p(x))^{V(V-1)/2}$. Leading order.
    """
    vocab, dim = check_size("vocab", vocab, smallest=2), check_size("dim", dim, smallest=2)
    return _quantile(vocab, dim, check_share("probability", probability))


def _quantile(vocab: int, dim: float, probability: float) -> float:
    tail = -np.expm1(2 * np.log(probability) / (vocab * (vocab - 1)))
    return float(np.sqrt(1 - betaincinv((dim - 1) / 2, 0.5, tail)))


def cosine_quantile(dim: int, probability: float) -> float:
    r"""Quantile of the absolute cosine of two random directions; exact."""
    dim = check_size("dim", dim, smallest=2)
    return float(np.sqrt(1 - betaincinv((dim - 1) / 2, 0.5, 1 - probability)))


def dim_of_coherence(vocab: int, coherence: float) -> float:
    r"""The dimension, any real number from 2, in which half of all sets of $V$ random directions are that coherent.

    Infinite at coherence 0; ``nan`` where already directions in the plane are less coherent. Leading order, as
    :func:`coherence_quantile`, whose inverse it is.
    """
    if coherence <= _quantile(vocab, LARGEST_DIM, 0.5):
        return np.inf
    if coherence > _quantile(vocab, 2, 0.5):
        return np.nan
    lifted = brentq(lambda log: _quantile(vocab, np.exp(log), 0.5) - coherence, np.log(2), np.log(LARGEST_DIM))
    return float(np.exp(lifted))
