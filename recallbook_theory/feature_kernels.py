r"""What the fixed random MLP makes of overlaps: near zero for step 2, at norm one for step 3.

With $x=\omega^\top h$, $x'=\omega^\top h'$ and $\omega\sim N(0,I/s^2)$, the mean of $g(h)^\top
g(h')$ over neurons is $K=\mathbb E\,\phi(x)\phi(x')=\sum_k\phi_k(a)\phi_k(a')\rho^k$; a finite
width adds its own fluctuations. Near zero both are expanded; at norm one they are averaged over
draws of embeddings and neurons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial.hermite_e import hermegauss

from recallbook_theory import hermite
from recallbook_theory.hermite import Phi
from recallbook_theory.symbolic import lock_terms, recall_terms
from recallbook_theory.symbolic.expressions import Array, Values

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

    from recallbook.embedding_laws import Law

Points = Float[np.ndarray, " points"]
Coefficients = Float[np.ndarray, "points k"]
ORDER = 16  # of the series in the overlap; what is left at small rho is below 1e-4
VARIANCES = np.geomspace(1e-2, 12, 160)  # grid of pre-activation variances, interpolated
ANGLES, ANGLE_WEIGHTS = hermegauss(5)  # fluctuations of an overlap, or of a pre-activation
ANGLE_WEIGHTS = ANGLE_WEIGHTS / ANGLE_WEIGHTS.sum()
DRAWS = 32  # of trigger and neurons
ASKED = 128  # tokens of each that are asked
STORED = 256  # and stored
POOL = 16  # triggers of which one is taken for a draw
# fixed points come in an order; a shuffled one leaves nothing to what a draw's number says about
# them
SHUFFLED = np.random.default_rng(0).permutation(DRAWS * ASKED)
NEURONS = 2048  # at most so many are drawn
# Groups of a draw's overlaps from the smallest to the largest, finer at the end that can win
EDGES = np.array([0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.93, 0.97, 0.985, 0.993, 0.998, 1])
OVERLAP_WEIGHTS = np.diff(EDGES)


@lru_cache(maxsize=512)
def near_zero(activation: Phi, seq_len: int, vocab: int, *, dim: float, tau: int) -> Values:
    r"""What step 2 sees of $\phi$ at the variance $a$ of a mean value's pre-activation;
    $s^2$-scaled ("With the MLP", appendix of chapter 5).

    $|\bar e'|^2\approx\frac1L+\frac RV+\frac\tau{L^2}$ before division by $s^2=1+\tau$. By symbol:
    $k_s,k_o$ are $\partial_cK$ for sequences with the same and with different labels, and $k_2$ its
    mean square over pairs of the latter; $k_b$ is $k_o+2\partial_aK$; $k_1=\frac d{da}\mathbb
    E\,\phi^2$, a sequence meeting itself; $p_o,p_1$ are $s\,\mathbb E\,\phi'\phi$ for a pair and
    for one; $e=s^2\,\mathbb E\,\phi'^2\,\mathbb E\,\phi^2$, what a finite width scatters."""
    s2 = 1.0 + tau
    shared = (1 - 1 / seq_len) / vocab + tau / seq_len**2
    a = (1 / seq_len + shared) / s2
    phi = hermite.hermite_coefficients(activation, a, ORDER)
    order = np.arange(ORDER + 1.0)
    slope = np.sqrt(order[1:]) * phi[1:] / math.sqrt(a)  # coefficients of phi'
    second = np.sqrt(order[1:-1]) * slope[1:] / math.sqrt(a)  # and of phi''
    # correlation of two mean values with different labels, and with the same
    other, same = shared / (a * s2), (shared + 1 / seq_len**2) / (a * s2)

    def series(first: Array, by: Array, rho: float) -> float:
        count = min(len(first), len(by))
        return float(np.sum(first[:count] * by[:count] * rho ** order[:count]))

    moments = hermite.moment_table(activation, np.array([a]))
    # of the overlap of two mean values
    jitter = math.sqrt(1 / dim + 1 / vocab) / (seq_len * s2 * a)
    pairs = [
        series(slope, slope, float(np.clip(other + jitter * angle, -1, 1))) for angle in ANGLES
    ]
    return {
        lock_terms.k_same: series(slope, slope, min(same, 1.0)),
        lock_terms.k_other: series(slope, slope, other),
        lock_terms.k_square: float(ANGLE_WEIGHTS @ np.square(pairs)),
        lock_terms.k_bias: series(slope, slope, other) + series(second, phi, other),
        lock_terms.k_own: float(moments.growth[0]),
        lock_terms.p_other: math.sqrt(s2) * series(slope, phi, other),
        lock_terms.p_own: math.sqrt(s2) * float(moments.product[0]),
        lock_terms.spread: s2 * float(moments.slope_square[0] * moments.square[0]),
    }


