r"""Accuracy where label frequencies bind: with the trigger in the values $N$ must grow like
$V^2\log V/d$.

Sequences are so short that attention always locks on. Without the trigger in the values the same
sizes need no more than coverage, so both are there."""

from __future__ import annotations

import pandas as pd

from recallbook.analysis.critical import critical_table, with_predictions
from recallbook.setting import Setting
from recallbook.sweeps.point import Point
from recallbook.theory.symbolic.expressions import numeric
from recallbook.theory.values import columns
from recallbook_studies import laws

SEEDS = range(10)
LENGTH = 8
# Nearest power of two to the predicted N for accuracy 1/2 with the trigger in the values, by (V,
# d); a test compares.
CENTRES = {
    **{(128, 64): 16384, (128, 128): 2048, (128, 256): 2048, (128, 512): 1024},
    **{(256, 128): 16384, (256, 256): 8192, (256, 512): 4096, (256, 1024): 4096},
    **{(512, 256): 16384, (512, 512): 16384, (512, 1024): 8192},
    **{(1024, 512): 32768, (1024, 1024): 32768},
}
OCTAVES = range(-7, 4)  # around the centre; at least a quarter of V


def points() -> list[Point]:
    """Each case from far below coverage to eight times the centre, with the trigger in and out of
    the values."""
    found = []
    for (vocab, dim), centre in CENTRES.items():
        for octave in OCTAVES:
            samples = round(centre * 2.0**octave)
            if samples < vocab / 4:
                continue
            for flag in (True, False):
                if not flag and samples > 16 * vocab:  # saturated
                    continue
                setting = Setting(
                    vocab=vocab, seq_len=LENGTH, dim=dim, samples=samples, trigger_in_values=flag
                )
                found += [Point(setting, seed, test_samples=4000) for seed in SEEDS]
    return found


def with_axis(frame: pd.DataFrame) -> pd.DataFrame:
    r"""The frame with ``load`` $=Nd/V^2$, on which curves with the trigger in the values should
    fall together."""
    return frame.assign(load=frame["samples"] * frame["dim"] / frame["vocab"] ** 2)


def critical(frame: pd.DataFrame, trigger_in_values: bool, level: float = 0.5) -> pd.DataFrame:
    """Critical N for accuracy by V and d, measured and predicted."""
    chosen = frame[frame["trigger_in_values"] == trigger_in_values]
    table = critical_table(chosen, ["vocab", "dim"], outcome="accuracy", level=level)
    return with_predictions(
        table, "accuracy", level, seq_len=LENGTH, trigger_in_values=trigger_in_values
    )


def with_law(table: pd.DataFrame) -> pd.DataFrame:
    r"""The table of critical N with ``law`` $=2V\log V\,(V+d)/d$: label frequencies alone, to
    leading order."""
    return table.assign(law=numeric(laws.label_frequencies())(columns(table)))
