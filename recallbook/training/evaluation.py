"""What the trained weights can do on fresh sequences."""

from __future__ import annotations

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
from recallbook.result import Outcome
from recallbook.training.early_phase import located_vectors
from recallbook.training.gradients import features


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
    weights : Weights or RecallTransformer
        Weights of the early-phase limit are used with hard attention and without the output bias,
        which is nothing beside logits that grow with $\gamma$ (also where it is $-\infty$, which
        stands for a log that grows far more slowly); all others with softmax attention and with the
        bias. A model answers with the embeddings that it holds. Of an attention vector $w$ of your
        own: ``dataclasses.replace(weights, key_query=torch.outer(w, problem.query))``.
    test_samples : int
        Number of fresh sequences.
    seed : int or None
        Seed of the test sequences; ``None`` is the problem's. They differ from the training
        sequences at any seed.
    sequences : Sequences or None
        The caller's own test sequences instead of fresh ones, such as ``problem.sequences``.

    Raises ``ValueError``, also for weights that are not finite, and ``ArithmeticError`` if logits
    overflow.
    """
    test_samples = check_size("test_samples", test_samples)
    reader = _reader(check_problem(problem, dtype, device), weights, chunk)
    if sequences is None:
        needs = sequences_needs(reader.problem.setting, test_samples, "test_samples")
        require_memory(needs, "the test")
        sequences = reader.problem.fresh(test_samples, seed)
    elif not isinstance(sequences, Sequences):
        allowed = "recallbook.data.task.Sequences, or None for fresh ones"
        raise not_allowed("sequences", sequences, allowed)
    right, locked, recall = reader.hard(sequences) if reader.limit else reader.soft(sequences)
    count = len(sequences.labels)
    return Outcome(right / count, locked / count, recall)


def _reader(problem: Problem, weights: object, chunk: int | None) -> _Reader:
    """The weights, checked, in the problem's floating type."""
    if isinstance(weights, Weights):
        value, key_query, limit = weights.value2, weights.key_query, weights.limit
        query, bias = problem.query, output_bias(problem)
    elif isinstance(weights, RecallTransformer):
        value, key_query, limit = weights.value.detach(), weights.key_query.detach(), False
        query, bias = weights.query, weights.output_bias
        if weights.setting.vocab != problem.setting.vocab:
            allowed = f"a model of {problem.setting.vocab} tokens for this problem"
            raise not_allowed("weights", weights.setting, allowed)
    else:
        allowed = "recallbook.Weights or a recallbook.RecallTransformer"
        raise not_allowed("weights", weights, allowed)
    setting, found = problem.setting, [tuple(value.shape), tuple(key_query.shape)]
    shapes = [(setting.dim, setting.feature_dim), (setting.dim, setting.dim)]
    if found != shapes:
        raise not_allowed("weights", found, f"shapes {shapes} for this problem")
    for matrix in (value, key_query):
        check_finite("weights", matrix)
    held = weights.problem_as_held(problem) if isinstance(weights, RecallTransformer) else problem
    like = problem.input_embeddings
    # logits of the limit are per unit gamma, beside which a bias is nothing
    bias = torch.zeros_like(bias) if limit else bias.to(like)
    labels = (setting.vocab, min(setting.vocab, BLOCK_LABELS))
    rows = (chunk_rows(problem, chunk, count) for count in labels)
    return _Reader(held, value.to(like), key_query.to(like) @ query.to(like), bias, limit, *rows)


