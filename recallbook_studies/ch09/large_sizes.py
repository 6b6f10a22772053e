r"""Wide ranges: $V$ from 256 to 8192, three decades of $N$, $d$ from 16 to 1024, $L$ from 4 to 1024
and beyond $V$."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook.setting import Setting
from recallbook_studies import grids
from recallbook_studies.running.point import Point

SEEDS = range(10)
SIZES = ["vocab", "seq_len", "dim", "samples"]
GRIDS: dict[str, tuple[dict[str, Any], ...]] = {  # by what they show: products of sizes
    "three decades of N": (
        dict(vocab=256, seq_len=4, dim=(16, 64, 256), samples=[4**k for k in range(4, 10)]),
    ),
    "sequences longer than the vocabulary": (
        dict(vocab=256, seq_len=(256, 512, 1024), dim=(64, 256), samples=(1024, 4096, 16384)),
        dict(vocab=256, seq_len=1024, dim=(64, 256), samples=65536),
    ),
    "more dimensions than tokens": (
        dict(vocab=512, seq_len=32, dim=1024, samples=(512, 2048, 8192, 32768)),
        dict(vocab=1024, seq_len=32, dim=1024, samples=(1024, 8192, 65536)),
    ),
    "large vocabularies": (
        dict(vocab=1024, seq_len=32, dim=(64, 128, 256), samples=(1024, 4096, 16384, 65536)),
        dict(vocab=4096, seq_len=32, dim=(64, 256), samples=(4096, 16384, 65536)),
        dict(vocab=8192, seq_len=32, dim=(64, 256), samples=(8192, 32768)),
        dict(vocab=8192, seq_len=32, dim=512, samples=32768),
    ),
}


def settings(what: str) -> list[Setting]:
    """The settings of one of :data:`GRIDS`, with the trigger in and out of the values."""
    every = (grids.settings(**sizes, trigger_in_values=grids.FLAGS) for sizes in GRIDS[what])
    return [setting for several in every for setting in several]


def points() -> list[Point]:
    """Every grid, with the trigger in and out of the values."""
    return [point for what in GRIDS for point in grids.points(settings(what), SEEDS)]


def grid(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Rows of one of :data:`GRIDS`."""
    wanted = [tuple(getattr(setting, size) for size in SIZES) for setting in settings(what)]
    return frame[pd.MultiIndex.from_frame(frame[SIZES]).isin(wanted)]
