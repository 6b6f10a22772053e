r"""Orthogonal against random embeddings on the same axes: how optimistic is it to assume that
nothing interferes?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies import grids
from recallbook_studies.critical import critical_table

VOCAB = 256
ORTHOGONAL_DIM = 258  # of orthogonal embeddings


def ratios(frame: pd.DataFrame, trigger_in_values: bool, outcome: str) -> pd.DataFrame:
    """Critical N of Gaussian embeddings over that of orthogonal ones at the same d and L, with its
    95 % interval.

    Seeds are paired and resampled together. Lengths where either does not cross on the grid are
    left out."""
    chosen = grids.at(frame, trigger_in_values=trigger_in_values, dim=ORTHOGONAL_DIM)
    rows = []
    for seq_len, part in chosen[chosen["embeddings"].isin(["orthogonal", "gaussian"])].groupby(
        "seq_len"
    ):
        crossed = critical_table(part, ["embeddings"], outcome=outcome)["critical"]
        if ((crossed > 0) & np.isfinite(crossed)).all():
            found = grids.factors(part, outcome, random=part["embeddings"] == "gaussian")
            rows.append((seq_len, *found["random"]))
    return pd.DataFrame(rows, columns=["seq_len", "ratio", "low", "high"])


def gaussian(frame: pd.DataFrame, trigger_in_values: bool) -> pd.DataFrame:
    """Rows of Gaussian embeddings: a full table of d and L."""
    return grids.at(frame, embeddings="gaussian", trigger_in_values=trigger_in_values)


def critical(frame: pd.DataFrame, trigger_in_values: bool, outcome: str) -> pd.DataFrame:
    """Critical N of Gaussian embeddings by L and d, measured and predicted."""
    rows = gaussian(frame, trigger_in_values)
    fixed: dict[str, Any] = {"vocab": VOCAB, "trigger_in_values": trigger_in_values}
    return grids.critical(rows, ["seq_len", "dim"], outcome, **fixed)
