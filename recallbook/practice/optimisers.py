"""Optimisers of the library for many models at once, whose weights are stacked along a first axis."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from recallbook.arguments import not_allowed
from recallbook.practice.rungs import Rung, decays
from recallbook.setting import Setting

BETAS, EPSILON = (0.9, 0.999), 1e-8  # of AdamW, as the library has them
MOMENTUM = 0.9  # of gradient descent on the library's layers
WARM_UP = 0.1  # of all steps

Weights = dict[str, Tensor]


def book_rates(setting: Setting) -> dict[str, float]:
    r"""$\eta=LV/200$ for the values and $\gamma=L/20$ for attention: the book's rates beyond three steps."""
    return {"book.value": setting.seq_len * setting.vocab / 200, "book.key_query": setting.seq_len / 20}


def schedule(step: int, steps: int) -> float:
    """Factor of the rate: linear up over the first tenth of the steps, then half a cosine down to zero."""
    warm = max(1, math.ceil(WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


class Stepper:
    """Moves stacked weights in place by the rung's optimiser; one model's step does not see another's.

    All but Muon work entry by entry, so that they take the stack as it is. Muon takes matrices: each model's own, as a
    view into the stack.
    """

    def __init__(
        self, rung: Rung, setting: Setting, weights: Weights, *, rate: float, decay: float, steps: int
    ) -> None:
        self._links: list[tuple[nn.Parameter, str, int | None]] = []
        self.optimisers = list(self._build(rung, setting, weights, rate, decay))
        self.schedules = [
            torch.optim.lr_scheduler.LambdaLR(one, lambda step: schedule(step, steps))
            for one in (self.optimisers if decays(rung) else [])
        ]

    def step(self, gradients: Weights) -> None:
        """One step down these gradients, stacked like the weights."""
        for leaf, name, index in self._links:
            leaf.grad = gradients[name] if index is None else gradients[name][index]
        for one in self.optimisers:
            one.step()
        for each in self.schedules:
            each.step()

    def _leaf(self, weights: Weights, name: str, index: int | None = None) -> nn.Parameter:
        tensor = weights[name] if index is None else weights[name][index]
        leaf = nn.Parameter(tensor)  # shares memory with the stack
        self._links.append((leaf, name, index))
        return leaf

    def _build(
        self, rung: Rung, setting: Setting, weights: Weights, rate: float, decay: float
    ) -> Iterator[torch.optim.Optimizer]:
        if rung.optimiser == "sgd" and rung.heads is None:
            rates = book_rates(setting)
            yield torch.optim.SGD([{"params": [self._leaf(weights, n)], "lr": rate * rates[n]} for n in weights])
        elif rung.optimiser == "sgd":
            leaves = [self._leaf(weights, name) for name in weights]
            yield torch.optim.SGD(leaves, lr=rate, momentum=MOMENTUM, weight_decay=decay)
        else:
            muon = [name for name in weights if rung.optimiser == "muon" and hidden_matrix(name, weights[name])]
            rest = [self._leaf(weights, name) for name in weights if name not in muon]
            yield torch.optim.AdamW(rest, lr=rate, betas=BETAS, eps=EPSILON, weight_decay=decay)
            if muon:
                each = [self._leaf(weights, name, index) for name in muon for index in range(len(weights[name]))]
                yield _muon(each, rate, decay)


def hidden_matrix(name: str, stacked: Tensor) -> bool:
    """Whether these stacked weights are matrices inside a layer: not embeddings, positions, output, norms or biases."""
    return stacked.ndim == 3 and name.startswith(("layers.", "book."))


def _muon(leaves: list[nn.Parameter], rate: float, decay: float) -> torch.optim.Optimizer:
    """The library's Muon, its steps as long as AdamW's would be, so that one rate serves both."""
    if not hasattr(torch.optim, "Muon"):
        raise not_allowed("optimiser", "muon", f"torch 2.9 or later, which has it; this is {torch.__version__}")
    return torch.optim.Muon(leaves, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw")
