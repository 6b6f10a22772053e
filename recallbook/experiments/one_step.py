r"""How much one gradient at initialisation remembers: decoding against $Nd^2/(LV^2)$, the axis of the bound.

No step is taken: labels are decoded from the gradient in the values at zero, by arg max and by assignment.
"""

from __future__ import annotations

import pandas as pd

from recallbook.intervals import over_seeds
from recallbook.points import Point
from recallbook.setting import Setting

SEEDS = range(10)
METHODS = ("argmax", "assignment")
DOUBLINGS = range(-1, 8)  # of N d^2 / (L V^2), from 1/2 to 128
CASES = tuple(  # V, L, d and whether the values carry the trigger
    (vocab, seq_len, vocab // share, flag)
    for vocab, lengths in ((128, (16,)), (256, (4, 16, 64)), (512, (16,)))
    for seq_len in lengths
    for share in (8, 4, 2, 1)
    for flag in (False, True)
    if not flag or (vocab, seq_len) == (256, 16)
)


def points() -> list[Point]:
    """Each case at each doubling, with both decoders."""
    found = []
    for vocab, seq_len, dim, flag in CASES:
        for doubling in DOUBLINGS:
            samples = round(2.0**doubling * seq_len * vocab**2 / dim**2)
            setting = Setting(vocab, seq_len, dim, samples, trigger_in_values=flag)
            found += [Point(setting, seed, method=method) for seed in SEEDS for method in METHODS]
    return found


def with_axis(frame: pd.DataFrame) -> pd.DataFrame:
    r"""The frame with ``information`` $=Nd^2/(LV^2)$, on which all curves should fall together."""
    return frame.assign(information=frame["samples"] * frame["dim"] ** 2 / (frame["seq_len"] * frame["vocab"] ** 2))


def memory(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean fraction of facts decoded, with its interval over seeds, along the axis of :func:`with_axis`."""
    by = ["method", "trigger_in_values", "vocab", "seq_len", "dim", "information"]
    return over_seeds(with_axis(frame), by, "recall", within=(0, 1))
