r"""What hard attention locates once all scores are known, and what step 3 makes of it: exact over
sequences. Ours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64

from recallbook.model.ties import credit, tolerance
from recallbook_theory.sampled import unequal_terms as symbolic
from recallbook_theory.sampled.attention_vector import Facts
from recallbook_theory.symbolic.expressions import L, numeric

TIE = tolerance(torch.float64)  # of the largest value


class PlaceChances(NamedTuple):
    """By informative token: chance to lock ``(V,)``; and to locate each other token instead, ``(V,
    V)``."""

    lock: Float64[np.ndarray, " V"]
    wrong: Float64[np.ndarray, "V V"]


class AnswerShares(NamedTuple):
    """Accuracy, and recall over the vocabulary."""

    accuracy: float
    recall: float


def locate(scores: Float64[np.ndarray, " V"], mark: float, facts: Facts) -> PlaceChances:
    r"""Over the $L-1$ other tokens of a sequence, independent of law $p'$.

    Attention locks on $a$ if none scores above $S_a+M$; a tie among $k$ counts $1/k$. Otherwise it
    locates the largest."""
    size = len(scores)
    if facts.length == 1:
        return PlaceChances(np.ones(size), np.zeros((size, size)))
    order = np.argsort(scores, kind="stable")
    ordered, law = scores[order], facts.others[order]
    cumulated = np.concatenate([[0.0], np.cumsum(law)])
    cumulated /= cumulated[-1]
    wanted, slack = scores + mark, TIE * (np.abs(scores).max() + abs(mark))
    first = np.searchsorted(ordered, wanted - slack, side="left")  # those before it are below
    last = np.searchsorted(ordered, wanted + slack, side="right")  # those from it on are above
    below, tied = cumulated[first], cumulated[last] - cumulated[first]
    strictly, ties = below ** (facts.length - 1), last > first
    values = {
        symbolic.below: np.where(ties, below, 0.0),
        symbolic.tied: np.where(ties, tied, 1.0),
        L: facts.length,
    }
    shared = numeric(symbolic.lock_chance)(values)
    # chance that each token is the largest of L - 1
    largest = np.diff(cumulated ** (facts.length - 1))
    wrong = np.zeros((size, size))
    wrong[:, order] = np.where(np.arange(size)[None, :] >= last[:, None], largest[None, :], 0.0)
    return PlaceChances(np.where(ties, shared, strictly), wrong)


def located_counts(
    located: PlaceChances, facts: Facts, rng: np.random.Generator
) -> tuple[Float64[np.ndarray, " V"], Float64[np.ndarray, "V V"]]:
    """Training sequences of each label that locate their own token, and each other one:
    multinomial."""
    counts = facts.counts.astype(np.int64)
    hits = rng.binomial(counts, np.minimum(located.lock, 1.0))
    missed = located.wrong.sum(axis=1, keepdims=True)
    shares = np.divide(located.wrong, missed, out=np.zeros_like(located.wrong), where=missed > 0)
    wrong = np.zeros_like(located.wrong)
    rows = np.flatnonzero((counts > hits) & (missed[:, 0] > 0))
    # no more than one after rounding
    shares[rows] /= np.maximum(shares[rows].sum(axis=1, keepdims=True), 1)
    wrong[rows] = rng.multinomial((counts - hits)[rows], shares[rows])
    return hits.astype(float), wrong


def answer(
    located: PlaceChances,
    hits: Float64[np.ndarray, " V"],
    wrong: Float64[np.ndarray, "V V"],
    facts: Facts,
    frequencies: Float64[np.ndarray, " V"],
) -> AnswerShares:
    r"""From the logits $u_k\cdot\sum_j\omega_j\tilde u_j\,g_j\cdot h$ of every $h$; $g_j$: what
    label $j$ located."""
    marked = facts.tokens + facts.tau * facts.trigger
    value = (hits[:, None] * marked + wrong @ facts.tokens).T @ facts.residuals  # (d, e)
    read = value @ facts.labels.T
    logits = marked @ read
    of_own = torch.arange(len(logits), device="cpu")
    right = credit(torch.from_numpy(logits), of_own, TIE * float(np.abs(logits).max())).numpy()
    accuracy = float(frequencies @ (located.lock * right))
    if np.any(located.wrong):  # a wrong place may hold the right token, or one that answers alike
        given = np.argmax(facts.tokens @ read, axis=1)
        accuracy += float(np.sum(frequencies[given] * located.wrong[given, np.arange(len(given))]))
    return AnswerShares(accuracy, float(right.mean()))
