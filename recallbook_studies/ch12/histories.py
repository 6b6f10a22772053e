r"""Attention, recall and accuracy while "many steps" trains, at the base shape (chapter 12).

``python -m recallbook table survives_histories STORE`` makes the runs, ``--export`` writes the
table."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import pandas as pd

from recallbook.sweeps.archive import load_results
from recallbook_studies.ch12 import sizes
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import LOOKS, STEPS, train

load = partial(load_results, "survives_histories")  # the committed rows
NAME = "many steps"
PER_FACT = 4  # sequences: ample, so that what is slow is training
COLUMNS = ["accuracy", "recall", "lock_on", "attention"]


def looks() -> list[int]:
    """The steps at which there is a look."""
    return [round(look * STEPS / LOOKS) for look in range(LOOKS + 1)]


def keys() -> list[str]:
    """Every look, "rung step"."""
    return [f"{NAME} {step}" for step in looks()]


@lru_cache(maxsize=1)
def histories() -> pd.DataFrame:
    """Mean over seeds at every look, and its standard error."""
    setting = sizes.setting(sizes.BASE, PER_FACT * sizes.VOCAB)
    by_step = train(RUNGS[NAME], setting, sizes.SEEDS).history.groupby("step")[COLUMNS]
    return by_step.mean().join(by_step.sem().add_suffix("_error"))


def row(key: str) -> dict[str, Any]:
    """One step."""
    step = int(key.removeprefix(NAME))
    return {"key": key, "rung": NAME, "step": step, **histories().loc[step].to_dict()}
