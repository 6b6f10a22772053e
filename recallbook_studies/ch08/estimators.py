"""Readers of the initial gradient against three steps."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pandas as pd

from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_theory.bounds.decoding import decoded


def against_three_steps(
    settings: Iterable[Setting], seeds: Iterable[int], methods: Iterable[str]
) -> pd.DataFrame:
    """Facts recalled by three steps, and by these readers of the initial gradient, on the same
    draws."""
    rows = []
    for setting, seed in product(settings, seeds):
        problem = draw(setting, seed)
        outcome = evaluate(problem, three_steps(problem), 1000)
        row = {"samples": setting.samples, "seed": seed}
        steps = {"three steps": outcome.recall, "lock_on": outcome.lock_on}
        rows.append(row | steps | {method: decoded(problem, method) for method in methods})
    return pd.DataFrame(rows)
