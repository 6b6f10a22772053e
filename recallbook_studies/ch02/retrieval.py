"""A linear memory: signal and noise when a stored fact is recalled, and cosines of embeddings."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import sympy as sp
from jaxtyping import Float64

from recallbook.data.embeddings import draw_embeddings
from recallbook.embedding_laws import LAWS
from recallbook.setting import Setting
from recallbook_theory.symbolic.expressions import d

n = sp.Symbol("n", positive=True)  # stored facts
a, b = sp.symbols("a b", positive=True)  # squared lengths of a fact's input and output embedding
xi = sp.Symbol("xi", real=True)  # standard normal
# squared length of what the other facts add across it, over its mean
r = sp.Symbol("r", positive=True)


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


class Recall(NamedTuple):
    """Signal of one stored fact, and the variance of a wrong logit, both given what the asked fact
    fixes."""

    signal: sp.Expr
    noise: sp.Expr


@cache
def recall_terms() -> Recall:
    r"""Recall of $v$ from $W=\sum_j u_jz_j^\top$, given $a=|z_v|^2$, $b=|u_v|^2$, and of $g=Wz_v$.

    $g=a\,u_v+e$ with $e=\sum_{j\ne v}c_ju_j$, $c_j=z_j^\top z_v$ of variance $a/d$. Along $u_v$,
    $e$ is $\xi$ times its deviation; across it, its squared length is $r$ times the mean. Given
    $e$, the embedding $u_k$ has mean $c_k\,e/\sum_jc_j^2$, and is isotropic around it."""
    total = (n - 1) * a / d  # of the c_j^2
    along = sp.sqrt(total / d) * xi  # part of e along u_v
    across = r * (d - 1) * total / d  # squared length of the rest of e
    answer = a * sp.sqrt(b) + along  # part of g along u_v
    pull = (across + along * answer) / total  # what c_k adds to a wrong logit, per unit
    return Recall(
        signal=sp.sqrt(b) * answer,
        noise=(1 - 1 / (n - 1)) * (answer**2 + across) / d + a / d * pull**2,
    )


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
