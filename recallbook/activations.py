"""Activations of the fixed random MLP, as functions on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

Activation = Callable[[torch.Tensor], torch.Tensor]


def linear(x: torch.Tensor) -> torch.Tensor:
    """$x$."""
    return x


def he2(x: torch.Tensor) -> torch.Tensor:
    r"""Second Hermite polynomial, normalised: $(x^2-1)/\sqrt2$."""
    return (x * x - 1) / math.sqrt(2)


def he3(x: torch.Tensor) -> torch.Tensor:
    r"""Third Hermite polynomial, normalised: $(x^3-3x)/\sqrt6$."""
    return (x * x - 3) * x / math.sqrt(6)


# torch's gelu without `approximate` is the exact one, x times the normal distribution function.
ACTIVATIONS: dict[str, Activation] = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "tanh": torch.tanh,
    "linear": linear,
    "he2": he2,
    "he3": he3,
}


def differentiated(phi: Activation, x: torch.Tensor) -> tuple[torch.Tensor, Activation]:
    r"""$\phi(x)$ and the map $c\mapsto c\,\phi'(x)$, entry by entry, by automatic differentiation."""
    with torch.enable_grad():
        images = phi(inputs := x.detach().requires_grad_())
    pull = lambda c: torch.autograd.grad(images, inputs, c, retain_graph=True)[0]  # noqa: E731
    return images.detach(), pull if images.requires_grad else torch.zeros_like  # of steps, say
