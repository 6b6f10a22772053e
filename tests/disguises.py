"""The same problem in another disguise: what no outcome may depend on."""

from dataclasses import replace

import torch

import recallbook as rb
from recallbook.data.task import Sequences


def rotation(size: int, generator: torch.Generator) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(size, size, dtype=torch.float64, generator=generator))[0]


def rotated(
    problem: rb.Problem, test: Sequences, generator: torch.Generator
) -> tuple[rb.Problem, Sequences]:
    """Both embedding spaces in other coordinates."""
    inner, outer = (rotation(problem.setting.dim, generator) for _ in range(2))
    weights = problem.mlp_weights
    turned = replace(
        problem,
        input_embeddings=problem.input_embeddings @ inner,
        trigger=problem.trigger @ inner,
        query=problem.query @ inner,
        output_embeddings=problem.output_embeddings @ outer,
        mlp_weights=None if weights is None else weights @ inner,
    )
    return turned, test


def shuffled(
    problem: rb.Problem, test: Sequences, generator: torch.Generator
) -> tuple[rb.Problem, Sequences]:
    """Sequences in another order, and the tokens of each in another order too."""
    order = torch.randperm(len(problem.labels), generator=generator)
    inside = torch.rand(problem.tokens.shape, generator=generator).argsort(dim=1)
    positions = (inside == problem.positions[:, None]).int().argmax(dim=1)
    mixed = replace(
        problem,
        tokens=problem.tokens.gather(1, inside)[order],
        positions=positions[order],
        labels=problem.labels[order],
    )
    return mixed, test
