"""One simulation from start to end: draw, step, evaluate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from recallbook.arguments import (
    Device,
    check_drawn,
    check_rates,
    check_size,
    check_value_steps,
    not_allowed,
)
from recallbook.data.embeddings import Embeddings
from recallbook.data.task import draw
from recallbook.memory_needs import require_memory, simulation_needs
from recallbook.result import MeanOutcome, Outcome
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate


def simulate(
    setting: Setting,
    seed: int | Iterable[int],
    *,
    eta: float | None = None,
    gamma: float | None = None,
    value_steps: int = 1,
    rate: float | Sequence[float] | None = None,
    test_samples: int = 20000,
    dtype: torch.dtype = torch.float64,
    device: Device = "cpu",
    embeddings: Embeddings | Mapping[str, Any] | None = None,
) -> Outcome:
    """Draw, take three steps, evaluate: tables as in ``draw``, rates and value steps as in
    ``three_steps``. With several seeds, means over them and their standard errors.

    Examples
    --------
    >>> setting = Setting(vocab=64, seq_len=8, dim=64, samples=4096, trigger_in_values=False)
    >>> simulate(setting, seed=0).lock_on
    1.0
    >>> simulate(setting, seed=range(8)).error.lock_on
    0.0
    """
    test_samples = check_size("test_samples", test_samples)
    check_value_steps(value_steps, rate, check_rates(eta, gamma)[0])
    several = isinstance(seed, Iterable) and getattr(seed, "ndim", 1) != 0
    seeds: list[Any] = [*seed] if isinstance(seed, Iterable) and several else [seed]
    if several and len(seeds) < 2:
        raise not_allowed("seed", seeds, "one seed, or two and more")
    for one in seeds:
        check_drawn(one, dtype, device)
    require_memory(simulation_needs(setting, test_samples), "the simulation")
    runs = []
    for one in seeds:
        problem = draw(setting, one, dtype=dtype, device=device, embeddings=embeddings)
        weights = three_steps(problem, eta, gamma, value_steps=value_steps, rate=rate)
        runs.append(evaluate(problem, weights, test_samples))
    if not several:
        return runs[0]
    values = np.array([(run.accuracy, run.lock_on, run.recall) for run in runs])
    errors = values.std(axis=0, ddof=1) / len(runs) ** 0.5
    means, spread = (Outcome(*part.tolist()) for part in (values.mean(axis=0), errors))
    return MeanOutcome(**vars(means), error=spread, seeds=len(runs))
