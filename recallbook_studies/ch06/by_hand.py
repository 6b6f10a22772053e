r"""One setting by hand: the four noises of the ledger, signal over noise by count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import poisson

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.ch06.origins import predicted_squares
from recallbook_theory.prediction import predict

TEST = 4000  # fresh sequences a seed


def ratio(setting: Setting, counts: NDArray[Any], lock_on: float = 1.0) -> NDArray[np.float64]:
    """Signal over noise of facts located so many times, from the ledger's terms; ``lock_on`` is the
    share of all sequences that located theirs."""
    flag, found = float(setting.trigger_in_values), predicted_squares(setting)
    share = np.asarray(counts, dtype=np.float64) * setting.vocab / setting.samples
    signal = (1 + flag) * share - flag * lock_on
    overlap = found.pop("label overlap")
    return np.asarray(signal / np.sqrt(sum(found.values()) + signal**2 * overlap))


def compared(setting: Setting, seeds: Sequence[int], device: str = "cpu") -> list[dict[str, Any]]:
    """Outcomes by hand, by :func:`predict`, and simulated with their standard errors; accuracy as a
    product of means.

    Recall by hand is from the ratio alone, with located counts as Poisson numbers of mean N/V times
    lock-on, which is the prediction's own.
    """
    perfect = replace(setting, seq_len=1)
    options: dict[str, Any] = {"test_samples": TEST, "device": device}
    full, alone = predict(setting, warn=False), predict(perfect, warn=False)
    runs = [simulate(setting, seed, **options) for seed in seeds]
    alone_runs = [simulate(perfect, seed, **options).recall for seed in seeds]
    most = setting.samples / setting.vocab
    counts = np.arange(int(most + 10 * np.sqrt(most) + 10))
    located, stored = (
        float(
            poisson.pmf(counts, most * lock_on)
            @ ndtr(ratio(setting, counts, lock_on)) ** (setting.vocab - 1)
        )
        for lock_on in (1.0, full.lock_on)
    )
    rows: list[tuple[str, float | None, float, list[float]]] = [
        ("recall, perfect attention", located, alone.recall, alone_runs),
        ("lock-on", None, full.lock_on, [run.lock_on for run in runs]),
        ("recall", stored, full.recall, [run.recall for run in runs]),
        ("accuracy", full.lock_on * stored, full.accuracy, [run.accuracy for run in runs]),
    ]
    found = []
    for name, hand, predicted, values in rows:
        error = np.std(values, ddof=1) / len(seeds) ** 0.5
        row = {"outcome": name, "by hand": hand, "predicted": predicted}
        found.append({**row, "simulated": f"{np.mean(values):.2f} ± {error:.2f}"})
    return found
