"""Gradients of the loss in the embeddings, in closed form and in chunks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.data.residuals import residuals
from recallbook.data.task import Problem, Sequences
from recallbook.model.attention import attend, attention_scores, chunk_rows, chunks, soft_attention
from recallbook.training.gradients import attention_pulls, features_and_pullback, loss_and_residuals


class TableDirections(NamedTuple):
    r"""$-\nabla_Z\hat{\mathcal L}$ and $-\nabla_U\hat{\mathcal L}$."""

    inputs: Float[Tensor, "V d"]
    outputs: Float[Tensor, "V d"]


def embedding_directions(
    problem: Problem,
    sequences: Sequences,
    value: Float[Tensor, "d m"],
    attention_vector: Float[Tensor, " d"],
    *,
    chunk: int | None = None,
) -> TableDirections:
    r"""Negative gradients in the tables of embeddings; trigger, query and MLP are no part of them.

    With $r_i=\omega_{y_i}(e_{y_i}-p_i)$ the residual of sequence $i$, $b_i=U^\top r_i$, $w=W_{KQ}z_{\rm EOS}$, and
    $q_i$, $s_{ij}$, $a_{ij}$ as in ``descent_directions``:
    $$-\nabla_{u_k}=\frac1N\sum_i r_{ik}\,W_V\,g(h_i),\qquad
    -\nabla_{z_v}=\frac1N\sum_{ij}\mathbf 1\{x_{ij}=v\}\,a_{ij}
    \Big(q_i+\big(s_{ij}-\sum_{j'}a_{ij'}s_{ij'}\big)w\Big):$$
    a token is moved as a value and as a key. Cost $O(NVd)$, memory $O(\text{chunk}\cdot\max(V,m,L))$.
    """
    scores, before = attention_scores(problem, attention_vector), residuals(problem)
    vocab = problem.setting.vocab
    inputs, outputs = torch.zeros_like(problem.input_embeddings), torch.zeros_like(problem.output_embeddings)
    key_weights = inputs.new_zeros(vocab)
    for part in chunks(sequences, chunk_rows(problem, chunk)):
        weights = soft_attention(problem, part, scores)  # (n, L)
        images, pullback = features_and_pullback(problem, attend(problem, part, weights))  # (n, m)
        answers = images @ value.T  # (n, d)
        _, rests = loss_and_residuals(problem, part, answers, before)  # (n, V)
        outputs += rests.T @ answers
        pulled = pullback(rests @ problem.output_embeddings @ value)  # (n, d)
        tokens = part.tokens.long()
        shares = weights.new_zeros(len(tokens), vocab).scatter_add_(1, tokens, weights)  # (n, V)
        inputs += shares.T @ pulled
        pulls = attention_pulls(problem, part, weights, pulled)  # (n, L)
        key_weights.scatter_add_(0, tokens.flatten(), pulls.flatten())
    inputs += torch.outer(key_weights, attention_vector)
    count = len(sequences.labels)
    return TableDirections(inputs / count, outputs / count)
