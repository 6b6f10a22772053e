r"""Attention over chunks of sequences, without ever forming an $N\times L\times d$ tensor.

The keys are $e_{ij}=z_{x_{ij}}+\mathbf 1\{j=\ell_i\}t$, so a score needs one number for each token
and one for the trigger, and a weighted sum of embeddings is an embedding bag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn import functional

from recallbook.arguments import check_size
from recallbook.data.task import Problem, Sequences
from recallbook.model.ties import at_once, lengths, tied, tolerance

CHUNK_NUMBERS = 1 << 20  # in the largest intermediate of a chunk: 4 to 8 MB, about a core's cache
GATHER_COST = 32  # products that cost as much as reading one number through an index


class Scores(NamedTuple):
    r"""Attention scores (eq-model, chapter 3): $z_v^\top w$ for each token ``(V,)`` and $t^\top w$
    for the trigger ``()``.

    ``slack``: scores closer than this tie (:mod:`recallbook.model.ties`)."""

    tokens: Float[Tensor, " V"]
    trigger: Float[Tensor, ""]
    slack: Float[Tensor, ""]


def attention_scores(problem: Problem, attention_vector: Float[Tensor, " d"]) -> Scores:
    r"""Scores along $w=W_{KQ}z_{\rm EOS}$, the only part of $W_{KQ}$ that the model sees."""
    w = attention_vector
    slack = tolerance(w.dtype) * torch.linalg.norm(w) * key_size(problem)
    return Scores(problem.input_embeddings @ w, problem.trigger @ w, slack)


def key_size(problem: Problem) -> Float[Tensor, ""]:
    r"""$\max_v\|z_v\|+\|t\|$: no key and no value is longer."""
    return torch.add(lengths(problem.input_embeddings).max(), torch.linalg.norm(problem.trigger))


def pull_size(problem: Problem, pulls: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
    r"""Bound $\|W_{KQ}z_{\rm EOS}\|$ given pulls $q_i$ ``(n, d)``: $\max\|q_i\|$ times two keys."""
    return lengths(pulls).amax() * key_size(problem) ** 2


def chunks(sequences: Sequences, rows: int) -> Iterator[Sequences]:
    """The sequences, ``rows`` at a time."""
    for start in range(0, len(sequences.labels), rows):
        yield Sequences(*(part[start : start + rows] for part in sequences))


def chunk_rows(problem: Problem, chunk: int | None, labels: int | None = None) -> int:
    """``chunk`` if given, else as many rows, with the logits of so many ``labels`` (default: all),
    as keep the largest intermediate near ``CHUNK_NUMBERS``."""
    if chunk is not None:
        return check_size("chunk", chunk)
    setting, numbers = problem.setting, labels or problem.setting.vocab
    widest = max(numbers, setting.seq_len, setting.feature_dim, setting.dim)
    return max(1, at_once(CHUNK_NUMBERS, problem.input_embeddings) // widest)


def score(sequences: Sequences, scores: Scores) -> Float[Tensor, "n L"]:
    """Scores of every position ``(n, L)``."""
    return add_at(take(scores.tokens, sequences.tokens), sequences.positions, scores.trigger)


def take(table: Shaped[Tensor, " k"], index: Int[Tensor, "*shape"]) -> Shaped[Tensor, "*shape"]:
    """``table[index]`` for a flat table, three times as fast."""
    return table.index_select(0, index.flatten()).view(index.shape)


def uniform_attention(problem: Problem, sequences: Sequences) -> Float[Tensor, "n L"]:
    """Attention weights ``(n, L)`` while $W_{KQ}=0$: softmax of equal scores, to the bit."""
    count, length = sequences.tokens.shape
    return problem.input_embeddings.new_full((count, length), 1 / length)


class Located(NamedTuple):
    r"""Hard attention, the limit of softmax (def-limit, chapter 3): all weight on the largest score,
    equal shares where several tie.

    ``codes`` ``(n,)``: the located vector, as token + V where the informative position was located,
    token elsewhere. ``locks`` ``(n,)``: weight on the informative position, 1/k in a tie among k.
    ``mixed`` ``(r,)``: rows where different vectors tie, so that their code says nothing, and
    ``shares`` ``(r, L)``, the attention weights there."""

    codes: Int[Tensor, " n"]
    locks: Float[Tensor, " n"]
    mixed: Int[Tensor, " r"]
    shares: Float[Tensor, "r L"]


def hard_attention(sequences: Sequences, scores: Scores) -> Located:
    """Where the scores are largest."""
    best = tied(score(sequences, scores), scores.slack)
    rows, columns = best.nonzero(as_tuple=True)
    hits = columns == sequences.positions[rows]
    codes = sequences.tokens[rows, columns] + len(scores.tokens) * hits
    counts = best.sum(dim=1)
    first = codes[counts.cumsum(0) - counts]
    others = torch.zeros_like(counts).index_add_(0, rows, (codes != first[rows]).long())
    mixed = others.nonzero()[:, 0]
    locks = best.gather(1, sequences.positions[:, None])[:, 0].to(scores.tokens.dtype) / counts
    return Located(first, locks, mixed, (best[mixed] / counts[mixed, None]).to(scores.tokens.dtype))


def rows_of(sequences: Sequences, rows: Shaped[Tensor, " k"]) -> Sequences:
    """Some of the sequences, by index or by mask."""
    return Sequences(*(part[rows] for part in sequences))


def attend(
    problem: Problem, sequences: Sequences, weights: Float[Tensor, "n L"]
) -> Float[Tensor, "n d"]:
    r"""Compute located vectors $h_i=\sum_j a_{ij}e'_{ij}$, ``(n, d)`` (eq-model, chapter 3), in time
    $O(nLd)$, memory $O(nd)$."""
    located = functional.embedding_bag(
        sequences.tokens, problem.input_embeddings, per_sample_weights=weights, mode="sum"
    )
    if problem.setting.trigger_in_values:
        located = located + weights.gather(1, sequences.positions[:, None]) * problem.trigger
    return located


def token_products(
    problem: Problem, queries: Float[Tensor, "n d"], tokens: Int[Tensor, "n L"]
) -> Float[Tensor, "n L"]:
    r"""$q_i^\top z_{x_{ij}}$, ``(n, L)``, for queries ``(n, d)``: by product or by gathering."""
    if problem.setting.vocab <= GATHER_COST * tokens.shape[1]:
        return (queries @ problem.input_embeddings.T).gather(1, tokens.long())  # (n, V), O(nVd)
    rows = max(1, at_once(CHUNK_NUMBERS, queries) // (tokens.shape[1] * problem.setting.dim))
    parts = zip(torch.split(queries, rows), torch.split(tokens, rows), strict=True)
    return torch.cat([(problem.input_embeddings[x] @ q[:, :, None])[..., 0] for q, x in parts])


def add_by_key_(
    totals: Float[Tensor, " keys"], sequences: Sequences, amounts: Float[Tensor, "n L"]
) -> None:
    """Add amounts ``(n, L)`` up by token, and those of the informative positions as the trigger's,
    the last of ``totals`` ``(V + 1,)``; in place."""
    totals[:-1].scatter_add_(0, sequences.tokens.flatten().long(), amounts.flatten())
    totals[-1] += amounts.gather(1, sequences.positions[:, None]).sum()


def along_keys(problem: Problem, totals: Float[Tensor, " keys"]) -> Float[Tensor, " d"]:
    r"""$\sum_{ij}c_{ij}e_{ij}$, ``(d,)``, from the amounts $c_{ij}$ that :func:`add_by_key_` added
    up."""
    return totals[:-1] @ problem.input_embeddings + totals[-1] * problem.trigger


def add_at(
    scores: Float[Tensor, "n L"],
    positions: Int[Tensor, " n"],
    amount: Float[Tensor, ""] | Float[Tensor, " n"],
) -> Float[Tensor, "n L"]:
    """Add ``amount``, ``()`` or ``(n,)``, to each row of ``scores`` at its position; in place."""
    return scores.scatter_add_(1, positions[:, None], amount.expand(len(positions))[:, None])
