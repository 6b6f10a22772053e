"""Predicted quantiles over draws against simulation, at random settings inside a transition.

Settings are log-uniform over ``RANGES``, with predicted accuracy or lock-on between 0.1 and 0.9:
``COUNTS`` of them with facts that are equal and that are not, all without the MLP. Each is simulated
with 60 seeds that are used nowhere else. Had the prediction the law of a draw, a share q of draws
would lie below its quantile q.

``python -m recallbook table quantiles STORE`` makes the rows, ``--export`` writes the table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.error_map import QUANTITIES, log_uniform
from recallbook_studies.running.archive import load_results
from recallbook_theory.prediction import Prediction, predict

load = partial(load_results, "quantiles")  # the committed rows
RANGES = {
    "vocab": (60, 400),
    "seq_len": (3, 150),
    "dim": (12, 150),
    "ratio": (1, 40),
}  # log-uniform, N/V the last
COUNTS = {"equal": 60, "unequal": 12}
STREAMS, PLACES = {"equal": 0, "unequal": 2}, {"equal": 0, "unequal": 76}  # of settings, of seeds
TOKENS = 3 * 10**5  # N L of a simulation at most
SEEDS, FIRST_SEED, TEST_SAMPLES = 60, 6 * 10**8, 4000
LEVELS = (0.1, 0.5, 0.9)
# test sequences know an outcome no better: what is nearer to a quantile counts as on it
NEAR = 0.005


def case(key: str) -> tuple[Setting, Prediction]:
    """The setting of this name and its prediction: the first of its random numbers inside a
    transition."""
    kind, index = key.rsplit(" ", 1)
    rng = np.random.default_rng([21, STREAMS[kind], int(index)])
    while True:
        setting = _candidate(kind, rng)
        if setting.samples * setting.seq_len <= TOKENS:
            found = predict(setting, warn=False)
            if 0.1 < found.accuracy < 0.9 or 0.1 < found.lock_on < 0.9:
                return setting, found


def _candidate(kind: str, rng: np.random.Generator) -> Setting:
    size = {name: log_uniform(rng, *ends) for name, ends in RANGES.items()}
    chosen: dict[str, Any] = {name: round(size[name]) for name in ("vocab", "dim", "seq_len")}
    chosen["samples"] = round(size["vocab"] * size["ratio"])
    chosen["trigger_in_values"] = bool(rng.integers(2))
    if kind == "unequal":
        chosen["zipf"] = round(float(rng.uniform(0.3, 1.2)), 2)
        chosen["loss_weights"] = ("equal", "inverse")[rng.integers(2)]
    return Setting(**chosen)


def row(key: str) -> dict[str, Any]:
    """A setting, its prediction, and for each outcome the share of simulated draws below each
    predicted quantile."""
    setting, found = case(key)
    fields = "vocab seq_len dim samples trigger_in_values zipf loss_weights".split()
    kind, index = key.rsplit(" ", 1)
    first = FIRST_SEED + 1000 * (PLACES[kind] + int(index))
    seen = [
        simulate(setting, seed, test_samples=TEST_SAMPLES) for seed in range(first, first + SEEDS)
    ]
    made: dict[str, Any] = {name: getattr(setting, name) for name in fields}
    law = [found.quantile(k / 400) for k in range(1, 400)]
    for name in QUANTITIES:
        values = np.array([getattr(outcome, name) for outcome in seen])
        predicted = np.array([getattr(quantiles, name) for quantiles in law])
        made |= {name: getattr(found, name), f"{name}_simulated": values.mean()}
        for level in LEVELS:
            quantile = getattr(found.quantile(level), name)
            made[f"{name}_q{level}"] = quantile
            made[f"{name}_below{level}"] = share_below(values, quantile, predicted, level)
    return made


def share_below(
    values: NDArray[np.float64], quantile: float, law: NDArray[np.float64], level: float
) -> float:
    """Share of values below a quantile; of those within ``NEAR`` of it the share that the predicted
    law has below."""
    (below, upto), (under, within) = (
        (float(np.mean(part < quantile - NEAR)), float(np.mean(part <= quantile + NEAR)))
        for part in (values, law)
    )
    return below + (upto - below) * (level - under) / max(within - under, 1e-9)


def calibration(frame: pd.DataFrame) -> pd.DataFrame:
    """For each kind and outcome: settings inside its transition, mean share below each quantile,
    standard errors."""
    rows = []
    for kind in COUNTS:
        for name in QUANTITIES:
            part = frame[frame["key"].str.startswith(kind + " ") & frame[name].between(0.1, 0.9)]
            shares = part[[f"{name}_below{level}" for level in LEVELS]].set_axis(
                list(LEVELS), axis=1
            )
            errors = shares.sem().add_prefix("error ")
            rows.append(
                {"kind": kind, "outcome": name, "settings": len(part), **shares.mean(), **errors}
            )
    return pd.DataFrame(rows)
