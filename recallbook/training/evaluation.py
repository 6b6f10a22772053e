"""What the trained weights can do on fresh sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from recallbook.arguments import Device, check_finite, check_size, not_allowed
from recallbook.data.residuals import output_bias
from recallbook.data.task import Problem, Sequences, check_problem
from recallbook.memory_needs import require_memory, sequences as sequences_needs
from recallbook.model.attention import attend, attention_scores, chunk_rows, chunks, hard_attention, rows_of, score
from recallbook.model.ties import bias_slack, credit, logit_slack, tied
from recallbook.model.transformer import RecallTransformer
from recallbook.training.early_phase import located_vectors
from recallbook.training.gradients import features
from recallbook.training.weights import Weights


@dataclass(frozen=True)
class Outcome:
    r"""Three fractions between 0 and 1. A tie among k for the largest counts as 1/k (:mod:`recallbook.model.ties`).

    Attributes
    ----------
    accuracy : float
        Fresh test sequences whose arg max logit is $\pi(x_{\ell})$: facts count as often as they occur.
    lock_on : float
        Fresh test sequences whose largest attention weight is at $\ell$.
    recall : float
        Tokens $v$ whose label is the arg max when attention sits exactly on $v$ as the informative token
        ($h=z_v+t$, or $z_v$ when the values do not carry the trigger): every fact counts once.
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
        Weights of the early-phase limit are used with hard attention and without the output bias, which is nothing
        beside logits that grow with $\gamma$ (also where it is $-\infty$, which stands for a log that grows far more
        slowly); all others with softmax attention and with the bias. A model answers with the embeddings that it
        holds, which :func:`recallbook.descend` may have learned.
    test_samples : int
        Number of fresh sequences.
    seed : int or None
        Seed of the test sequences; ``None`` is the problem's. They differ from the training sequences at any seed.
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
    trained = _trained(problem, weights, chunk_rows(problem, chunk))
    if isinstance(weights, RecallTransformer):
        problem = weights.problem_as_held(problem)
    if sequences is None:
        sequences = problem.fresh(test_samples, seed)
    elif not isinstance(sequences, Sequences):
        raise not_allowed("sequences", sequences, "recallbook.data.task.Sequences, or None for fresh ones")
    marked = torch.arange(problem.setting.vocab, device=problem.device) + problem.setting.vocab
    recall = float(_credit(problem, trained, marked, problem.permutation).mean())
    measure = _measure_hard if trained.hard else _measure_soft
    right, locked = measure(problem, sequences, trained)
    count = len(sequences.labels)
    return Outcome(right / count, locked / count, recall)


class _Trained(NamedTuple):
    """What is evaluated: $W_V$, $W_{KQ}z_{\\rm EOS}$, $b$, whether attention is hard, and rows at a time."""

    value: Float[Tensor, "d m"]
    attention_vector: Float[Tensor, " d"]
    bias: Float[Tensor, " V"]
    hard: bool
    rows: int


def _trained(problem: Problem, weights: object, rows: int) -> _Trained:
    """The weights, checked, in the problem's floating type."""
    if isinstance(weights, Weights):
        value, key_query, hard = weights.value2, weights.key_query, weights.limit
        query, bias = problem.query, output_bias(problem)
    elif isinstance(weights, RecallTransformer):
        value, key_query, hard = weights.value.detach(), weights.key_query.detach(), False
        query, bias = weights.query, weights.output_bias
        if weights.setting.vocab != problem.setting.vocab:
            raise not_allowed("weights", weights.setting, f"a model of {problem.setting.vocab} tokens for this problem")
    else:
        raise not_allowed("weights", weights, "recallbook.Weights or a recallbook.RecallTransformer")
    setting = problem.setting
    shapes = [(setting.dim, setting.feature_dim), (setting.dim, setting.dim)]
    if [tuple(value.shape), tuple(key_query.shape)] != shapes:
        raise not_allowed("weights", [tuple(value.shape), tuple(key_query.shape)], f"shapes {shapes} for this problem")
    for matrix in (value, key_query):
        check_finite("weights", matrix)
    like = problem.input_embeddings
    # logits of the limit are per unit gamma, beside which a bias is nothing
    bias = torch.zeros_like(bias) if hard else bias.to(like)
    return _Trained(value.to(like), key_query.to(like) @ query.to(like), bias, hard, rows)


