r"""A linear memory with random, clustered and learned embeddings: how many facts come back at one
dimension.

Training amplifies rounding, so the runs are committed: ``python -m recallbook table
learned_embeddings STORE`` makes them, ``--export`` writes the table."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from recallbook.model.ties import credit, tolerance
from recallbook.sweeps.archive import load_results
from recallbook_studies.ch02.trained_matrix import RATES, STEPS, tables

load = partial(load_results, "learned_embeddings")  # the committed rows
KINDS = ("random", "clustered", "learned")
FACTS, DIMS, SEEDS = 256, (8, 12, 16, 24, 32, 40, 48), range(6)
CLUSTERS, SHARED = 16, 0.5  # inputs of a cluster share this part of their square length
RATE = 0.03  # of Adam for learned embeddings


def embeddings(kind: str, dim: int, seed: int) -> tuple[Tensor, Tensor]:
    """Inputs and outputs on the sphere; clustered inputs have one of a few common parts."""
    inputs, outputs = (table[0] for table in tables(FACTS, dim, [seed]))
    if kind == "clustered":
        centres, _ = tables(CLUSTERS, dim, [seed + 1000])
        common = centres[0][torch.arange(FACTS) % CLUSTERS]
        inputs = SHARED**0.5 * common + (1 - SHARED) ** 0.5 * inputs
        inputs = inputs / inputs.norm(dim=1, keepdim=True)
    return inputs, outputs


def recall(kind: str, dim: int, seed: int) -> float:
    """Fraction of facts recalled after Adam on all facts at once; learned embeddings move with the
    matrix."""
    inputs, outputs = embeddings(kind, dim, seed)
    value = torch.zeros(dim, dim, dtype=inputs.dtype, requires_grad=True)
    groups: list[dict[str, Any]] = [{"params": [value], "lr": RATES["linear"]}]
    if kind == "learned":
        groups.append({"params": [inputs.requires_grad_(), outputs.requires_grad_()], "lr": RATE})
    optimiser = torch.optim.Adam(groups)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS["linear"])
    labels = torch.arange(FACTS)
    for _ in range(STEPS["linear"]):
        optimiser.zero_grad()
        torch.autograd.backward(
            torch.nn.functional.cross_entropy(inputs @ value.T @ outputs.T, labels)
        )
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        logits = inputs @ value.T @ outputs.T
        slack = tolerance(logits.dtype) * logits.abs().amax(dim=1, keepdim=True)
        return float(credit(logits, labels, slack).mean())


def row(key: str) -> dict[str, Any]:
    """One run by its key, "kind dim seed"."""
    kind, dim, seed = key.split()
    return {
        "key": key,
        "kind": kind,
        "dim": int(dim),
        "seed": int(seed),
        "recall": recall(kind, int(dim), int(seed)),
    }


def keys() -> list[str]:
    """Every run."""
    return [f"{kind} {dim} {seed}" for kind in KINDS for dim in DIMS for seed in SEEDS]
