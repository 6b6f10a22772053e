r"""The error under Zipf's law in numbers: perfect attention, weighted by frequency."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import poisson

from recallbook.arguments import not_allowed
from recallbook.setting import Setting
from recallbook.theory.symbolic.expressions import Values, numeric
from recallbook.theory.values import length_variance, sizes
from recallbook_studies.ch11 import rare_facts as symbolic
from recallbook_studies.ch11.frequencies import laws

ALONE = 32  # the most frequent facts, each for itself; others in blocks of equal logarithmic width
BLOCK_WIDTH = 0.08
NODES = 21  # of the right logit's chance
QUANTILES = 8  # of how often the asked fact was seen, if it was


class Blocks(NamedTuple):
    """Frequencies of neighbouring facts ``(B,)``, and how many each stands for."""

    frequencies: Float64[np.ndarray, " B"]
    sizes: Float64[np.ndarray, " B"]


def blocks(frequencies: Float64[np.ndarray, " V"]) -> Blocks:
    """Facts in order of frequency: the first alone, then means over blocks of 8 per cent of their
    rank."""
    vocab = len(frequencies)
    count = max(1, int(np.log(max(vocab, ALONE + 1) / ALONE) / BLOCK_WIDTH))
    inner = (
        np.unique(np.geomspace(ALONE, vocab, count + 1).astype(int))
        if vocab > ALONE
        else np.array([vocab])
    )
    edges = np.concatenate([np.arange(inner[0]), inner])
    sums = np.add.reduceat(frequencies, edges[:-1])
    return Blocks(sums / np.diff(edges), np.diff(edges).astype(float))


def error_with_perfect_attention(setting: Setting) -> float:
    r"""One minus accuracy when attention always sits on the mark (such as at $L=1$), weighted by
    frequency.

    $\sum_vp_v\big(1-\mathbb E\prod_k\Phi(\text{margin})\big)$ with a Poisson number of sequences
    about $v$, wrong labels as if independent, and weights of other facts at their means. A fact
    never seen counts as lost. Ours; no fitted constant. Within 0.03 and two standard errors of
    ``zipf_error``, which ``tests/test_frequencies.py`` checks.

    Raises
    ------
    ValueError
        With an MLP.
    """
    if setting.width is not None:
        raise not_allowed("width", setting.width, "None with unequal facts")
    total, alike = float(setting.samples), setting.loss_weights == "inverse"
    facts = blocks(laws(setting).facts)
    shown = blocks(np.full(setting.vocab, 1 / setting.vocab)) if setting.balanced else facts
    seen = -np.expm1(-total * shown.frequencies)  # share of each block's facts that the batch holds
    weights = seen / setting.vocab if alike else shown.frequencies
    second = (
        seen / setting.vocab**2 if alike else weights**2 + weights / total
    )  # mean square weight
    levels = 1 - seen * (np.arange(QUANTILES)[:, None] + 0.5) / QUANTILES  # of facts that were seen
    counts = poisson.ppf(levels[:1] if alike else levels, total * shown.frequencies)  # (Q, B)
    own = 0 * counts + 1 / setting.vocab if alike else counts / total
    at_zero = _predictions_at_zero(setting, shown, own, float(facts.sizes @ weights))
    trained = setting.output_bias == "trained"
    at_zero_mean = weights if trained else at_zero.mean(axis=0)
    drift = weights - at_zero_mean
    at: Values = {
        **sizes(setting),
        symbolic.wrong: np.sqrt(second),
        symbolic.squares: float(facts.sizes @ second),
        symbolic.wrong_pull: drift,
        symbolic.pull: 0.0
        if trained
        else float(facts.sizes @ (second + (at_zero_mean - 2 * weights) * at_zero_mean)),
        symbolic.wrong_zero: at_zero_mean,
        symbolic.own_zero: at_zero[:, :, None],
        symbolic.lengths: length_variance(setting),
        symbolic.weight: own[:, :, None],
        symbolic.own_pull: (own - at_zero)[:, :, None],
    }
    recalled = sum(
        share * np.exp(log_ndtr(margins) @ facts.sizes - log_ndtr(np.einsum("qbb->qb", margins)))
        for share, margins in _margins(at)
    )
    return float(1 - (facts.frequencies * facts.sizes) @ (seen * recalled.mean(axis=0)))


def _predictions_at_zero(
    setting: Setting, shown: Blocks, own: Float64[np.ndarray, "Q B"], total: float
) -> Float64[np.ndarray, "Q B"]:
    """What the weighted residuals subtract from each label, ``total`` being the sum of all
    weights."""
    even = setting.balanced or setting.loss_weights == "inverse"
    if setting.output_bias == "trained":
        return own
    if setting.output_bias == "none" or even:
        return np.full_like(own, total / setting.vocab)
    return np.broadcast_to(shown.frequencies, own.shape)


def _margins(at: Values) -> Iterator[tuple[float, Float64[np.ndarray, "Q B B"]]]:
    """Margins of each block against each, at the nodes of the right logit's chance, with their
    shares."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
    for node, share in zip(nodes, shares / shares.sum(), strict=True):
        yield float(share), numeric(symbolic.margin())({**at, symbolic.chance: node})


def uncovered_mass(setting: Setting) -> float:
    r"""$\sum_vp_v(1-p_v)^N$, the sum itself."""
    facts = laws(setting).facts
    return float(facts @ (1 - facts) ** setting.samples)


@cache
def floor_integral(exponent: float) -> float:
    r"""$I=\int_0^\infty y^{-\alpha}\big(1-\prod_{k\ge1}\Phi((k/y)^\alpha)\big)\,dy$ of the floor,
    for $\alpha>1$."""

    def lost(y: float) -> float:
        far = 12 * max(y, 1.0)  # (k/y)^alpha beyond 12: Phi is 1 to rounding
        return float(-np.expm1(np.sum(log_ndtr((np.arange(1, far + 1) / y) ** exponent))))

    body = quad(
        lambda y: y**-exponent * lost(y), 1e-3, 60, limit=400, points=[0.1, 0.5, 1, 2, 5, 10, 20]
    )[0]
    return float(body + 60 ** (1 - exponent) / (exponent - 1))


def plain_floor(exponent: float, dim: int, vocab: int) -> float:
    """The law of the floor, with many facts: at most the error that they leave to be lost."""
    first = 1 / float(np.sum(np.arange(1, vocab + 1, dtype=float) ** -exponent))
    at: Values = {**sizes(Setting(vocab=vocab, seq_len=1, dim=dim, samples=1))}
    names = {str(symbol): symbol for symbol in symbolic.plain_floor().free_symbols}
    own = {symbolic.p1: first, names["I"]: floor_integral(exponent), names["alpha"]: exponent}
    return float(numeric(symbolic.plain_floor())({**at, **own}))
