r"""The early-phase limit $\eta\to0$, $\gamma\eta\to\infty$: uniform predictions, hard attention, weights per unit rate.

Residuals are $e_{y_i}-\mathbf 1/V$ in all three steps, so sequences enter steps 1 and 2 only through the counts of
tokens under each label.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from recallbook.attention import (
    GATHER_COST,
    add_at,
    attend,
    attention_scores,
    chunk_rows,
    chunks,
    hard_attention,
    soft_attention,
)
from recallbook.gradients import (
    attention_pulls,
    centred_labels,
    descent_directions,
    features,
    features_and_pullback,
)
from recallbook.task import Problem, Sequences

TABLE_NUMBERS = 1 << 24  # numbers in one block of the label-by-token table: 64 to 128 MB


def value_step(problem: Problem, chunk: int | None = None) -> torch.Tensor:
    r"""Step 1, ``(d, d)`` or ``(d, m)``: $W_V^{(1)}/\eta=\frac1N\sum_i\tilde u_{y_i}\,g(\bar e'_i)^\top$; exact."""
    setting = problem.setting
    if _labels_pay(problem):
        return centred_labels(problem).T @ _features_by_label(problem, chunk) / setting.samples
    if not counts_pay(problem):
        return descent_directions(problem, problem.sequences, None, None, wrt=("value",), chunk=chunk).value
    sums = torch.empty_like(problem.input_embeddings)  # for each label, the sum of its sequences' values (V, d)
    for first, last, part in _label_blocks(problem):
        if problem.label_counts is None:
            codes = (part.labels - first)[:, None] * setting.vocab + part.tokens
            counts = torch.bincount(codes.flatten(), minlength=(last - first) * setting.vocab).view(last - first, -1)
        else:
            counts = problem.label_counts[first:last]
        sums[first:last] = counts.to(problem.dtype) @ problem.input_embeddings
    if setting.trigger_in_values:
        frequency = torch.bincount(problem.labels, minlength=setting.vocab)
        sums += frequency[:, None] * problem.trigger
    return centred_labels(problem).T @ sums / (setting.samples * setting.seq_len)


def key_query_step(problem: Problem, value: torch.Tensor, chunk: int | None = None) -> torch.Tensor:
    r"""Step 2 with uniform predictions: the vector $k$ with $W_{KQ}^{(1)}/(\gamma\eta)=k\,z_{\rm EOS}^\top$, ``(d,)``.

    ``value`` is $W_V^{(1)}/\eta$.
    """
    setting, embeddings = problem.setting, problem.input_embeddings
    if _labels_pay(problem):
        return _key_query_through_features(problem, centred_labels(problem) @ value, chunk)
    if not counts_pay(problem):
        return descent_directions(
            problem, problem.sequences, value, None, wrt=("direction",), uniform_predictions=True, chunk=chunk
        ).direction
    pulls = centred_labels(problem) @ value  # q_i depends on the label alone (V, d)
    token_weights, trigger_weight = embeddings.new_zeros(setting.vocab), embeddings.new_zeros(())
    for first, last, part in _label_blocks(problem):
        block = pulls[first:last]
        codes = (part.labels - first)[:, None] * setting.vocab + part.tokens
        products = (block @ embeddings.T).view(-1).index_select(0, codes.flatten()).view(codes.shape)  # (n, L)
        if setting.trigger_in_values:
            products = add_at(products, part.positions, (block @ problem.trigger)[part.labels - first])
        products -= products.mean(dim=1, keepdim=True)
        token_weights.scatter_add_(0, part.tokens.flatten(), products.flatten())
        trigger_weight += products.gather(1, part.positions[:, None]).sum()
    return (token_weights @ embeddings + trigger_weight * problem.trigger) / (setting.samples * setting.seq_len)


def located_value_step(problem: Problem, direction: torch.Tensor, chunk: int | None = None) -> torch.Tensor:
    r"""Step 3 with uniform predictions and hard attention, $W_V^{(2)}/\gamma$.

    A located vector is one of $2V$: a token with or without the trigger. Features are computed once for each.
    """
    vocab = problem.setting.vocab
    scores, centred = attention_scores(problem, direction), centred_labels(problem)
    errors = centred.new_zeros(2 * vocab, centred.shape[1])  # summed over the sequences that located this vector
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        located = hard_attention(part, scores)
        errors.index_add_(0, located.tokens + vocab * located.hits, centred[part.labels])
    used = errors.abs().sum(dim=1).nonzero()[:, 0]
    gradient = centred.new_zeros(problem.setting.dim, problem.setting.feature_dim)
    for codes in used.split(chunk_rows(problem, chunk)):
        images = features(problem, located_vectors(problem, codes % vocab, codes >= vocab))
        gradient += errors[codes].T @ images
    return gradient / problem.setting.samples


def located_vectors(problem: Problem, tokens: torch.Tensor, hits: torch.Tensor) -> torch.Tensor:
    r"""$h=z_v+\tau\,\mathbf 1\{\text{hit}\}\,t$ under hard attention, shape ``(n, d)``."""
    located = problem.input_embeddings[tokens]
    if problem.setting.trigger_in_values:
        located = located + hits[:, None] * problem.trigger
    return located


def _labels_pay(problem: Problem) -> bool:
    """Whether adding features by label first is cheaper than a product with all sequences (Attention-MLP)."""
    return problem.setting.width is not None and problem.setting.vocab < problem.setting.samples


def _features_by_label(problem: Problem, chunk: int | None) -> torch.Tensor:
    """Features of the mean values, summed over the sequences of each label, ``(V, m)``.

    Adding rows by label and multiplying once saves a matrix product with all sequences.
    """
    sums = problem.input_embeddings.new_zeros(problem.setting.vocab, problem.setting.feature_dim)
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        sums.index_add_(0, part.labels, features(problem, attend(problem, part, soft_attention(problem, part, None))))
    return sums


def _key_query_through_features(problem: Problem, pulls: torch.Tensor, chunk: int | None) -> torch.Tensor:
    """Step 2 with the MLP; ``pulls`` ``(V, m)`` holds what each label pulls the features towards."""
    setting = problem.setting
    token_weights, trigger_weight = pulls.new_zeros(setting.vocab), pulls.new_zeros(())
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        weights = soft_attention(problem, part, None)
        pullback = features_and_pullback(problem, attend(problem, part, weights))[1]
        raised = attention_pulls(problem, part, weights, pullback(pulls[part.labels]))
        token_weights.scatter_add_(0, part.tokens.flatten(), raised.flatten())
        trigger_weight += raised.gather(1, part.positions[:, None]).sum()
    return (token_weights @ problem.input_embeddings + trigger_weight * problem.trigger) / setting.samples


def counts_pay(problem: Problem) -> bool:
    """Whether the label-by-token table is cheaper than going through the sequences (Attention-only)."""
    setting = problem.setting
    return setting.width is None and setting.vocab**2 <= GATHER_COST * setting.samples * setting.seq_len


def _label_blocks(problem: Problem) -> Iterator[tuple[int, int, Sequences]]:
    """Label ranges whose table fits, each with its sequences; one block needs no sorting."""
    vocab = problem.setting.vocab
    rows = max(1, TABLE_NUMBERS // vocab)
    if rows >= vocab:
        yield 0, vocab, problem.sequences
        return
    ordered = problem.labels.argsort()
    edges = torch.bincount(problem.labels, minlength=vocab).cumsum(0).tolist()
    for first in range(0, vocab, rows):
        last = min(first + rows, vocab)
        chosen = ordered[edges[first - 1] if first else 0 : edges[last - 1]]
        yield first, last, Sequences(*(part[chosen] for part in problem.sequences))
