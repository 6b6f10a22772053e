r"""Step 3 when facts are not equally frequent, with perfect attention: the error against $N$ and
$d$. Ours.

Facts follow Zipf's law $p_v=p_1v^{-\alpha}$, the error is weighted by frequency; the trigger is out
of the values. Memories of this kind, a sum of outer products under Zipf's law, are those of
Cabannes, Dohmatob and Bietti (arXiv 2310.02984); constants and exponents here are derived from this
model's own noises, and measured.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy as sp
from jaxtyping import Float64
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import poisson

from recallbook.arguments import not_allowed
from recallbook.setting import Setting, fact_frequencies
from recallbook_theory.symbolic.expressions import N, Values, d, numeric
from recallbook_theory.values import length_variance, sizes

alpha = sp.Symbol("alpha", positive=True)  # exponent of Zipf's law
p1 = sp.Symbol("p_1", positive=True)  # the most frequent fact
integral = sp.Symbol("I", positive=True)  # floor_integral
weight, wrong = sp.symbols(
    "f_v f_k", nonnegative=True
)  # weights of the asked fact and of a wrong label's own
squares = sp.Symbol("F_2", positive=True)  # sum of squared weights of all facts
at_zero = sp.Symbol("c", nonnegative=True)  # predictions at zero
lengths = sp.Symbol("lambda", nonnegative=True)  # variance of a squared length
chance = sp.Symbol("xi", real=True)  # deviation of the right logit

ALONE = 32  # the most frequent facts, each for itself; others in blocks of equal logarithmic width
BLOCK_WIDTH = 0.08
NODES = 21  # of the right logit's chance
QUANTILES = 8  # of how often the asked fact was seen, if it was


@cache
def wrong_variance() -> sp.Expr:
    r"""Variance of a wrong label's logit; with $c=0$,

    $$\frac{F_2-f_v^2-f_k^2}{d^2}+\frac{f_k^2}d+\frac{f_v^2}d.$$

    All facts interfere through both embeddings; the label's own fact through the input alone, which
    is why frequent labels win; the asked fact through the output alone."""
    others = sp.Max(squares - weight**2 - wrong**2, 0)
    own = wrong**2 * (1 - 2 * at_zero) + at_zero**2 * squares
    return others / d**2 + own / d + (weight * (1 - at_zero)) ** 2 / d


@cache
def margin() -> sp.Expr:
    r"""Right logit over a wrong label's, in standard deviations of the latter.

    Means are $f_v(1-c)$ and $-cf_v$; ``xi`` is the right logit's own chance. Its variance are the
    other facts and $\lambda$, that of squared lengths of embeddings. Lengths count as far as the
    noise does not grow with them: of $|u_v|^2$ that of the asked fact, its share $o$ of the wrong
    label's variance, and of $|z_v|^2$ all do: $\lambda\big((1-\frac o2)^2+\frac{(1-o)^2}4\big)$."""
    signal = weight * (1 - at_zero)
    share = signal**2 / d / wrong_variance()
    long = lengths * ((1 - share / 2) ** 2 + (1 - share) ** 2 / 4) * signal**2
    scatter = sp.sqrt(sp.Max((squares - weight**2) / d**2 + long, 0))
    return (weight + chance * scatter) / sp.sqrt(wrong_variance())


@cache
def uncovered_law() -> sp.Expr:
    r"""For $\alpha>1$, $Np_1\gg1\gg Np_V$: $\frac{\Gamma(1-1/\alpha)}\alpha
    p_1^{1/\alpha}N^{-(1-1/\alpha)}$."""
    return sp.gamma(1 - 1 / alpha) / alpha * p1 ** (1 / alpha) * N ** -(1 - 1 / alpha)


def floor_law() -> sp.Expr:
    r"""Error that no $N$ removes with equal loss weights, $\alpha>1$: $p_1I\,d^{-(1-1/\alpha)/2}$.

    A fact loses against a label $k$ whose own fact weighs $p_k\ge\sqrt d\,p_v$, as often as not. In
    $y=vd^{-1/(2\alpha)}$ recall is $\prod_k\Phi\big((k/y)^\alpha\big)$, and $I$ is
    :func:`floor_integral`; interference of all facts is smaller by $d^{-1/2}$."""
    return p1 * integral * d ** (-(1 - 1 / alpha) / 2)


def blocks(
    frequencies: Float64[np.ndarray, " V"],
) -> tuple[Float64[np.ndarray, " B"], Float64[np.ndarray, " B"]]:
    """Frequencies of facts in order, the first alone, then means over blocks of 8 per cent of their
    rank; and how many each stands for."""
    vocab = len(frequencies)
    inner = np.array([vocab])
    if vocab > ALONE:
        count = max(1, int(np.log(vocab / ALONE) / BLOCK_WIDTH))
        inner = np.unique(np.geomspace(ALONE, vocab, count + 1).astype(int))
    edges = np.concatenate([np.arange(inner[0]), inner])
    held = np.diff(edges).astype(float)
    return np.add.reduceat(frequencies, edges[:-1]) / held, held


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
        With an MLP, the trigger in the values, a bias or balanced batches.
    """
    others = setting.width is not None or setting.trigger_in_values or setting.balanced
    if others or setting.output_bias != "none":
        raise not_allowed("setting", setting, "no MLP, bias, balance or trigger in the values")
    total, alike = float(setting.samples), setting.loss_weights == "inverse"
    frequencies, held = blocks(fact_frequencies(setting))
    seen = -np.expm1(-total * frequencies)  # share of each block's facts that the batch holds
    weights = seen / setting.vocab if alike else frequencies
    # mean square weight
    second = seen / setting.vocab**2 if alike else weights**2 + weights / total
    levels = 1 - seen * (np.arange(QUANTILES)[:, None] + 0.5) / QUANTILES  # of facts that were seen
    counts = poisson.ppf(levels[:1] if alike else levels, total * frequencies)  # (Q, B)
    own = 0 * counts + 1 / setting.vocab if alike else counts / total
    at: Values = {
        **sizes(setting),
        wrong: np.sqrt(second),
        squares: float(held @ second),
        at_zero: float(held @ weights) / setting.vocab,
        lengths: length_variance(setting),
        weight: own[:, :, None],
    }
    recalled = np.zeros(own.shape)
    nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
    for node, share in zip(nodes, shares / shares.sum(), strict=True):
        margins = log_ndtr(numeric(margin())({**at, chance: node}))  # (Q, B, B)
        recalled += share * np.exp(margins @ held - np.einsum("qbb->qb", margins))
    return float(1 - (frequencies * held) @ (seen * recalled.mean(axis=0)))


def uncovered_mass(setting: Setting) -> float:
    r"""$\sum_vp_v(1-p_v)^N$, the sum itself."""
    facts = fact_frequencies(setting)
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
    own = {p1: first, integral: floor_integral(exponent), alpha: exponent, d: dim}
    return float(numeric(floor_law())(own))
