r"""Orthogonal against random embeddings on the same axes: how optimistic is it to assume that
nothing interferes?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies import grids
from recallbook_studies.critical import critical_table
from recallbook_studies.running.point import Point

SEEDS = range(10)
VOCAB, LENGTHS = 256, (16, 64, 256)
SAMPLES = tuple(2**k for k in range(5, 16))
LAWS = (
    ("orthogonal", 258),
    ("gaussian", 258),
    ("sphere", 258),
    ("gaussian", 128),
    ("gaussian", 64),
)


def points() -> list[Point]:
    """Every law at every length and N, with the trigger in and out of the values."""
    shared = {"seq_len": LENGTHS, "samples": SAMPLES, "trigger_in_values": grids.FLAGS}
    found = [
        setting
        for law, dim in LAWS
        for setting in grids.settings(vocab=VOCAB, dim=dim, embeddings=law, **shared)
    ]
    return grids.points(found, SEEDS)


def ratios(frame: pd.DataFrame, trigger_in_values: bool, outcome: str) -> pd.DataFrame:
    """Critical N of Gaussian embeddings over that of orthogonal ones at the same d and L, with its
    95 % interval.

    Seeds are paired and resampled together. Lengths where either does not cross on the grid are
    left out."""
    law, dim = LAWS[0]
    chosen = grids.at(frame, trigger_in_values=trigger_in_values, dim=dim)
    rows = []
    for seq_len, part in chosen[chosen["embeddings"].isin([law, "gaussian"])].groupby("seq_len"):
        crossed = critical_table(part, ["embeddings"], outcome=outcome)["critical"]
        if ((crossed > 0) & np.isfinite(crossed)).all():
            found = grids.factors(part, outcome, random=part["embeddings"] != law)
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
