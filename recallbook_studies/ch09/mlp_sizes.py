r"""Attention-MLP: width, activation and number of sequences, at sizes where attention locks on and
$d^2<V\log V$."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from recallbook.setting import Setting
from recallbook_studies import grids
from recallbook_studies.intervals import over_seeds
from recallbook_studies.running.point import Point

SEEDS = range(10)
VOCAB, LENGTH, DIM = 256, 8, 32
WIDTHS = (None, 64, 256, 1024, 4096)  # None: no MLP
ACTIVATIONS = ("relu", "tanh", "he2", "he3")
SAMPLES = (512, 2048, 8192)
SMALL = Setting(vocab=VOCAB, seq_len=LENGTH, dim=DIM, samples=SAMPLES[0])
LARGE = Setting(vocab=1024, seq_len=4, dim=64, samples=8192, trigger_in_values=False)
LARGE_WIDTHS = (None, 256, 1024, 4096)


def points() -> list[Point]:
    """Every width and activation, with the trigger in and out of the values; a larger vocabulary
    without."""
    several = [
        replace(SMALL, width=m, activation=phi, samples=n, trigger_in_values=flag)
        for m in WIDTHS
        for phi in (ACTIVATIONS if m else ACTIVATIONS[:1])
        for n in SAMPLES
        for flag in grids.FLAGS
    ]
    several += [
        replace(LARGE, width=m, activation=phi)
        for m in LARGE_WIDTHS
        for phi in (("relu", "he3") if m else ("relu",))
    ]
    return grids.points(several, SEEDS)


def means(frame: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """Mean over seeds with its interval, by ``activation``, ``features`` and N; without an MLP these
    are "none" and the dimension."""
    activation = frame["activation"].mask(frame["width"].isna(), "none")
    count = frame["width"].fillna(frame["dim"]).astype(int)
    frame = frame.assign(activation=activation, features=count)
    return over_seeds(frame, ["activation", "features", "samples"], outcome, within=(0, 1))
