"""At which exponent Zipf's law breaks lock-on, simulated and predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook_studies.ch11.breaking import critical_zipf
from recallbook_studies.intervals import crossing

SAMPLES = 50  # in units of V: sampling adds little, and no N mends what breaks here
RESAMPLES = 400
SIZES = ["vocab", "seq_len", "dim", "samples"]


def falling_crossing(exponents: NDArray[np.float64], lock_on: NDArray[np.float64]) -> float:
    """Exponent at which mean lock-on falls through one half."""
    return 1 / crossing(1 / exponents[::-1], lock_on[::-1])


def critical(frame: pd.DataFrame) -> pd.DataFrame:
    """Critical exponent of each case: simulated, with a 95 per cent bootstrap interval over seeds;
    predicted."""
    rows, names = [], [*SIZES, "trigger_in_values"]
    for key, part in frame.groupby(names, sort=True):
        fields: dict[str, Any] = dict(zip(names, key, strict=True))
        table = part.pivot(index="zipf", columns="seed", values="lock_on")
        exponents, outcomes = table.index.to_numpy(float), table.to_numpy(float)
        seeds = outcomes.shape[1]
        again = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
        found = [falling_crossing(exponents, outcomes[:, drawn].mean(axis=1)) for drawn in again]
        low, high = np.quantile(found, [0.025, 0.975])
        simulated = falling_crossing(exponents, outcomes.mean(axis=1))
        row = {"seeds": seeds, "simulated": simulated, "low": low, "high": high}
        rows.append({**fields, **row, "predicted": critical_zipf(**fields)})
    return pd.DataFrame(rows)
