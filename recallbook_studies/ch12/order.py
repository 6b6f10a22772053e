r"""When lock-on and recall come, with many steps at the book's own rates: a look at every step, at
the base, for every N (chapter 12).

``step_lock_on``, ``step_recall``, ``step_accuracy``: the first step after which each is half of the
way from chance ($1/L$ for lock-on, $1/V$ for the others) to 1. ``python -m recallbook table
survives_order STORE`` makes the runs, ``--export`` writes the table."""

from __future__ import annotations

from functools import partial
from typing import Any

from recallbook_studies.ch12 import sizes
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import STEPS, TIMES, by_seed
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_order")  # the committed rows
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
    return {**named, **found[["accuracy", *TIMES]].to_dict()}
