"""Optimisers of the library for many models at once, whose weights are stacked along a first
axis."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float64
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
    """Moves stacked weights in place by the rung's optimiser, entry by entry, every model at a rate
    and a decay of its own: no model's step sees another's."""

    def __init__(
        self,
        rung: Rung,
        setting: Setting,
        weights: Weights,
        *,
        rates: Float64[Tensor, " models"],
        decays: Float64[Tensor, " models"],
        steps: int,
    ) -> None:
        # the library's optimiser moves zeros at rate 1: it says where to
        self._moves = {name: nn.Parameter(torch.zeros_like(one)) for name, one in weights.items()}
        plain = rung.optimiser == "sgd"
        own = book_rates(setting) if plain else dict.fromkeys(weights, 1.0)
        self._rates = {name: rates * factor for name, factor in own.items()}
        self._weights, self._decays = weights, 0 * decays if plain else decays
        self.optimiser: torch.optim.Optimizer = (
            torch.optim.SGD(self._moves.values(), lr=1.0)
            if plain
            else torch.optim.AdamW(
                self._moves.values(), lr=1.0, betas=BETAS, eps=EPSILON, weight_decay=0.0
            )
        )
        self._factors = iter([1.0 if plain else schedule(step, steps) for step in range(steps)])

    def step(self, gradients: Weights) -> None:
        """One step down these gradients, stacked like the weights."""
        for name, move in self._moves.items():
            move.data.zero_()
            move.grad = gradients[name]
        self.optimiser.step()
        factor = next(self._factors)
        for name, weight in self._weights.items():
            rates = (factor * self._rates[name]).view(-1, *[1] * (weight.dim() - 1)).to(weight)
            decays = self._decays.view(rates.shape).to(weight)
            weight.mul_(1 - rates * decays).add_(rates * self._moves[name].data)
