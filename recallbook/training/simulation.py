"""One simulation from start to end: draw, step, evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from recallbook.arguments import Device, check_drawn, check_rates, check_size, check_value_steps
from recallbook.data.embeddings import Embeddings
from recallbook.data.task import draw
from recallbook.memory_needs import require_memory, simulation_needs
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import Outcome, evaluate


def simulate(
    setting: Setting,
    seed: int,
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
    ``three_steps``.

    Examples
    --------
    >>> setting = Setting(vocab=64, seq_len=8, dim=64, samples=4096, trigger_in_values=False)
    >>> simulate(setting, seed=0).lock_on
    1.0
    """
    test_samples = check_size("test_samples", test_samples)
    check_value_steps(value_steps, rate, check_rates(eta, gamma)[0])
    check_drawn(seed, dtype, device)
    require_memory(simulation_needs(setting, test_samples), "the simulation")
    problem = draw(setting, seed, dtype=dtype, device=device, embeddings=embeddings)
    weights = three_steps(problem, eta, gamma, value_steps=value_steps, rate=rate)
    return evaluate(problem, weights, test_samples)