class _Reader(NamedTuple):
    """What is evaluated: $W_V$, $W_{KQ}z_{\\rm EOS}$, $b$, and whether attention is hard.

    ``rows`` at a time where all logits of a row are formed, ``wide_rows`` where they are formed by
    blocks. Codes are those of :class:`Located`."""

    problem: Problem
    value: Float[Tensor, "d m"]
    attention_vector: Float[Tensor, " d"]
    bias: Float[Tensor, " V"]
    limit: bool
    rows: int
    wide_rows: int

    def slack(self, images: Float[Tensor, "n m"]) -> Float[Tensor, "n 1"]:
        """How far logits of these features may differ by rounding, ``(n, 1)``, at the most."""
        slack = logit_slack(self.problem.output_embeddings, self.value, images)
        if not bool(slack.isfinite().all()):
            problem = "logits are not finite: smaller weights, or smaller rates, are needed"
            raise ArithmeticError(problem)
        return slack + bias_slack(self.bias)

    def credit(
        self, located: Float[Tensor, "n d"], labels: Int[Tensor, " n"]
    ) -> Float64[Tensor, " n"]:
        """What located vectors ``(n, d)`` earn with these labels; forms all logits, ``(n, V)``."""
        images = features(self.problem, located)
        logits = (images @ self.value.T @ self.problem.output_embeddings.T).add_(self.bias)
        return credit(logits, labels, self.slack(images))

    def answer(self, located: Float[Tensor, "n d"]) -> Answers:
        """Arg max labels of located vectors ``(n, d)``, and whether they are alone."""
        images = features(self.problem, located)
        outputs = self.problem.output_embeddings
        return answers(images @ self.value.T, outputs, self.bias, self.slack(images))

    def earn(
        self, codes: Int[Tensor, " n"], labels: Int[Tensor, " n"]
    ) -> tuple[Float64[Tensor, " n"], Bool[Tensor, " n"]]:
        """What these located vectors earn when these labels are right, and where no tie had to be
        shared; each distinct vector is answered once, but for ties."""
        vocab = self.problem.setting.vocab
        if not self.problem.setting.trigger_in_values:
            codes = codes % vocab  # with or without the trigger: the same vector
        distinct, which = torch.unique(codes, return_inverse=True)
        parts = torch.split(distinct, self.wide_rows)
        found = [self.answer(located_vectors(self.problem, part)) for part in parts]
        best, alone = (torch.cat(part)[which] for part in zip(*found, strict=True))
        earned = (best == labels).double()
        if not alone.all():
            pairs, which = torch.unique(codes[~alone] * vocab + labels[~alone], return_inverse=True)
            shared = [
                self.credit(located_vectors(self.problem, part // vocab), part % vocab)
                for part in torch.split(pairs, self.rows)
            ]
            earned[~alone] = torch.cat(shared)[which]
        return earned, alone

    def hard(self, sequences: Sequences) -> tuple[float, float, float]:
        """Right answers and locks under hard attention, and recall."""
        scores = attention_scores(self.problem, self.attention_vector)
        codes, right, locked = [], 0.0, 0.0
        for part in chunks(sequences, self.rows):
            located = hard_attention(part, scores)
            locked += float(located.locks.sum())
            codes.append(located.codes)
            if len(located.mixed):
                several = rows_of(part, located.mixed)
                mixtures = attend(self.problem, several, located.shares)
                right += float(self.credit(mixtures, several.labels).sum())
                codes[-1] = located.codes.index_fill(0, located.mixed, -1)  # counted already
        every = torch.cat(codes)
        one = every >= 0
        vocab, marked = self.problem.setting.vocab, self.marked()
        labels = torch.cat([self.problem.permutation, sequences.labels[one]])
        earned, alone = self.earn(torch.cat([marked, every[one]]), labels)
        recall, earned, alone = float(earned[:vocab].mean()), earned[vocab:], alone[vocab:]
        right += float(earned[alone].sum())
        return right + float(earned[~alone].sum()), locked, recall

    def soft(self, sequences: Sequences) -> tuple[float, float, float]:
        """Right answers and locks under softmax attention, and recall."""
        scores = attention_scores(self.problem, self.attention_vector)
        locks, credits = [], []
        for part in chunks(sequences, self.wide_rows):
            # (n, L); the scores decide: softmax weights may round to ties
            raw = score(part, scores)
            locks.append(credit(raw, part.positions, scores.slack))
            located = attend(self.problem, part, torch.softmax(raw, dim=1))
            best, alone = self.answer(located)
            credits.append((best == part.labels).double())
            for tied in torch.split(alone.logical_not().nonzero()[:, 0], self.rows):
                credits[-1][tied] = self.credit(located[tied], part.labels[tied])
        right, locked = (
            sum(float(part.sum()) for part in torch.split(torch.cat(counted), self.rows))
            for counted in (credits, locks)
        )
        recall = self.earn(self.marked(), self.problem.permutation)[0].mean()
        return right, locked, float(recall)

    def marked(self) -> Int[Tensor, " V"]:
        """Codes of all tokens as informative ones, ``(V,)``."""
        vocab = self.problem.setting.vocab
        return torch.arange(vocab, device=self.problem.device) + vocab
