"""Embedding tables: drawn by a setting's law, or the caller's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from recallbook.arguments import (
    check_choices,
    computable,
    not_allowed,
    real_table,
    repeated_rows,
)
from recallbook.data.streams import gaussian_table
from recallbook.embedding_laws import Table
from recallbook.setting import Setting, other_frequencies

OwnTables = dict[str, Float64[np.ndarray, "..."]]
# seed, role, rows and columns of a standard normal table
TableSource = Callable[[int, str, int, int], Table]


class Embeddings(NamedTuple):
    """Tokens and labels ``(V, d)``, trigger and query ``(d,)``, in float64 on the host."""

    input: Float64[np.ndarray, "V d"]
    output: Float64[np.ndarray, "V d"]
    trigger: Float64[np.ndarray, " d"]
    query: Float64[np.ndarray, " d"]


def draw_embeddings(
    setting: Setting,
    seed: int,
    table: TableSource = gaussian_table,
    own: OwnTables | None = None,
) -> Embeddings:
    r"""Draw $Z$, $U$, $t$ and $z_{\rm EOS}$ from the law that ``setting.embeddings`` names, put
    the caller's ``own`` in their places, and centre $Z$ if the setting says so.

    All four share their axes, the coordinates."""
    vocab = setting.vocab
    rows = {"input_embeddings": vocab, "output_embeddings": vocab, "trigger": 1, "query": 1}
    normal = [table(seed, role, count, setting.dim) for role, count in rows.items()]
    tokens, labels, trigger, query = setting.law.draw(normal, partial(table, seed))
    drawn = Embeddings(tokens, labels, trigger[0], query[0])._replace(**(own or {}))
    if not setting.centred:
        return drawn
    return drawn._replace(input=drawn.input - other_frequencies(setting) @ drawn.input)


# The caller's own


def own_tables(embeddings: Embeddings | Mapping[str, Any] | None, setting: Setting) -> OwnTables:
    """The given tables by name, in float64 on the host, each a copy; without any, none.

    Any of ``"input"`` and ``"output"``, ``(vocab, dim)``, ``"trigger"`` and ``"query"``, ``(dim,)``:
    NumPy arrays or tensors of any floating type, all finite; no row of a table twice, since facts
    with the same embedding cannot be told apart; no trigger or query of zeros. Else ``ValueError``.
    Warns where a mean squared length is not 1, as where it is drawn, within a factor of 2.
    """
    if embeddings is None:
        return {}
    names = ", ".join(map(repr, Embeddings._fields))
    if not isinstance(embeddings, Embeddings | Mapping):
        raise not_allowed("embeddings", embeddings, f"a mapping with any of {names}")
    given = embeddings._asdict() if isinstance(embeddings, Embeddings) else embeddings
    check_choices("embeddings", given, Embeddings._fields)
    whole, one = (setting.vocab, setting.dim), (setting.dim,)
    shapes = {"input": whole, "output": whole, "trigger": one, "query": one}
    tables = {
        name: _checked(f"embeddings[{name!r}]", table, shapes[name])
        for name, table in given.items()
    }
    for name, table in tables.items():
        square = float((table**2).sum(axis=-1).mean())
        if not 0.5 <= square <= 2:
            said = f"embeddings[{name!r}] has a mean squared length of {square:.3g}"
            warnings.warn(
                f"{said}, where what is drawn has 1: rescale it, or mean it", stacklevel=3
            )
    return tables


def _checked(field: str, table: Any, shape: tuple[int, ...]) -> Float64[np.ndarray, " ..."]:
    copied = computable(field, real_table(field, table))
    if copied.shape != shape:
        raise not_allowed(field, f"of shape {copied.shape}", f"shape {shape}, as the setting says")
    if copied.ndim == 1:
        if not copied.any():
            allowed = "a vector that is not zero: nothing would mark a token, or ask for one"
            raise not_allowed(field, "zero", allowed)
        return copied
    if repeats := repeated_rows(copied):
        allowed = "rows that all differ: facts with the same embedding cannot be told apart"
        raise not_allowed(field, f"with {repeats} rows that repeat an earlier one", allowed)
    return copied
