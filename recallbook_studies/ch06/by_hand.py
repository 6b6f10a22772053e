r"""One setting by hand: the four noises of the ledger, signal over noise by count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import poisson

from recallbook.setting import Setting
from recallbook.theory.prediction import predict
from recallbook.training.simulation import simulate
from recallbook_studies.ch06.origins import predicted_squares

Array = NDArray[np.float64]


def with_trigger(setting: Setting, flag: int) -> Setting:
    """The setting with the trigger in the values (1) or not (0)."""
    return replace(setting, trigger_in_values=bool(flag))


def noises(setting: Setting) -> dict[str, float]:
    """Mean square of each noise over the squared signal of the mean count; those that are zero left
    out."""
    return {name: size for name, size in predicted_squares(setting).items() if size > 0}


def ratio(setting: Setting, counts: NDArray[Any]) -> Array:
    """Signal over noise of facts located so many times, from the ledger's terms."""
    flag, found = float(setting.trigger_in_values), noises(setting)
    signal = (1 + flag) * np.asarray(
        counts, dtype=np.float64
    ) * setting.vocab / setting.samples - flag
    overlap = found.pop("label overlap")
    return np.asarray(signal / np.sqrt(sum(found.values()) + signal**2 * overlap))


def recall(setting: Setting, lock_on: float = 1.0) -> float:
    """Recall from the ratio alone: located counts are Poisson numbers of mean N/V times lock-on."""
    mean = setting.samples / setting.vocab * lock_on
    counts = np.arange(int(mean + 10 * np.sqrt(mean) + 10))
    return float(poisson.pmf(counts, mean) @ ndtr(ratio(setting, counts)) ** (setting.vocab - 1))


def compared(setting: Setting, seeds: Iterable[int], device: str = "cpu") -> list[dict[str, Any]]:
    """Outcomes by hand, by :func:`predict`, and simulated with their standard errors; accuracy as a
    product of means.

    Lock-on by hand is the prediction's own.
    """
    seeds, perfect = list(seeds), replace(setting, seq_len=1)
    full, alone = predict(setting, warn=False), predict(perfect, warn=False)
    runs = [simulate(setting, seed, device=device) for seed in seeds]
    alone_runs = [simulate(perfect, seed, device=device).recall for seed in seeds]
    stored = recall(setting, full.lock_on)
    rows: list[tuple[str, float | None, float, list[float]]] = [
        ("recall, perfect attention", recall(setting), alone.recall, alone_runs),
        ("lock-on", None, full.lock_on, [run.lock_on for run in runs]),
        ("recall", stored, full.recall, [run.recall for run in runs]),
        ("accuracy", full.lock_on * stored, full.accuracy, [run.accuracy for run in runs]),
    ]
    return [
        {
            "outcome": name,
            "by hand": hand,
            "predict": predicted,
            "simulated": float(np.mean(simulated)),
            "error": float(np.std(simulated, ddof=1) / len(seeds) ** 0.5),
        }
        for name, hand, predicted, simulated in rows
    ]
