r"""Wide ranges: $V$ from 256 to 8192, three decades of $N$, $d$ from 16 to 1024, $L$ from 4 to 1024
and beyond $V$."""

from __future__ import annotations

import pandas as pd

from recallbook.analysis.intervals import over_seeds
from recallbook.setting import Setting
from recallbook.sweeps.point import Point
from recallbook.theory.prediction import predict
from recallbook_studies import grids

SEEDS = range(10)
GRIDS: dict[str, tuple[dict[str, tuple[int, ...]], ...]] = {  # by what they show: products of sizes
    "three decades of N": (
        dict(
            vocab=(256,), seq_len=(4,), dim=(16, 64, 256), samples=tuple(4**k for k in range(4, 10))
        ),
    ),
    "sequences longer than the vocabulary": (
        dict(vocab=(256,), seq_len=(256, 512, 1024), dim=(64, 256), samples=(1024, 4096, 16384)),
        dict(vocab=(256,), seq_len=(1024,), dim=(64, 256), samples=(65536,)),
    ),
    "more dimensions than tokens": (
        dict(vocab=(512,), seq_len=(32,), dim=(1024,), samples=(512, 2048, 8192, 32768)),
        dict(vocab=(1024,), seq_len=(32,), dim=(1024,), samples=(1024, 8192, 65536)),
    ),
    "large vocabularies": (
        dict(vocab=(1024,), seq_len=(32,), dim=(64, 128, 256), samples=(1024, 4096, 16384, 65536)),
        dict(vocab=(4096,), seq_len=(32,), dim=(64, 256), samples=(4096, 16384, 65536)),
        dict(vocab=(8192,), seq_len=(32,), dim=(64, 256), samples=(8192, 32768)),
        dict(vocab=(8192,), seq_len=(32,), dim=(512,), samples=(32768,)),
    ),
}


def points() -> list[Point]:
    """Every grid, with the trigger in and out of the values."""
    every = [sizes for several in GRIDS.values() for sizes in several]
    found = [s for sizes in every for s in grids.settings(**sizes, trigger_in_values=grids.FLAGS)]
    return grids.points(found, SEEDS)


def grid(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Rows of one of :data:`GRIDS`."""
    return pd.concat([frame[frame[list(sizes)].isin(sizes).all(axis=1)] for sizes in GRIDS[what]])


def both(frame: pd.DataFrame) -> pd.DataFrame:
    """Lock-on and accuracy of every setting, ``mean`` and ``predicted``, with the grid it belongs
    to (``shows``)."""
    by = ["vocab", "seq_len", "dim", "samples", "trigger_in_values"]
    means = [
        over_seeds(frame, by, outcome, within=(0, 1)).assign(outcome=outcome)
        for outcome in ("lock_on", "accuracy")
    ]
    found = [predict(Setting(**row), warn=False) for row in means[0][by].to_dict("records")]
    means = [
        part.assign(predicted=[getattr(p, part["outcome"].iloc[0]) for p in found])
        for part in means
    ]
    table = pd.concat(means, ignore_index=True)
    for what in GRIDS:
        table.loc[grid(table, what).index, "shows"] = what
    return table
