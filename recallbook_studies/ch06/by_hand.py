r"""One setting by hand: the four noises of the ledger, signal over noise by count, and what each
change would buy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import poisson

from recallbook.setting import Setting
from recallbook.theory.prediction import phase, predict
from recallbook.theory.symbolic import recall_terms as symbolic
from recallbook.theory.symbolic.expressions import numeric
from recallbook.theory.values import sizes
from recallbook.training.simulation import simulate

Array = NDArray[np.float64]


def with_trigger(setting: Setting, flag: int) -> Setting:
    """The setting with the trigger in the values (1) or not (0)."""
    return replace(setting, trigger_in_values=bool(flag))


def noises(setting: Setting) -> dict[str, float]:
    """Mean square of each noise over the squared signal of the mean count; those that are zero left
    out."""
    every = {
        name: float(numeric(term)(sizes(setting))) for name, term in symbolic.mean_squares().items()
    }
    return {name: size for name, size in every.items() if size > 0}


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
    stored = recall(setting, full.lock_on)
    by_hand: dict[str, float | None] = {
        "lock-on": None,
        "recall": stored,
        "accuracy": full.lock_on * stored,
    }
    perfectly = "recall, perfect attention"
    rows: list[tuple[str, float | None, float]] = [(perfectly, recall(setting), alone.recall)]
    rows += [
        (name, found, getattr(full, name.replace("-", "_"))) for name, found in by_hand.items()
    ]
    simulated = {name: [getattr(run, name.replace("-", "_")) for run in runs] for name in by_hand}
    simulated[perfectly] = [simulate(perfect, seed, device=device).recall for seed in seeds]
    return [
        {
            "outcome": name,
            "by hand": hand,
            "predict": predicted,
            "simulated": float(np.mean(simulated[name])),
            "error": float(np.std(simulated[name], ddof=1) / len(seeds) ** 0.5),
        }
        for name, hand, predicted in rows
    ]


def what_helps(setting: Setting) -> dict[str, Any]:
    """What binds, predicted accuracy, and predicted accuracy after each change alone."""
    changes = {
        "2 N": replace(setting, samples=2 * setting.samples),
        "2 d": replace(setting, dim=2 * setting.dim),
        "L/2": replace(setting, seq_len=max(1, setting.seq_len // 2)),
        "tau = 0": with_trigger(setting, 0),
    }
    now = predict(setting, warn=False).accuracy
    after: dict[str, float | None] = {
        name: predict(s, warn=False).accuracy for name, s in changes.items()
    }
    if not setting.trigger_in_values:
        after["tau = 0"] = None
    shown = {
        "L": setting.seq_len,
        "d": setting.dim,
        "N": setting.samples,
        "tau": int(setting.trigger_in_values),
    }
    return {**shown, "binds": phase(setting), "accuracy": now, **after}
