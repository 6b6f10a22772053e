r"""Attention-MLP: width, activation and number of sequences, at sizes where attention locks on and
$d^2<V\log V$."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from recallbook.setting import Setting
from recallbook.sweeps.point import Point
from recallbook_studies import grids
from recallbook_studies.intervals import over_seeds

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
    settings = []
    for width in WIDTHS:
        for activation in ACTIVATIONS if width else ACTIVATIONS[:1]:
            shape = replace(SMALL, width=width, activation=activation)
            for samples in SAMPLES:
                settings += [
                    replace(shape, samples=samples, trigger_in_values=flag)
                    for flag in (False, True)
                ]
    for width in LARGE_WIDTHS:
        for activation in ("relu", "he3") if width else ("relu",):
            settings.append(replace(LARGE, width=width, activation=activation))
    return grids.points(settings, SEEDS)


def small(frame: pd.DataFrame, trigger_in_values: bool) -> pd.DataFrame:
    """Rows of the smaller vocabulary; ``features`` is the width, or the dimension without an
    MLP."""
    chosen = frame[(frame["vocab"] == VOCAB) & (frame["trigger_in_values"] == trigger_in_values)]
    return _with_features(chosen)


def large(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the larger vocabulary."""
    return _with_features(frame[frame["vocab"] == LARGE.vocab])


def _with_features(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(features=frame["width"].fillna(frame["dim"]).astype(int))


def means(frame: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """Mean over seeds with its interval, by ``activation``, ``features`` and N; without an MLP it
    is called "none"."""
    activation = frame["activation"].mask(frame["width"].isna(), "none")
    return over_seeds(
        frame.assign(activation=activation),
        ["activation", "features", "samples"],
        outcome,
        within=(0, 1),
    )
