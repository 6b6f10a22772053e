r"""Attention, recall and accuracy while the rungs train, at the base shape (chapter 12).

``python -m recallbook table survives_histories STORE`` makes the runs, ``--export`` writes the
table."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import pandas as pd

from recallbook.sweeps.archive import load_results
from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import LOOKS, STEPS, train

load = partial(load_results, "survives_histories")  # the committed rows
NAMES = ("many steps", "AdamW", "learned embeddings", "MLP", "second layer")
PER_FACT = 4  # sequences: ample, so that what is slow is training
COLUMNS = ("accuracy", "recall", "lock_on", "attention", "marker_attention")


def looks() -> list[int]:
    """The steps at which there is a look."""
    return [round(look * STEPS / LOOKS) for look in range(LOOKS + 1)]


def keys() -> list[str]:
    """Every rung at every look, "rung step"."""
    return [f"{name} {step}" for name in NAMES for step in looks()]


@lru_cache(maxsize=1)
def histories(name: str) -> pd.DataFrame:
    """Mean over seeds at every look and its standard error, of the head of each seed that locks on
    most at the end."""
    rung = RUNGS[name]
    setting = sizes.setting(sizes.BASE, PER_FACT * sizes.VOCAB)
    return means(train(rung, setting, sizes.SEEDS, **tuning.pair_of(rung)).history)


def means(history: pd.DataFrame) -> pd.DataFrame:
    """A history of all seeds and heads as one row for each step: mean over seeds and standard error
    of each column."""
    last = history[history["step"] == history["step"].max()]
    heads = last.loc[last.groupby("seed")["lock_on"].idxmax(), ["seed", "layer", "head"]]
    by_step = history.merge(heads, on=["seed", "layer", "head"]).groupby("step")[list(COLUMNS)]
    return by_step.mean().join(by_step.sem().add_suffix("_error"))


def row(key: str) -> dict[str, Any]:
    """One rung at one step."""
    name, step = key.rsplit(" ", 1)
    return {"key": key, "rung": name, "step": int(step), **histories(name).loc[int(step)].to_dict()}
