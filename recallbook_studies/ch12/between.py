r"""Several value steps at a constant rate: predictions at random settings, and the least d that holds
V facts.

``between_map`` compares one to 32 steps with simulation, at settings and seeds that nothing was
fitted to. In ``between_sizes`` attention has nothing to find, and all facts are shown equally often:
the wall's constant $c=d^2/(V\ln V)$, simulated and predicted (``--device cuda``, as rows from V =
2048 on were). ``python -m recallbook table between_map STORE`` makes the rows, ``--export`` writes
the table."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from recallbook.arguments import Device
from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.error_map import QUANTITIES, means_and_errors
from recallbook_theory.prediction import predict
from recallbook_theory.steps import outcomes

STEPS = (1, 2, 4, 8, 16)
FACTS, MANY = 4096, 10**6  # facts simulated, or one draw; sequences for each fact in the prediction
FEWEST, MOST, TEST = 4, 32, 4000  # of the map: seeds at least and at most; fresh sequences a seed
MAP_SEED, SIZES_SEED = 97 * 10**7, 98 * 10**7


def map_row(index: int, value_steps: int, rate: float, **fields: Any) -> dict[str, Any]:
    """Means over seeds, and what is predicted, of the setting with these fields."""
    setting, first = Setting(**fields), MAP_SEED + 100 * index
    found = []
    for seed in range(first, first + min(max(FACTS // setting.vocab, FEWEST), MOST)):
        outcome = simulate(setting, seed, test_samples=TEST, value_steps=value_steps, rate=rate)
        found.append([getattr(outcome, name) for name in QUANTITIES])
    guess = predict(setting, value_steps=value_steps, rate=rate, warn=False)
    predicted = {f"predicted_{name}": getattr(guess, name) for name in QUANTITIES}
    return {**means_and_errors(found), **predicted}


def misses(frame: pd.DataFrame) -> pd.Series:
    """Predicted less simulated accuracy of rows of the map."""
    return frame["predicted_accuracy"] - frame["accuracy"]


def sizes_row(vocab: int, dim: int, unit: float, device: Device = "cpu") -> dict[str, Any]:
    """Recall after each number of steps, simulated and of the process; the rate is in units of ln V."""
    alone, rate = Setting(vocab=vocab, seq_len=1, dim=dim, samples=1), unit * math.log(vocab)
    shown = replace(alone, samples=min(MANY * vocab, 2**31 - 1))
    seeds = range(SIZES_SEED, SIZES_SEED + max(FACTS // vocab, 1))
    recalls = {
        "recall": np.mean([simulated(alone, rate, seed, device) for seed in seeds], axis=0),
        "predicted": outcomes(shown, [rate] * max(STEPS))[:, 2],
    }
    return {f"{name}_{k}": float(each[k - 1]) for name, each in recalls.items() for k in STEPS}


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
    """The least d at the best rate, simulated and predicted."""

    simulated: float
    predicted: float


def least_dims(part: pd.DataFrame, steps: int, level: float = 0.9) -> Least:
    """Of one V, after so many steps, for recall at this level."""
    rates = [rows.sort_values("dim") for _, rows in part.groupby("unit")]
    simulated, predicted = (
        min(crossing(rows["dim"], rows[f"{name}_{steps}"], level) for rows in rates)
        for name in ("recall", "predicted")
    )
    return Least(simulated, predicted)


def crossing(dims: pd.Series, recalls: pd.Series, level: float) -> float:
    """The d at which recall first reaches the level, between two d by their logarithms; infinite
    where none does, or the first."""
    reached = np.maximum.accumulate(recalls.to_numpy())
    above = int(np.searchsorted(reached, level))
    if not 0 < above < len(reached):
        return math.inf
    ends = slice(above - 1, above + 1)
    return float(np.exp(np.interp(level, reached[ends], np.log(dims.to_numpy()[ends]))))
