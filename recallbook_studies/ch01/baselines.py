"""What simple strategies score on the task, in closed form and by simulation."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float64, Int
from scipy.linalg import toeplitz
from scipy.stats import binom

from recallbook.data.streams import stream, uniform_integers
from recallbook.data.task import Problem
from recallbook.setting import fact_frequencies, other_frequencies


def largest_count_distribution(vocab: int, seq_len: int) -> Float64[np.ndarray, " k"]:
    r"""$P(\max_v c_v\le k)$ for $k=0..L$, with $c_v$ the count of token $v$ among $L$ uniform
    tokens.

    Tokens are balls, the vocabulary is $V$ cells. Two groups of cells side by side share $n$ balls
    binomially, so the probability for $V$ cells is built by doubling. Exact up to rounding, cost
    $O(L^3\log V)$."""
    balls = np.arange(seq_len + 1)
    obeyed = [
        _all_cells_obey((balls <= k).astype(float), vocab)[seq_len] for k in range(1, seq_len + 1)
    ]
    return np.array([0.0, *obeyed])


def _all_cells_obey(one: Float64[np.ndarray, " k"], cells: int) -> Float64[np.ndarray, " k"]:
    """P(n balls thrown into ``cells`` equal cells obey ``one`` in each), for n = 0..L; ``one`` is
    for one cell."""
    if cells == 1:
        return one
    half = _all_cells_obey(one, cells // 2)
    both = _side_by_side(half, half, 0.5)
    return both if cells % 2 == 0 else _side_by_side(both, one, (cells - 1) / cells)


def _side_by_side(
    left: Float64[np.ndarray, " k"], right: Float64[np.ndarray, " k"], share: float
) -> Float64[np.ndarray, " k"]:
    """Both groups obey, when each ball falls into the left one with probability ``share``."""
    rest = toeplitz(right, np.zeros_like(right))  # [n, i] = right[n - i], 0 above the diagonal
    return np.asarray((_binomial(len(left), share) * rest) @ left)


@cache
def _binomial(size: int, share: float) -> Float64[np.ndarray, "size size"]:
    """Table ``[n, i]`` of the probability of i among n."""
    n = np.arange(size)
    return np.asarray(binom.pmf(n, n[:, None], share))


def bag_of_words_accuracy(vocab: int, seq_len: int) -> float:
    r"""Best accuracy of one who knows all facts but not the position: $E[\max_v c_v]/L$.

    Given the counts, token $v$ is the informative one with probability $c_v/L$, so the best guess
    is the label of the most frequent token."""
    at_most = largest_count_distribution(vocab, seq_len)
    return float(np.sum(1 - at_most[:-1]) / seq_len)


def bag_of_words_guess(problem: Problem, tokens: Int[np.ndarray, "n L"]) -> Int[np.ndarray, " n"]:
    """Best labels ``(n,)`` for rows of ``tokens`` ``(n, L)`` in any order: of the most frequent
    token, lowest on ties.

    Where informative tokens have a law of their own, counts are weighted by how much likelier a
    token is among them."""
    setting = problem.setting
    vocab = setting.vocab
    counts = np.zeros((len(tokens), vocab), dtype=np.int64)
    np.add.at(counts, (np.arange(len(tokens))[:, None], tokens), 1)
    weighted = counts
    if setting.other_zipf is not None:
        weighted = counts * (fact_frequencies(setting) / other_frequencies(setting))
    return np.asarray(problem.permutation.cpu().numpy()[weighted.argmax(axis=1)])


def seen_distribution(vocab: int, samples: int) -> Float64[np.ndarray, " k"]:
    r"""Probability that $N$ uniform draws show exactly $k$ of the $V$ facts, for $k=0..V$; exact,
    cost $O(NV)$."""
    seen = np.zeros(vocab + 1)
    seen[0] = 1
    known = np.arange(vocab + 1) / vocab
    for _ in range(samples):
        seen = seen * known + np.concatenate([[0.0], (seen * (1 - known))[:-1]])
    return seen


def simulated_coverage(vocab: int, samples: int, seed: int) -> float:
    """Fraction of the facts that a training batch shows, with the tokens of :func:`recallbook.draw`
    at ``L = 1``."""
    tokens = uniform_integers(stream(seed, "tokens"), vocab, samples)
    return float(np.unique(tokens).size / vocab)