class _Answers(NamedTuple):
    """Arg max labels of some located vectors, and whether one label alone is largest."""

    labels: Int[Tensor, " n"]
    sure: Bool[Tensor, " n"]


def _logits(
    problem: Problem, trained: _Trained, located: Float[Tensor, "n d"]
) -> tuple[Float[Tensor, "n V"], Float[Tensor, "n 1"]]:
    """Logits of located vectors, and their slack."""
    images = features(problem, located)
    logits = images @ trained.value.T @ problem.output_embeddings.T
    if not bool(logits.isfinite().all()):
        raise ArithmeticError("logits are not finite: smaller weights, or smaller rates, are needed")
    logits.add_(trained.bias)
    return logits, logit_slack(problem.output_embeddings, trained.value, images) + bias_slack(trained.bias)


def _credit(
    problem: Problem, trained: _Trained, codes: Int[Tensor, " n"], labels: Int[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """What these located vectors earn when these labels are right; codes as in :class:`Located`."""
    earned = []
    for part, wanted in zip(torch.split(codes, trained.rows), torch.split(labels, trained.rows), strict=True):
        logits, slack = _logits(problem, trained, located_vectors(problem, part))
        earned.append(credit(logits, wanted, slack))
    return torch.cat(earned)


def _answers(problem: Problem, trained: _Trained, codes: Int[Tensor, " n"]) -> _Answers:
    found = []
    for part in torch.split(codes, trained.rows):
        logits, slack = _logits(problem, trained, located_vectors(problem, part))
        found.append(_Answers(logits.argmax(dim=1), tied(logits, slack).sum(dim=1) == 1))
    return _Answers(*(torch.cat(part) for part in zip(*found, strict=True)))


def _measure_hard(problem: Problem, sequences: Sequences, trained: _Trained) -> tuple[float, float]:
    """Right answers and locks under hard attention; each distinct located vector is answered once, but for ties."""
    scores = attention_scores(problem, trained.attention_vector)
    codes, right, locked = [], 0.0, 0.0
    for part in chunks(sequences, trained.rows):
        located = hard_attention(part, scores)
        locked += float(located.locks.sum())
        codes.append(located.codes)
        if len(located.mixed):
            several = rows_of(part, located.mixed)
            logits, slack = _logits(problem, trained, attend(problem, several, located.shares))
            right += float(credit(logits, several.labels, slack).sum())
            codes[-1] = located.codes.index_fill(0, located.mixed, -1)  # counted already
    every = torch.cat(codes)
    alone = every >= 0
    distinct, which = torch.unique(every[alone], return_inverse=True)
    if len(distinct) == 0:
        return right, locked
    answers, labels = _answers(problem, trained, distinct), sequences.labels[alone]
    sure = answers.sure[which]
    right += float((sure & (answers.labels[which] == labels)).sum())
    right += float(_credit(problem, trained, distinct[which[~sure]], labels[~sure]).sum())
    return right, locked


def _measure_soft(problem: Problem, sequences: Sequences, trained: _Trained) -> tuple[float, float]:
    """Right answers and locks under softmax attention."""
    scores = attention_scores(problem, trained.attention_vector)
    right = locked = 0.0
    for part in chunks(sequences, trained.rows):
        raw = score(part, scores)  # (n, L); the scores decide: softmax weights may round to ties
        locked += float(credit(raw, part.positions, scores.slack).sum())
        logits, slack = _logits(problem, trained, attend(problem, part, torch.softmax(raw, dim=1)))
        right += float(credit(logits, part.labels, slack).sum())
    return right, locked
