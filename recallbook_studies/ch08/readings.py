r"""Information about the facts in the first gradient, where all permutations can be listed, and the
noise enumerated."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import gammaln, logsumexp

from recallbook.data.embeddings import draw_embeddings
from recallbook.setting import Setting
from recallbook_theory.symbolic.expressions import Array

Generator = np.random.Generator
MOST_TABLES = 5000  # of counts of the other tokens, given the labels


class Observed(NamedTuple):
    r"""Counts of the labels, and rows $a_k$ with $\sum_kf_ka_ka_k^\top=I$ and $b_v$ with
    $\frac1V\sum_vb_vb_v^\top=I$, given these."""

    counts: NDArray[np.int64]
    labels: Array
    tokens: Array


def observed(setting: Setting, seed: int, generator: Generator) -> Observed:
    """One draw of embeddings and label counts, in the coordinates in which noise has variance 1."""
    setting.require_equal("counts are drawn with equal chances")
    counts = generator.multinomial(setting.samples, np.full(setting.vocab, 1 / setting.vocab))
    tables = draw_embeddings(setting, seed)
    labels, tokens = (table - table.mean(axis=0) for table in (tables.output, tables.input))
    left = _inverse_root(labels.T @ (counts[:, None] * labels) / setting.samples)
    return Observed(counts, labels @ left, tokens @ _inverse_root(tokens.T @ tokens / len(tokens)))


def _inverse_root(matrix: Array) -> Array:
    """Inverse square root of a symmetric matrix on its range."""
    values, vectors = np.linalg.eigh(matrix)
    keep = values > values[-1] * 1e-10
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))


def signals(setting: Setting, seen: Observed) -> Array:
    """The mean of the gradient in units of its noise, for each permutation, ``(V!, D)``."""
    orders = np.array(list(itertools.permutations(range(setting.vocab))))
    means = np.einsum("k,ka,pkb->pab", seen.counts, seen.labels, seen.tokens[orders])
    root = math.sqrt(setting.samples * (setting.seq_len - 1))
    return np.asarray(means.reshape(len(orders), -1) / root)


class Noise(NamedTuple):
    """Every value of the gradient's noise given the labels, ``(tables, D)`` in its own units, and
    their chances."""

    values: Array
    chances: Array


def enumerated_noise(setting: Setting, seen: Observed) -> Noise:
    """All tables of how often a token stands beside the informative one under each label."""
    vocab, others = setting.vocab, setting.seq_len - 1
    rows = [
        [c for c in itertools.product(range(n + 1), repeat=vocab) if sum(c) == n]
        for n in seen.counts * others
    ]
    if math.prod(map(len, rows)) > MOST_TABLES:
        raise ValueError(f"more than {MOST_TABLES} tables of counts: smaller sizes are needed")
    tables = np.array(list(itertools.product(*rows)))
    logs = gammaln(seen.counts * others + 1).sum() - gammaln(tables + 1).sum(axis=(1, 2))
    total = setting.samples * others
    noise = np.einsum("ka,rkv,vb->rab", seen.labels, tables, seen.tokens) / math.sqrt(total)
    return Noise(noise.reshape(len(tables), -1), np.exp(logs - math.log(vocab) * total))


def information(
    means: Array, noise: Noise, error: float, draws: int, generator: Generator
) -> float:
    r"""Nats that one of these means, all as likely, plus the noise, read with a Gaussian error,
    tells about which mean it is.

    Averaged over ``draws`` of what is read: a mixture of Gaussians of variance ``error`` for each
    mean."""
    truth = generator.integers(len(means), size=draws)
    other = generator.choice(len(noise.chances), size=draws, p=noise.chances)
    white = generator.standard_normal((draws, means.shape[1]))
    read = means[truth] + noise.values[other] + math.sqrt(error) * white
    centres = (means[:, None] + noise.values).reshape(-1, means.shape[1])
    logs = -cdist(read, centres, "sqeuclidean").reshape(draws, len(means), -1) / (2 * error)
    most = logs.max(axis=2)
    each = most + np.log(np.exp(logs - most[..., None]) @ noise.chances)
    gaps = each[np.arange(draws), truth] - logsumexp(each, axis=1)
    return math.log(len(means)) + float(np.mean(gaps))


def information_of_true_gradient(
    setting: Setting, seed: int, error: float, draws: int = 200
) -> float:
    r"""$I(\pi;G+W\mid U,Z,t,y)$ in nats for one draw of embeddings and label counts.

    ``G`` is the true, discrete gradient. The random numbers are the same at every reading
    error."""
    seen = observed(setting, seed, np.random.default_rng([seed, 5]))
    noise = enumerated_noise(setting, seen)
    return information(
        signals(setting, seen), noise, error, draws, np.random.default_rng([seed, 6])
    )
