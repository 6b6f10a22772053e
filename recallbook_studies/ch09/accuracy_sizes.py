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
from recallbook_studies.critical import critical_table
from recallbook_studies.running.archive import load_results
from recallbook_studies.running.point import Point
from recallbook_theory.critical import critical_samples

LEVEL = 0.9
COLUMNS = {LEVEL: "critical", 0.5: "critical_50", 0.99: "critical_99"}  # by level
STEPS = (-1, -0.5, 0, 0.5, 1)  # octaves around the centre
# Predicted critical N to two digits, where the grids are centred, by (tau, V, d, L).
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
# of chapter 6, at V = 256
PLANE_DIMS, PLANE_LENGTHS = (96, 128, 192, 256, 512, 1024, 2048), (16, 256)
SIZES = ["trigger_in_values", "vocab", "seq_len", "dim"]
# the regime that reviews of the paper name: L = V^c and d = V^b
REGIME_VOCABS, B, C = (256, 1024, 4096), (0.625, 0.75, 0.875, 1), (0.25, 0.5, 0.75, 0.875)


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


def keys() -> list[tuple[bool, int, int, int]]:
    """The :data:`SIZES` of every case whose predicted critical N is committed."""
    swept = [(bool(tau), vocab, n, d) for tau, vocab, d, n in {**BY_DIM, **BY_LENGTH}]
    planes = [
        *itertools.product([False], [256], PLANE_LENGTHS, PLANE_DIMS),
        *itertools.product([True], [256], PLANE_LENGTHS[:1], (48, *PLANE_DIMS)),
        *itertools.product([True], [256], PLANE_LENGTHS[1:], (192, 512)),
    ]
    return list(dict.fromkeys(swept + planes + regime()))


def regime() -> list[tuple[bool, int, int, int]]:
    """Sizes of L = V^c and d = V^b, in both variants."""
    found = itertools.product(grids.FLAGS, REGIME_VOCABS, C, B)
    return [(tau, vocab, round(vocab**c), round(vocab**b)) for tau, vocab, c, b in found]


def row(key: tuple[bool, int, int, int]) -> dict[str, Any]:
    """Predicted critical number of sequences for accuracy 0.9 at a key's sizes; for the other
    levels in :func:`regime`."""
    tau, vocab, length, dim = key
    levels = COLUMNS if key in regime() else [LEVEL]
    found = {
        COLUMNS[level]: critical_samples(
            vocab, length, dim, level, trigger_in_values=tau, warn=False
        )
        for level in levels
    }
    return dict(zip(SIZES, key, strict=True)) | found


@cache
def predicted(level: float = LEVEL) -> pd.Series:
    """The committed predicted critical N for an accuracy of :data:`COLUMNS`, by :data:`SIZES`."""
    return load_results("critical_sizes").set_index(SIZES)[COLUMNS[level]].rename("critical")


def critical(frame: pd.DataFrame) -> pd.DataFrame:
    """Critical N of every case, interpolated on its grid, with an interval over seeds."""
    sizes = ["trigger_in_values", "vocab", "dim", "seq_len"]
    parts = [  # vocabularies have different numbers of seeds
        critical_table(part, sizes, outcome="accuracy", level=LEVEL)
        for _, part in frame.groupby("vocab")
    ]
    found = pd.concat(parts, ignore_index=True)
    return found.join(predicted().rename("predicted"), on=SIZES)
