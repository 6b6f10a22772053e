"""Embedding tables of a setting's law."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from recallbook.data.streams import gaussian_table
from recallbook.embedding_laws import Table
from recallbook.setting import Setting

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


def draw_embeddings(setting: Setting, seed: int, table: TableSource = gaussian_table) -> Embeddings:
    r"""Draw $Z$, $U$, $t$ and $z_{\rm EOS}$ from the law that ``setting.embeddings`` names.

    All four share their axes, the coordinates."""
    vocab = setting.vocab
    rows = {"input_embeddings": vocab, "output_embeddings": vocab, "trigger": 1, "query": 1}
    normal = [table(seed, role, count, setting.dim) for role, count in rows.items()]
    tokens, labels, trigger, query = setting.law.draw(normal, partial(table, seed))
    return Embeddings(tokens, labels, trigger[0], query[0])
