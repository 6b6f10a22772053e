"""Predicted quantiles over draws against simulation, at random settings inside a transition.

60 settings with equal facts and 12 with unequal ones, all without the MLP, were drawn log-uniform in
V (60 to 400), L (3 to 150), d (12 to 150) and N/V (1 to 40), and kept where predicted accuracy or
lock-on was between 0.1 and 0.9. Each is simulated with 60 seeds that are used nowhere else. Had the
prediction the law of a draw, a share q of draws would lie below its quantile q.

``python -m recallbook table quantiles STORE`` makes the rows, ``--export`` writes the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook.training.simulation import simulate
from recallbook_studies.error_map import QUANTITIES, as_setting
from recallbook_theory.prediction import predict

PLACES = {"equal": 0, "unequal": 76}  # of seeds
SEEDS, FIRST_SEED, TEST_SAMPLES = 60, 6 * 10**8, 4000
LEVELS = (0.1, 0.5, 0.9)
# test sequences know an outcome no better: what is nearer to a quantile counts as on it
NEAR = 0.005


def row(key: str, **fields: Any) -> dict[str, Any]:
    """The prediction for a setting, and for each outcome the share of simulated draws below each
    predicted quantile."""
    setting = as_setting(fields)
    found = predict(setting, warn=False)
    kind, index = key.rsplit(" ", 1)
    first = FIRST_SEED + 1000 * (PLACES[kind] + int(index))
    seen = [
        simulate(setting, seed, test_samples=TEST_SAMPLES) for seed in range(first, first + SEEDS)
    ]
    made: dict[str, Any] = {}
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
    for kind in PLACES:
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
