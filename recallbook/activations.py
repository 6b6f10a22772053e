"""Activations of the fixed random MLP, as functions on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from recallbook.arguments import not_allowed

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


def applied(activation: str | Activation) -> Activation:
    """An activation as a function on tensors; ``ValueError`` where a caller's own fails."""
    if isinstance(activation, str):
        return ACTIVATIONS[activation]

    def checked(x: torch.Tensor) -> torch.Tensor:
        try:
            image = activation(x)
            if image.shape != x.shape:
                raise TypeError(f"of {(*x.shape,)} it makes {(*image.shape,)}")
        except Exception as error:  # a user's function may fail in any way; the cause is chained
            allowed = f"a function that no numbers make fail: {error!r}"
            raise not_allowed("activation", activation, allowed) from error
        return image

    return checked


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
