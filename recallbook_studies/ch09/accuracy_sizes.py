r"""Critical number of sequences for accuracy 0.9, simulated and predicted: by dimension, and by
length at two vocabularies.

``python -m recallbook table critical_sizes STORE`` predicts it for every case and over the planes
of chapter 6; ``--export`` writes the table that ships with the package."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import pandas as pd

from recallbook_studies import grids
from recallbook_studies.running.archive import load_results
from recallbook_theory.critical import critical_samples

LEVEL = 0.9
COLUMNS = {LEVEL: "critical", 0.5: "critical_50", 0.99: "critical_99"}  # by level
SIZES = ["trigger_in_values", "vocab", "seq_len", "dim"]
# the regime that reviews of the paper name: L = V^c and d = V^b
REGIME_VOCABS, B, C = (256, 1024, 4096), (0.625, 0.75, 0.875, 1), (0.25, 0.5, 0.75, 0.875)


def regime() -> list[tuple[bool, int, int, int]]:
    """Sizes of L = V^c and d = V^b, in both variants."""
    found = itertools.product(grids.FLAGS, REGIME_VOCABS, C, B)
    return [(tau, vocab, round(vocab**c), round(vocab**b)) for tau, vocab, c, b in found]


def row(**sizes: Any) -> dict[str, Any]:
    """Predicted critical number of sequences for accuracy 0.9 at these :data:`SIZES`; for the other
    levels, too, in :func:`regime`."""
    levels = COLUMNS if tuple(sizes[name] for name in SIZES) in regime() else [LEVEL]
    return {
        COLUMNS[level]: critical_samples(**sizes, accuracy=level, warn=False) for level in levels
    }


@cache
def predicted(level: float = LEVEL) -> pd.Series:
    """The committed predicted critical N for an accuracy of :data:`COLUMNS`, by :data:`SIZES`."""
    return load_results("critical_sizes").set_index(SIZES)[COLUMNS[level]].rename("critical")
