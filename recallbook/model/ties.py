r"""Arg max without rounding: what counts as a tie, and what a tie is worth.

Numbers that are equal in exact arithmetic (counts seen through orthogonal embeddings, labels never
seen) are computed with different last digits on different machines. So everywhere in the package
numbers closer than ``slack`` tie, with ``slack`` = :func:`tolerance` times the largest value that
the sizes of the factors allow (Cauchy and Schwarz); and a tie among $k$ counts as the average over
the $k$ choices: the right one among them earns $1/k$."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64, Int, Real
from torch import Tensor

Slack = float | Float[Tensor, ""] | Float[Tensor, "n 1"]
BLOCK_LABELS = 1 << 10  # labels whose logits are formed at a time, for as many rows: 4 to 8 MB
GPU_TIMES = 16  # as many numbers at once as a core's cache holds
ROUNDINGS = 16  # roundings of its largest possible value below which a computed vector is zero


def at_once(numbers: int, like: Tensor) -> int:
    """How many numbers to form at a time: a GPU, where starting a kernel costs most, takes more."""
    return numbers * GPU_TIMES if like.is_cuda else numbers


def tolerance(dtype: torch.dtype) -> float:
    r"""$\epsilon^{2/3}$ of a floating type: 4e-11 in float64, far above any rounding."""
    return float(torch.finfo(dtype).eps ** (2 / 3))


def tied(values: Real[Tensor, "n k"], slack: Slack) -> Bool[Tensor, "n k"]:
    """Which entries ``(n, k)`` are within ``slack``, a number or ``(n, 1)``, of their row's largest.

    Where something is not a number, no entry is excluded: nothing is known."""
    return torch.logical_not(values < values.amax(dim=1, keepdim=True) - slack)


def credit(
    values: Real[Tensor, "n k"], wanted: Int[Tensor, " n"], slack: Slack
) -> Float64[Tensor, " n"]:
    """What the largest of each row earns: 1/k if column ``wanted`` is among the k tied, else 0."""
    best = tied(values, slack)
    return best.gather(1, wanted[:, None])[:, 0].double() / best.sum(dim=1)


class Answers(NamedTuple):
    """Labels of the largest logits ``(n,)``, and whether no other label ties with them ``(n,)``."""

    labels: Int[Tensor, " n"]
    alone: Bool[Tensor, " n"]


def answers(
    queries: Float[Tensor, "n d"],
    outputs: Float[Tensor, "V d"],
    bias: Float[Tensor, " V"],
    slack: Float[Tensor, "n 1"],
) -> Answers:
    r"""The label whose logit $u_k^\top q+b_k$ is largest, and whether it is alone, as :func:`tied`
    says, ``(n,)`` each.

    Logits are formed block by block, and never all at once."""
    rows = len(queries)
    width = max(BLOCK_LABELS, at_once(BLOCK_LABELS**2, queries) // max(1, rows))
    numbered = torch.stack(
        [torch.ones_like(bias), torch.arange(len(bias), device=bias.device).to(bias)], dim=1
    )
    largest = queries.new_full((rows, 1), -torch.inf)
    # how many labels tie, or more, and the sum of them: the label where it is one
    near = queries.new_zeros(rows, 2)
    split = (torch.split(table, width) for table in (outputs, bias, numbered))
    for block, added, numbers in zip(*split, strict=True):
        logits = torch.addmm(added, queries, block.T)
        before, largest = largest, torch.maximum(largest, logits.amax(dim=1, keepdim=True))
        bar = largest - slack
        near = near.masked_fill_(before < bar, 0).addmm_(logits.ge_(bar), numbers)
    alone = (near[:, 0] == 1) & torch.logical_not(largest[:, 0].isnan())
    return Answers(near[:, 1].long(), alone)


def logit_slack(
    outputs: Float[Tensor, "V d"], value: Float[Tensor, "d m"], images: Float[Tensor, "n m"]
) -> Float[Tensor, "n 1"]:
    r"""Slack ``(n, 1)`` of $u_k^\top W_Vg$: tolerance times $\max_k\|u_k\|\,\|W_V\|_F\,\|g\|$."""
    size = lengths(outputs).max() * torch.linalg.norm(value)
    return torch.mul(lengths(images)[:, None], tolerance(value.dtype) * size)


def bias_slack(bias: Float[Tensor, " V"]) -> Float[Tensor, ""]:
    """What a bias ``(V,)`` adds to the slack: tolerance times its largest finite size."""
    finite = torch.where(bias.isfinite(), bias, torch.zeros_like(bias))
    return torch.mul(finite.abs().max(), tolerance(bias.dtype))


def lengths(rows: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Length of every row."""
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return norms


def without_rounding(vector: Float[Tensor, " d"], size: Float[Tensor, ""]) -> Float[Tensor, " d"]:
    """The vector, or zero if it is no more than rounding left over from terms of this ``size``."""
    floor = ROUNDINGS * torch.finfo(vector.dtype).eps * size
    # what is not a number must stay so
    return torch.where(torch.linalg.norm(vector) < floor, torch.zeros_like(vector), vector)
