r"""Unequal facts in numbers: power sums of a setting's frequencies, and where lock-on breaks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.optimize import brentq
from scipy.special import ndtr

from recallbook.arguments import check_share, not_allowed
from recallbook.setting import Setting, fact_frequencies, other_frequencies
from recallbook.theory.symbolic import unequal_terms as symbolic
from recallbook.theory.symbolic.expressions import Values, numeric, power, q, trace
from recallbook.theory.unequal import label_choice
from recallbook.theory.values import effective_dim, sizes
from recallbook_studies.ch11 import breaking

DEGREES = 6  # power sums up to this degree; of facts also their reciprocals, down to -2
Frequencies = Float64[np.ndarray, " V"]


class Laws(NamedTuple):
    """Frequencies of facts and of other tokens, each ``(V,)``."""

    facts: Frequencies
    others: Frequencies


def laws(setting: Setting) -> Laws:
    r"""$p_v\propto(v+1)^{-\alpha}$ of facts and of other tokens."""
    return Laws(fact_frequencies(setting), other_frequencies(setting))


def power_sums(found: Laws) -> Values:
    r"""$P_{i,j}=\sum_vp_v^ip_v'^j$ by symbol."""
    degrees = [
        (i, j)
        for i in range(-2, DEGREES + 1)
        for j in range(DEGREES + 1)
        if i < 0 or 1 < i + j <= DEGREES
    ]
    return {power(i, j): float(np.sum(found.facts**i * found.others**j)) for i, j in degrees}


def covariance_moments(setting: Setting) -> Values:
    r"""$s_j=\mathrm{tr}\,S^j$ of the law of embeddings, by symbol."""
    law, dim = setting.law, effective_dim(setting)
    return {trace(j): law.trace(j, dim) for j in range(2, 2 * DEGREES)}


def values(setting: Setting) -> Values:
    """Sizes, power sums and moments of the covariance; ``f`` and ``q`` are arrays over tokens."""
    found = laws(setting)
    arrays: Values = {symbolic.f: found.facts, q: found.others}
    return {**sizes(setting), **power_sums(found), **covariance_moments(setting), **arrays}


class Lead(NamedTuple):
    """The most frequent token's mean score over the mark's, and how far the lead over both others
    scatters."""

    quotient: float
    deviation: float

    @property
    def ahead(self) -> float:
        """Share of draws in which the token outscores the mark of a rare fact; a normal closure."""
        return float(ndtr((self.quotient - 1) / self.deviation))


def lead(setting: Setting) -> Lead:
    r"""$\mathbb E\,S_1/\mathbb E\,M$ and the deviation of $(S_1-S_a-M)/\mathbb E\,M$, to first
    order in $1/d$. Ours.

    Raises
    ------
    ValueError
        If the setting has a remedy, other tokens of another law, embeddings that are not Gaussian,
        or one token.
    """
    others = (
        setting.other_zipf is not None
        or setting.law.geometry != "normal"
        or setting.width is not None
    )
    if others or label_choice(setting) != "none" or setting.seq_len == 1:
        raise not_allowed(
            "setting",
            setting,
            "Zipf's law of all tokens, Gaussian embeddings, no remedy, L above 1",
        )
    at = {**values(setting), q: float(laws(setting).facts[0])}
    quotient, variance = (
        float(numeric(part)(at)) for part in (breaking.quotient(), breaking.variance())
    )
    return Lead(quotient, math.sqrt(variance))


def broken_share(setting: Setting) -> float:
    r"""$(1-p_1)\,P(\text{present})\,P(\text{ahead})$: sequences that the most frequent token takes
    from the mark. Ours.

    It is not their informative token, stands in them, and is ahead in this draw. What other tokens
    take is left out."""
    if setting.seq_len == 1:
        return 0.0
    top = float(laws(setting).facts[0])
    return float((1 - top) * (1 - (1 - top) ** (setting.seq_len - 1)) * lead(setting).ahead)


def critical_zipf(
    vocab: int,
    seq_len: int,
    dim: int,
    samples: int,
    *,
    level: float = 0.5,
    trigger_in_values: bool = False,
) -> float:
    r"""Exponent $\alpha$ of all tokens at which lock-on falls below ``level``; 4 if it does
    nowhere. Ours.

    By :func:`broken_share`.

    Raises
    ------
    ValueError
        If a size or the level is bad.
    """
    level = check_share("level", level)
    equal = Setting(
        vocab=vocab, seq_len=seq_len, dim=dim, samples=samples, trigger_in_values=trigger_in_values
    )

    def excess(exponent: float) -> float:
        return 1 - broken_share(replace(equal, zipf=float(exponent))) - level

    # the first crossing: very frequent tokens are facts too, and lock-on returns
    grid = np.arange(1, 161) / 40
    below = next((exponent for exponent in grid if excess(exponent) < 0), None)
    if below is None:
        return 4.0
    return float(brentq(excess, below - 1 / 40, below))
