"""At which exponent Zipf's law breaks lock-on, simulated and predicted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook_studies import grids
from recallbook_studies.ch11.breaking import critical_zipf
from recallbook_studies.intervals import crossing
from recallbook_studies.running.point import Point

SEEDS = range(8)
DIMS = {128: 128, 256: 128, 512: 256}
LENGTHS = (8, 16, 32, 64)
EXPONENTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4)
SAMPLES = 50  # in units of V: sampling adds little, and no N mends what breaks here
RESAMPLES = 400
SIZES = ["vocab", "seq_len", "dim", "samples"]
LARGER_SEEDS = range(12)
Cases = dict[tuple[int, int, int, int], tuple[float, ...]]  # exponents by V, L, d and N/V
LARGER: Cases = {  # about the fall of lock-on
    (256, 256, 128, 50): (0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    (1024, 16, 128, 16): (0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
    (1024, 64, 128, 16): (0.45, 0.5, 0.55, 0.6, 0.65, 0.7),
    (1024, 256, 128, 16): (0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    (2048, 64, 512, 8): (0.5, 0.55, 0.6, 0.65),
    (4096, 64, 512, 8): (0.56, 0.62, 0.68, 0.74),
}


def points() -> list[Point]:
    """Lock-on over the exponent of all tokens, with the trigger out of the values and in them."""
    cases = [(v, length, dim, SAMPLES) for v, dim in DIMS.items() for length in LENGTHS]
    return _points(dict.fromkeys(cases, EXPONENTS), SEEDS)


def larger_points() -> list[Point]:
    """The same at longer sequences and larger vocabularies, with fewer exponents."""
    return _points(LARGER, LARGER_SEEDS)


def _points(cases: Cases, seeds: Iterable[int]) -> list[Point]:
    found = []
    for (vocab, length, dim, multiple), exponents in cases.items():
        sizes = {"vocab": vocab, "seq_len": length, "dim": dim, "samples": multiple * vocab}
        found += grids.settings(**sizes, trigger_in_values=grids.FLAGS, zipf=exponents)
    return grids.points(found, seeds, 2000)


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
