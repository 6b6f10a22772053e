"""What is measured of a model of the ladder, the same for every rung."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from recallbook.model.ties import credit, tolerance


def share_right(logits: Float[Tensor, "n V"], labels: Int64[Tensor, " n"]) -> float:
    """Fraction whose largest logit is the label; a tie among k counts 1/k. Zero where logits are
    not numbers."""
    if not bool(torch.isfinite(logits).all()):
        return 0.0
    slack = tolerance(logits.dtype) * logits.abs().amax(dim=1, keepdim=True)
    return float(credit(logits, labels, slack).mean())


def best_head(
    seen: list[Float[Tensor, "n H asked T"]], informative: Int64[Tensor, " n"]
) -> tuple[float, float]:
    """Lock-on of the best head of all layers, seen from the last position, and its mean weight on
    the informative token.

    Lock-on is the fraction of sequences whose largest weight is at the informative token's
    position. In a second layer that is where the token came in: what the first layer copied
    elsewhere is not looked for."""
    found = []
    for weights in seen:
        for last in weights[:, :, -1].unbind(dim=1):  # (n, T)
            locked = float(credit(last, informative, tolerance(last.dtype)).mean())
            held = float(last.gather(1, informative[:, None]).mean())
            found.append((locked if bool(torch.isfinite(last).all()) else 0.0, held))
    return max(found, key=lambda head: head[0])
