r"""Accuracy over planes of settings, critical sizes, and the largest of the laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook.setting import Setting
from recallbook.sweeps.run import run_sweep
from recallbook.theory.prediction import predict
from recallbook.theory.symbolic.expressions import V, numeric
from recallbook.theory.values import columns
from recallbook.training.simulation import simulate
from recallbook_studies import grids, laws
from recallbook_studies.ch09.accuracy_sizes import (
    PLANE_DIMS,
    PLANE_LENGTHS,
    predicted,
)

SEEDS = range(8)
TEST = 1000  # fresh sequences a seed
GRID_SAMPLES, GRID_DIMS = (128, 384, 1152, 3456, 8192), (24, 40, 64, 128)
Array = NDArray[np.float64]


def plane(trigger_in_values: bool, device: str = "cpu") -> pd.DataFrame:
    """Predicted and simulated accuracy over number of sequences and dimension, one row for each
    seed."""
    sizes = {"vocab": 128, "seq_len": 16, "dim": GRID_DIMS, "samples": GRID_SAMPLES}
    rows: list[dict[str, Any]] = []
    for setting in grids.settings(**sizes, trigger_in_values=trigger_in_values):
        guess = predict(setting, warn=False).accuracy
        row = {"dim": setting.dim, "samples": setting.samples, "predicted": guess}
        for seed in SEEDS:
            outcome = simulate(setting, seed, test_samples=TEST, device=device)
            rows.append({**row, "seed": seed, "accuracy": outcome.accuracy})
    return pd.DataFrame(rows)


def critical(
    trigger_in_values: bool,
    dims: Sequence[int] = PLANE_DIMS,
    lengths: Sequence[int] = PLANE_LENGTHS,
) -> pd.DataFrame:
    """Predicted critical number of sequences for accuracy 0.9 at V = 256, committed for these
    sizes."""
    table = pd.DataFrame(itertools.product(dims, lengths), columns=["dim", "seq_len"])
    found = [predicted()[trigger_in_values, 256, n, d] for d, n in table.to_numpy().tolist()]
    return table.assign(samples=found)


def outcomes(settings: Iterable[Setting]) -> pd.DataFrame:
    """Simulated lock-on, recall and accuracy, one row for each setting and seed."""
    return run_sweep(grids.points(settings, SEEDS, TEST))


def largest_law(frame: pd.DataFrame, trigger_in_values: bool, vocab: int = 256) -> Array:
    """The largest of coverage, label frequencies and lock-on, as a number of sequences, for each
    row of ``frame``."""
    every = [
        numeric(law)({V: vocab, **columns(frame)})
        for law in laws.samples(trigger_in_values).values()
    ]
    return np.asarray(np.max(np.broadcast_arrays(*every), axis=0))


def critical_dim(vocab: int, trigger_in_values: bool, accuracy: float = 0.9) -> int:
    """Smallest dimension with this predicted recall at perfect attention and practically unlimited
    data."""
    return laws.least_dim(vocab, accuracy, trigger_in_values=trigger_in_values)


def double_role(dims: Iterable[int], samples: int = 2048) -> pd.DataFrame:
    r"""Predicted lock-on (learnability) and recall with perfect attention (superposition) against
    $d$, $\tau=0$."""
    rows = []
    for dim in dims:
        setting = Setting(vocab=128, seq_len=128, dim=dim, samples=samples)
        full, alone = (predict(replace(setting, seq_len=n), warn=False) for n in (128, 1))
        rows.append(
            {"dim": dim, "lock_on": full.lock_on, "recall": alone.recall, "accuracy": full.accuracy}
        )
    return pd.DataFrame(rows)


def frequency_constant() -> float:
    r"""Smallest $c$ for which $2\min_vn_v>\max_vn_v$ at $N=cV\log V$, as $V\to\infty$: $1/(1-\frac
    e2\log2)$.

    Poisson tails: the smallest count is $a\mu$ with $c(1-a+a\log a)=1$, the largest $2a\mu$ with
    $c(1-2a+2a\log2a)=1$. Equal rates give $a=\frac e4$. Ours.
    """
    return 1 / (1 - math.e / 2 * math.log(2))


def all_counts_near(vocab: int, samples: int) -> float:
    r"""Fraction of draws in which $2\min_vn_v>\max_vn_v$."""
    counts = np.random.default_rng(0).multinomial(samples, np.full(vocab, 1 / vocab), size=200)
    return float(np.mean(2 * counts.min(axis=1) > counts.max(axis=1)))
