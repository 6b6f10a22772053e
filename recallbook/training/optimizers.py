r"""How a step follows from gradients: plain descent, its signs, Adam, and Muon.

Each is an :data:`Update`: it takes $D_t=-\nabla_W\hat{\mathcal L}(W_{t-1})$, remembers what it
needs of the earlier ones, and returns the direction $S_t$ of the step $W_t=W_{t-1}+\text{rate}\cdot
S_t$. One update moves one matrix."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.model.ties import tolerance

Update = Callable[[Float[Tensor, "r c"]], Float[Tensor, "r c"]]
FIRST_MOMENT, SECOND_MOMENT, FLOOR = 0.9, 0.999, 1e-8  # of Adam
MOMENTUM, NEWTON_SCHULZ, ITERATIONS, SMALLEST = 0.95, (3.4445, -4.7750, 2.0315), 5, 1e-7  # of Muon


def plain(direction: Float[Tensor, "r c"]) -> Float[Tensor, "r c"]:
    r"""Gradient descent: $S_t=D_t$."""
    return direction


def sign(direction: Float[Tensor, "r c"]) -> Float[Tensor, "r c"]:
    r"""Sign descent: $S_t=\mathrm{sign}(D_t)$, entry by entry.

    Entries that vanish beside the largest one (:func:`recallbook.model.ties.tolerance`) count as
    zero: what exact arithmetic makes zero has the sign of its rounding, which differs between
    machines."""
    rounded = direction.abs() <= tolerance(direction.dtype) * direction.abs().max()
    signs = torch.where(rounded, 0.0, torch.sign(direction))
    # the sign of what is not finite would hide that weights have overflowed
    return torch.where(direction.isfinite(), signs, torch.nan)


class Adam:
    r"""Adam (Kingma and Ba, ICLR 2015), with their constants $\beta_1=0.9$, $\beta_2=0.999$,
    $\epsilon=10^{-8}$.

    $$m_t=\beta_1m_{t-1}+(1-\beta_1)D_t,\quad v_t=\beta_2v_{t-1}+(1-\beta_2)D_t^2,\quad
    S_t=\frac{m_t/(1-\beta_1^t)}{\sqrt{v_t/(1-\beta_2^t)}+\epsilon},$$
    entry by entry. The same as :class:`torch.optim.Adam`.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._mean: Tensor | float = 0.0
        self._square: Tensor | float = 0.0

    def __call__(self, direction: Float[Tensor, "r c"]) -> Float[Tensor, "r c"]:
        self._steps += 1
        zero = torch.zeros_like(direction)
        self._mean = torch.lerp(zero + self._mean, direction, 1 - FIRST_MOMENT)
        self._square = torch.lerp(zero + self._square, direction.square(), 1 - SECOND_MOMENT)
        # as if there had been no zero to start from
        mean = self._mean / (1 - FIRST_MOMENT**self._steps)
        square = self._square / (1 - SECOND_MOMENT**self._steps)
        return mean / (square.sqrt() + FLOOR)


class Muon:
    r"""Muon (Jordan, 2024): momentum, then the nearest matrix with equal singular values, nearly.

    $$B_t=\mu B_{t-1}+(1-\mu)D_t,\quad S_t=\sqrt{\max(1,r/c)}\;\mathrm{NS}\big(\mu
    B_t+(1-\mu)D_t\big),\quad\mu=0.95,$$ for matrices ``(r, c)``. NS divides by the Frobenius norm
    and applies $X\leftarrow aX+b\,XX^\top X+c\,(XX^\top)^2X$ five times: singular values that are
    not tiny end between 0.7 and 1.2, zero stays zero.

    Notes
    -----
    Constants and scale are those of :class:`torch.optim.Muon` without weight decay. That one iterates in bfloat16,
    whose products differ between processors; here it is in the type of the weights. In associative memories: Wang et
    al. (arXiv 2509.26030), Kim et al. (arXiv 2603.26554).
    """

    def __init__(self) -> None:
        self._momentum: Tensor | float = 0.0

    def __call__(self, direction: Float[Tensor, "r c"]) -> Float[Tensor, "r c"]:
        before = torch.zeros_like(direction) + self._momentum
        self._momentum = torch.lerp(before, direction, 1 - MOMENTUM)
        ahead = torch.lerp(direction, self._momentum, MOMENTUM)  # Nesterov's
        rows, columns = direction.shape
        return torch.mul(orthogonalised(ahead), math.sqrt(max(1, rows / columns)))


def orthogonalised(matrix: Float[Tensor, "r c"]) -> Float[Tensor, "r c"]:
    r"""The iteration of :class:`Muon`: singular values become nearly 1, vectors stay."""
    if matrix.shape[0] > matrix.shape[1]:
        return orthogonalised(matrix.T).T  # the smaller Gram matrix
    first, third, fifth = NEWTON_SCHULZ
    result: Tensor = matrix / torch.linalg.norm(matrix).clamp(min=SMALLEST)
    for _ in range(ITERATIONS):
        gram = result @ result.T
        result = first * result + (third * gram + fifth * gram @ gram) @ result
    return result


OPTIMIZERS: dict[str, Callable[[], Update]] = {
    "gd": lambda: plain,
    "sign": lambda: sign,
    "adam": Adam,
    "muon": Muon,
}
