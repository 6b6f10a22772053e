r"""Is it data or time? Cells of the ladder again, with more steps or a smaller rate (chapter 12).

``python -m recallbook.experiments.survives.longer STORE`` makes the runs, ``--export STORE...`` writes the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from recallbook.experiments.survives import rates, sizes
from recallbook.practice.rungs import RUNGS
from recallbook.practice.training import STEPS, train
from recallbook.sweeps.archive import FOLDER
from recallbook.sweeps.rows import command_line, extend, join

FILE = FOLDER / "tables" / "survives_longer.csv"
SEEDS = range(5)
LONGER, PER_FACT = 4 * STEPS, (4, 8, 16)
FIELDS = ("accuracy", "recall", "lock_on")


class Case(NamedTuple):
    """One rung at one shape and N, for a number of steps at a multiple of its rate."""

    rung: str
    shape: sizes.Shape
    samples: int
    steps: int
    factor: float

    @property
    def key(self) -> str:
        return " ".join(map(str, (self.rung, *self.shape, self.samples, self.steps, self.factor)))


def cases() -> list[Case]:
    """Where the last rungs fall short, in three ways; then the last rung's N at three lengths, trained longer."""
    wide, long = sizes.BASE._replace(dim=64), sizes.BASE._replace(seq_len=16)
    last = [(sizes.BASE, 8), (long, 16), (wide, 16)]
    short = [("MLP", sizes.BASE, 2), *(("second layer", shape, multiple) for shape, multiple in last)]
    ways = ((STEPS, 1.0), (LONGER, 1.0), (LONGER, 0.3))
    found = [Case(name, shape, per * shape.vocab, *way) for name, shape, per in short for way in ways]
    lengths = [
        Case("second layer", shape, per * shape.vocab, LONGER, 1.0)
        for shape in sizes.along("seq_len")
        for per in PER_FACT
    ]
    return list(dict.fromkeys(found + lengths))


def row(key: str) -> dict[str, Any]:
    """One case: means over the seeds, and the widest standard error."""
    case = {case.key: case for case in cases()}[key]
    rung = RUNGS[case.rung]
    setting = sizes.setting(case.shape, case.samples)
    found = train(rung, setting, SEEDS, rate=case.factor * rates.rate_of(rung), steps=case.steps, looks=1).outcomes
    sizes_of = {**case.shape._asdict(), "samples": case.samples, "steps": case.steps, "factor": case.factor}
    means = {name: float(found[name].mean()) for name in FIELDS}
    return {"key": key, "rung": case.rung, **sizes_of, **means, "standard_error": found[list(FIELDS)].sem().max()}


def load() -> pd.DataFrame:
    """The committed runs."""
    with FILE.open(encoding="utf-8") as file:
        return pd.read_csv(file)


def fill(store: Path, part: slice) -> None:
    """Make what the store lacks."""
    extend(store, "key", [case.key for case in cases()][part], row)


def export(stores: Iterable[Path]) -> None:
    """Write the table that ships with the package."""
    join(stores, "key", [case.key for case in cases()], FILE)


if __name__ == "__main__":
    command_line(__spec__.name, __doc__, fill, export)
