"""What the trained weights can do on fresh sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from recallbook.arguments import Device, check_finite, check_size, not_allowed
from recallbook.data.residuals import output_bias
from recallbook.data.task import Problem, Sequences, check_problem
from recallbook.memory_needs import require_memory, sequences as sequences_needs
from recallbook.model.attention import (
    attend,
    attention_scores,
    chunk_rows,
    chunks,
    hard_attention,
    rows_of,
    score,
)
from recallbook.model.ties import BLOCK_LABELS, Answers, answers, bias_slack, credit, logit_slack
from recallbook.model.transformer import RecallTransformer, Weights
from recallbook.training.early_phase import located_vectors
from recallbook.training.gradients import features


@dataclass(frozen=True)
class Outcome:
    r"""Three fractions between 0 and 1. A tie among k for the largest counts as 1/k
    (:mod:`recallbook.model.ties`).

    Attributes
    ----------
    accuracy : float
        Fresh test sequences whose arg max logit is $\pi(x_{\ell})$: facts count as often as they
        occur.
    lock_on : float
        Fresh test sequences whose largest attention weight is at $\ell$.
    recall : float
        Tokens $v$ whose label is the arg max when attention sits exactly on $v$ as the informative
        token ($h=z_v+t$, or $z_v$ when the values do not carry the trigger): every fact counts
        once.
    """

    accuracy: float
    lock_on: float
    recall: float


def evaluate(
    problem: Problem,
    weights: Weights | RecallTransformer,
    test_samples: int = 20000,
    seed: int | None = None,
    *,
    sequences: Sequences | None = None,
    chunk: int | None = None,
    dtype: torch.dtype | None = None,
    device: Device | None = None,
) -> Outcome:
    r"""Measure accuracy, lock-on and recall.

    Parameters
    ----------
    problem : Problem
    weights : Weights or RecallTransformer
        Weights of the early-phase limit are used with hard attention and without the output bias,
        which is nothing beside logits that grow with $\gamma$ (also where it is $-\infty$, which
        stands for a log that grows far more slowly); all others with softmax attention and with the
        bias. A model answers with the embeddings that it holds, which :func:`recallbook.descend`
        may have learned.
    test_samples : int
        Number of fresh sequences.
    seed : int or None
        Seed of the test sequences; ``None`` is the problem's. They differ from the training
        sequences at any seed.
    sequences : Sequences or None
        The caller's own test sequences instead of fresh ones, such as ``problem.sequences``.

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed, finite weights among it.
    ArithmeticError
        If logits overflow.
    """
    test_samples = check_size("test_samples", test_samples)
    problem = check_problem(problem, dtype, device)
    if sequences is None:
        require_memory(sequences_needs(problem.setting, test_samples, "test_samples"), "the test")
    trained = _trained(problem, weights, chunk)
    if isinstance(weights, RecallTransformer):
        problem = weights.problem_as_held(problem)
    if sequences is None:
        sequences = problem.fresh(test_samples, seed)
    elif not isinstance(sequences, Sequences):
        raise not_allowed(
            "sequences", sequences, "recallbook.data.task.Sequences, or None for fresh ones"
        )
    measure = _measure_hard if trained.hard else _measure_soft
    right, locked, recall = measure(problem, sequences, trained)
    count = len(sequences.labels)
    return Outcome(right / count, locked / count, recall)


class _Trained(NamedTuple):
    """What is evaluated: $W_V$, $W_{KQ}z_{\\rm EOS}$, $b$, and whether attention is hard.

    ``rows`` at a time where all logits of a row are formed, ``wide_rows`` where they are formed by
    blocks."""

    value: Float[Tensor, "d m"]
    attention_vector: Float[Tensor, " d"]
    bias: Float[Tensor, " V"]
    hard: bool
    rows: int
    wide_rows: int


def _trained(problem: Problem, weights: object, chunk: int | None) -> _Trained:
    """The weights, checked, in the problem's floating type."""
    if isinstance(weights, Weights):
        value, key_query, hard = weights.value2, weights.key_query, weights.limit
        query, bias = problem.query, output_bias(problem)
    elif isinstance(weights, RecallTransformer):
        value, key_query, hard = weights.value.detach(), weights.key_query.detach(), False
        query, bias = weights.query, weights.output_bias
        if weights.setting.vocab != problem.setting.vocab:
            raise not_allowed(
                "weights",
                weights.setting,
                f"a model of {problem.setting.vocab} tokens for this problem",
            )
    else:
        raise not_allowed(
            "weights", weights, "recallbook.Weights or a recallbook.RecallTransformer"
        )
    setting = problem.setting
    shapes = [(setting.dim, setting.feature_dim), (setting.dim, setting.dim)]
    if [tuple(value.shape), tuple(key_query.shape)] != shapes:
        raise not_allowed(
            "weights",
            [tuple(value.shape), tuple(key_query.shape)],
            f"shapes {shapes} for this problem",
        )
    for matrix in (value, key_query):
        check_finite("weights", matrix)
    like = problem.input_embeddings
    rows = [
        chunk_rows(problem, chunk, labels)
        for labels in (setting.vocab, min(setting.vocab, BLOCK_LABELS))
    ]
    # logits of the limit are per unit gamma, beside which a bias is nothing
    bias = torch.zeros_like(bias) if hard else bias.to(like)
    return _Trained(value.to(like), key_query.to(like) @ query.to(like), bias, hard, *rows)


