"""Try to break the theory: fresh random settings from any seed, predicted and simulated, with the
sampling error.

``python -m recallbook_studies.prediction_errors --seed 7`` draws settings that nobody tuned to and
prints what is left between prediction and simulation once the simulation's own error is taken away.
``--anywhere`` draws from nearly all that a Setting allows, edges, laws of embeddings and callables
included, and counts what is off without a warning."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import check_seed, check_size
from recallbook.embedding_laws import LAWS
from recallbook.setting import Setting
from recallbook.theory.caveats import doubts
from recallbook.theory.prediction import predict, predicted_lock_on
from recallbook.training.simulation import simulate

RANGES = {
    "vocab": (150, 1200),
    "dim": (20, 400),
    "seq_len": (3, 150),
    "ratio": (1, 60),
}  # log-uniform
WIDTHS = (0.6, 20)  # m/d with the MLP
ACTIVATIONS = ("relu", "gelu", "tanh", "he2", "he3")
NAMED = ("relu", "gelu", "tanh", "linear", "he2", "he3")
CALLABLES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sin": torch.sin,
    "exp": torch.exp,
    "abs": torch.abs,
    "softplus": torch.nn.functional.softplus,
}
LARGEST_TOKENS, LARGEST_ANYWHERE = (
    4 * 10**6,
    2 * 10**9,
)  # N L, and N m d or V^2 d, of one simulation anywhere
TOLERANCES = {"accuracy": 0.02, "lock_on": 0.03, "recall": 0.02}
LARGEST_WORK = 1.5e10  # N m d of one simulation with the MLP: about ten seconds
QUANTITIES = ("accuracy", "lock_on", "recall")


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two ends, uniform in its logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_settings(
    seed: int, count: int, *, transition: bool = False, mlp: bool = False
) -> list[Setting]:
    """Settings log-uniform over ``RANGES`` (``ratio`` is N/V), trigger in or out of the values.

    With ``mlp``, of Attention-MLP with m/d log-uniform over ``WIDTHS`` and one of ``ACTIVATIONS``,
    where N m d is at most ``LARGEST_WORK``. With ``transition``, only settings whose predicted
    lock-on is between 0.1 and 0.9: most others lock always."""
    rng = np.random.default_rng([4, check_seed("seed", seed)])
    settings: list[Setting] = []
    count = check_size("count", count)
    while len(settings) < count:
        size = {name: log_uniform(rng, *ends) for name, ends in RANGES.items()}
        chosen: dict[str, Any] = {name: round(size[name]) for name in ("vocab", "dim", "seq_len")}
        chosen["samples"], chosen["trigger_in_values"] = (
            round(chosen["vocab"] * size["ratio"]),
            bool(rng.integers(2)),
        )
        if mlp:
            chosen["width"] = round(chosen["dim"] * log_uniform(rng, *WIDTHS))
            chosen["activation"] = ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
            if chosen["samples"] * chosen["dim"] * chosen["width"] > LARGEST_WORK:
                continue
        setting = Setting(**chosen)
        if not transition or 0.1 < predicted_lock_on(setting, warn=False) < 0.9:
            settings.append(setting)
    return settings


def anywhere(rng: np.random.Generator) -> Setting:
    """Any setting that is not too costly: every size log-uniform, every choice possible, callables
    too.

    V from 24 to 1024, L to 1.2 V, N from V/2 to 300 V, d from 8 to 10 V or, for half of them,
    around the dimension at which recall changes; m from 0.3 d to 20 d."""

    def between(low: float, high: float) -> int:
        return max(1, round(log_uniform(rng, low, high)))

    while True:
        vocab = between(24, 1024)
        seq_len = 1 if rng.random() < 0.06 else between(2, 1.2 * vocab)
        dim = (
            round(math.sqrt(vocab) * between(50, 800) / 100)
            if rng.random() < 0.5
            else between(8, 10 * vocab)
        )
        samples = between(vocab / 2, 300 * vocab)
        law = ("gaussian", "sphere", "orthogonal")[rng.choice(3, p=(0.6, 0.3, 0.1))]
        dim = vocab + 2 + int(rng.integers(vocab)) if LAWS[law].geometry == "orthonormal" else dim
        chosen: dict[str, Any] = {
            "vocab": vocab,
            "seq_len": seq_len,
            "dim": dim,
            "samples": samples,
        }
        work = vocab**2 * dim
        if rng.random() < 0.45:
            chosen["width"] = max(1, round(dim * between(30, 2000) / 100))
            every = (*NAMED, *CALLABLES)
            name = every[rng.integers(len(every))]
            chosen["activation"] = CALLABLES.get(name, name)
            work = max(samples, vocab) * dim * chosen["width"]
        flag = bool(rng.integers(2))
        if samples * seq_len <= LARGEST_TOKENS and work <= LARGEST_ANYWHERE:
            return Setting(**chosen, embeddings=law, trigger_in_values=flag)


def outcomes(setting: Setting, seeds: Iterable[int], test_samples: int) -> Iterator[list[float]]:
    """Simulated ``QUANTITIES``, seed after seed."""
    # products with m features take most of the time
    dtype = torch.float64 if setting.width is None else torch.float32
    for seed in seeds:
        found = simulate(setting, seed, test_samples=test_samples, dtype=dtype)
        yield [getattr(found, name) for name in QUANTITIES]


def compare(
    settings: list[Setting], seeds: int, *, first: int = 0, progress: bool = False
) -> pd.DataFrame:
    """One row for each setting and quantity: predicted, simulated mean, and its standard error over
    ``seeds`` seeds.

    Every setting has seeds of its own, ``first + seeds * i`` and on, so that errors of settings are
    independent."""
    rows: list[dict[str, Any]] = []
    for i, setting in enumerate(tqdm(settings, disable=not progress)):
        start = first + seeds * i
        columns = np.array(list(outcomes(setting, range(start, start + seeds), 4000))).T
        predicted = predict(setting, warn=False)
        for name, values in zip(QUANTITIES, columns, strict=True):
            row = {
                "setting": i,
                "quantity": name,
                "predicted": getattr(predicted, name),
                "simulated": values.mean(),
            }
            doubted = bool(doubts(setting, predicted.lock_on))
            rows.append({**row, "error": values.std(ddof=1) / np.sqrt(seeds), "doubted": doubted})
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """For each quantity: root mean square difference, its part beyond sampling error, bias and the
    bias's error."""
    rows = []
    for name, part in frame.groupby("quantity"):
        difference, error = part["predicted"] - part["simulated"], part["error"]
        beyond = np.sqrt(max(0.0, float((difference**2 - error**2).mean())))
        row = {
            "quantity": name,
            "settings": len(part),
            "rms": np.sqrt((difference**2).mean()),
            "beyond": beyond,
        }
        rows.append(
            {**row, "bias": difference.mean(), "bias error": np.sqrt((error**2).sum()) / len(part)}
        )
    return pd.DataFrame(rows)


