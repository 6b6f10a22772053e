r"""Memories trained to convergence: full-batch Adam on the cross-entropy of all facts at once.

Facts $v\mapsto v$, $v=1..n$, with inputs $z_v$ and outputs $u_v$ on the unit sphere. Logits are
$U\,W z$ for the linear memory and $U\,B\,\mathrm{relu}(Az)/\sqrt m$ for the MLP memory, with $A$
trained or fixed at random."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from recallbook.arguments import check_choice, check_seed, check_size, not_allowed
from recallbook.data.embeddings import draw_embeddings
from recallbook.data.streams import gaussian_table
from recallbook.model.ties import credit, tolerance
from recallbook.setting import Setting

MEMORIES = ("linear", "mlp", "random features")
STEPS = {"linear": 400, "mlp": 800, "random features": 800}
RATES = {
    "linear": 0.3,
    "mlp": 0.1,
    "random features": 0.3,
}  # of Adam at the start; falls to 0 as a cosine


def tables(facts: int, dim: int, seeds: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and outputs on the sphere, ``(seeds, facts, dim)`` each; fewer facts are the first of
    more."""
    setting = Setting(vocab=facts, seq_len=1, dim=dim, samples=1, embeddings="sphere")
    drawn = [draw_embeddings(setting, seed) for seed in seeds]
    return (
        torch.from_numpy(np.stack([embedded.input for embedded in drawn])),
        torch.from_numpy(np.stack([embedded.output for embedded in drawn])),
    )


def trained_recall(
    memory: str,
    facts: int,
    dim: int,
    seeds: list[int],
    *,
    width: int | None = None,
    steps: int | None = None,
) -> NDArray[np.float64]:
    r"""Fraction of facts whose arg max is right after training, ``(seeds,)``; seeds are trained
    side by side.

    A tie among k counts 1/k.

    Parameters
    ----------
    memory : str
        ``"linear"``: $W$, $d^2$ parameters. ``"mlp"``: $A$ and $B$, $2md$ parameters. ``"random
        features"``: $B$ only.
    width : int or None
        $m$; needed unless the memory is linear.
    steps : int or None
        Default: ``STEPS`` of the memory.

    Notes
    -----
    Cost $O(\text{steps}\cdot\text{seeds}\cdot n(n+m)d)$. The first layer starts at $N(0,1)$ entries, the rest at zero.
    The criterion and the sphere follow the public code of Nichani, Lee and Bietti (ICLR 2025); rates and steps: ours.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.
    """
    check_choice("memory", memory, MEMORIES)
    facts, dim, steps = (
        check_size("facts", facts, 2),
        check_size("dim", dim),
        check_size("steps", steps or STEPS[memory]),
    )
    seeds = [check_seed("seeds", seed) for seed in seeds]
    inputs, outputs = tables(facts, dim, seeds)
    if memory == "linear":
        hidden, features = None, dim
    else:
        if width is None:
            raise not_allowed("width", width, "an integer, the width of the MLP")
        features = check_size("width", width)
        rows = [gaussian_table(seed, "mlp_weights", features, dim) for seed in seeds]
        hidden = torch.from_numpy(np.stack(rows)).requires_grad_(memory == "mlp")
    value = inputs.new_zeros(len(seeds), dim, features).requires_grad_()
    chosen = [value] if hidden is None or not hidden.requires_grad else [hidden, value]

    def logits() -> torch.Tensor:
        images = (
            inputs if hidden is None else torch.relu(inputs @ hidden.mT) / features**0.5
        )  # (seeds, n, m)
        return images @ value.mT @ outputs.mT  # (seeds, n, n)

    optimiser = torch.optim.Adam(chosen, lr=RATES[memory])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        found = logits()
        right = found.diagonal(dim1=1, dim2=2)
        loss = (
            (found.logsumexp(dim=2) - right).mean(dim=1).sum()
        )  # a sum: seeds do not see each other
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        found = logits().flatten(0, 1)  # (seeds n, n)
        slack = tolerance(found.dtype) * found.abs().amax(dim=1, keepdim=True)
        return (
            credit(found, torch.arange(facts).repeat(len(seeds)), slack)
            .view(len(seeds), facts)
            .mean(dim=1)
            .numpy()
        )
