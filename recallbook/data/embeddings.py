"""Embedding tables: Gaussian, on the sphere, or orthogonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64

from recallbook.data.streams import gaussian_table
from recallbook.setting import Setting

Table = Float64[np.ndarray, "rows d"]
TableSource = Callable[[int, str, int, int], Table]  # seed, role, rows and columns of a standard normal table


class Embeddings(NamedTuple):
    """Tokens ``(V, d)``, labels ``(V, d)``, trigger ``(d,)`` and query ``(d,)``, in float64 on the host."""

    input: Float64[np.ndarray, "V d"]
    output: Float64[np.ndarray, "V d"]
    trigger: Float64[np.ndarray, " d"]
    query: Float64[np.ndarray, " d"]


def orthonormal_rows(table: Table) -> Table:
    """Orthonormal rows from a Gaussian table, uniform over such frames (Mezzadri 2007, arXiv math-ph/0609050)."""
    q, r = torch.linalg.qr(torch.from_numpy(table).T)
    # without the signs the law would depend on the routine's convention
    return np.asarray((q * r.diag().sign()).T)


def draw_embeddings(setting: Setting, seed: int, table: TableSource = gaussian_table) -> Embeddings:
    r"""Draw $Z$, $U$, $t$ and $z_{\rm EOS}$ from the law that ``setting.embeddings`` names."""
    rows, dim = setting.vocab, setting.dim
    tokens = table(seed, "input_embeddings", rows, dim)
    labels = table(seed, "output_embeddings", rows, dim)
    trigger = table(seed, "trigger", 1, dim)
    query = table(seed, "query", 1, dim)
    if setting.embeddings == "orthogonal":
        frame = orthonormal_rows(np.concatenate([tokens, trigger, query]))
        return Embeddings(frame[:rows], orthonormal_rows(labels), frame[rows], frame[rows + 1])
    tables = (tokens, labels, trigger, query)
    if setting.embeddings == "sphere":
        scaled = [table / np.linalg.norm(table, axis=1, keepdims=True) for table in tables]
    else:
        scaled = [table / np.sqrt(dim) for table in tables]
    return Embeddings(scaled[0], scaled[1], scaled[2][0], scaled[3][0])
