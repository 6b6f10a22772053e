r"""With or without an MLP, at the same dimension or at the same number of trained parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from recallbook.setting import Setting
from recallbook.theory.hermite import Phi
from recallbook.theory.prediction import predict
from recallbook_studies.ch07.features import name, outcomes

WIDTHS, DIM = (36, 96, 384), 48
CASES = {
    "L = 8, tau = 0": (8, False),
    "L = 8, tau = 1": (8, True),
    "L = 128, tau = 0": (128, False),
}
BUDGETS, SIMULATED = (4096, 8192, 16384, 32768, 65536), (8192, 32768)  # trained parameters
RATIOS = (None, 1, 4, 16)  # m/d; None: no MLP


def added() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy without MLP, and what adding one changes on the same draws: predicted and simulated,
    by seed."""
    choices = [(None, "relu"), *((m, phi) for phi in ("relu", "he3") for m in WIDTHS)]
    frames = []
    for case, (length, tau) in CASES.items():
        settings = [
            Setting(
                vocab=160,
                seq_len=length,
                dim=DIM,
                samples=2560,
                width=m,
                activation=phi,
                trigger_in_values=tau,
            )
            for m, phi in choices
        ]
        frames.append(outcomes(settings, case=case))
    frame = pd.concat(frames, ignore_index=True)
    alone = frame[frame["activation"] == "none"].set_index(["case", "seed"])
    key = pd.MultiIndex.from_frame(frame[["case", "seed"]])
    for column, gain in (("accuracy", "gain"), ("predicted_accuracy", "predicted")):
        frame[gain] = frame[column] - alone[column].loc[key].to_numpy()
    frame = frame[frame["activation"] != "none"]
    return alone.reset_index(), frame.assign(ratio=frame["width"] / frame["dim"])


def shape_of(parameters: int, ratio: float | None) -> tuple[int, int | None]:
    r"""$d$ and $m$ with $d^2+md$ nearest to ``parameters`` at $m/d$ = ``ratio``; ``None``: $2d^2$,
    no MLP."""
    if ratio is None:
        return round(math.sqrt(parameters / 2)), None
    dim = round(math.sqrt(parameters / (1 + ratio)))
    return dim, max(1, round(parameters / dim - dim))


def split(setting: Setting, parameters: int, ratio: float | None) -> Setting:
    """The same task with that many trained parameters, split that way."""
    dim, width = shape_of(parameters, ratio)
    return replace(setting, dim=dim, width=width)


def budget(activations: Iterable[Phi]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Predicted accuracy by activation, ratio and budget where $d\\ge16$, and simulated accuracy by
    seed."""
    lines, runs = [], []
    for activation in activations:
        task = Setting(
            vocab=256,
            seq_len=4,
            dim=64,
            samples=2048,
            activation=activation,
            trigger_in_values=False,
        )
        for ratio in RATIOS:
            for parameters in BUDGETS:
                key: dict[str, Any] = {
                    "name": name(activation),
                    "ratio": str(ratio),
                    "budget": parameters,
                }
                setting = split(task, parameters, ratio)
                if setting.dim >= 16:
                    lines.append({**key, "accuracy": predict(setting, warn=False).accuracy})
                if parameters in SIMULATED:
                    runs.append(outcomes([setting], **key))
    return pd.DataFrame(lines), pd.concat(runs, ignore_index=True)
