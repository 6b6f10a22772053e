"""Rows of a table: drawn without repetition, and those that no fact can have."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int64

from recallbook.data.streams import stream

NOT_FINITE = "not finite"
NAMED = 3  # rows of a kind that are named
Places = Int64[np.ndarray, " rows"]


def sampled(rows: int, count: int, seed: int, purpose: int) -> Places:
    """Places of ``count`` rows drawn without repetition, or of all, in their order; by purpose, the
    block of the stream."""
    if rows <= count:
        return np.arange(rows)
    uniform = stream(seed, "examined_rows", purpose).random(rows)
    return np.sort(np.argsort(uniform, kind="stable")[:count])


def bad_rows(table: Float[np.ndarray, "rows d"]) -> dict[str, Places]:
    """Places of rows that are not finite, that are zero, or that repeat an earlier one, by what is
    said of them; a row is bad once."""
    finite, filled = np.isfinite(table).all(axis=1), table.any(axis=1)
    first: dict[bytes, int] = {}
    good = np.flatnonzero(finite & filled).tolist()
    # -0.0 + 0.0 is 0.0: equal numbers, equal bytes
    repeats = [row for row in good if first.setdefault((table[row] + 0.0).tobytes(), row) != row]
    found = {
        NOT_FINITE: np.flatnonzero(~finite),
        "zero": np.flatnonzero(finite & ~filled),
        "repeating an earlier one": np.array(repeats, dtype=np.int64),
    }
    return {kind: places for kind, places in found.items() if len(places)}


def named(bad: dict[str, Places]) -> str:
    """How many rows are bad and why, the first few by their places."""
    shown = []
    for kind, places in bad.items():
        rows = ", ".join(map(str, places[:NAMED])) + ", ..." * (len(places) > NAMED)
        shown.append(f"{len(places):,} {kind} ({rows})")
    return "; ".join(shown)
