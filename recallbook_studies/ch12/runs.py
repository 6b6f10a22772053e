r"""The ladder's sweep: every rung at every shape and number of sequences, and at the base after three
numbers of steps: 20 seeds there, ten elsewhere.

Beside it tokens by Zipf's law, and three rungs at a large shape.

Training amplifies rounding, so the runs are committed: ``python -m recallbook table survives
STORE`` makes them (``--device cuda`` on a GPU, as the base's were), ``--export`` writes the table. A
run made again agrees to the scatter between machines, not to the digit; means over seeds do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from recallbook.arguments import Device
from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.rungs import BRANCHES, LADDER, RUNGS
from recallbook_studies.ch12.training import STEPS, by_seed
from recallbook_studies.running.archive import load_results

FEWEST = 4  # of the numbers of sequences, at the large shape
OUTCOMES = ["accuracy", "recall", "lock_on", "attention"]
LONGEST = 10000  # steps, times layers
ZIPF_RUNGS = ("three steps", "AdamW", "learned embeddings", "MLP")


class Cell(NamedTuple):
    """One rung at one shape, number of sequences and of steps: what is trained together, all seeds
    side by side."""

    rung: str
    shape: sizes.Shape
    samples: int
    steps: int = STEPS
    zipf: float = 0.0

    def key(self, seed: int) -> str:
        """The name of one of its runs, "rung V L d N steps zipf seed"."""
        sizes_of = (*self.shape, self.samples, self.steps, f"{self.zipf:g}")
        return " ".join(map(str, (self.rung, *sizes_of, seed)))

    @property
    def laddered(self) -> bool:
        """Whether it is one of the ladder's at the base."""
        return (self.shape, self.zipf) == (sizes.BASE, 0)

    @property
    def seeds(self) -> Sequence[int]:
        """Its seeds: more at the base."""
        return sizes.FRESH if self.laddered else sizes.SEEDS

    def pair(self) -> tuning.Pair:
        """Its rate and weight decay; those of the coarse search for what is beside the ladder."""
        if self.shape == sizes.BASE and not self.laddered:
            return tuning.coarse(self.rung)
        return tuning.pair_of(RUNGS[self.rung], self.shape, self.steps)


def cells() -> list[Cell]:
    """Everything that is swept: the ladder, also longer; with frequent and rare
    tokens; at the large shape."""

    def over(
        name: str, shape: sizes.Shape, steps: int = STEPS, most: int | None = None, zipf: float = 0
    ) -> list[Cell]:
        counts = sizes.samples(RUNGS[name], shape.vocab)[:most]
        return [Cell(name, shape, count, steps, zipf) for count in counts]

    base = [
        over(rung.name, sizes.BASE, steps)
        for steps in sizes.BUDGETS
        for rung in (*LADDER, *BRANCHES)
        if (rung.steps == "many" and rung.layers * steps < LONGEST) or steps == STEPS
    ]
    ladder = [over(rung.name, shape) for rung in LADDER for shape in sizes.shapes_of(rung)[1:]]
    zipf = [over(name, sizes.BASE, zipf=1) for name in ZIPF_RUNGS]
    large = [
        over(name, sizes.LARGE, steps, FEWEST)
        for steps in sizes.BUDGETS[:2]
        for name in sizes.LARGE_RUNGS
    ]
    return [cell for part in (*base, *ladder, *zipf, *large) for cell in part]


@cache
def every() -> dict[str, tuple[Cell, int]]:
    """The cell and the seed of every run, by its key, in the order of the table: the seeds of a cell
    follow each other."""
    return {cell.key(seed): (cell, seed) for cell in cells() for seed in cell.seeds}


def outcomes(cell: Cell, device: Device = "cpu") -> pd.DataFrame:
    """All seeds of one cell."""
    setting = sizes.setting(cell.shape, cell.samples, zipf=cell.zipf)
    options = {**cell.pair()._asdict(), "steps": cell.steps, "looks": 1, "device": device}
    found = by_seed(RUNGS[cell.rung], setting, cell.seeds, **options)
    return found[OUTCOMES].assign(**cell.pair()._asdict())


def row(key: str, device: Device = "cpu") -> dict[str, Any]:
    """One run by its key. All seeds of its cell are trained; the others are kept for the next
    keys."""
    cell, seed = every()[key]
    fields = {"key": key, **cell.shape._asdict(), **cell._asdict()}
    del fields["shape"]
    return {**fields, "seed": seed, **outcomes(cell, device).loc[seed].to_dict()}


def load(steps: int = STEPS, zipf: float = 0.0, fresh: bool = False) -> pd.DataFrame:
    """The committed runs with this number of steps and these frequencies, a row for each rung,
    shape, N and seed; of the first ten seeds, or with ``fresh`` of all.

    Three steps are three whatever ``steps`` is.
    """
    frame = load_results("survives")
    wanted = (frame["steps"] == steps) | (frame["rung"] == "three steps")
    wanted &= fresh | frame["seed"].isin(sizes.SEEDS)
    return frame[wanted & (frame["zipf"] == zipf)].reset_index(drop=True)
