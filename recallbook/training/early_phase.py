r"""The early-phase limit $\eta\to0$, $\gamma\eta\to\infty$: first predictions, hard attention,
weights per unit rate.

Residuals are those before the first step in all three (def-limit, chapter 3):
$\mathbf 1_{y_i}-\mathbf 1/V$ where facts are equal, and :mod:`recallbook.data.residuals` says what
elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from recallbook.data.residuals import centred_labels
from recallbook.data.task import Problem, Sequences
from recallbook.model.attention import (
    GATHER_COST,
    add_at,
    add_by_key_,
    along_keys,
    attend,
    attention_scores,
    chunk_rows,
    chunks,
    hard_attention,
    pull_size,
    rows_of,
    take,
    uniform_attention,
)
from recallbook.model.ties import at_once, without_rounding
from recallbook.training.gradients import features, features_and_pullback, score_rises

TABLE_NUMBERS = 1 << 24  # numbers in one block of the label-by-token table: 64 to 128 MB


# Steps 1 and 2 straight from their formulas, the oracles of what follows


def plain_value_step(problem: Problem, chunk: int | None = None) -> Float[Tensor, "d m"]:
    r"""Compute step 1, $W_V^{(1)}/\eta$, ``(d, d)`` or ``(d, m)``; exact, also at finite rates.

    $$\frac{W_V^{(1)}}\eta=\frac1N\sum_i\tilde u_{y_i}\,g(\bar e'_i)^\top,\qquad
    \bar e'_i=\frac1L\sum_je'_{ij}$$ (eq-step-one, chapter 3, with $g$)."""
    u = centred_labels(problem)
    total = u.new_zeros(problem.setting.dim, problem.setting.feature_dim)
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        total += u[part.labels].T @ _mean_features(problem, part)
    return total / problem.setting.samples


def plain_key_query_step(
    problem: Problem, value: Float[Tensor, "d m"], chunk: int | None = None
) -> Float[Tensor, " d"]:
    r"""Compute step 2, given $W_V^{(1)}/\eta$: the vector $\psi$, ``(d,)``, with
    $W_{KQ}^{(1)}/(\gamma\eta)=\psi\,z_{\rm EOS}^\top$.

    $$\psi=\frac1{NL}\sum_{ij}\Big(\chi_{ij}-\frac1L\sum_{j'}\chi_{ij'}\Big)e_{ij},\qquad
    \chi_{ij}=q_i^\top e'_{ij},\qquad q_i=J_g(\bar e'_i)^\top W_V^\top\tilde u_{y_i}$$
    (eq-grad-direction and eq-grad-pull, chapter 4, at uniform attention and first predictions, with
    $g$)."""
    u = centred_labels(problem)
    by_label = u @ value if labels_first_is_cheaper(problem) else None  # a product with V rows
    rises, size = u.new_zeros(problem.setting.vocab + 1), u.new_zeros(())
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        a = uniform_attention(problem, part)  # (n, L)
        _, pullback = features_and_pullback(problem, attend(problem, part, a))
        q = pullback(u[part.labels] @ value if by_label is None else by_label[part.labels])
        size = torch.maximum(size, pull_size(problem, q))
        add_by_key_(rises, part, score_rises(problem, part, a, q))
    return without_rounding(along_keys(problem, rises) / problem.setting.samples, size)


# The same steps by the cheapest routes


def value_step(problem: Problem, chunk: int | None = None) -> Float[Tensor, "d m"]:
    """Compute what :func:`plain_value_step` does, by the cheapest of three routes."""
    u, setting = centred_labels(problem), problem.setting
    # features added up by label leave a product with V rows, in place of N
    if labels_first_is_cheaper(problem):
        return u.T @ _features_by_label(problem, chunk) / setting.samples
    # without MLP features are values, and only their sums under each label enter: counts of tokens
    if count_table_is_cheaper(problem):
        return u.T @ _values_by_label(problem) / (setting.samples * setting.seq_len)
    return plain_value_step(problem, chunk)


def key_query_step(
    problem: Problem, value: Float[Tensor, "d m"], chunk: int | None = None
) -> Float[Tensor, " d"]:
    r"""Compute what :func:`plain_key_query_step` does, ``(d,)``, by the cheaper of two routes."""
    if not count_table_is_cheaper(problem):
        return plain_key_query_step(problem, value, chunk)
    # without MLP $q_i$ depends on the label alone, so evidence is read from a label-by-token table
    setting, q = problem.setting, centred_labels(problem) @ value  # (V, d)
    rises = q.new_zeros(setting.vocab + 1)
    for first, last, block in _label_blocks(problem):
        products = q[first:last] @ problem.input_embeddings.T  # of every label with every token
        marks = q[first:last] @ problem.trigger
        for part in chunks(block, chunk_rows(problem, chunk)):
            codes = _table_codes(part, first, setting.vocab)
            chi = take(products.view(-1), codes).view(part.tokens.shape)  # (n, L)
            if setting.trigger_in_values:
                chi = add_at(chi, part.positions, marks[part.labels - first])
            add_by_key_(rises, part, chi.sub_(chi.mean(dim=1, keepdim=True)))
    psi = along_keys(problem, rises) / (setting.samples * setting.seq_len)
    return without_rounding(psi, pull_size(problem, q))


def located_value_step(
    problem: Problem, attention_vector: Float[Tensor, " d"], chunk: int | None = None
) -> Float[Tensor, "d m"]:
    r"""Compute step 3 with first predictions and hard attention, $W_V^{(2)}/\gamma$, ``(d, d)`` or
    ``(d, m)`` (def-limit, chapter 3): $\frac1N\sum_i\tilde u_{y_i}\,g(h_i)^\top$.

    A located vector is one of $2V$, a token with or without the trigger, unless different ones tie.
    Labels are added up for each, and its features are computed once."""
    vocab = problem.setting.vocab
    scores, u = attention_scores(problem, attention_vector), centred_labels(problem)
    total = u.new_zeros(problem.setting.dim, problem.setting.feature_dim)
    found, labels = [], []
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        located = hard_attention(part, scores)
        codes, known = located.codes, part.labels
        if len(located.mixed):
            several = rows_of(part, located.mixed)
            mixtures = attend(problem, several, located.shares)
            total += u[several.labels].T @ features(problem, mixtures)
            alone = torch.ones_like(codes, dtype=torch.bool).index_fill_(0, located.mixed, False)
            codes, known = codes[alone], known[alone]
        found.append(codes)
        labels.append(known)
    errors, used = _sums_by_code(u, torch.cat(labels), torch.cat(found), 2 * vocab)
    for codes in torch.split(used, chunk_rows(problem, chunk)):
        images = features(problem, located_vectors(problem, codes))
        total += errors[codes].T @ images
    return total / problem.setting.samples


def located_value_steps(
    problem: Problem,
    attention_vector: Float[Tensor, " d"],
    rates: Iterable[float],
    *,
    chunk: int | None = None,
) -> Float[Tensor, "d m"]:
    r"""Take a value step at each of these rates, from zero under the hard attention of
    :func:`located_value_step`, ``(d, d)`` or ``(d, m)``, each at its own predictions:
    $W\leftarrow W+\text{rate}\,\frac VN\sum_iU^\top(\mathbf 1_{y_i}-p_i)\,g(h_i)^\top$."""
    vocab, samples = problem.setting.vocab, problem.setting.samples
    first = located_value_step(problem, attention_vector, chunk)
    located, counts = _located_counts(problem, attention_vector, chunk)
    u, value = centred_labels(problem), torch.zeros_like(first)
    rows = chunk_rows(problem, chunk, vocab)
    for rate in rates:
        direction = first.clone()
        for vectors, shown in zip(
            torch.split(located, rows), torch.split(counts, rows), strict=True
        ):
            images = features(problem, vectors)
            # the first step's share is in `first`: centred labels are as good as labels less that
            predicted = torch.softmax(images @ value.T @ u.T, dim=1)
            direction -= ((shown[:, None] * predicted) @ u).T @ images / samples
        value = value + rate * vocab * direction
    return value


def _located_counts(
    problem: Problem, attention_vector: Float[Tensor, " d"], chunk: int | None
) -> tuple[Float[Tensor, "k d"], Float[Tensor, " k"]]:
    """The vectors that hard attention locates in training, and how many sequences share each."""
    scores, vocab = attention_scores(problem, attention_vector), problem.setting.vocab
    counts = torch.zeros(2 * vocab, dtype=torch.int64, device=problem.device)
    mixed = [problem.input_embeddings.new_zeros(0, problem.setting.dim)]
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        located = hard_attention(part, scores)
        mixed.append(attend(problem, rows_of(part, located.mixed), located.shares))
        alone = torch.ones_like(located.codes, dtype=torch.bool)
        alone[located.mixed] = False
        counts += torch.bincount(located.codes[alone], minlength=2 * vocab)
    used, mixtures = counts.nonzero()[:, 0], torch.cat(mixed)
    vectors = torch.cat([located_vectors(problem, used), mixtures])
    return vectors, torch.cat([counts[used].to(vectors), vectors.new_ones(len(mixtures))])


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


def _mean_features(problem: Problem, part: Sequences) -> Float[Tensor, "n m"]:
    r"""$g(\bar e'_i)$, features of the mean values, ``(n, m)``."""
    return features(problem, attend(problem, part, uniform_attention(problem, part)))


def _features_by_label(problem: Problem, chunk: int | None) -> Float[Tensor, "V m"]:
    """Features of the mean values, summed over the sequences of each label, ``(V, m)``."""
    sums = problem.input_embeddings.new_zeros(problem.setting.vocab, problem.setting.feature_dim)
    for part in chunks(problem.sequences, chunk_rows(problem, chunk)):
        sums.index_add_(0, part.labels, _mean_features(problem, part))
    return sums


def _values_by_label(problem: Problem) -> Float[Tensor, "V d"]:
    r"""$CZ+\tau\,n\,t^\top$, values added up by label through counts of tokens $C$, ``(V, d)``
    (eq-grad-counts, chapter 4)."""
    vocab, sums = problem.setting.vocab, torch.empty_like(problem.input_embeddings)
    for first, last, part in _label_blocks(problem):
        codes = _table_codes(part, first, vocab)
        counts = torch.bincount(codes, minlength=(last - first) * vocab).view(-1, vocab)
        sums[first:last] = counts.to(problem.dtype) @ problem.input_embeddings
    if problem.setting.trigger_in_values:
        sums += torch.bincount(problem.labels, minlength=vocab)[:, None] * problem.trigger
    return sums


def labels_first_is_cheaper(problem: Problem) -> bool:
    """Whether a product with all labels costs less than one with all sequences (Attention-MLP)."""
    return problem.setting.width is not None and problem.setting.vocab < problem.setting.samples


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
        yield first, last, rows_of(problem.sequences, chosen)