class Drawn(NamedTuple):
    """Overlaps by symbol, and their law over stored tokens: deviations at ``OVERLAP_WEIGHTS``,
    ``(points, groups)``."""

    overlaps: Values
    law: Array


@lru_cache(maxsize=64)
def drawn_overlaps(
    law: Law, dim: int, width: int, *, activation: Phi, tau: int, stored: int
) -> Drawn:
    r"""Overlaps, the symbols of :data:`recallbook_theory.symbolic.recall_terms.LINEAR`, in the
    features of ``DRAWS`` drawn MLPs.

    Each draw has its trigger, neurons, asked tokens and ``stored`` tokens; each asked token is a
    point. What is averaged in closed form elsewhere, over output embeddings and counts, is not
    drawn. J is the variance over stored tokens of the kernel of infinite width, F what is left of
    the variance of the overlaps. Neurons beyond ``NEURONS`` only divide F. Every size draws the
    first rows of the same numbers, so a search over widths sees little noise."""
    drawn = min(width, NEURONS)
    narrow = _draws(law, dim, drawn, activation=activation, tau=tau, stored=stored)
    scattered = {recall_terms.F: narrow.overlaps[recall_terms.F] * (drawn / width)}
    return narrow._replace(overlaps={**narrow.overlaps, **scattered})


@lru_cache(maxsize=64)
def _draws(law: Law, dim: int, width: int, *, activation: Phi, tau: int, stored: int) -> Drawn:
    draws, triggers = [], _triggers(law, dim, width, activation)
    for draw in range(DRAWS):
        rng = np.random.default_rng([17, draw])
        vectors = _random_vectors(law, dim, rng, 1 + ASKED + stored)
        neurons = rng.standard_normal((width, vectors.shape[1]))
        if tau:
            length, along = next(triggers)
            trigger = vectors[0] / np.linalg.norm(vectors[0])
            vectors[0] = length * trigger
            neurons += np.outer(along - neurons @ trigger, trigger)
        draws.append(_one_draw(activation, vectors, neurons / math.sqrt(1 + tau), tau))
    overlaps = {
        symbol: np.concatenate([part.overlaps[symbol] for part in draws])[SHUFFLED]
        for symbol in draws[0].overlaps
    }
    laws = np.concatenate([part.law for part in draws])
    return Drawn(overlaps, laws[SHUFFLED])


