"""A linear memory: noise when a stored fact is recalled, and cosines of embeddings."""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy as sp
from jaxtyping import Float64

from recallbook.data.embeddings import draw_embeddings
from recallbook.embedding_laws import LAWS
from recallbook.setting import Setting
from recallbook_theory.symbolic.expressions import d

n = sp.Symbol("n", positive=True)  # stored facts


@cache
def competitor_variance(embeddings: str) -> dict[str, sp.Expr]:
    r"""Mean square of a wrong logit $u_k^\top Wz_v$ in a sum of ``n`` outer products, by origin; exact.

    ``label overlap``: $(z_v^\top z_v)(u_k^\top u_v)$, the asked fact seen by a wrong label.
    ``own fact``: $(z_k^\top z_v)(u_k^\top u_k)$, the wrong label's own fact seen through the asked
    token. ``interference``: $\sum_j(z_j^\top z_v)(u_k^\top u_j)$ over all other facts."""
    # E |z|^4, as E |z|^2 is 1
    fourth = sp.factor(1 + sp.nsimplify(LAWS[embeddings]().length_variance(d)))
    own = fourth / d
    return {"label overlap": own, "own fact": own, "interference": (n - 2) / d**2}


def coherence_floor() -> sp.Expr:
    r"""Welch's bound: no ``n`` unit vectors in ``d < n`` dimensions have a smaller largest
    overlap."""
    return sp.sqrt((n - d) / (d * (n - 1)))


def cosines(
    vocab: int, dim: int, seed: int, embeddings: str = "gaussian"
) -> Float64[np.ndarray, " pairs"]:
    """Cosines of all pairs of different token embeddings, shape ``(V(V-1)/2,)``."""
    table = draw_embeddings(
        Setting(vocab=vocab, seq_len=1, dim=dim, samples=1, embeddings=embeddings), seed
    ).input
    table = table / np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray((table @ table.T)[np.triu_indices(vocab, 1)])
