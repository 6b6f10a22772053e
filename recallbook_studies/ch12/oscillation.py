r"""Does overlap make longer training oscillate? Random against orthogonal embeddings of one
dimension (chapter 12).

A run oscillates if its accuracy on fresh sequences falls, between two looks, by more than 0.1 below
the best so far. ``python -m recallbook table survives_oscillation STORE`` makes the runs,
``--export`` writes the table."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.ch12 import ladder
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train

DIM = 68  # a multiple of the heads, above V + 2 for orthogonal embeddings
PER_FACT = 8
FALL = 0.1


def falls(history: pd.DataFrame) -> pd.Series:
    """For each seed, the largest fall of accuracy below the best look before."""
    looks = history.pivot(index="step", columns="seed", values="accuracy")
    largest: pd.Series = (looks.cummax() - looks).max()
    return largest


def row(rung: str, embeddings: str, factor: int) -> dict[str, Any]:
    """One rung with one law of embeddings, at a multiple of its rate."""
    sizes = {**ladder.BASE, "dim": DIM, "samples": PER_FACT * ladder.BASE["vocab"]}
    rate, decay = ladder.coarse(rung)
    setting = Setting(**sizes, embeddings=embeddings)
    found = train(RUNGS[rung], setting, ladder.SEEDS, rate=factor * rate, decay=decay)
    largest = falls(found.history)
    counts = {"runs": len(largest), "oscillate": int((largest > FALL).sum())}
    means = {"largest_fall": largest.mean(), "accuracy": found.outcomes["accuracy"].mean()}
    return {**counts, **means}
