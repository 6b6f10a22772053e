"""A linear associative memory: facts stored as a sum of outer products, recalled by an arg max."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from recallbook.arguments import LARGEST_SIZE, Device, check_share
from recallbook.data.task import draw
from recallbook.model.ties import credit, logit_slack
from recallbook.setting import Setting
from recallbook_theory.prediction import predict
from recallbook_theory.search import bracket


def recalled(
    facts: int, dim: int, seed: int, embeddings: str = "gaussian", *, device: Device = "cpu"
) -> NDArray[np.float64]:
    r"""Simulate: which of $n$ facts come back from $W=\sum_j u_jz_j^\top$, 1 or 0, shape ``(n,)``.

    Fact $v$ is recalled when $\arg\max_k u_k^\top Wz_v=v$ over all $n$ labels; a tie among k counts
    1/k. Draws are paired: for one seed, fewer facts are the first of more. Cost $O(n^2d)$, memory
    $O(n^2)$."""
    setting = Setting(vocab=facts, seq_len=1, dim=dim, samples=1, embeddings=embeddings)
    problem = draw(setting, seed, device=device)
    inputs, outputs = problem.input_embeddings, problem.output_embeddings
    memory = outputs.T @ inputs
    logits = inputs @ memory.T @ outputs.T  # (tokens, labels)
    slack = logit_slack(outputs, memory, inputs)
    return credit(logits, torch.arange(facts, device=logits.device), slack).cpu().numpy()


def capacity(recall: Callable[[int], float], accuracy: float) -> int:
    """Largest $n$ found by doubling and bisection with ``recall(n) >= accuracy``, from 3 facts on.

    ``recall`` should fall with ``n``; where it is a noisy simulation this is one of its crossings.
    """
    accuracy = check_share("accuracy", accuracy)
    return max(3, bracket(lambda facts: recall(facts) < accuracy, 3, smallest=3).low)


def predicted_recall(facts: int, dim: int, embeddings: str = "gaussian") -> float:
    r"""Predict the mean fraction of facts recalled; no fitted constant.

    Step 3 of endless data with perfect attention stores the same sum but for the mean label, which
    matters for a few facts alone; so this is what ``rb.predict`` says of one token a sequence."""
    setting = Setting(
        vocab=facts,
        seq_len=1,
        dim=dim,
        samples=LARGEST_SIZE,
        embeddings=embeddings,
        trigger_in_values=False,
    )
    return predict(setting, warn=False).recall
