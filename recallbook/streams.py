"""Random streams: one counter-based generator for each (scheme version, seed, role, block).

Everything random is drawn on the host, so the CPU and the GPU see the same data. A stream is read from its
start, so a shorter draw is a prefix of a longer one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SCHEME = 1  # raise it when any draw changes: every stored number then changes with it
ROLES = (
    "tokens",
    "positions",
    "permutation",
    "input_embeddings",
    "output_embeddings",
    "trigger",
    "query",
    "mlp_weights",
    "test_tokens",
    "test_positions",
    "batch_tokens",
    "batch_positions",
)
FILL = 1 << 22  # numbers drawn at a time, to bound the memory of the intermediate doubles


def stream(seed: int, role: str, block: int = 0) -> np.random.Generator:
    """Philox generator for one role; blocks of one role never overlap (the block is the counter's top word)."""
    key = np.random.SeedSequence([SCHEME, ROLES.index(role), seed]).generate_state(2, np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, block]))


def uniform_integers(generator: np.random.Generator, high: int, count: int) -> NDArray[np.int64]:
    """``count`` integers, uniform on 0 to ``high`` - 1 up to a bias of ``high`` / 2^53."""
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, FILL):
        part = out[start : start + FILL]
        part[:] = generator.random(part.size) * high  # the assignment truncates, and never reaches `high`
    return out


def gaussian_table(seed: int, role: str, rows: int, columns: int) -> NDArray[np.float64]:
    """Standard normal ``(rows, columns)``; a smaller table is the corner of a larger one in both directions."""
    out = np.empty((rows, columns))
    for row in range(rows):
        stream(seed, role, row).standard_normal(out=out[row])
    return out
