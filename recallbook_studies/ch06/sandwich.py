"""Predicted, simulated and sufficient numbers of sequences for accuracy 0.9, side by
side.

``python -m recallbook table sufficient STORE`` finds the proved N of every case and simulates
there; ``--export`` writes the table that ships with the package. The simulated critical N is a
sweep: ``python -m recallbook sweep sandwich``."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.critical import critical_table
from recallbook_studies.running.archive import load_results
from recallbook_theory.bounds.sufficient import sufficient_samples
from recallbook_theory.critical import critical_samples

load = partial(load_results, "sufficient")  # the committed rows
LEVEL = 0.9
SEEDS = range(10)
FIRST_SEED = 6 * 10**8
TEST = 2000


def row(case: str, accuracy: float, **sizes: Any) -> dict[str, Any]:
    """Predicted and proved N of a case, and simulated accuracy at the proved N."""
    proved = sufficient_samples(**sizes, accuracy=accuracy)
    predicted = critical_samples(**sizes, accuracy=accuracy, warn=False)
    mean = error = math.nan
    if proved < math.inf:
        setting = Setting(**sizes, samples=int(proved))
        runs = [simulate(setting, FIRST_SEED + seed, test_samples=TEST).accuracy for seed in SEEDS]
        mean, error = float(np.mean(runs)), float(np.std(runs, ddof=1) / len(runs) ** 0.5)
    numbers = {"critical": predicted, "sufficient": float(proved), "by": proved.by}
    return {**numbers, "simulated": mean, "error": error}


def table(sweep: pd.DataFrame) -> pd.DataFrame:
    """The cases on the lines with ``critical`` (predicted), ``measured`` (``low``, ``high``),
    ``sufficient``."""
    by = ["vocab", "seq_len", "dim", "trigger_in_values"]
    measured = critical_table(sweep, by, outcome="accuracy", level=LEVEL)
    measured = measured.rename(columns={"critical": "measured"})[[*by, "measured", "low", "high"]]
    cases = load()
    cases = cases[~cases["case"].str.startswith("random")].merge(measured, on=by, how="left")
    split = cases["case"].str.split(" ", expand=True)
    return cases.assign(along=split[0], value=split[1].astype(int))
