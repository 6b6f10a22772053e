r"""What removes the slope: mean bias takes a mean token that is not zero, labels that a batch shows
unevenly, and one batch read in both steps (eq-mean-bias, chapter 5).

``python -m recallbook table cures STORE`` simulates each cure, ``--export`` writes the table."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.error_map import QUANTITIES
from recallbook_theory.prediction import predict

SEEDS, TEST = range(60), 2000


def row(cure: str, **sizes: Any) -> dict[str, float]:
    """Means of 60 draws with their standard errors, what one draw in ten stays below, and the
    prediction where one batch is read in all steps.

    ``centred`` token embeddings; ``equal counts`` of labels; a ``fresh batch`` of N sequences in step
    2; the two ``halves`` of one batch, each in one of the steps; ``none``."""
    setting = Setting(**sizes, centred=cure == "centred", balanced=cure == "equal counts")
    if cure == "halves":
        setting = replace(setting, samples=setting.samples // 2)
    another = cure in ("halves", "fresh batch")
    runs = []
    for seed in SEEDS:
        problem = draw(setting, seed)
        second = problem.fresh(setting.samples, role="batch") if another else None
        runs.append(evaluate(problem, three_steps(problem, second_batch=second), TEST))
    guess, made = predict(setting, warn=False), dict[str, float]()
    for name in QUANTITIES:
        values = np.array([getattr(run, name) for run in runs])
        made[name], made[f"{name}_error"] = values.mean(), values.std(ddof=1) / len(runs) ** 0.5
        made[f"{name}_tenth"] = np.quantile(values, 0.1)
        made[f"predicted_{name}"] = math.nan if another else getattr(guess, name)
    return made
