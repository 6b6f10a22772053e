r"""Arg max without rounding: what counts as a tie, and what a tie is worth.

Numbers that are equal in exact arithmetic (counts seen through orthogonal embeddings, labels never seen) are computed
with different last digits on different machines. So everywhere in the package numbers closer than ``slack`` tie, with
``slack`` = :func:`tolerance` times the largest value that the sizes of the factors allow (Cauchy and Schwarz); and a
tie among $k$ counts as the average over the $k$ choices: the right one among them earns $1/k$.
"""

from __future__ import annotations

from typing import Any

import torch

ROUNDINGS = 16  # roundings of its largest possible value below which a computed vector is zero


def tolerance(dtype: torch.dtype) -> float:
    r"""$\epsilon^{2/3}$ of a floating type: 4e-11 in float64, far above rounding and far below what differs."""
    return torch.finfo(dtype).eps ** (2 / 3)


def tied(values: torch.Tensor, slack: Any) -> torch.Tensor:
    """Which entries of each row are within ``slack``, a number or ``(n, 1)``, of the row's largest; ``(n, k)``.

    Where something is not a number, no entry is excluded: nothing is known.
    """
    return (values < values.amax(dim=1, keepdim=True) - slack).logical_not_()


def credit(values: torch.Tensor, wanted: torch.Tensor, slack: Any) -> torch.Tensor:
    """What choosing the largest of each row earns: 1/k if column ``wanted`` ``(n,)`` is among the k tied, else 0."""
    best = tied(values, slack)
    return best.gather(1, wanted[:, None])[:, 0].double() / best.sum(dim=1)


def logit_slack(outputs: torch.Tensor, value: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    r"""Slack of the logits $u_k^\top W_Vg$: tolerance times $\max_k\|u_k\|\,\|W_V\|_F\,\|g\|$, ``(n, 1)``."""
    size = outputs.norm(dim=1).max() * torch.linalg.norm(value)
    return tolerance(value.dtype) * size * images.norm(dim=1, keepdim=True)


def without_rounding(vector: torch.Tensor, size: Any) -> torch.Tensor:
    """The vector, or zero if it is no more than rounding left over from terms of this ``size``."""
    floor = ROUNDINGS * torch.finfo(vector.dtype).eps * size
    # what is not a number must stay so
    return torch.where(torch.linalg.norm(vector) < floor, torch.zeros_like(vector), vector)