def off(frame: pd.DataFrame) -> pd.Series:
    """Row by row, whether prediction and simulation differ by more than the tolerance and two
    standard errors."""
    allowed = frame["quantity"].map(TOLERANCES) + 2 * frame["error"]
    return (frame["predicted"] - frame["simulated"]).abs() > allowed


def in_transition(frame: pd.DataFrame) -> pd.DataFrame:
    """The settings whose simulated lock-on is between 0.1 and 0.9."""
    lock = frame[frame["quantity"] == "lock_on"]
    inside = lock[lock["simulated"].between(0.1, 0.9)]["setting"]
    return frame[frame["setting"].isin(inside)]


def main(arguments: list[str] | None = None) -> None:
    """Command line: draw, compare, print."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {__spec__.name}", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the random settings (default 0)"
    )
    parser.add_argument("--settings", type=int, default=100, help="how many settings (default 100)")
    parser.add_argument(
        "--seeds", type=int, default=8, help="simulations of each setting (default 8)"
    )
    parser.add_argument(
        "--transition", action="store_true", help="only settings with predicted lock-on 0.1 to 0.9"
    )
    parser.add_argument(
        "--mlp", action="store_true", help="Attention-MLP instead of Attention-only"
    )
    parser.add_argument(
        "--anywhere", action="store_true", help="nearly all that a Setting allows, edges included"
    )
    parser.add_argument(
        "--worst", type=int, default=5, help="settings to list, by z-score (default 5)"
    )
    chosen = parser.parse_args(arguments)
    if chosen.anywhere:
        rng = np.random.default_rng([12, check_seed("seed", chosen.seed)])
        settings = [anywhere(rng) for _ in range(chosen.settings)]
    else:
        settings = random_settings(
            chosen.seed, chosen.settings, transition=chosen.transition, mlp=chosen.mlp
        )
    frame = compare(settings, chosen.seeds, first=10**6 * (chosen.seed + 1), progress=True)
    print(summary(frame).round(4).to_string(index=False))
    for doubted, part in frame.assign(off=off(frame)).groupby("doubted"):
        count = part["setting"].nunique()
        print(
            f"{'with' if doubted else 'without'} a warning: {part['off'].sum()} of {3 * count} off by more than allowed"
        )
    print("\nlock-on between 0.1 and 0.9:")
    inside = in_transition(frame)
    print(summary(inside).round(4).to_string(index=False) if len(inside) else "no such setting")
    frame["z"] = (frame["predicted"] - frame["simulated"]) / frame["error"].clip(lower=1e-3)
    print("\nlargest z-scores:")
    for _, row in (
        frame.reindex(frame["z"].abs().sort_values(ascending=False).index)
        .head(chosen.worst)
        .iterrows()
    ):
        print(
            f"z = {row['z']:+.1f} {row['quantity']}: {row['predicted']:.3f} against {row['simulated']:.3f}"
        )
        print(f"    {settings[int(row['setting'])]}")


if __name__ == "__main__":
    main()
