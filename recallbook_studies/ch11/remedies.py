r"""Remedies for unequal facts on equal draws, in the early-phase limit: bias, weights, balance.

Some draws fail, and ten may miss them, so that every remedy has 200 seeds."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook.result import OUTCOMES
from recallbook.setting import LATER, Setting

REMEDIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "calibrated bias": {"output_bias": "calibrated"},
    "trained bias": {"output_bias": "trained"},
    "inverse weights": {"loss_weights": "inverse"},
    "inverse weights, trained bias": {"loss_weights": "inverse", "output_bias": "trained"},
    "balanced batches": {"balanced": True},
}
KEPT = 0.9  # a draw with less lock-on fails


def setting(remedy: str, zipf: float) -> Setting:
    """The setting of a remedy of :data:`REMEDIES`."""
    return Setting(vocab=256, seq_len=16, dim=128, samples=2048, zipf=zipf, **REMEDIES[remedy])


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with ``remedy``, one of :data:`REMEDIES`."""
    kinds = [{**LATER, **choice, "remedy": name} for name, choice in REMEDIES.items()]
    columns = ["loss_weights", "output_bias", "balanced", "remedy"]
    return frame.merge(pd.DataFrame(kinds)[columns])


def failing(frame: pd.DataFrame) -> pd.DataFrame:
    """By ``zipf`` and ``remedy``: share of draws that fail; mean, median and lowest tenth of each
    outcome over seeds."""
    frame = labelled(frame)
    groups = frame.assign(fails=frame["lock_on"] < KEPT).groupby(["zipf", "remedy"], sort=False)
    columns = {"fails": groups["fails"].mean()}
    for name in OUTCOMES:
        values = groups[name]
        columns |= {name: values.mean(), f"{name} median": values.median()}
        columns[f"{name} tenth"] = values.quantile(0.1)
    return pd.DataFrame(columns).reset_index()
