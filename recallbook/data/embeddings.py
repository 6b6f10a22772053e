"""Embedding tables: Gaussian, on the sphere, orthogonal, or with a structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64

from recallbook.data.streams import gaussian_table
from recallbook.setting import Setting

Table = Float64[np.ndarray, "rows d"]
TableSource = Callable[
    [int, str, int, int], Table
]  # seed, role, rows and columns of a standard normal table


class Embeddings(NamedTuple):
    """Tokens ``(V, d)``, labels ``(V, d)``, trigger ``(d,)`` and query ``(d,)``, in float64 on the
    host."""

    input: Float64[np.ndarray, "V d"]
    output: Float64[np.ndarray, "V d"]
    trigger: Float64[np.ndarray, " d"]
    query: Float64[np.ndarray, " d"]


def orthonormal_rows(table: Table) -> Table:
    """Orthonormal rows from a Gaussian table, uniform over such frames (Mezzadri 2007, arXiv
    math-ph/0609050)."""
    q, r = torch.linalg.qr(torch.from_numpy(table).T)
    # without the signs the law would depend on the routine's convention
    return np.asarray((q * r.diag().sign()).T)


def eigenvalues(setting: Setting) -> Float64[np.ndarray, " d"]:
    r"""Variance of each coordinate of a Gaussian embedding, $\lambda_i$, of sum 1: a mean square
    length of 1.

    All $1/d$; $\propto i^{-s}$ with ``"power_law(s)"``; $1/r$ for the first $r$ with
    ``"low_rank(r)"``, else 0."""
    law, order = setting.law, np.arange(1, setting.dim + 1)
    if law.name == "power_law":
        weights = order ** -law.numbers[0]
    elif law.name == "low_rank":
        weights = (order <= law.numbers[0]).astype(float)
    else:
        weights = np.ones(setting.dim)
    return np.asarray(weights / weights.sum())


def clustered_rows(scaled: Table, centres: Float64[np.ndarray, "K d"], share: float) -> Table:
    r"""Rows $\sqrt s\,c_{v\bmod K}+\sqrt{1-s}\,g_v$ of Gaussian rows $g_v$ around $K$ centres
    $c_k$."""
    own = np.arange(len(scaled)) % len(centres)
    return np.asarray(np.sqrt(share) * centres[own] + np.sqrt(1 - share) * scaled)


def draw_embeddings(setting: Setting, seed: int, table: TableSource = gaussian_table) -> Embeddings:
    r"""Draw $Z$, $U$, $t$ and $z_{\rm EOS}$ from the law that ``setting.embeddings`` names.

    With ``"power_law"`` and ``"low_rank"`` all four share their axes, the coordinates. With
    ``"clustered"`` tokens and labels have centres of their own, and trigger and query are Gaussian:
    they belong to no cluster."""
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
        scaled = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in tables]
    elif setting.law.name in ("power_law", "low_rank"):
        scaled = [part * np.sqrt(eigenvalues(setting)) for part in tables]
    else:
        scaled = [part / np.sqrt(dim) for part in tables]
    if setting.law.name == "clustered":
        clusters, share = int(setting.law.numbers[0]), setting.law.numbers[1]
        for place, role in enumerate(("input_centres", "output_centres")):
            centres = table(seed, role, clusters, dim) / np.sqrt(dim)
            scaled[place] = clustered_rows(scaled[place], centres, share)
    return Embeddings(scaled[0], scaled[1], scaled[2][0], scaled[3][0])
