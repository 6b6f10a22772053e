"""The true, discrete gradient read with an error: its information where it can be enumerated, and
what the refined reader finds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from recallbook.bounds.decoding import decoded
from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.training.early_phase import value_step
from recallbook_studies.ch08 import lattice
from recallbook_studies.ch08.estimators import SEEDS, observed

Array = NDArray[np.float64]
MOST_TABLES = 5000  # of counts of the other tokens, given the labels


class Enumeration(NamedTuple):
    r"""Every value of the gradient given embeddings and labels, in units of its noise.

    ``means`` ``(V!, D)``, one for each permutation; ``noise`` ``(tables, D)``, the same for all,
    with logarithms of its chances ``chances``; ``orders`` ``(V!, V)``, the token of every label;
    ``counts`` $n_k$; ``tables``, ``(tables, V, V)``, how often a token stands beside the
    informative one under each label."""

    means: Array
    noise: Array
    chances: Array
    orders: NDArray[np.int64]
    counts: NDArray[np.int64]
    tables: NDArray[np.int64]


def enumerate_gradients(setting: Setting, seed: int) -> Enumeration:
    """All permutations and all tables of the other tokens, for one draw of embeddings and label
    counts."""
    vocab, others = setting.vocab, setting.seq_len - 1
    counts, labels, tokens = observed(setting, seed, np.random.default_rng([seed, 5]))
    rows = {
        n: [c for c in itertools.product(range(n + 1), repeat=vocab) if sum(c) == n]
        for n in counts * others
    }
    if math.prod(len(rows[n]) for n in counts * others) > MOST_TABLES:
        raise ValueError(f"more than {MOST_TABLES} tables of counts: smaller sizes are needed")
    tables = np.array(list(itertools.product(*(rows[n] for n in counts * others))))
    chances = (
        gammaln(counts * others + 1).sum() - gammaln(tables + 1).sum(axis=(1, 2))
    ) - math.log(vocab) * (setting.samples * others)
    root = math.sqrt(setting.samples * others)
    orders = np.array(list(itertools.permutations(range(vocab))))
    means = (
        np.einsum("k,ka,pkb->pab", counts, labels, tokens[orders]).reshape(len(orders), -1) / root
    )
    noise = np.einsum("ka,rkv,vb->rab", labels, tables, tokens).reshape(len(tables), -1) / root
    return Enumeration(means, noise, chances, orders, counts, tables)


def information_of_true_gradient(
    setting: Setting, seed: int, errors: Sequence[float], draws: int = 200
) -> list[float]:
    r"""$I(\pi;G+W\mid U,Z,t,y)$ in nats at each reading error, for one draw; the same random
    numbers for all.

    ``G`` is the true, discrete gradient: for each permutation a mixture over all tables of the
    other tokens. An error of 0 is exact: every gradient tells its table of counts, but for a
    constant in each column, with probability 1."""
    every = enumerate_gradients(setting, seed)
    generator = np.random.default_rng([seed, 6])
    count = len(every.orders)
    truth = generator.integers(count, size=draws)
    table = generator.choice(len(every.chances), size=draws, p=np.exp(every.chances))
    white = generator.standard_normal((draws, every.means.shape[1]))
    found = []
    for error in errors:
        if error == 0:
            found.append(_information_of_counts(every))
            continue
        gaps = []
        for p, j, w in zip(truth, table, white, strict=True):
            seen = every.means[p] + every.noise[j] + math.sqrt(error) * w
            distance = np.square(seen - every.means[:, None] - every.noise).sum(
                axis=2
            )  # (permutation, table)
            logs = logsumexp(every.chances - distance / (2 * error), axis=1)
            gaps.append(logs[p] - logsumexp(logs))
        found.append(math.log(count) + float(np.mean(gaps)))
    return found


def _information_of_counts(every: Enumeration) -> float:
    """What the table of counts tells when each column is known up to a constant."""
    count, vocab = len(every.orders), len(every.counts)
    full = np.repeat(every.tables[None], count, axis=0)  # (permutation, table, label, token)
    for p, order in enumerate(every.orders):
        full[p, :, range(vocab), order] += every.counts[:, None]
    full -= full.min(axis=2, keepdims=True)
    _, same = np.unique(full.reshape(-1, vocab**2), axis=0, return_inverse=True)
    joint = np.zeros((same.max() + 1, count))
    who = np.repeat(np.arange(count), len(every.chances))
    np.add.at(joint, (same.ravel(), who), np.tile(np.exp(every.chances), count) / count)
    chance = joint / joint.sum(axis=1, keepdims=True)
    left = -np.sum(joint * np.log(np.where(chance > 0, chance, 1.0)))
    return float(math.log(count) - left)


def refined(setting: Setting, error: float, seeds: Iterable[int] = SEEDS) -> list[float]:
    """Facts that the refined reader finds from one gradient with a reading error, by seed; without
    one at 0."""
    found = []
    for seed in seeds:
        problem = draw(setting, seed)
        seen = value_step(problem)
        if error:
            drawn = lattice.error_of_reading(problem, error, np.random.default_rng([seed, 7]))
            seen = seen + torch.from_numpy(drawn / (setting.samples * setting.seq_len))
        found.append(decoded(problem, "refined", seen))
    return found
