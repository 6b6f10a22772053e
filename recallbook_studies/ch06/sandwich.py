"""Necessary, predicted, simulated and sufficient numbers of sequences for accuracy 0.9, side by
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
from recallbook_theory.bounds.coverage import coverage_samples, minimum_samples
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
    found: dict[str, Any] = {"critical": critical_samples(**sizes, accuracy=accuracy, warn=False)}
    found |= {"sufficient": float(proved), "by": proved.by}
    mean = error = math.nan
    if proved < math.inf:
        setting = Setting(**sizes, samples=int(proved))
        runs = [simulate(setting, FIRST_SEED + seed, test_samples=TEST).accuracy for seed in SEEDS]
        mean, error = float(np.mean(runs)), float(np.std(runs, ddof=1) / len(runs) ** 0.5)
    return {**found, "simulated": mean, "error": error}


def table(sweep: pd.DataFrame) -> pd.DataFrame:
    """The cases on the lines with ``critical`` (predicted), ``measured`` (``low``, ``high``),
    ``sufficient``.

    Necessary: ``covered`` for every method, ``readers`` for readers of one gradient.
    """
    by = ["vocab", "seq_len", "dim", "trigger_in_values"]
    measured = critical_table(sweep, by, outcome="accuracy", level=LEVEL)
    measured = measured.rename(columns={"critical": "measured"})[[*by, "measured", "low", "high"]]
    proved = load()
    proved = proved[~proved["case"].str.startswith("random")]
    found = proved.merge(measured, on=by, how="left")
    readers = [minimum_samples(r.vocab, r.seq_len, r.dim, LEVEL) for r in found.itertuples()]
    covered = [coverage_samples(vocab, LEVEL) for vocab in found["vocab"]]
    split = found["case"].str.split(" ", expand=True)
    return found.assign(
        covered=covered, readers=readers, along=split[0], value=split[1].astype(int)
    )
