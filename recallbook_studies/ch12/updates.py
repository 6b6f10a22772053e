"""Optimisers of the library for many models at once, whose weights are stacked along a first
axis."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from recallbook.setting import Setting
from recallbook_studies.ch12.rungs import Rung

BETAS, EPSILON = (0.9, 0.999), 1e-8  # of AdamW, as the library has them
WARM_UP = 0.1  # of all steps

Weights = dict[str, Tensor]


def book_rates(setting: Setting) -> dict[str, float]:
    r"""$\eta=LV/200$ for the values and $\gamma=L/20$ for attention: the book's rates beyond three
    steps."""
    return {
        "book.value": setting.seq_len * setting.vocab / 200,
        "book.key_query": setting.seq_len / 20,
    }


def schedule(step: int, steps: int) -> float:
    """Factor of the rate: linear up over the first tenth of the steps, then half a cosine down to
    zero."""
    warm = max(1, math.ceil(WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


class Stepper:
    """Moves stacked weights in place by the rung's optimiser, entry by entry: no model's step sees
    another's."""

    def __init__(
        self,
        rung: Rung,
        setting: Setting,
        weights: Weights,
        *,
        rate: float,
        decay: float,
        steps: int,
    ) -> None:
        self._leaves = {
            name: nn.Parameter(tensor) for name, tensor in weights.items()
        }  # sharing the stack's memory
        plain = rung.optimiser == "sgd"
        own = book_rates(setting) if plain else dict.fromkeys(weights, 1.0)
        groups = [{"params": [leaf], "lr": rate * own[n]} for n, leaf in self._leaves.items()]
        self.optimiser: torch.optim.Optimizer = (
            torch.optim.SGD(groups)
            if plain
            else torch.optim.AdamW(groups, betas=BETAS, eps=EPSILON, weight_decay=decay)
        )
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: 1.0 if plain else schedule(step, steps)
        )

    def step(self, gradients: Weights) -> None:
        """One step down these gradients, stacked like the weights."""
        for name, leaf in self._leaves.items():
            leaf.grad = gradients[name]
        self.optimiser.step()
        self._schedule.step()
