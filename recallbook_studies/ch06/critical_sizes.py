r"""Accuracy over planes of settings, critical sizes, and the largest of the laws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook_studies import laws
from recallbook_studies.ch09.accuracy_sizes import predicted
from recallbook_theory.symbolic.expressions import V, numeric
from recallbook_theory.values import columns

PLANE_DIMS, PLANE_LENGTHS = (96, 128, 192, 256, 512, 1024, 2048), (16, 256)


def critical(
    trigger_in_values: bool,
    dims: Sequence[int] = PLANE_DIMS,
    lengths: Sequence[int] = PLANE_LENGTHS,
) -> pd.DataFrame:
    """Predicted critical number of sequences for accuracy 0.9 at V = 256, committed for these
    sizes."""
    table = pd.DataFrame(itertools.product(dims, lengths), columns=["dim", "seq_len"])
    found = [predicted()[trigger_in_values, 256, n, d] for d, n in table.to_numpy().tolist()]
    return table.assign(samples=found)


def largest_law(
    frame: pd.DataFrame, trigger_in_values: bool, vocab: int = 256
) -> NDArray[np.float64]:
    """The largest of coverage, label frequencies and lock-on, as a number of sequences, for each
    row of ``frame``."""
    every = [
        numeric(law)({V: vocab, **columns(frame)})
        for law in laws.samples(trigger_in_values).values()
    ]
    return np.asarray(np.max(np.broadcast_arrays(*every), axis=0))
