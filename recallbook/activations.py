"""Activations of the fixed random MLP, as functions on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch is loaded by whoever makes tensors
    import torch

Activation = Callable[["torch.Tensor"], "torch.Tensor"]


def relu(x: torch.Tensor) -> torch.Tensor:
    r"""$\max(x,0)$."""
    return x.relu()


def gelu(x: torch.Tensor) -> torch.Tensor:
    """$x$ times the normal distribution function at $x$, exactly."""
    from torch.nn.functional import gelu as exact

    return exact(x)


def tanh(x: torch.Tensor) -> torch.Tensor:
    r"""$\tanh x$."""
    return x.tanh()


def linear(x: torch.Tensor) -> torch.Tensor:
    """$x$."""
    return x


def he2(x: torch.Tensor) -> torch.Tensor:
    r"""Second Hermite polynomial, normalised: $(x^2-1)/\sqrt2$."""
    return (x * x - 1) / math.sqrt(2)


def he3(x: torch.Tensor) -> torch.Tensor:
    r"""Third Hermite polynomial, normalised: $(x^3-3x)/\sqrt6$."""
    return (x * x - 3) * x / math.sqrt(6)


ACTIVATIONS: dict[str, Activation] = {
    function.__name__: function for function in (relu, gelu, tanh, linear, he2, he3)
}


def differentiated(phi: Activation, x: torch.Tensor) -> tuple[torch.Tensor, Activation]:
    r"""$\phi(x)$ and the map $c\mapsto c\,\phi'(x)$, entry by entry, by automatic differentiation."""
    import torch

    # a reader's inference mode would make every slope zero: leave it, on numbers of our own
    with torch.inference_mode(False), torch.enable_grad():
        images = phi(inputs := x.detach().clone().requires_grad_())

    def pull(c: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode(False):
            return torch.autograd.grad(images, inputs, c.clone(), retain_graph=True)[0]

    return images.detach(), pull
