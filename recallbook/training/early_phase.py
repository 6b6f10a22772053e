r"""The early-phase limit $\eta\to0$, $\gamma\eta\to\infty$: first predictions, hard attention,
weights per unit rate.

Residuals are those before the first step in all three: $e_{y_i}-\mathbf 1/V$ where facts are equal,
and :mod:`recallbook.data.residuals` says what elsewhere. So sequences enter steps 1 and 2 only
through the counts of tokens under each label."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from recallbook.data.residuals import centred_labels
from recallbook.data.task import Problem, Sequences
from recallbook.model.attention import (
    GATHER_COST,
    add_at,
    attend,
    attention_scores,
    chunk_rows,
    chunks,
    hard_attention,
    pull_size,
    rows_of,
    soft_attention,
    take,
)
from recallbook.model.ties import at_once, without_rounding
from recallbook.training.gradients import descent_directions, features, labels_first_is_cheaper

TABLE_NUMBERS = 1 << 24  # numbers in one block of the label-by-token table: 64 to 128 MB


def value_step(problem: Problem, chunk: int | None = None) -> Float[Tensor, "d m"]:
    r"""Step 1: $W_V^{(1)}/\eta=\frac1N\sum_i\tilde u_{y_i}\,g(\bar e'_i)^\top$; exact."""
    setting = problem.setting
    if labels_first_is_cheaper(problem):
        return centred_labels(problem).T @ _features_by_label(problem, chunk) / setting.samples
    if count_table_is_cheaper(problem):
        sums = _values_by_label(problem)
        return centred_labels(problem).T @ sums / (setting.samples * setting.seq_len)
    sequences = problem.sequences
    return descent_directions(problem, sequences, None, None, wrt=("value",), chunk=chunk).value


def key_query_step(
    problem: Problem, value: Float[Tensor, "d m"], chunk: int | None = None
) -> Float[Tensor, " d"]:
    r"""Step 2 with first predictions, from $W_V^{(1)}/\eta$: the vector $k$, ``(d,)``, with
    $W_{KQ}^{(1)}/(\gamma\eta)=k\,z_{\rm EOS}^\top$."""
    if not count_table_is_cheaper(problem):
        sequences = problem.sequences
        return descent_directions(
            problem, sequences, value, None, wrt=("key",), first_predictions=True, chunk=chunk
        ).key
    setting, embeddings = problem.setting, problem.input_embeddings
    pulls = centred_labels(problem) @ value  # q_i depends on the label alone (V, d)
    token_weights, trigger_weight = embeddings.new_zeros(setting.vocab), embeddings.new_zeros(())
    for first, last, block in _label_blocks(problem):
        products = pulls[first:last] @ embeddings.T  # of every label with every token
        marks = pulls[first:last] @ problem.trigger
        for part in chunks(block, chunk_rows(problem, chunk)):
            codes = _table_codes(part, first, setting.vocab)
            raised = take(products.view(-1), codes).view(part.tokens.shape)
            if setting.trigger_in_values:
                raised = add_at(raised, part.positions, marks[part.labels - first])
            raised -= raised.mean(dim=1, keepdim=True)
            token_weights.scatter_add_(0, part.tokens.flatten().long(), raised.flatten())
            trigger_weight += raised.gather(1, part.positions[:, None]).sum()
    total = token_weights @ embeddings + trigger_weight * problem.trigger
    return without_rounding(total / (setting.samples * setting.seq_len), pull_size(problem, pulls))


def located_value_step(
    problem: Problem, attention_vector: Float[Tensor, " d"], chunk: int | None = None
) -> Float[Tensor, "d m"]:
    r"""Step 3 with first predictions and hard attention, $W_V^{(2)}/\gamma$.

    A located vector is one of $2V$, a token with or without the trigger, unless different ones tie.
    Labels are added up for each, and its features are computed once."""
    vocab = problem.setting.vocab
    scores, centred = attention_scores(problem, attention_vector), centred_labels(problem)
    gradient = centred.new_zeros(problem.setting.dim, problem.setting.feature_dim)
    found, labels = [], []
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        located = hard_attention(part, scores)
        codes, known = located.codes, part.labels
        if len(located.mixed):
            several = rows_of(part, located.mixed)
            mixtures = attend(problem, several, located.shares)
            gradient += centred[several.labels].T @ features(problem, mixtures)
            alone = torch.ones_like(codes, dtype=torch.bool).index_fill_(0, located.mixed, False)
            codes, known = codes[alone], known[alone]
        found.append(codes)
        labels.append(known)
    errors, used = _sums_by_code(centred, torch.cat(labels), torch.cat(found), 2 * vocab)
    for codes in torch.split(used, chunk_rows(problem, chunk)):
        images = features(problem, located_vectors(problem, codes))
        gradient += errors[codes].T @ images
    return gradient / problem.setting.samples


def _sums_by_code(
    table: Float[Tensor, "V d"], rows: Int[Tensor, " n"], codes: Int[Tensor, " n"], size: int
) -> tuple[Float[Tensor, "k d"], Int[Tensor, " used"]]:
    """Rows of the table added up by code, ``(size, d)``, and the codes that occur."""
    counts = torch.bincount(codes, minlength=size)
    offsets = counts.cumsum(0) - counts
    sums = functional.embedding_bag(rows[codes.argsort()], table, offsets, mode="sum")
    return sums, counts.nonzero()[:, 0]


def _table_codes(part: Sequences, first: int, vocab: int) -> Int[Tensor, " nL"]:
    """Places ``(n L,)`` of tokens in the label-by-token table that starts at label ``first``."""
    return ((part.labels - first).to(torch.int32)[:, None] * vocab + part.tokens).flatten()


def located_vectors(problem: Problem, codes: Int[Tensor, " n"]) -> Float[Tensor, "n d"]:
    r"""$h=z_v+\tau\,\mathbf 1\{\text{hit}\}\,t$, ``(n, d)``; codes as in :class:`Located`."""
    vocab = problem.setting.vocab
    located = problem.input_embeddings[codes % vocab]
    if problem.setting.trigger_in_values:
        located = located + (codes >= vocab)[:, None] * problem.trigger
    return located


def _features_by_label(problem: Problem, chunk: int | None) -> Float[Tensor, "V m"]:
    """Features of the mean values, summed over the sequences of each label, ``(V, m)``."""
    sums = problem.input_embeddings.new_zeros(problem.setting.vocab, problem.setting.feature_dim)
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        mean_values = attend(problem, part, soft_attention(problem, part, None))
        sums.index_add_(0, part.labels, features(problem, mean_values))
    return sums


def _values_by_label(problem: Problem) -> Float[Tensor, "V d"]:
    """Values of all tokens, added up by label through counts of tokens, ``(V, d)``."""
    vocab, sums = problem.setting.vocab, torch.empty_like(problem.input_embeddings)
    for first, last, part in _label_blocks(problem):
        codes = _table_codes(part, first, vocab)
        counts = torch.bincount(codes, minlength=(last - first) * vocab).view(-1, vocab)
        sums[first:last] = counts.to(problem.dtype) @ problem.input_embeddings
    if problem.setting.trigger_in_values:
        sums += torch.bincount(problem.labels, minlength=vocab)[:, None] * problem.trigger
    return sums


def count_table_is_cheaper(problem: Problem) -> bool:
    """Whether the label-by-token table costs less than the sequences do (Attention-only)."""
    setting = problem.setting
    gathered = GATHER_COST * setting.samples * setting.seq_len
    return setting.width is None and setting.vocab**2 <= gathered


def _label_blocks(problem: Problem) -> Iterator[tuple[int, int, Sequences]]:
    """Label ranges whose table fits, each with its sequences; one block needs no sorting."""
    vocab = problem.setting.vocab
    rows = max(1, at_once(TABLE_NUMBERS, problem.input_embeddings) // vocab)
    if rows >= vocab:
        yield 0, vocab, problem.sequences
        return
    ordered = problem.labels.argsort()
    edges = torch.bincount(problem.labels, minlength=vocab).cumsum(0).tolist()
    for first in range(0, vocab, rows):
        last = min(first + rows, vocab)
        chosen = ordered[edges[first - 1] if first else 0 : edges[last - 1]]
        yield first, last, Sequences(*(part[chosen] for part in problem.sequences))
