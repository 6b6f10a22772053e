r"""The ladder's sweep: every rung at every shape and number of sequences, ten seeds each, and some
for longer.

Beside it other decays, tokens by Zipf's law, and three rungs at a large shape.

Training amplifies rounding, so the runs are committed: ``python -m recallbook table survives
STORE`` makes them (``--device cuda`` on a GPU), ``--export`` writes the table. A run made again
agrees to the scatter between machines, not to the digit; means over seeds do."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from recallbook.arguments import Device
from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.rungs import LADDER, RUNGS
from recallbook_studies.ch12.training import COLUMNS, STEPS, by_seed
from recallbook_studies.running.archive import load_results

LONGER, LONGEST = 4 * STEPS, 16 * STEPS
FEWEST = 4  # of the numbers of sequences: more steps are asked whether fewer sequences do
NARROW = sizes.BASE._replace(dim=16)
FEW = (0.5, 1.0, 2.0, 4.0)
# what other decays do: rung, shape, N in units of V, decays
PRICED: list[tuple[str, sizes.Shape, tuple[float, ...], tuple[float, ...]]] = [
    *(
        (name, sizes.BASE, FEW, tuning.DECAYS)
        for name in ("four heads", "residual and norm", "MLP")
    ),
    ("second layer", sizes.BASE, sizes.MARKER_PER_FACT, tuning.DECAYS),
    ("MLP", NARROW, (2, 16), tuning.DECAYS),
    # at other lengths; the tuned decay is 1
    *(("MLP", shape, FEW, (0.01, 0.3)) for shape in sizes.along("seq_len") if shape != sizes.BASE),
]
ZIPF_RUNGS = ("three steps", "AdamW", "learned embeddings", "MLP")


class Cell(NamedTuple):
    """One rung at one shape, number of sequences and of steps: what is trained together, all seeds
    side by side."""

    rung: str
    shape: sizes.Shape
    samples: int
    steps: int = STEPS
    zipf: float = 0.0
    decay: str = "tuned"  # or a number, with the rate that was tuned

    def key(self, seed: int) -> str:
        """The name of one of its runs, "rung V L d N steps zipf decay seed"."""
        sizes_of = (*self.shape, self.samples, self.steps, f"{self.zipf:g}", self.decay)
        return " ".join(map(str, (self.rung, *sizes_of, seed)))

    def pair(self) -> tuning.Pair:
        """Its rate and weight decay."""
        tuned = tuning.pair_of(RUNGS[self.rung], self.shape)
        return tuned if self.decay == "tuned" else tuned._replace(decay=float(self.decay))


def cells() -> list[Cell]:
    """Everything that is swept: the ladder; at other decays, with frequent and rare tokens;
    longer."""

    def over(
        name: str, shape: sizes.Shape, steps: int = STEPS, most: int | None = None, zipf: float = 0
    ) -> list[Cell]:
        counts = sizes.samples(RUNGS[name], shape.vocab)[:most]
        return [Cell(name, shape, count, steps, zipf) for count in counts]

    batched = [r.name for r in LADDER if r.data == "minibatches" and r.name != "marker token"]
    ladder = [over(rung.name, shape) for rung in LADDER for shape in sizes.shapes_of(rung)]
    zipf = [over(name, sizes.BASE, zipf=1) for name in ZIPF_RUNGS]
    longer = [over(name, sizes.BASE, LONGER) for name in batched]
    longer += [over(name, sizes.BASE, LONGEST, FEWEST) for name in batched]
    large = [
        over(name, sizes.LARGE, steps, FEWEST)
        for steps in (STEPS, LONGER)
        for name in sizes.LARGE_RUNGS
    ]
    decays = [
        Cell(name, shape, count, decay=f"{decay:g}")
        for name, shape, per_fact, decayed in PRICED
        for decay in decayed
        for count in (round(per * shape.vocab) for per in per_fact)
    ]
    return [cell for part in (*ladder, decays, *zipf, *longer, *large) for cell in part]


@cache
def every() -> dict[str, tuple[Cell, int]]:
    """The cell and the seed of every run, by its key, in the order of the table: the seeds of a cell
    follow each other."""
    return {cell.key(seed): (cell, seed) for cell in cells() for seed in sizes.SEEDS}


def outcomes(cell: Cell, device: Device = "cpu") -> pd.DataFrame:
    """All seeds of one cell."""
    setting = sizes.setting(cell.shape, cell.samples, zipf=cell.zipf)
    options = {**cell.pair()._asdict(), "steps": cell.steps, "looks": 1, "device": device}
    found = by_seed(RUNGS[cell.rung], setting, sizes.SEEDS, **options)
    return found[COLUMNS].assign(**cell.pair()._asdict())


def row(key: str, device: Device = "cpu") -> dict[str, Any]:
    """One run by its key. All seeds of its cell are trained; the others are kept for the next
    keys."""
    cell, seed = every()[key]
    fields = {"key": key, **cell.shape._asdict(), **cell._asdict(), "tuned": cell.decay == "tuned"}
    del fields["shape"], fields["decay"]
    return {**fields, "seed": seed, **outcomes(cell, device).loc[seed].to_dict()}


def load(steps: int = STEPS, zipf: float = 0.0, tuned: bool = True) -> pd.DataFrame:
    """The committed runs with this number of steps and these frequencies, a row for each rung,
    shape, N and seed.

    At the decay that was tuned, or at all others. Three steps are three whatever ``steps`` is.
    """
    frame = load_results("survives")
    wanted = (frame["steps"] == steps) | (frame["rung"] == "three steps")
    return frame[wanted & (frame["zipf"] == zipf) & (frame["tuned"] == tuned)].reset_index(
        drop=True
    )