def _triggers(law: Law, dim: int, width: int, activation: Phi) -> Iterator[tuple[float, Array]]:
    r"""Length of the trigger and every neuron's part along it, for each draw.

    What all stored vectors share, $\theta=\frac1m\sum_r(\mathbb E_z\,\phi(\omega_r^\top(t+z)))^2$,
    decides recall and scatters widely with few neurons. So ``DRAWS * POOL`` triggers are drawn and
    put in the order of their $\theta$; each draw takes the middle of the next ``POOL``. The mean
    over $z$ is one over a normal variable, as $\omega_r^\top z$ is one."""
    rng = np.random.default_rng(19)
    lengths = np.linalg.norm(_random_vectors(law, dim, rng, DRAWS * POOL), axis=1)
    along = rng.standard_normal((width, DRAWS * POOL))  # omega_r along each trigger
    inputs = ((lengths * along)[..., None] + ANGLES) / math.sqrt(2)
    shared = hermite.values(activation, inputs) @ ANGLE_WEIGHTS  # E_z phi, by neuron and trigger
    by_theta = np.argsort(np.mean(shared**2, axis=0), kind="stable")
    for middle in by_theta[POOL // 2 :: POOL]:
        yield lengths[middle], along[:, middle]


def _one_draw(activation: Phi, vectors: Array, neurons: Array, tau: int) -> Drawn:
    """The overlaps of ``ASKED`` tokens with the others, after the trigger in ``vectors``."""
    tokens, width = vectors[1:], len(neurons)
    located = tokens + tau * vectors[0]

    def features(inputs: Array) -> Array:
        return hermite.values(activation, inputs @ neurons.T) / math.sqrt(width)

    images = features(located)
    asked, stored = images[:ASKED], images[ASKED:]
    overlap = asked @ stored.T
    infinite_width = _kernel(activation, located[:ASKED], located[ASKED:], 1.0 + tau)
    variance, J = overlap.var(axis=1, ddof=1), infinite_width.var(axis=1, ddof=1)
    untriggered = overlap if not tau else asked @ features(tokens[ASKED:]).T
    H, theta = np.sum(asked**2, axis=1), overlap.mean(axis=1)
    groups = np.quantile(overlap, (EDGES[1:] + EDGES[:-1]) / 2, axis=1).T - theta[:, None]
    groups = groups - (groups @ OVERLAP_WEIGHTS)[:, None]
    spread = np.sqrt(groups**2 @ OVERLAP_WEIGHTS)[:, None]
    overlaps = {
        recall_terms.H: H,
        recall_terms.theta: theta,
        recall_terms.theta2: theta**2,
        recall_terms.J: np.minimum(variance, J),
        recall_terms.F: np.maximum(variance - J, 0),
        recall_terms.B: np.mean(untriggered**2, axis=1),
        recall_terms.again: np.sum(asked * features(tokens[:ASKED]), axis=1) if tau else H,
    }
    law = np.divide(groups, spread, out=np.zeros_like(groups), where=spread > 0)
    return Drawn(overlaps, law)


def _random_vectors(law: Law, dim: int, rng: np.random.Generator, count: int) -> Array:
    """Embeddings in as few coordinates as hold their inner products, ``(count, min(dim,
    count))``."""
    if law.geometry == "orthonormal":
        return np.eye(count)
    vectors = law.rows(rng.standard_normal((dim, count)).T)
    return np.asarray(vectors if dim <= count else np.linalg.cholesky(vectors @ vectors.T))


def _kernel(activation: Phi, left: Array, right: Array, scale: float) -> Array:
    """The kernel of infinite width between rows, by (eq-mehler, chapter 7) at their own lengths."""
    a, b = (np.sum(rows**2, axis=1) / scale for rows in (left, right))
    rho: Array = left @ right.T / scale / np.sqrt(a[:, None] * b)
    total: Array = np.zeros_like(rho)
    first, second = _coefficients(activation, a), _coefficients(activation, b)
    for order in range(ORDER, -1, -1):  # Horner
        total = total * rho + np.outer(first[:, order], second[:, order])
    return total


def _coefficients(activation: Phi, a: Points) -> Coefficients:
    """Hermite coefficients at these variances, linear in their logarithm between the points of a
    grid."""
    variances = np.clip(a, VARIANCES[0], VARIANCES[-1])
    return np.asarray(_table(activation)(np.log(variances)))


@lru_cache(maxsize=32)
def _table(activation: Phi) -> BSpline:
    from scipy.interpolate import make_interp_spline  # slow to load, and of no use without an MLP

    table = hermite.coefficient_table(activation, VARIANCES, ORDER)
    return make_interp_spline(np.log(VARIANCES), table, k=1)
