r"""When lock-on comes, with many steps at the book's own rates: a look at every step, at the base,
for every N.

``step_lock_on``: the first step after which it is half of the way from chance, $1/L$, to 1.
``python -m recallbook table survives_order STORE`` makes the runs, ``--export`` writes the table."""

from __future__ import annotations

from typing import Any

from recallbook_studies.ch12 import sizes
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import STEPS, by_seed

NAME = "many steps"


def keys() -> list[str]:
    """Every run, "rung N seed"."""
    counts = sizes.samples(RUNGS[NAME], sizes.VOCAB)
    return [f"{NAME} {count} {seed}" for count in counts for seed in sizes.SEEDS]


def row(key: str) -> dict[str, Any]:
    """One run. All seeds of its rung and N are trained; the others are kept for the next keys."""
    name, *rest = key.rsplit(" ", 2)
    (samples, seed), rung = map(int, rest), RUNGS[name]
    found = by_seed(rung, sizes.setting(sizes.BASE, samples), sizes.SEEDS, looks=STEPS).loc[seed]
    named = {"key": key, "rung": name, "samples": samples, "seed": seed}
    return {**named, **found[["accuracy", "step_lock_on"]].to_dict()}
