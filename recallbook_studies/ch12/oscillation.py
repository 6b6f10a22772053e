r"""Does overlap make longer training oscillate? Random against orthogonal embeddings of one
dimension (chapter 12).

A run oscillates if its accuracy on fresh sequences falls, between two looks, by more than 0.1 below
the best so far. ``python -m recallbook table survives_oscillation STORE`` makes the runs,
``--export`` writes the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train

NAME = "AdamW"
LAWS, FACTORS = ("gaussian", "orthogonal"), (1, 3, 10)
DIM = 68  # a multiple of the heads, above V + 2 for orthogonal embeddings
PER_FACT = 8
FALL = 0.1


def keys() -> list[str]:
    """Every cell, "rung embeddings factor"."""
    return [f"{NAME} {law} {factor}" for law in LAWS for factor in FACTORS]


def falls(history: pd.DataFrame) -> pd.Series:
    """For each seed, the largest fall of accuracy below the best look before."""
    looks = history.pivot(index="step", columns="seed", values="accuracy")
    largest: pd.Series = (looks.cummax() - looks).max()
    return largest


def row(key: str) -> dict[str, Any]:
    """One rung with one law of embeddings, at a multiple of its rate."""
    name, law, factor = key.rsplit(" ", 2)
    setting = sizes.setting(sizes.BASE._replace(dim=DIM), PER_FACT * sizes.VOCAB)
    setting, (rate, decay) = replace(setting, embeddings=law), tuning.coarse(name)
    found = train(RUNGS[name], setting, sizes.SEEDS, rate=float(factor) * rate, decay=decay)
    largest = falls(found.history)
    counts = {"runs": len(largest), "oscillate": int((largest > FALL).sum())}
    means = {"largest_fall": largest.mean(), "accuracy": found.outcomes["accuracy"].mean()}
    return {"key": key, "rung": name, "embeddings": law, "factor": int(factor), **counts, **means}
