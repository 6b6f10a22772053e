r"""Does the scaling survive more than three steps? Gradient descent on one batch, and on fresh
sequences in every step.

Both matrices move at once from zero, for long enough that the loss on the batch is near zero where
facts fit into $d^2$ weights. Three steps in the early-phase limit are there at the same sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recallbook.analysis.critical import critical_table, exponents
from recallbook.setting import Setting
from recallbook.sweeps.point import Point

SEEDS = range(10)
VOCAB, DIMS, LENGTHS = 64, (16, 32, 64, 128), (16, 32, 64)
STEPS = 300
TRAININGS = ("three steps", "one batch", "fresh batches")
# with fresh batches N is the number of sequences seen in all steps; batches of one leave runs
# chaotic
SAMPLES = {
    "three steps": tuple(2**k for k in range(4, 13)),
    "one batch": tuple(2**k for k in range(2, 11)),
    "fresh batches": tuple(STEPS * 2**k for k in range(1, 7)),
}


LARGER_VOCAB, LARGER_DIMS, LARGER_LENGTHS, LARGER_SEEDS = (
    256,
    (64, 96, 128),
    (16, 64, 128),
    range(5),
)
# above coverage: 0.9 of 256 facts are seen with 590 sequences
LARGER_SAMPLES = {
    "three steps": (600, 1200, 2400, 4800, 9600, 19200),
    "one batch": (600, 850, 1200, 1700, 2400, 3400),
}


def rates(setting: Setting) -> dict[str, Any]:
    r"""$\eta=LV/200$ and $\gamma=L/20$: at twice these rates one run of sixty tried lost its end to
    rounding.

    It was at $d=16$, $L=64$. `python tests/precision.py --rates FACTOR` tries others.
    """
    return {"eta": setting.seq_len * setting.vocab / 200, "gamma": setting.seq_len / 20}


def points() -> list[Point]:
    """Every training at every size, with the trigger out of the values."""
    found = []
    for training in TRAININGS:
        for seq_len in LENGTHS:
            for dim in DIMS:
                for samples in SAMPLES[training]:
                    setting = Setting(
                        vocab=VOCAB,
                        seq_len=seq_len,
                        dim=dim,
                        samples=samples,
                        trigger_in_values=False,
                    )
                    found += [_point(setting, seed, training) for seed in SEEDS]
    return found


def larger_points() -> list[Point]:
    """The same above coverage: V = 256, d at most V/2, one batch and three steps."""
    found = []
    for training, sizes in LARGER_SAMPLES.items():
        for seq_len in LARGER_LENGTHS:
            for dim in LARGER_DIMS:
                for samples in sizes:
                    setting = Setting(
                        vocab=LARGER_VOCAB,
                        seq_len=seq_len,
                        dim=dim,
                        samples=samples,
                        trigger_in_values=False,
                    )
                    found += [_point(setting, seed, training) for seed in LARGER_SEEDS]
    return found


def _point(setting: Setting, seed: int, training: str) -> Point:
    if training == "three steps":
        return Point(setting, seed, test_samples=2000)
    batch = setting.samples // STEPS if training == "fresh batches" else None
    return Point(
        setting,
        seed,
        **rates(setting),
        method="descend",
        steps=STEPS,
        batch=batch,
        test_samples=2000,
    )


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with ``training``, one of :data:`TRAININGS`."""
    training = pd.Series("one batch", index=frame.index)
    training = training.mask(frame["batch"].notna(), "fresh batches").mask(
        frame["steps"].isna(), "three steps"
    )
    return frame.assign(training=training)


def critical(frame: pd.DataFrame, outcome: str = "lock_on", level: float = 0.5) -> pd.DataFrame:
    """Critical N by training, L and d."""
    parts = [
        critical_table(part, ["seq_len", "dim"], outcome=outcome, level=level).assign(
            training=training
        )
        for training, part in labelled(frame).groupby("training", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def fitted(frame: pd.DataFrame, outcome: str = "lock_on", level: float = 0.5) -> pd.DataFrame:
    """Exponents of the critical N in d and L for each training, over the curves that cross on their
    grid.

    Not numbers for a training whose curves cross at fewer than two values of d or of L.
    """
    sizes = ["dim", "seq_len"]
    table = critical(frame, outcome, level)
    parts = []
    for training, part in labelled(frame).groupby("training", sort=False):
        found = table[table["training"] == training]
        crossed = found[(found["critical"] > 0) & np.isfinite(found["critical"])]
        if len(crossed) > len(sizes) and (crossed[sizes].nunique() > 1).all():
            fit = exponents(part, sizes, outcome=outcome, level=level)
        else:
            counts = {"curves": len(crossed), "outside": len(found) - len(crossed)}
            fit = pd.DataFrame(
                {"size": sizes, "exponent": np.nan, "low": np.nan, "high": np.nan, **counts}
            )
        parts.append(fit.assign(training=training))
    return pd.concat(parts, ignore_index=True)
