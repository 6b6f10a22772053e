r"""The least d that holds V facts after several value steps: the wall's constant $c=d^2/(V\ln V)$,
simulated and predicted.

Attention has nothing to find, and all facts are shown equally often. ``python -m recallbook table
between_sizes STORE`` makes the rows (``--device cuda``, as those from V = 2048 on were), ``--export``
writes the table."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from recallbook.arguments import Device
from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook_studies.running.archive import load_results
from recallbook_theory.steps import outcomes

load = partial(load_results, "between_sizes")  # the committed rows
STEPS = (1, 2, 4, 8, 16)
FACTS, MANY = 4096, 10**6  # facts simulated, or one draw; sequences for each fact in the prediction
FIRST_SEED = 98 * 10**7


def row(vocab: int, dim: int, unit: float, device: Device = "cpu") -> dict[str, Any]:
    """Recall after each number of steps, simulated and of the process; the rate is in units of ln V."""
    setting = Setting(vocab=vocab, seq_len=1, dim=dim, samples=min(MANY * vocab, 2**31 - 1))
    rate, count = unit * math.log(vocab), max(FACTS // vocab, 1)
    guess = outcomes(setting, rate, max(STEPS))[:, 2]
    alone, seeds = replace(setting, samples=1), range(FIRST_SEED, FIRST_SEED + count)
    found = np.mean([simulated(alone, rate, seed, device) for seed in seeds], axis=0)
    recalls = {f"recall_{steps}": float(found[steps - 1]) for steps in STEPS}
    predictions = {f"predicted_{steps}": float(guess[steps - 1]) for steps in STEPS}
    return {**recalls, **predictions}


def simulated(setting: Setting, rate: float, seed: int, device: Device) -> list[float]:
    """Recall after each step of one draw, every fact weighing the same."""
    problem = draw(setting, seed, device=device)
    z, u = problem.input_embeddings, problem.output_embeddings[problem.permutation]
    value, own, found = torch.zeros_like(z.T @ z), torch.eye(setting.vocab).to(z), []
    for _ in range(max(STEPS)):
        residuals = own - torch.softmax(z @ value.T @ u.T, dim=1)
        value = value + rate * (residuals @ u).T @ z
        answers = (z @ value.T @ u.T).argmax(dim=1)
        found.append(float((answers == own.argmax(dim=1)).double().mean()))
    return found


class Least(NamedTuple):
    """The least d at the best rate, simulated and predicted, and the best rate as simulated."""

    simulated: float
    predicted: float
    rate: float


def least_dims(part: pd.DataFrame, steps: int) -> Least:
    """Of one V, after so many steps."""
    rates = {unit: rows.sort_values("dim") for unit, rows in part.groupby("unit")}
    found, guess = (
        {unit: crossing(rows["dim"], rows[f"{name}_{steps}"]) for unit, rows in rates.items()}
        for name in ("recall", "predicted")
    )
    best = min(found, key=lambda unit: found[unit])
    return Least(found[best], min(guess.values()), best)


def crossing(dims: pd.Series, recalls: pd.Series, level: float = 0.9) -> float:
    """The d at which recall first reaches the level, between two d by their logarithms; infinite
    where none does, or the first."""
    reached = np.maximum.accumulate(recalls.to_numpy())
    above = int(np.searchsorted(reached, level))
    if not 0 < above < len(reached):
        return math.inf
    ends = slice(above - 1, above + 1)
    return float(np.exp(np.interp(level, reached[ends], np.log(dims.to_numpy()[ends]))))
