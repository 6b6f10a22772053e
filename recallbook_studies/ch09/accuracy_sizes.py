r"""Critical number of sequences for accuracy 0.9: by dimension, and by length at two
vocabularies."""

from __future__ import annotations

import pandas as pd

from recallbook.analysis.critical import critical_table
from recallbook.sweeps.point import Point
from recallbook.theory.prediction import critical_samples
from recallbook_studies import grids

LEVEL = 0.9
STEPS = (-1, -0.5, 0, 0.5, 1)  # octaves around the centre
# Predicted critical N to two digits, where the grids are centred, by (tau, V, d, L); a test
# compares them.
BY_DIM = {
    (0, 256, 96, 16): 6200,
    (0, 256, 192, 16): 1100,
    (0, 256, 512, 16): 600,
    (0, 256, 96, 256): 11000,
    (0, 256, 192, 256): 3800,
    (0, 256, 512, 256): 1400,
    (1, 256, 192, 16): 31000,
    (1, 256, 512, 16): 12000,
}
# d is 1.15 times the dimension at which predicted recall reaches 0.9 with unlimited data
BY_LENGTH = {
    (0, 256, 98, 16): 5300,
    (0, 256, 98, 64): 5300,
    (0, 256, 98, 128): 5300,
    (0, 256, 98, 192): 6900,
    (0, 256, 98, 256): 11000,
    (0, 1024, 193, 64): 23000,
    (0, 1024, 193, 256): 23000,
    (0, 1024, 193, 512): 28000,
    (0, 1024, 193, 768): 55000,
}
SEEDS = {256: range(10), 1024: range(6)}


def points() -> list[Point]:
    """Each case at five values of N; the longest at the larger vocabulary stop half an octave above
    the centre."""
    found = []
    for (tau, vocab, dim, length), centre in {**BY_DIM, **BY_LENGTH}.items():
        steps = STEPS[: -1 if vocab * length > 5e5 else None]
        line = grids.settings(
            vocab=vocab,
            seq_len=length,
            dim=dim,
            samples=grids.octaves(centre, steps),
            trigger_in_values=bool(tau),
        )
        found += grids.points(line, SEEDS[vocab], 2000)
    return found


def critical(frame: pd.DataFrame) -> pd.DataFrame:
    """Critical N of every case, interpolated on its grid, with an interval over seeds."""
    sizes = ["trigger_in_values", "vocab", "dim", "seq_len"]
    parts = [  # vocabularies have different numbers of seeds
        critical_table(part, sizes, outcome="accuracy", level=LEVEL)
        for _, part in frame.groupby("vocab")
    ]
    found = pd.concat(parts, ignore_index=True)
    cases = found[sizes].to_dict("records")
    return found.assign(
        predicted=[critical_samples(**case, accuracy=LEVEL, warn=False) for case in cases]
    )