def _slack(
    problem: Problem, trained: _Trained, images: Float[Tensor, "n m"]
) -> Float[Tensor, "n 1"]:
    """How far logits of these features may differ by rounding, ``(n, 1)``; ``ArithmeticError``
    where they overflow."""
    # a multiple of a bound on all of them
    slack = logit_slack(problem.output_embeddings, trained.value, images)
    if not bool(slack.isfinite().all()):
        raise ArithmeticError(
            "logits are not finite: smaller weights, or smaller rates, are needed"
        )
    return slack + bias_slack(trained.bias)


def _credit(
    problem: Problem, trained: _Trained, located: Float[Tensor, "n d"], labels: Int[Tensor, " n"]
) -> Float64[Tensor, " n"]:
    """What located vectors ``(n, d)`` earn when these labels are right; all logits are formed at
    once, ``(n, V)``."""
    images = features(problem, located)
    logits = (images @ trained.value.T @ problem.output_embeddings.T).add_(trained.bias)
    return credit(logits, labels, _slack(problem, trained, images))


def _answer(problem: Problem, trained: _Trained, located: Float[Tensor, "n d"]) -> Answers:
    """Arg max labels of located vectors ``(n, d)``, and whether they are alone."""
    images = features(problem, located)
    queries = images @ trained.value.T
    return answers(
        queries, problem.output_embeddings, trained.bias, _slack(problem, trained, images)
    )


def _earn(
    problem: Problem, trained: _Trained, codes: Int[Tensor, " n"], labels: Int[Tensor, " n"]
) -> tuple[Float64[Tensor, " n"], Bool[Tensor, " n"]]:
    """What these located vectors earn when these labels are right, and where no tie had to be
    shared.

    Codes as in :class:`Located`; each distinct vector is answered once, but for ties.
    """
    if not problem.setting.trigger_in_values:
        codes = codes % problem.setting.vocab  # with or without the trigger: the same vector
    distinct, which = torch.unique(codes, return_inverse=True)
    parts = torch.split(distinct, trained.wide_rows)
    found = [_answer(problem, trained, located_vectors(problem, part)) for part in parts]
    best, alone = (torch.cat(part)[which] for part in zip(*found, strict=True))
    earned = (best == labels).double()
    if not alone.all():
        vocab = problem.setting.vocab
        pairs, which = torch.unique(codes[~alone] * vocab + labels[~alone], return_inverse=True)
        shared = [
            _credit(problem, trained, located_vectors(problem, part // vocab), part % vocab)
            for part in torch.split(pairs, trained.rows)
        ]
        earned[~alone] = torch.cat(shared)[which]
    return earned, alone


def _measure_hard(
    problem: Problem, sequences: Sequences, trained: _Trained
) -> tuple[float, float, float]:
    """Right answers and locks under hard attention, and recall."""
    scores = attention_scores(problem, trained.attention_vector)
    codes, right, locked = [], 0.0, 0.0
    for part in chunks(sequences, trained.rows):
        located = hard_attention(part, scores)
        locked += float(located.locks.sum())
        codes.append(located.codes)
        if len(located.mixed):
            several = rows_of(part, located.mixed)
            mixtures = attend(problem, several, located.shares)
            right += float(_credit(problem, trained, mixtures, several.labels).sum())
            codes[-1] = located.codes.index_fill(0, located.mixed, -1)  # counted already
    every = torch.cat(codes)
    one = every >= 0
    vocab, marked = problem.setting.vocab, _marked(problem)
    labels = torch.cat([problem.permutation, sequences.labels[one]])
    earned, alone = _earn(problem, trained, torch.cat([marked, every[one]]), labels)
    recall, earned, alone = float(earned[:vocab].mean()), earned[vocab:], alone[vocab:]
    right += float(earned[alone].sum())
    return right + float(earned[~alone].sum()), locked, recall


def _measure_soft(
    problem: Problem, sequences: Sequences, trained: _Trained
) -> tuple[float, float, float]:
    """Right answers and locks under softmax attention, and recall."""
    scores = attention_scores(problem, trained.attention_vector)
    locks, credits = [], []
    for part in chunks(sequences, trained.wide_rows):
        raw = score(part, scores)  # (n, L); the scores decide: softmax weights may round to ties
        locks.append(credit(raw, part.positions, scores.slack))
        located = attend(problem, part, torch.softmax(raw, dim=1))
        best, alone = _answer(problem, trained, located)
        credits.append((best == part.labels).double())
        for tied in torch.split(alone.logical_not().nonzero()[:, 0], trained.rows):
            credits[-1][tied] = _credit(problem, trained, located[tied], part.labels[tied])
    right, locked = (
        sum(float(part.sum()) for part in torch.split(torch.cat(counted), trained.rows))
        for counted in (credits, locks)
    )
    return (
        right,
        locked,
        float(_earn(problem, trained, _marked(problem), problem.permutation)[0].mean()),
    )


def _marked(problem: Problem) -> Int[Tensor, " V"]:
    """Codes of all tokens as informative ones, ``(V,)``, as in :class:`Located`."""
    return torch.arange(problem.setting.vocab, device=problem.device) + problem.setting.vocab
