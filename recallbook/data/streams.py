"""Random streams: one counter-based generator for each (scheme version, seed, role, block).

Everything random is drawn on the host, so the CPU and the GPU see the same data. A stream is read
from its start, so a shorter draw is a prefix of a longer one."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int32

SCHEME = 2  # raise it when any draw changes: every stored number then changes with it
ROLES = (  # in this order for ever: the place in it is part of the key
    "tokens positions permutation input_embeddings output_embeddings trigger query mlp_weights "
    "test_tokens test_positions batch_tokens batch_positions reader_tokens "
    "marked test_marked batch_marked input_centres output_centres examined_rows"
).split()


def stream(seed: int, role: str, block: int = 0) -> np.random.Generator:
    """Philox generator for a role; its blocks (the counter's top word) never overlap."""
    key = np.random.SeedSequence([SCHEME, ROLES.index(role), seed]).generate_state(2, np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, block]))


def uniform_integers(
    generator: np.random.Generator, high: int, count: int
) -> Int32[np.ndarray, " count"]:
    """Draw ``count`` integers, exactly uniform below ``high``; fewer are the first of more."""
    return generator.integers(high, size=count, dtype=np.int32)


def gaussian_table(
    seed: int, role: str, rows: int, columns: int
) -> Float64[np.ndarray, "rows columns"]:
    """Standard normal ``(rows, columns)``; a smaller table is the corner of a larger one both ways,
    and row r is what ``stream(seed, role, r)`` gives."""
    out = np.empty((rows, columns))
    generator = stream(seed, role)
    state = dict(generator.bit_generator.state)
    words = state["state"] = {name: words.tolist() for name, words in state["state"].items()}
    for row in range(rows):
        # setting the counter, in plain numbers, costs less than a new generator for each row
        words["counter"][3] = row
        generator.bit_generator.state = state
        generator.standard_normal(out=out[row])
    return out
