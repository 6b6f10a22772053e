r"""The ladder's sweep: every rung at every shape and number of sequences, ten seeds each.

Training amplifies rounding, so the runs are committed: ``python -m recallbook.experiments.survives.runs STORE`` makes
them, ``--export STORE...`` writes the table. A run made again agrees to the scatter between machines, not to the
digit: means over seeds do (:func:`again`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from recallbook.experiments.survives import rates, sizes
from recallbook.practice.rungs import RUNGS, Rung, rung_named
from recallbook.practice.training import train
from recallbook.sweeps.archive import FOLDER
from recallbook.sweeps.rows import command_line, extend, join

FILE = FOLDER / "tables" / "survives.csv"


class Cell(NamedTuple):
    """One rung at one shape and one number of sequences: what is trained together, all seeds side by side."""

    rung: str
    shape: sizes.Shape
    samples: int

    def key(self, seed: int) -> str:
        """The name of one of its runs, "rung V L d N seed"."""
        return " ".join(map(str, (self.rung, *self.shape, self.samples, seed)))


def cells() -> list[Cell]:
    """Everything that is swept, rung by rung."""
    return [
        Cell(rung.name, shape, count)
        for rung in RUNGS.values()
        for shape in sizes.shapes_of(rung)
        for count in sizes.samples(rung, shape.vocab)
    ]


def cell_of(key: str) -> tuple[Cell, int]:
    """The cell and the seed that a key names."""
    name, *numbers = key.rsplit(" ", 5)
    vocab, seq_len, dim, count, seed = map(int, numbers)
    return Cell(rung_named(name).name, sizes.Shape(vocab, seq_len, dim), count), seed


@lru_cache(maxsize=1)
def outcomes(cell: Cell) -> pd.DataFrame:
    """All seeds of one cell."""
    rung: Rung = RUNGS[cell.rung]
    setting = sizes.setting(cell.shape, cell.samples)
    rate = rates.rate_of(rung)
    found = train(rung, setting, sizes.SEEDS, rate=rate).outcomes
    return found.assign(rate=rate).set_index("seed")


def row(key: str) -> dict[str, Any]:
    """One run by its key. All seeds of its cell are trained; the others are kept for the next keys."""
    cell, seed = cell_of(key)
    sizes_of = {**cell.shape._asdict(), "samples": cell.samples, "seed": seed}
    return {"key": key, "rung": cell.rung, **sizes_of, **outcomes(cell).loc[seed].to_dict()}


def load() -> pd.DataFrame:
    """The committed runs: one row for each rung, shape, number of sequences and seed."""
    with FILE.open(encoding="utf-8") as file:
        return pd.read_csv(file)


def again(frame: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    """One cell made again beside what the frame holds of it: ``column``, mean over seeds ``kept`` and ``made``."""
    kept = frame[frame["key"].isin([cell.key(seed) for seed in sizes.SEEDS])]
    made = pd.DataFrame([row(key) for key in kept["key"]])
    columns = ["accuracy", "recall", "lock_on", "cosine"]
    means = {"kept": kept[columns].mean(), "made": made[columns].mean()}
    return pd.DataFrame(means).rename_axis("column").reset_index()


def fill(store: Path, part: slice) -> None:
    """Make what the store lacks; the parts of a divided sweep are cells."""
    extend(store, "key", [cell.key(seed) for cell in cells()[part] for seed in sizes.SEEDS], row)


def export(stores: Iterable[Path]) -> None:
    """Write the table that ships with the package."""
    join(stores, "key", [cell.key(seed) for cell in cells() for seed in sizes.SEEDS], FILE)


if __name__ == "__main__":
    command_line(__spec__.name, __doc__, fill, export)
