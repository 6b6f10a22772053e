"""Try to break the theory: fresh random settings from any seed, predicted and simulated, with the sampling error.

``python -m recallbook.analysis.prediction_errors --seed 7`` draws settings that nobody tuned to and prints what is left
between prediction and simulation once the simulation's own error is taken away.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import check_seed, check_size
from recallbook.setting import Setting
from recallbook.theory.prediction import predict, predicted_lock_on
from recallbook.training.simulation import simulate

RANGES = {"vocab": (150, 1200), "dim": (20, 400), "seq_len": (3, 150), "ratio": (1, 60)}  # log-uniform
WIDTHS = (0.6, 20)  # m/d with the MLP
ACTIVATIONS = ("relu", "gelu", "tanh", "he2", "he3")
LARGEST_WORK = 1.5e10  # N m d of one simulation with the MLP: about ten seconds
QUANTITIES = ("accuracy", "lock_on", "recall")


def random_settings(seed: int, count: int, *, transition: bool = False, mlp: bool = False) -> list[Setting]:
    """Settings log-uniform over ``RANGES`` (``ratio`` is N/V), trigger in or out of the values.

    With ``mlp``, of Attention-MLP with m/d log-uniform over ``WIDTHS`` and one of ``ACTIVATIONS``, where N m d is at
    most ``LARGEST_WORK``. With ``transition``, only settings whose predicted lock-on is between 0.1 and 0.9: most
    others lock always.
    """
    rng = np.random.default_rng([4, check_seed("seed", seed)])
    settings: list[Setting] = []
    count = check_size("count", count)
    while len(settings) < count:
        size = {name: float(np.exp(rng.uniform(*np.log(ends)))) for name, ends in RANGES.items()}
        chosen: dict[str, Any] = {name: round(size[name]) for name in ("vocab", "dim", "seq_len")}
        chosen["samples"], chosen["trigger_in_values"] = round(chosen["vocab"] * size["ratio"]), bool(rng.integers(2))
        if mlp:
            chosen["width"] = round(chosen["dim"] * float(np.exp(rng.uniform(*np.log(WIDTHS)))))
            chosen["activation"] = ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
            if chosen["samples"] * chosen["dim"] * chosen["width"] > LARGEST_WORK:
                continue
        setting = Setting(**chosen)
        if not transition or 0.1 < predicted_lock_on(setting) < 0.9:
            settings.append(setting)
    return settings


def compare(settings: list[Setting], seeds: int, *, first: int = 0, progress: bool = False) -> pd.DataFrame:
    """One row for each setting and quantity: predicted, simulated mean, and its standard error over ``seeds`` seeds.

    Every setting has seeds of its own, ``first + seeds * i`` and on, so that errors of settings are independent.
    """
    rows: list[dict[str, Any]] = []
    for i, setting in enumerate(tqdm(settings, disable=not progress)):
        start = first + seeds * i
        # products with m features take most of the time
        dtype = torch.float64 if setting.width is None else torch.float32
        outcomes = [simulate(setting, s, test_samples=4000, dtype=dtype) for s in range(start, start + seeds)]
        predicted = predict(setting)
        for name in QUANTITIES:
            values = np.array([getattr(outcome, name) for outcome in outcomes])
            row = {"setting": i, "quantity": name, "predicted": getattr(predicted, name), "simulated": values.mean()}
            rows.append({**row, "error": values.std(ddof=1) / np.sqrt(seeds)})
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """For each quantity: root mean square difference, its part beyond sampling error, bias and the bias's error."""
    rows = []
    for name, part in frame.groupby("quantity"):
        difference, error = part["predicted"] - part["simulated"], part["error"]
        beyond = np.sqrt(max(0.0, float((difference**2 - error**2).mean())))
        row = {"quantity": name, "settings": len(part), "rms": np.sqrt((difference**2).mean()), "beyond": beyond}
        rows.append({**row, "bias": difference.mean(), "bias error": np.sqrt((error**2).sum()) / len(part)})
    return pd.DataFrame(rows)


def in_transition(frame: pd.DataFrame) -> pd.DataFrame:
    """The settings whose simulated lock-on is between 0.1 and 0.9."""
    lock = frame[frame["quantity"] == "lock_on"]
    inside = lock[lock["simulated"].between(0.1, 0.9)]["setting"]
    return frame[frame["setting"].isin(inside)]


def main(arguments: list[str] | None = None) -> None:
    """Command line: draw, compare, print."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="seed of the random settings (default 0)")
    parser.add_argument("--settings", type=int, default=100, help="how many settings (default 100)")
    parser.add_argument("--seeds", type=int, default=8, help="simulations of each setting (default 8)")
    parser.add_argument("--transition", action="store_true", help="only settings with predicted lock-on 0.1 to 0.9")
    parser.add_argument("--mlp", action="store_true", help="Attention-MLP instead of Attention-only")
    parser.add_argument("--worst", type=int, default=5, help="settings to list, by z-score (default 5)")
    chosen = parser.parse_args(arguments)
    settings = random_settings(chosen.seed, chosen.settings, transition=chosen.transition, mlp=chosen.mlp)
    frame = compare(settings, chosen.seeds, first=10**6 * (chosen.seed + 1), progress=True)
    print(summary(frame).round(4).to_string(index=False))
    print("\nlock-on between 0.1 and 0.9:")
    inside = in_transition(frame)
    print(summary(inside).round(4).to_string(index=False) if len(inside) else "no such setting")
    frame["z"] = (frame["predicted"] - frame["simulated"]) / frame["error"].clip(lower=1e-3)
    print("\nlargest z-scores:")
    for _, row in frame.reindex(frame["z"].abs().sort_values(ascending=False).index).head(chosen.worst).iterrows():
        print(f"z = {row['z']:+.1f} {row['quantity']}: {row['predicted']:.3f} against {row['simulated']:.3f}")
        print(f"    {settings[int(row['setting'])]}")


if __name__ == "__main__":
    main()
