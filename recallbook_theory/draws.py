r"""The law over draws of embeddings and data: how far one run may be from the mean that is
predicted. Ours; checked in "Quantiles over draws", appendix of chapter 9.

Fixed for a whole draw are the mark's score, the scatter and skewness of token scores, $|t|^2$ and
$Q$, at points of ``recallbook_theory.values``; how many of its $V$ tokens score above any level;
and which of its $V$ labels the batch favours, whatever is asked. Given these facts are independent,
but that their counts add up to $N$ and that a fact seen often disturbs all others: what a draw
recalls is a count, with the mean and the variance of that. No constant is fitted. 128 facts stand
for those of a draw, which widens a law by some 0.01: it shows where $V$ is in the thousands and
nothing that is shared decides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.special import log_ndtr, ndtr, ndtri

from recallbook.setting import Setting
from recallbook_theory.feature_kernels import OVERLAP_WEIGHTS, SHUFFLED, Drawn
from recallbook_theory.lock_on import Lock, ScoreLaws, StandardLaw, lock, lock_given, score_laws
from recallbook_theory.recall import (
    LARGEST_COUNT,
    fact_counts,
    log_chance,
    overlaps,
    own_counts,
    recall_values,
    stays_below,
)
from recallbook_theory.symbolic import lock_terms, recall_terms as symbolic
from recallbook_theory.symbolic.expressions import Array, N, V, Values, d, numeric
from recallbook_theory.values import (
    FAR,
    POINTS,
    binomial_quantile,
    effective_dim,
    normal,
    shared_by_tokens,
)

FACTS = 128  # of each draw; as many as there are asked tokens for one drawn MLP
BLOCK = 2**POINTS // FACTS  # draws at a time
DRAWS = 512
# of a draw's tokens or labels so many of the largest are drawn one by one; those below lie evenly
RANKS = 1024
# labels from the most favoured on: so many alone, then groups that grow by this factor
ALONE = 16
GROWTH = 1.5
TINY = 1e-12  # variance of what does not vary
MORE = 0.05  # of the scatter of counts, to see what it does
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
    shared = shared_by_tokens(setting)
    T, Q = (shared[symbol] + np.zeros(2**POINTS) for symbol in (lock_terms.T, lock_terms.Q))
    scores = score_laws(setting, without) if setting.seq_len > 1 else None
    blocks = []
    for first in range(0, DRAWS, BLOCK):
        block = slice(first, first + BLOCK)
        draws = np.repeat(np.arange(DRAWS)[block], FACTS)  # the draw of every point
        if scores:
            locks = _locks(setting, ScoreLaws(*(part[draws] for part in scores)), tokens[block])
        else:
            locks = lock(setting)
        asked = _asked(setting, T[draws])
        values = recall_values(setting, locks, asked.overlaps, without)
        favour = _favour(values, asked.common, Q[draws], labels[block])
        below = log_chance(setting, locks, values, asked.law)
        chance = np.exp(favour * below)
        effect = _effect(setting, locks, values, asked, (below, favour * chance))
        blocks.append(_moments(setting, locks, chance, effect))
    return DrawLaw(*(_counted(*moments) for moments in np.concatenate(blocks, axis=2)))


def _moments(setting: Setting, locks: Lock, chance: Array, effect: Array) -> Array:
    """Mean and variance of each outcome given each draw, ``(3, 2, BLOCK)``, over facts whose counts
    add up to N: without the variance that counts explain.

    What a fact adds to the share that is right is whether it is right itself, and its ``effect`` on
    all others."""
    many = setting.samples / setting.vocab > LARGEST_COUNT
    counts = normal("count") if many else fact_counts(setting.samples, setting.vocab)
    counts = counts.reshape(BLOCK, FACTS) - counts.mean()
    token, chance, effect = (part.reshape(BLOCK, FACTS) for part in (locks.token, chance, effect))
    effect = effect - effect.mean(axis=1, keepdims=True)
    found = []
    for share in (token, np.ones_like(token)):
        right, others = share * chance, share.mean(axis=1, keepdims=True) * effect
        mean = right.mean(axis=1)
        by_count = np.mean((right - mean[:, None] + others) * counts, axis=1) ** 2 / np.maximum(
            np.mean(counts**2, axis=1), TINY
        )
        square = np.mean(share * right + (2 * right + others) * others, axis=1)
        found.append((mean, (square - mean**2 - by_count) / setting.vocab))
    lock_on = locks.mean[::FACTS], locks.variance[::FACTS] / setting.vocab
    return np.array([found[0], lock_on, found[1]])


def _counted(mean: Array, variance: Array) -> Array:
    """Draws of a share with this mean and variance, which is a count of so many independent trials,
    in order."""
    mean, variance = np.clip(mean, 0, 1)[:, None], np.maximum(variance, TINY)[:, None]
    trials = np.clip(np.round(mean * (1 - mean) / variance), 1, 1e9)
    return np.sort(binomial_quantile(LEVELS, trials, mean) / trials, axis=None)


def _effect(
    setting: Setting, locks: Lock, values: Values, asked: Drawn, given: tuple[Array, Array]
) -> Array:
    r"""By how much each fact, as often as it was located, changes the number of all facts that are
    right: at every point, up to a constant.

    Its count $k$ is the same whatever is asked. With it grow the variance of its own label's logit,
    by $k^2$, and $\sum_jq_j^2$, the variance of all. To first order in both, as a fact is one of
    many: $(V-1)\,\mathbb E\big[\text{weight}\,(\Phi_k+k^2\,\partial\mathbb E\,\Phi)/\mathbb
    E\,\Phi\big]$, where $\Phi_k$ is the chance that the label stays below the right one.
    ``given`` are the log chance of the fact at each point, and its derivative's weight. What
    :func:`_favour` counts, the part of the overlap that stored vectors share, is left out."""
    log_chance_of, weight = given
    effect, rise, n = np.zeros_like(weight), np.zeros_like(weight), values[symbolic.n]
    if setting.samples / setting.vocab > LARGEST_COUNT:
        return effect
    terms, own_variance = symbolic.recall_terms(), numeric(symbolic.own_variance())
    # nothing is stored: all neurons may be silent
    with np.errstate(invalid="ignore", divide="ignore"):
        pull = np.nan_to_num(numeric(terms.pull)(values), posinf=0.0, neginf=0.0)
    signal, noise = numeric(terms.signal)(values), np.maximum(numeric(terms.noise)(values), TINY)
    more = {**values, symbolic.nu: values[symbolic.nu] + MORE * values[symbolic.mu]}
    alone = {**values, symbolic.J: np.maximum(values[symbolic.J] - asked.common, 0)}
    noisier, weights = (
        np.maximum(numeric(terms.noise)(more), TINY),
        OVERLAP_WEIGHTS if asked.law.shape[1] else [1.0],
    )
    dim = effective_dim(setting) if setting.law.geometry == "spherical" else FAR
    weight = weight * (setting.vocab - 1) * np.exp(-log_chance_of / (setting.vocab - 1))

    def of_draw(change: Array) -> Array:
        return np.repeat((weight * change).reshape(BLOCK, FACTS).mean(axis=1), FACTS)

    for k, chance in own_counts(setting, locks):
        own = own_variance({**alone, symbolic.k: k}) * pull**2
        stays, rarer = (
            weights @ np.atleast_2d(stays_below(signal, some, own, law=asked.law.T, dim=dim))
            for some in (noise, noisier)
        )
        effect += (n == k) * of_draw(stays)
        rise += chance * (rarer - stays)
    return np.asarray(effect + n**2 * of_draw(rise / (MORE * values[symbolic.mu])))


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


def _asked(setting: Setting, T: Array) -> Drawn:
    """Overlaps of the facts of each draw; with the MLP those of one drawn MLP belong together."""
    found = overlaps(setting, T)
    if setting.width is None:
        return found
    together = np.argsort(SHUFFLED)
    return Drawn(
        {symbol: part[together] for symbol, part in found.overlaps.items()},
        found.law[together],
        found.common[together],
    )


def _favour(values: Values, common: Array, Q: Array, levels: Array) -> Array:
    r"""By how much the labels of a draw multiply the log chance of each of its facts:
    $\sum_k\log\Phi$ of its own $V-1$ labels, over $(V-1)\log\mathbb E\,\Phi$ of random ones.

    $\Phi$ is the chance that label $k$ stays below the right one given $c_k$, by which the batch
    favours it in all facts at once. The labels favoured most are at ``levels`` ``(BLOCK, ranks)``,
    each draw has ``FACTS`` points."""
    c, law, noise = _favours(values, common, Q)
    if not np.any(c):
        return np.ones(2**POINTS)
    signal = numeric(symbolic.recall_terms().signal)(values)

    def margins(tails: Array) -> Array:
        """In deviations, against labels that a share ``tails`` of all exceeds in favour."""
        favour = c[:, None] * law.quantile(-ndtri(tails), column=True)
        return np.asarray((signal[:, None] - favour) / noise[:, None])

    tails, sizes = _grouped(levels, values[V])
    realised = log_ndtr(margins(np.repeat(tails, FACTS, axis=0))) @ sizes
    grid = np.concatenate([[0.0], np.geomspace(1 / (64 * values[V]), 1, 40)])
    mean = ndtr(margins((grid[1:] + grid[:-1]) / 2)) @ np.diff(grid)
    random = (values[V] - 1) * np.log(np.maximum(mean, 1e-300))
    return np.asarray(realised / np.minimum(random, -TINY))


def _favours(values: Values, common: Array, Q: Array) -> tuple[Array, StandardLaw, Array]:
    r"""Standard deviation of $c_k$ over labels, its law, and the standard deviation of the rest of
    a wrong logit, at every point.

    Of the overlap between an asked and a stored vector, the mean $\theta$ and a part of variance
    ``common`` that the stored one brings along are the same whatever is asked. So

    $N^2\,\mathbb E\,c_k^2=\theta^2(\mu+\nu)\big(1+\tfrac{V-2}dQ\big)+
    \text{common}\,(\mu^2+\mu+\nu)\big(1+\tfrac{V-2}d\big)$,

    where 1 stands for the label's own fact and $V-2$ for the others. $c_k$ has nearly a gamma law:
    of the third cumulant $|\theta|^3(\mu+3\nu)$ of its own count."""
    theta, mu, nu = values[symbolic.theta], values[symbolic.mu], values[symbolic.nu]
    others = (values[V] - 2) / values[d]
    frequencies = values[symbolic.SWITCHES["label frequencies"]]
    by_count = frequencies * theta**2 * (mu + nu)
    by_token = values[symbolic.SWITCHES["interference"]] * common * (mu**2 + mu + nu)
    c = np.sqrt(by_count * (1 + others * Q) + by_token * (1 + others)) / values[N]
    third = frequencies * np.abs(theta) ** 3 * (mu + 3 * nu)
    skew = third / np.maximum(values[N] * c, TINY) ** 3

    own = numeric(symbolic.own_variance())({**values, symbolic.k: np.sqrt(mu**2 + mu + nu)})
    across = values[symbolic.r] * (1 - 1 / values[d])
    # c_k is given: of the own fact's variance, and of that of the others, its part is no noise
    left = own - by_token / values[N] ** 2
    left = left - across * others * (by_count + by_token) / values[N] ** 2
    noise = np.sqrt(np.maximum(numeric(symbolic.recall_terms().noise)(values) + left, TINY))
    return c, StandardLaw(np.minimum(skew, 2.0), None), noise


def _grouped(levels: Array, size: int) -> tuple[Array, Array]:
    """Upper-tail probabilities ``(BLOCK, groups)`` of groups of the ``size - 1`` wrong labels, from
    the most favoured on, and how many labels each has."""
    steps = [0, *[1] * ALONE, *GROWTH ** np.arange(2, 60)]
    edges = np.unique(np.minimum(np.cumsum(steps).astype(int), size - 1))
    ranks = (edges[1:] + edges[:-1]) // 2
    last, drawn = levels[:, -1:], levels.shape[1]
    beyond = last + (1 - last) * (ranks - drawn + 0.5) / max(size - drawn, 1)
    tails = np.where(ranks < drawn, levels[:, np.minimum(ranks, drawn - 1)], beyond)
    return tails, np.diff(edges)
