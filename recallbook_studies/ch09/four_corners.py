r"""Small and large $d$ and $L$: predicted and observed critical $N$, for lock-on and for
accuracy."""

from __future__ import annotations

import pandas as pd

from recallbook.analysis.critical import critical_table, with_predictions
from recallbook.setting import Setting
from recallbook.sweeps.point import Point

SEEDS = range(10)
VOCAB, DIMS, LENGTHS = 512, (128, 512), (8, 256)
SAMPLES = tuple(2**k for k in range(4, 19))
ENOUGH = 2**15  # without the trigger in the values all is learnt before


def points() -> list[Point]:
    """The four corners, with the trigger in and out of the values."""
    return [
        Point(
            Setting(vocab=VOCAB, seq_len=seq_len, dim=dim, samples=samples, trigger_in_values=flag),
            seed,
            test_samples=4000,
        )
        for seq_len in LENGTHS
        for dim in DIMS
        for samples in SAMPLES
        for flag in (False, True)
        if flag or samples <= ENOUGH
        for seed in SEEDS
    ]


def critical(
    frame: pd.DataFrame, trigger_in_values: bool, outcome: str, level: float = 0.5
) -> pd.DataFrame:
    """Four rows: measured and predicted critical N of one outcome by d and L."""
    chosen = frame[frame["trigger_in_values"] == trigger_in_values]
    table = critical_table(chosen, ["dim", "seq_len"], outcome=outcome, level=level)
    return with_predictions(table, outcome, level, vocab=VOCAB, trigger_in_values=trigger_in_values)
