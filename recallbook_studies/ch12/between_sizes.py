r"""The least d that holds V facts after k value steps: the wall's constant $c=d^2/(V\ln V)$,
simulated and predicted.

Attention has nothing to find (L = 1) and each fact is shown a thousand times. ``python -m recallbook table
between_sizes STORE`` makes the rows, ``--export`` writes the table."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.ch12.between import RATES, outcomes
from recallbook_studies.running.archive import load_results

load = partial(load_results, "between_sizes")  # the committed rows
VOCABS, STEPS = (128, 256, 512), (1, 2, 4, 8, 16)
LEAST, GROWS, COUNT = 1.2, 1.25, 8  # the grid of d²/(V ln V)
SHOWN, FACTS = 1000, 4096  # sequences for each fact; facts simulated in all
FIRST_SEED = 98 * 10**7


def keys() -> list[tuple[int, int, float]]:
    """V, d, and the rate in units of ln V."""
    wanted = [LEAST * GROWS**place for place in range(COUNT)]
    return [
        (vocab, round(math.sqrt(c * vocab * math.log(vocab))), rate)
        for vocab in VOCABS
        for c in wanted
        for rate in RATES
    ]


def row(key: tuple[int, int, float]) -> dict[str, Any]:
    """Recall after each number of steps, simulated and of the process."""
    vocab, dim, unit = key
    setting = Setting(vocab=vocab, seq_len=1, dim=dim, samples=SHOWN * vocab)
    rate, seeds = unit * math.log(vocab), range(FIRST_SEED, FIRST_SEED + FACTS // vocab)
    guess = outcomes(setting, rate, max(STEPS))
    found: dict[str, Any] = {"vocab": vocab, "dim": dim, "unit": unit}
    for steps in STEPS:
        options: dict[str, Any] = {"value_steps": steps, "rate": rate, "test_samples": 1}
        reached = [simulate(setting, seed, **options).recall for seed in seeds]
        found |= {f"recall_{steps}": float(np.mean(reached))}
        found |= {f"predicted_{steps}": float(guess[steps - 1, 2])}
    return found


def least_dim(part: pd.DataFrame, column: str, level: float = 0.9) -> float:
    """The d at which the best rate reaches this recall, between two d by their logarithms."""
    best = part.groupby("dim")[column].max().cummax()
    above = int(np.argmax(best.to_numpy() >= level))
    if above == 0:
        return math.nan
    recall, dims = best.to_numpy()[above - 1 : above + 1], np.log(best.index[above - 1 : above + 1])
    return float(np.exp(np.interp(level, recall, dims)))
