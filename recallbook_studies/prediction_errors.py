"""Try to break the theory: fresh random settings from any seed, predicted and simulated, with the
sampling error.

``python -m recallbook_studies.prediction_errors --seed 7`` draws settings that nobody tuned to and
prints what is left between prediction and simulation once the simulation's own error is taken away.
They are drawn from nearly all that a Setting allows, edges, laws of embeddings and callables
included; what is off without a warning is counted."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from recallbook.embedding_laws import LAWS
from recallbook.setting import Setting
from recallbook.theory.caveats import doubts
from recallbook.theory.prediction import predict, predicted_lock_on
from recallbook.training.simulation import simulate

NAMED = ("relu", "gelu", "tanh", "linear", "he2", "he3")
CALLABLES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sin": torch.sin,
    "exp": torch.exp,
    "abs": torch.abs,
    "softplus": torch.nn.functional.softplus,
}
LARGEST_TOKENS, LARGEST_ANYWHERE = 4 * 10**6, 2 * 10**9  # N L, and N m d or V^2 d, anywhere
TOLERANCES = {"accuracy": 0.02, "lock_on": 0.03, "recall": 0.02}
QUANTITIES = ("accuracy", "lock_on", "recall")


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two ends, uniform in its logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_settings(
    seed: int, count: int, *, transition: bool = False, mlp: bool = False
) -> list[Setting]:
    """Settings from :func:`anywhere`; with ``mlp`` only those of Attention-MLP, with ``transition``
    only those whose predicted lock-on is between 0.1 and 0.9: most others lock always."""
    rng, settings = np.random.default_rng([12, seed]), list[Setting]()
    while len(settings) < count:
        setting = anywhere(rng)
        inside = not transition or 0.1 < predicted_lock_on(setting, warn=False) < 0.9
        if inside and (setting.width or not mlp):
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
        sizes = {"vocab": vocab, "seq_len": seq_len, "dim": dim, "samples": samples}
        chosen: dict[str, Any] = {**sizes, "embeddings": law}
        work = vocab**2 * dim
        if rng.random() < 0.45:
            chosen["width"] = max(1, round(dim * between(30, 2000) / 100))
            every = (*NAMED, *CALLABLES)
            name = every[rng.integers(len(every))]
            chosen["activation"] = CALLABLES.get(name, name)
            work = max(samples, vocab) * dim * chosen["width"]
        chosen["trigger_in_values"] = bool(rng.integers(2))
        if samples * seq_len <= LARGEST_TOKENS and work <= LARGEST_ANYWHERE:
            return Setting(**chosen)


def outcomes(setting: Setting, seeds: Iterable[int], test_samples: int) -> Iterator[list[float]]:
    """Simulated ``QUANTITIES``, seed after seed."""
    # products with m features take most of the time
    dtype = torch.float64 if setting.width is None else torch.float32
    for seed in seeds:
        found = simulate(setting, seed, test_samples=test_samples, dtype=dtype)
        yield [getattr(found, name) for name in QUANTITIES]


def means_and_errors(rows: list[list[float]]) -> dict[str, float]:
    """Mean over seeds of each of ``QUANTITIES``, and its standard error."""
    means, errors = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / len(rows) ** 0.5
    names = (*QUANTITIES, *(f"{name}_error" for name in QUANTITIES))
    return dict(zip(names, (*means.tolist(), *errors.tolist()), strict=True))


def predictions(setting: Setting) -> dict[str, Any]:
    """What is predicted of each of ``QUANTITIES``, the standard error of that, and the names of the
    ``doubts``."""
    found = predict(setting, warn=False)
    names = {doubt.name for doubt in doubts(setting, found.lock_on)}
    row = {f"predicted_{name}": getattr(found, name) for name in QUANTITIES}
    return {**row, "predicted_error": found.error, "doubts": names}


def excess(rows: pd.DataFrame, name: str) -> pd.Series:
    """By how much prediction and simulation differ beyond the tolerance and two standard errors, of
    both together where the prediction has one."""
    error = np.hypot(rows[f"{name}_error"], rows.get("predicted_error", 0.0))
    difference = rows[f"predicted_{name}"] - rows[name]
    return difference.abs() - TOLERANCES[name] - 2 * error


def compare(
    settings: list[Setting], seeds: int, *, first: int = 0, progress: bool = False
) -> pd.DataFrame:
    """One row for each setting: simulated means with standard errors over ``seeds`` seeds, and
    predictions.

    Every setting has seeds of its own, ``first + seeds * i`` and on, so that errors of settings are
    independent."""
    rows = []
    for i, setting in enumerate(tqdm(settings, disable=not progress)):
        own = range(first + seeds * i, first + seeds * (i + 1))
        rows.append(means_and_errors(list(outcomes(setting, own, 4000))) | predictions(setting))
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """For each quantity: root mean square difference, its part beyond sampling error, bias and the
    bias's error."""
    rows = []
    for name in QUANTITIES:
        difference, error = frame[f"predicted_{name}"] - frame[name], frame[f"{name}_error"]
        rows.append(
            {
                "quantity": name,
                "settings": len(frame),
                "rms": np.sqrt((difference**2).mean()),
                "beyond": np.sqrt(max(0.0, float((difference**2 - error**2).mean()))),
                "bias": difference.mean(),
                "bias error": np.sqrt((error**2).sum()) / len(frame),
            }
        )
    return pd.DataFrame(rows)


def main(arguments: list[str] | None = None) -> None:
    """Command line: draw, compare, print."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {__spec__.name}", description=(__doc__ or "").split("\n")[0]
    )
    for name, default, meaning in (
        ("seed", 0, "seed of the random settings"),
        ("settings", 100, "how many settings"),
        ("seeds", 8, "simulations of each setting"),
        ("worst", 5, "settings to list, the largest excess first"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{meaning} (default {default})"
        )
    for name, meaning in (
        ("transition", "only settings with predicted lock-on 0.1 to 0.9"),
        ("mlp", "Attention-MLP instead of Attention-only"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=meaning)
    chosen = parser.parse_args(arguments)
    settings = random_settings(
        chosen.seed, chosen.settings, transition=chosen.transition, mlp=chosen.mlp
    )
    frame = compare(settings, chosen.seeds, first=10**6 * (chosen.seed + 1), progress=True)
    print(summary(frame).round(4).to_string(index=False))
    for doubted, part in frame.groupby(frame["doubts"].map(bool)):
        off = sum((excess(part, name) > 0).sum() for name in QUANTITIES)
        print(
            f"{'with' if doubted else 'without'} a warning: {off} of {3 * len(part)} off by more than allowed"
        )
    beyond = pd.DataFrame({name: excess(frame, name) for name in QUANTITIES}).stack()
    for i, name in beyond.nlargest(chosen.worst).index:
        predicted, simulated = frame.loc[i, [f"predicted_{name}", name]]
        print(f"{name}: {predicted:.3f} predicted, {simulated:.3f} simulated\n    {settings[i]}")


if __name__ == "__main__":
    main()
