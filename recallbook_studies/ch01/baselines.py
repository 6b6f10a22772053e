"""What simple strategies score on the task, in closed form."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64
from scipy.stats import poisson


def largest_count_distribution(vocab: int, seq_len: int) -> Float64[np.ndarray, " k"]:
    r"""$P(\max_v c_v\le k)$ for $k=0..L$, with $c_v$ the count of token $v$ among $L$ uniform
    tokens.

    Counts are independent Poisson numbers of mean $L/V$, given that they add up to $L$. So the
    probability is the coefficient of $x^L$ in the $V$-th power of $\sum_{j\le k}p_jx^j$, over
    $P(\sum_vc_v=L)$. Exact up to rounding, cost $O(L^3\log V)$."""
    counts = np.arange(seq_len + 1)
    chances = poisson.pmf(counts, seq_len / vocab)
    together = [_power(np.where(counts <= k, chances, 0), vocab)[-1] for k in counts]
    return np.array(together) / float(poisson.pmf(seq_len, seq_len))


def _power(series: Float64[np.ndarray, " k"], exponent: int) -> Float64[np.ndarray, " k"]:
    """This power of a power series, as far as the series goes."""
    if exponent == 1:
        return series
    half = _power(series, exponent // 2)
    found = np.convolve(half, half)[: len(series)]
    return np.convolve(found, series)[: len(series)] if exponent % 2 else found


def bag_of_words_accuracy(vocab: int, seq_len: int) -> float:
    r"""Best accuracy of one who knows all facts but not the position: $E[\max_v c_v]/L$.

    Given the counts, token $v$ is the informative one with probability $c_v/L$, so the best guess
    is the label of the most frequent token."""
    at_most = largest_count_distribution(vocab, seq_len)
    return float(np.sum(1 - at_most[:-1]) / seq_len)


def seen_distribution(vocab: int, samples: int) -> Float64[np.ndarray, " k"]:
    r"""Probability that $N$ uniform draws show exactly $k$ of the $V$ facts, for $k=0..V$; exact,
    cost $O(NV)$."""
    seen = np.zeros(vocab + 1)
    seen[0] = 1
    known = np.arange(vocab + 1) / vocab
    for _ in range(samples):
        seen = seen * known + np.concatenate([[0.0], (seen * (1 - known))[:-1]])
    return seen
