"""Predictions for one to 32 value steps against simulation, at random settings and seeds that nothing
was fitted to.

``python -m recallbook table between_map STORE`` makes the rows, ``--export`` writes the table."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.error_map import QUANTITIES, log_uniform, means_and_errors
from recallbook_studies.running.archive import load_results
from recallbook_theory.prediction import predict
from recallbook_theory.steps import outcomes

load = partial(load_results, "between_map")  # the committed rows
COUNT, FIRST_SEED, TEST = 160, 97 * 10**7, 4000
FACTS, FEWEST, MOST = 4096, 4, 32  # simulated in all, seeds at least and at most
SIZES = ("vocab", "seq_len", "dim", "samples", "embeddings")


def case(index: int) -> tuple[Setting, int, float]:
    """Setting, number of value steps and rate of this number.

    V from 64 to 768, d such that d²/(V ln V) is between 0.3 and 2.5, 1 to 32 steps at rates of a tenth
    to one and a half ln V; N from 2 to 200 V, and L is 1 in half of them, else up to 64."""
    rng = np.random.default_rng([29, index])
    vocab = round(log_uniform(rng, 64, 768))
    sizes: dict[str, Any] = {
        "vocab": vocab,
        "dim": round(math.sqrt(rng.uniform(0.3, 2.5) * vocab * math.log(vocab))),
        "samples": round(vocab * log_uniform(rng, 2, 200)),
        "seq_len": round(log_uniform(rng, 1, 64)) if index % 2 else 1,
    }
    law = "sphere" if rng.random() < 0.25 else "gaussian"
    steps = min(math.floor(log_uniform(rng, 1, 33)), 32)
    rate = float(f"{math.log(vocab) * log_uniform(rng, 0.1, 1.5):.3g}")
    return Setting(**sizes, embeddings=law), steps, rate


def row(index: int) -> dict[str, Any]:
    """Means over seeds and what is predicted; and for one step, the recall of both theories."""
    setting, steps, rate = case(index)
    count = min(max(FACTS // setting.vocab, FEWEST), MOST)
    found = []
    for seed in range(FIRST_SEED + 100 * index, FIRST_SEED + 100 * index + count):
        options: dict[str, Any] = {"value_steps": steps, "rate": rate, "test_samples": TEST}
        outcome = simulate(setting, seed, **options)
        found.append([getattr(outcome, name) for name in QUANTITIES])
    guess = predict(setting, value_steps=steps, rate=rate, warn=False)
    one = predict(setting, warn=False)
    return {
        "index": index,
        **{name: getattr(setting, name) for name in SIZES},
        "value_steps": steps,
        "rate": rate,
        **means_and_errors(found),
        **{f"predicted_{name}": getattr(guess, name) for name in QUANTITIES},
        "predicted_one": one.recall,
        "sampled_one": float(outcomes(setting, rate, 1)[0, 2]),
    }


def misses(frame: pd.DataFrame) -> pd.Series:
    """Predicted less simulated accuracy."""
    return frame["predicted_accuracy"] - frame["accuracy"]
