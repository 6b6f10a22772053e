r"""Orthogonal against random embeddings on the same axes: how optimistic is it to assume that nothing interferes?"""

from __future__ import annotations

import pandas as pd

from recallbook.capacity import critical_table
from recallbook.points import Point
from recallbook.setting import Setting

SEEDS = range(10)
VOCAB, LENGTHS = 256, (16, 64, 256)
SAMPLES = tuple(2**k for k in range(5, 16))
LAWS = (("orthogonal", 258), ("gaussian", 258), ("sphere", 258), ("gaussian", 128), ("gaussian", 64))


def points() -> list[Point]:
    """Every law at every length and N, with the trigger in and out of the values."""
    return [
        Point(
            Setting(VOCAB, seq_len, dim, samples, embeddings=law, trigger_in_values=flag),
            seed,
            test_samples=4000,
        )
        for law, dim in LAWS
        for seq_len in LENGTHS
        for samples in SAMPLES
        for flag in (False, True)
        for seed in SEEDS
    ]


def name(law: str, dim: int) -> str:
    """Label of one law in a figure."""
    return f"{law}, d = {dim}"


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with ``law``, the label of its embeddings."""
    return frame.assign(law=[name(law, dim) for law, dim in zip(frame["embeddings"], frame["dim"], strict=True)])


def optimism(frame: pd.DataFrame, trigger_in_values: bool, outcome: str, level: float = 0.5) -> pd.DataFrame:
    """Critical N by law and L, and its ``ratio`` to that of orthogonal embeddings at the same L.

    The ratio is not a number where either is below the grid, and infinite where only the orthogonal one is on it.
    """
    chosen = labelled(frame[frame["trigger_in_values"] == trigger_in_values])
    table = critical_table(chosen, ["law", "seq_len"], outcome=outcome, level=level)
    ideal = table[table["law"] == name(*LAWS[0])].set_index("seq_len")["critical"]
    known = table["critical"].where(table["critical"] > 0)
    return table.assign(ratio=known / table["seq_len"].map(ideal.where(ideal > 0)))
