"""Predictions for one to 32 value steps against simulation, at random settings and seeds that nothing
was fitted to.

``python -m recallbook table between_map STORE`` makes the rows, ``--export`` writes the table."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.error_map import QUANTITIES, means_and_errors
from recallbook_studies.running.archive import load_results
from recallbook_theory.prediction import predict
from recallbook_theory.steps import outcomes

load = partial(load_results, "between_map")  # the committed rows
FIRST_SEED, TEST = 97 * 10**7, 4000
FACTS, FEWEST, MOST = 4096, 4, 32  # simulated in all, seeds at least and at most


def row(index: int, value_steps: int, rate: float, **fields: Any) -> dict[str, Any]:
    """Means over seeds and what is predicted; and for one step, the recall of both theories."""
    setting, steps = Setting(**fields), value_steps
    count = min(max(FACTS // setting.vocab, FEWEST), MOST)
    found = []
    for seed in range(FIRST_SEED + 100 * index, FIRST_SEED + 100 * index + count):
        options: dict[str, Any] = {"value_steps": steps, "rate": rate, "test_samples": TEST}
        outcome = simulate(setting, seed, **options)
        found.append([getattr(outcome, name) for name in QUANTITIES])
    guess = predict(setting, value_steps=steps, rate=rate, warn=False)
    one = predict(setting, warn=False)
    return {
        **means_and_errors(found),
        **{f"predicted_{name}": getattr(guess, name) for name in QUANTITIES},
        "predicted_one": one.recall,
        "sampled_one": float(outcomes(setting, rate, 1)[0, 2]),
    }


def misses(frame: pd.DataFrame) -> pd.Series:
    """Predicted less simulated accuracy."""
    return frame["predicted_accuracy"] - frame["accuracy"]
