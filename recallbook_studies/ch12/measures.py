"""What is measured of a model of the ladder, the same for every rung."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from recallbook.data.task import Problem, check_problem
from recallbook.model.ties import credit, tolerance
from recallbook.training.descent import initial_gradient


class Head(NamedTuple):
    """One head of one layer, both from 0: its lock-on, and its mean weight on the informative
    token."""

    layer: int
    head: int
    lock_on: float
    attention: float


def share_right(logits: Float[Tensor, "n V"], labels: Int64[Tensor, " n"]) -> float:
    """Fraction whose largest logit is the label; a tie among k counts 1/k. Zero where logits are
    not numbers."""
    if not bool(torch.isfinite(logits).all()):
        return 0.0
    slack = tolerance(logits.dtype) * logits.abs().amax(dim=1, keepdim=True)
    return float(credit(logits, labels, slack).mean())


def heads(seen: list[Float[Tensor, "n H asked T"]], informative: Int64[Tensor, " n"]) -> list[Head]:
    """Every head of every layer, seen from the last position.

    Lock-on is the fraction of sequences whose largest weight is at the informative token's
    position. In a second layer that is where the token came in: what the first layer copied
    elsewhere is not looked for."""
    found = []
    for layer, weights in enumerate(seen):
        last = weights[:, :, -1]  # (n, H, T)
        for head in range(last.shape[1]):
            locked = credit(last[:, head], informative, tolerance(last.dtype)).mean()
            held = last[:, head].gather(1, informative[:, None]).mean()
            finite = bool(torch.isfinite(last).all())
            found.append(Head(layer, head, float(locked) if finite else 0.0, float(held)))
    return found


def marker_attention(
    seen: list[Float[Tensor, "n H asked T"]], informative: Int64[Tensor, " n"]
) -> float:
    """Mean weight of the informative token on the token before it, in the first layer's best head
    for that.

    Not a number unless there is a second layer, which could make use of it. Where nothing stands
    before, none is held."""
    if len(seen) < 2:
        return float("nan")
    rows = torch.arange(len(informative), device=informative.device)
    there = seen[0][rows, :, informative]  # (n, H, T)
    before = (informative - 1).clamp(min=0)[:, None, None].expand(-1, there.shape[1], 1)
    held = there.gather(2, before)[..., 0] * (informative > 0)[:, None]
    return float(held.mean(dim=0).max())


def theory_of_first_update(problem: Problem) -> Float[Tensor, "V V"]:
    r"""Logits after the first of the three steps, per unit rate, on sequences of one token only:
    rows are facts.

    $u_k^\top G\,(z_v+\tau t/L)$, with $G$ of :func:`recallbook.initial_gradient`: attention is
    uniform then."""
    problem = check_problem(problem, torch.float64)
    tokens = problem.input_embeddings
    if problem.setting.trigger_in_values:
        tokens = tokens + problem.trigger / problem.setting.seq_len
    return tokens @ initial_gradient(problem).T @ problem.output_embeddings.T


def cosine(one: Float[Tensor, "V V"], other: Float[Tensor, "V V"]) -> float:
    """Cosine of two tables of logits, each row's mean taken off: predictions do not see it."""
    first, second = ((table - table.mean(dim=1, keepdim=True)).flatten() for table in (one, other))
    return float(first @ second / (first.norm() * second.norm()))
