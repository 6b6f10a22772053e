"""Lock-on, recall and accuracy against the number of training sequences, and what the attention
vector points at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import product
from typing import Any

import pandas as pd
import torch

from recallbook.data.task import Problem, draw
from recallbook.model.transformer import Weights
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate

VOCAB, SEQ_LEN, DIM = 128, 64, 48
SAMPLES = (128, 512, 1024, 2048, 8192)
SEEDS = range(20)
# random embeddings with d < V, random ones as wide as the orthogonal ones must be, and orthogonal
# ones
CASES: dict[str, Any] = {
    f"random, d = {DIM}": {"embeddings": "gaussian", "dim": DIM},
    f"random, d = {VOCAB + 2}": {"embeddings": "gaussian", "dim": VOCAB + 2},
    f"orthogonal, d = {VOCAB + 2}": {"embeddings": "orthogonal", "dim": VOCAB + 2},
}


def run(
    case: str, trigger_in_values: bool, seeds: Iterable[int] = SEEDS, device: str = "cpu"
) -> pd.DataFrame:
    r"""One row for each number of sequences and seed, in the early-phase limit.

    The outcome's three numbers, and ``cosine``: that of $w=W_{KQ}^{(1)}z_{\rm EOS}$ with the
    trigger."""
    rows = []
    fixed: dict[str, Any] = {
        "vocab": VOCAB,
        "seq_len": SEQ_LEN,
        "trigger_in_values": trigger_in_values,
    }
    fixed |= CASES[case]
    for samples, seed in product(SAMPLES, seeds):
        problem = draw(Setting(**fixed, samples=samples), seed, device=device)
        weights = three_steps(problem)
        outcome = asdict(evaluate(problem, weights, test_samples=1000))
        cosine = trigger_cosine(problem, weights)
        rows.append({"samples": samples, "seed": seed, "cosine": cosine, **outcome})
    return pd.DataFrame(rows)


def trigger_cosine(problem: Problem, weights: Weights) -> float:
    r"""Cosine of $w=W_{KQ}z_{\rm EOS}$ with the trigger."""
    direction = weights.key_query @ problem.query
    return float(torch.cosine_similarity(direction, problem.trigger, dim=0))
