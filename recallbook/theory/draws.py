r"""The law over draws of embeddings and data: how far one run may be from the mean that is
predicted. Ours.

Fixed for a whole draw are the mark's score, the scatter and skewness of token scores, $|t|^2$ and
$Q$, at points of ``recallbook.theory.values``; how many of its $V$ tokens score above any level;
and which of its $V$ labels the batch favours, whatever is asked. Given these facts are independent,
but that their counts add up to $N$: what a draw recalls is a count, with the mean and the variance
of that. No constant is fitted. 128 facts stand for those of a draw, which widens a law by some
0.01: it shows where $V$ is in the thousands and nothing that is shared decides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import binom

from recallbook.setting import Setting
from recallbook.theory.feature_kernels import SHUFFLED, Drawn
from recallbook.theory.lock_on import Lock, ScoreLaws, StandardLaw, lock, lock_given, score_laws
from recallbook.theory.recall import LARGEST_COUNT, fact_counts, log_chance, overlaps, recall_values
from recallbook.theory.symbolic import recall_terms as symbolic
from recallbook.theory.symbolic.expressions import V, Values, d, numeric
from recallbook.theory.symbolic.lock_terms import Q, T
from recallbook.theory.values import POINTS, Array, normal, shared_by_tokens

FACTS = 128  # of each draw; as many as there are asked tokens for one drawn MLP
BLOCK = 2**POINTS // FACTS  # draws at a time
DRAWS = 512
RANKS = (
    1024  # of a draw's tokens or labels the largest are drawn one by one; those below lie evenly
)
ALONE, GROWTH = (
    16,
    1.5,
)  # labels from the most favoured on: so many alone, then groups that grow by this factor
TINY = 1e-12  # variance of what does not vary
LEVELS = (np.arange(16) + 0.5) / 16  # of the count given a draw


class DrawLaw(NamedTuple):
    """Outcomes of equally likely draws, each in ascending order: one law each, not a joint one."""

    accuracy: Float64[np.ndarray, " n"]
    lock_on: Float64[np.ndarray, " n"]
    recall: Float64[np.ndarray, " n"]


def draw_law(setting: Setting, without: tuple[str, ...] = ()) -> DrawLaw:
    """The law at a setting with equal facts and isotropic embeddings, some terms of the ledger left
    out."""
    rng = np.random.default_rng(19)
    tokens, labels = _levels(setting.vocab, rng), _levels(setting.vocab - 1, rng)
    triggers, squares = (
        shared_by_tokens(setting)[symbol] + np.zeros(2**POINTS) for symbol in (T, Q)
    )
    scores = score_laws(setting, without) if setting.seq_len > 1 else None
    blocks = []
    for first in range(0, DRAWS, BLOCK):
        block = slice(first, first + BLOCK)
        draws = np.repeat(np.arange(DRAWS)[block], FACTS)  # the draw of every point
        given = ScoreLaws(*(part[draws] for part in scores)) if scores else None
        locks = _locks(setting, given, tokens[block]) if given else lock(setting)
        asked = _asked(setting, triggers[draws])
        values = recall_values(setting, locks, asked.overlaps, without)
        favour = _favour(setting, values, asked.common, squares[draws], labels[block])
        chance = np.exp(favour * log_chance(setting, locks, values, asked.law))
        blocks.append(_moments(setting, locks, chance))
    return DrawLaw(*(_counted(*moments) for moments in np.concatenate(blocks, axis=2)))


def _moments(setting: Setting, locks: Lock, chance: Array) -> Array:
    """Mean and variance of each outcome given each draw, ``(3, 2, BLOCK)``, over facts whose counts
    add up to N."""
    many = setting.samples / setting.vocab > LARGEST_COUNT
    counts = normal("count") if many else fact_counts(setting.samples, setting.vocab)
    counts = counts.reshape(BLOCK, FACTS) - counts.mean()
    found = []
    for right, square in ((locks.token * chance, locks.token**2 * chance), (chance, chance)):
        right, square = right.reshape(BLOCK, FACTS), square.reshape(BLOCK, FACTS)
        mean = right.mean(axis=1)
        by_count = np.mean((right - mean[:, None]) * counts, axis=1) ** 2 / np.maximum(
            np.mean(counts**2, axis=1), TINY
        )
        found.append((mean, (square.mean(axis=1) - mean**2 - by_count) / setting.vocab))
    lock_on = locks.mean[::FACTS], locks.variance[::FACTS] / setting.vocab
    return np.array([found[0], lock_on, found[1]])


def _counted(mean: Array, variance: Array) -> Array:
    """Draws of a share with this mean and variance, which is a count of so many independent trials,
    in order."""
    mean, variance = np.clip(mean, 0, 1)[:, None], np.maximum(variance, TINY)[:, None]
    trials = np.clip(np.round(mean * (1 - mean) / variance), 1, 1e9)
    return np.sort(binom.ppf(LEVELS, trials, mean) / trials, axis=None)


# What the tokens and the labels of one draw share


def _levels(size: int, rng: np.random.Generator) -> Array:
    """Upper-tail probabilities of the largest of ``size`` independent variables, ``(DRAWS,
    ranks)``, ascending.

    Steps between them are exponential, and spread evenly over draws at each rank.
    """
    ranks = min(size, RANKS)
    order = rng.permuted(np.tile(np.arange(DRAWS)[:, None], ranks), axis=0)
    steps = np.cumsum(-np.log((order + 0.5) / DRAWS), axis=1)
    return np.asarray(steps / (steps[:, -1:] + rng.standard_gamma(size + 1 - ranks, (DRAWS, 1))))


def _locks(setting: Setting, scores: ScoreLaws, levels: Array) -> Lock:
    """Lock-on at every point against the tokens of its draw, the largest of them at ``levels``
    ``(BLOCK, ranks)``."""
    size = setting.vocab

    def beaten(own: Array, nodes: Array) -> tuple[Array, Array]:
        below = np.concatenate([own.reshape(BLOCK, FACTS), nodes[::FACTS]], axis=1)
        tails = -np.expm1(below)
        ranks = np.array(
            [np.searchsorted(drawn, tail) for drawn, tail in zip(levels, tails, strict=True)]
        )
        last, drawn = levels[:, -1:], levels.shape[1]
        beyond = drawn + (size - drawn) * np.clip((tails - last) / (1 - last), 0, 1)
        above = np.where(ranks < drawn, ranks, beyond) / size
        with np.errstate(divide="ignore"):
            chance = np.exp((setting.seq_len - 1) * np.log1p(-above))
        return chance[:, :FACTS].ravel(), np.repeat(chance[:, FACTS:], FACTS, axis=0)

    return lock_given(setting, scores, beaten)


def _asked(setting: Setting, triggers: Array) -> Drawn:
    """Overlaps of the facts of each draw; with the MLP those of one drawn MLP belong together."""
    found = overlaps(setting, triggers)
    if setting.width is None:
        return found
    together = np.argsort(SHUFFLED)
    return Drawn(
        {symbol: part[together] for symbol, part in found.overlaps.items()},
        found.law[together],
        found.common[together],
    )


def _favour(
    setting: Setting, values: Values, common: Array, squares: Array, levels: Array
) -> Array:
    r"""By how much the labels of a draw multiply the log chance of each of its facts.

    Of the overlap between an asked and a stored vector, the mean $\theta$ and a part of variance
    ``common`` that the stored one brings along are the same whatever is asked. So the batch favours
    a label $k$ by some $c_k$ in all facts at once. Over labels $N^2c_k^2$ has the mean
    $\theta^2(\mu+\nu)(1+\frac{V-2}dQ)$, plus the same with ``common``, $\mu^2+\mu+\nu$ and 1 in
    place of $\theta^2$, $\mu+\nu$ and $Q$; and $c_k$ has nearly a gamma law. ``squares`` are $Q$,
    ``levels`` those of the labels that are favoured most."""
    size, theta, given = setting.vocab, values[symbolic.theta], dict(values)
    on = {name: given[switch] for name, switch in symbolic.SWITCHES.items()}
    mu, nu, others = given[symbolic.mu], given[symbolic.nu], (given[V] - 2) / given[d]
    by_count = on["label frequencies"] * theta**2 * (mu + nu)
    by_token = on["interference"] * common * (mu**2 + mu + nu)
    spread = np.sqrt(by_count * (1 + others * squares) + by_token * (1 + others)) / setting.samples
    if not np.any(spread):
        return np.ones(2**POINTS)
    terms, own = symbolic.recall_terms(), {**given, symbolic.k: np.sqrt(mu**2 + mu + nu)}
    signal = numeric(terms.signal)(given)[:, None]
    alone = numeric(symbolic.own_variance())(own) - by_token / setting.samples**2
    alone = (
        alone
        - given[symbolic.r]
        * (1 - 1 / given[d])
        * others
        * (by_count + by_token)
        / setting.samples**2
    )
    noise = np.sqrt(np.maximum(numeric(terms.noise)(given) + alone, TINY))[:, None]
    third = on["label frequencies"] * np.abs(theta) ** 3 * (mu + 3 * nu)
    skew = third / np.maximum(setting.samples * spread, TINY) ** 3
    law = StandardLaw(np.minimum(skew, 2.0), None)

    def deviations(tails: Array) -> Array:
        return np.asarray(
            (signal - spread[:, None] * law.quantile(-ndtri(tails), column=True)) / noise
        )

    edges = np.minimum(
        np.cumsum([0, *[1] * ALONE, *GROWTH ** np.arange(2, 60)]).astype(int), size - 1
    )
    edges = np.unique(edges)
    ranks = (edges[1:] + edges[:-1]) // 2
    last, drawn = levels[:, -1:], levels.shape[1]
    beyond = last + (1 - last) * (ranks - drawn + 0.5) / max(size - drawn, 1)
    tails = np.where(ranks < drawn, levels[:, np.minimum(ranks, drawn - 1)], beyond)
    realised = log_ndtr(deviations(np.repeat(tails, FACTS, axis=0))) @ np.diff(edges)
    grid = np.concatenate([[0.0], np.geomspace(1 / (64 * size), 1, 40)])
    mean = ndtr(deviations((grid[1:] + grid[:-1]) / 2)) @ np.diff(grid)
    return np.asarray(realised / np.minimum((size - 1) * np.log(np.maximum(mean, 1e-300)), -TINY))
