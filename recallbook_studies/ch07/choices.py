r"""With or without an MLP, at the same dimension or at the same number of trained parameters.

``python -m recallbook table mlp_budget STORE`` predicts and simulates every split of every budget;
``--export`` writes the table that ships with the package."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.prediction import predict
from recallbook_studies.ch07.features import outcomes
from recallbook_studies.intervals import seed_interval

load_budgets = partial(load_results, "mlp_budget")  # the committed rows
WIDTHS, DIM = (36, 96, 384), 48
CASES = {
    "L = 8, tau = 0": (8, False),
    "L = 8, tau = 1": (8, True),
    "L = 128, tau = 0": (128, False),
}
BUDGETS, SIMULATED = (4096, 8192, 16384, 32768, 65536), (8192, 32768)  # trained parameters
RATIOS = (0, 1, 4, 16)  # m/d; 0: no MLP


def added() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy without MLP, and what adding one changes on the same draws: predicted and simulated,
    by seed."""
    choices = [(None, "relu"), *((m, phi) for phi in ("relu", "he3") for m in WIDTHS)]
    frames = []
    for case, (length, tau) in CASES.items():
        task = Setting(vocab=160, seq_len=length, dim=DIM, samples=2560, trigger_in_values=tau)
        settings = [replace(task, width=m, activation=phi) for m, phi in choices]
        frames.append(outcomes(settings, case=case))
    frame = pd.concat(frames, ignore_index=True)
    alone = frame[frame["activation"] == "none"].set_index(["case", "seed"])
    key = pd.MultiIndex.from_frame(frame[["case", "seed"]])
    for column, gain in (("accuracy", "gain"), ("predicted_accuracy", "predicted")):
        frame[gain] = frame[column] - alone[column].loc[key].to_numpy()
    frame = frame[frame["activation"] != "none"]
    return alone.reset_index(), frame.assign(ratio=frame["width"] / frame["dim"])


def shape_of(parameters: int, ratio: int) -> tuple[int, int | None]:
    r"""$d$ and $m$ with $d^2+md$ nearest to ``parameters`` at $m/d$ = ``ratio``; 0: $2d^2$,
    no MLP."""
    if not ratio:
        return round(math.sqrt(parameters / 2)), None
    dim = round(math.sqrt(parameters / (1 + ratio)))
    return dim, max(1, round(parameters / dim - dim))


def split(setting: Setting, parameters: int, ratio: int) -> Setting:
    """The same task with that many trained parameters, split that way."""
    dim, width = shape_of(parameters, ratio)
    return replace(setting, dim=dim, width=width)


def wave(x: torch.Tensor) -> torch.Tensor:
    """sin(2x) without its linear Hermite part."""
    return torch.sin(2 * x) - 2 * math.exp(-2) * x


ACTIVATIONS: dict[str, Any] = {"relu": "relu", "he3": "he3", "wave": wave}


def budget_keys() -> list[tuple[str, int, int]]:
    """Activation, m/d and number of trained parameters of every split whose d is at least 16."""
    keys = [(name, r, p) for name in ACTIVATIONS for r in RATIOS for p in BUDGETS]
    return [key for key in keys if budget_setting(*key).dim >= 16]


def budget_setting(name: str, ratio: int, parameters: int) -> Setting:
    """The task with that many trained parameters, split that way."""
    sizes: dict[str, Any] = {"vocab": 256, "seq_len": 4, "samples": 2048}
    task = Setting(**sizes, dim=64, activation=ACTIVATIONS[name], trigger_in_values=False)
    return split(task, parameters, ratio)


def budget_row(key: tuple[str, int, int]) -> dict[str, Any]:
    """Predicted accuracy of a split and, at two budgets, the mean of simulated accuracy with its
    interval over seeds."""
    setting = budget_setting(*key)
    found = dict(zip(("name", "ratio", "budget"), key, strict=True))
    found["predicted"] = predict(setting, warn=False).accuracy
    mean = low = high = math.nan
    if key[2] in SIMULATED:
        mean, low, high = np.clip(seed_interval(outcomes([setting])["accuracy"]), [-1, 0, 0], 1)
    return {**found, "mean": mean, "low": low, "high": high}
