"""Embedding tables: drawn by a setting's law, or the caller's own, and what is asked of these
before anything is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float64

from recallbook.arguments import check_finite, not_allowed
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


# The caller's own

SMALLEST = 1e-30  # of a table's largest entry
OwnTables = dict[str, Float64[np.ndarray, "..."]]


def own_tables(embeddings: Embeddings | Mapping[str, Any] | None, setting: Setting) -> OwnTables:
    """The given tables by name, in float64 on the host, each a copy; without any, none.

    Parameters
    ----------
    embeddings : Embeddings, mapping or None
        Any of ``"input"`` and ``"output"``, ``(vocab, dim)``, ``"trigger"`` and ``"query"``,
        ``(dim,)``: NumPy arrays or tensors of any floating type.
    setting : Setting

    Raises
    ------
    ValueError
        Names the table and what is allowed: a known name, real floating numbers, all finite, of the
        setting's shape; no row of a table twice, since facts with the same embedding cannot be told
        apart; no trigger or query of zeros.
    """
    if embeddings is None:
        return {}
    names = ", ".join(map(repr, Embeddings._fields))
    if not isinstance(embeddings, Embeddings | Mapping):
        raise not_allowed("embeddings", embeddings, f"a mapping with any of {names}")
    given = embeddings._asdict() if isinstance(embeddings, Embeddings) else embeddings
    if unknown := [name for name in given if name not in Embeddings._fields]:
        raise not_allowed("embeddings", unknown, f"any of {names}")
    whole, one = (setting.vocab, setting.dim), (setting.dim,)
    shapes = {"input": whole, "output": whole, "trigger": one, "query": one}
    return {
        name: _checked(f"embeddings[{name!r}]", table, shapes[name])
        for name, table in given.items()
    }


def real_table(field: str, table: Any) -> Float64[np.ndarray, ...]:
    """A float64 copy on the host of a NumPy array or tensor of any floating type, all of it
    finite."""
    if isinstance(table, np.ma.MaskedArray):
        allowed = "an array without a mask: what is masked would be taken as it is"
        raise not_allowed(field, "a masked array", allowed)
    if isinstance(table, torch.Tensor):
        floating = table.is_floating_point()
    else:
        floating = isinstance(table, np.ndarray) and np.issubdtype(table.dtype, np.floating)
    if not floating:
        shown = f"{type(table).__name__} of {table.dtype}" if hasattr(table, "dtype") else table
        raise not_allowed(field, shown, "a NumPy array or a tensor of real floating numbers")
    # NumPy has no bfloat16: tensors are converted before they become arrays
    if isinstance(table, torch.Tensor):
        table = table.detach().to("cpu", torch.float64).numpy()
    copied = np.array(table, dtype=np.float64, order="C")
    check_finite(field, torch.from_numpy(copied))
    return copied


def computable(field: str, table: Float64[np.ndarray, ...]) -> Float64[np.ndarray, ...]:
    """Return the table if products of a few of its entries can neither overflow nor vanish."""
    largest = float(np.abs(table).max(initial=0.0))
    if largest and not SMALLEST <= largest <= 1 / SMALLEST:
        allowed = f"a largest entry from {SMALLEST:g} to {1 / SMALLEST:g}: squares and products of them are taken"
        raise not_allowed(field, f"with a largest entry of {largest:g}", allowed)
    return table


def repeated_rows(table: Float64[np.ndarray, "rows d"]) -> int:
    """How many rows equal an earlier one."""
    # -0.0 + 0.0 is 0.0: equal numbers, equal bytes
    return len(table) - len({row.tobytes() for row in table + 0.0})


def _checked(field: str, table: Any, shape: tuple[int, ...]) -> Float64[np.ndarray, ...]:
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
