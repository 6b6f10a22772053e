r"""What the fixed random MLP makes of overlaps: near zero for step 2, at norm one for step 3.

With $x=\omega^\top h$, $x'=\omega^\top h'$ and $\omega\sim N(0,I/s^2)$, the mean of $g(h)^\top g(h')$ over neurons is
$K=\mathbb E\,\phi(x)\phi(x')=\sum_k\phi_k(a)\phi_k(a')\rho^k$; a finite width adds its own fluctuations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

from recallbook.setting import Setting
from recallbook.theory import hermite
from recallbook.theory.hermite import Phi
from recallbook.theory.symbolic import lock_on, recall
from recallbook.theory.symbolic.expressions import Values
from recallbook.theory.values import is_far, length_variance

Array = NDArray[np.float64]
Points = Float[np.ndarray, " points"]
Coefficients = Float[np.ndarray, "points k"]
ORDER = 16  # of the series in the overlap; what is left at small rho is below 1e-4
VARIANCES = np.geomspace(1e-2, 12, 160)  # grid of pre-activation variances, interpolated
ANGLES, ANGLE_WEIGHTS = hermegauss(5)  # fluctuations of an overlap
LENGTHS, LENGTH_WEIGHTS = hermegauss(3)  # fluctuations of a length
ANGLE_WEIGHTS, LENGTH_WEIGHTS = ANGLE_WEIGHTS / ANGLE_WEIGHTS.sum(), LENGTH_WEIGHTS / LENGTH_WEIGHTS.sum()


@lru_cache(maxsize=512)
def near_zero(activation: Phi, seq_len: int, vocab: int, *, dim: float, tau: int) -> Values:
    r"""What step 2 sees of $\phi$ at the variance $a$ of a mean value's pre-activation; $s^2$-scaled.

    $|\bar e'|^2\approx\frac1L+\frac RV+\frac\tau{L^2}$ before division by $s^2$. By symbol: $k_s,k_o$ are
    $\partial_cK$ for sequences with the same and with different labels, and $k_2$ its mean square over pairs of the
    latter; $k_b$ is $k_o+2\partial_aK$; $k_1=\frac d{da}\mathbb E\,\phi^2$, a sequence meeting itself; $p_o,p_1$ are
    $s\,\mathbb E\,\phi'\phi$ for a pair and for one; $e=s^2\,\mathbb E\,\phi'^2\,\mathbb E\,\phi^2$, what a finite
    width scatters.
    """
    scale = 1.0 + tau
    shared = (1 - 1 / seq_len) / vocab + tau / seq_len**2
    a = (1 / seq_len + shared) / scale
    phi = hermite.hermite_coefficients(activation, a, ORDER).values
    order = np.arange(ORDER + 1.0)
    slope = np.sqrt(order[1:]) * phi[1:] / math.sqrt(a)  # coefficients of phi'
    second = np.sqrt(order[1:-1]) * slope[1:] / math.sqrt(a)  # and of phi''
    other, same = shared / (a * scale), (shared + 1 / seq_len**2) / (a * scale)

    def series(first: Array, by: Array, rho: float) -> float:
        count = min(len(first), len(by))
        return float(np.sum(first[:count] * by[:count] * rho ** order[:count]))

    moments = hermite.moment_table(activation, np.array([a]))
    jitter = math.sqrt(1 / dim + 1 / vocab) / (seq_len * scale * a)  # of the overlap of two mean values
    pairs = [series(slope, slope, float(np.clip(other + jitter * angle, -1, 1))) for angle in ANGLES]
    return {
        lock_on.k_same: series(slope, slope, min(same, 1.0)),
        lock_on.k_other: series(slope, slope, other),
        lock_on.k_square: float(ANGLE_WEIGHTS @ np.square(pairs)),
        lock_on.k_bias: series(slope, slope, other) + series(second, phi, other),
        lock_on.k_own: float(moments.growth[0]),
        lock_on.p_other: math.sqrt(scale) * series(slope, phi, other),
        lock_on.p_own: math.sqrt(scale) * float(moments.product[0]),
        lock_on.spread: scale * float(moments.slope_square[0] * moments.square[0]),
    }


class Asked(NamedTuple):
    r"""The asked vector $h=z_v+\tau t$ at every point: its ``square``, what it shares with all stored ones
    (``shared`` $=\tau t^\top h$) and with its own token (``again`` $=z_v^\top h$); ``trigger`` $=|t|^2$,
    ``token`` $=|z_v|^2$.
    """

    square: Points
    shared: Points
    again: Points
    trigger: Points
    token: Points


def linear_overlaps(asked: Asked, dim: float) -> Values:
    r"""Overlaps of :data:`recallbook.theory.symbolic.recall.OVERLAPS` for Attention-only: $g(h)=h$."""
    rest, nothing = asked.square / dim, np.zeros_like(asked.square)
    common = {recall.H: asked.square, recall.theta: asked.shared, recall.theta2: asked.shared**2}
    return {**common, recall.J: rest, recall.F: nothing, recall.B: rest, recall.again: asked.again}


class Endless(NamedTuple):
    """What :func:`overlaps` needs at every width: kernels over stored facts with and without the trigger, and more."""

    square: Points
    with_trigger: _OverFacts
    plain: _OverFacts
    known: Points
    again: Points


def endless(setting: Setting, asked: Asked, dim: float) -> Endless:
    """The part of :func:`overlaps` that takes long, and that the width does not enter."""
    tau, scale = float(setting.trigger_in_values), 1.0 + float(setting.trigger_in_values)
    table = _tables(setting.activation)
    jitter = length_variance(setting)
    marked = asked._replace(trigger=asked.trigger * tau)
    with_trigger = _over_facts(table, marked, jitter=jitter, dim=dim, scale=scale)
    plain = with_trigger
    if tau:
        nothing = np.zeros_like(asked.square)
        unmarked = asked._replace(shared=nothing, trigger=nothing)
        plain = _over_facts(table, unmarked, jitter=jitter, dim=dim, scale=scale)
    a, token = asked.square / scale, asked.token / scale
    alike = np.minimum(asked.again / np.sqrt(asked.square * asked.token), 1.0)
    again = _mehler(table.phi(a), table.phi(token), alike)
    return Endless(table.square(a), with_trigger, plain, _known(table, marked, scale), again)


def overlaps(setting: Setting, width: int, parts: Endless, chi: Points, psi: Points) -> Values:
    r"""Overlaps of the asked vector in the feature space of the MLP, by symbol: the rest, what so few neurons add.

    ``chi`` is a lognormal variable of mean 1 and variance :func:`square_variance`: the fluctuation of $|g(h)|^2$ over
    neurons. ``psi``, of variance ``marked(activation).variance / width``, is that of what all stored facts share in one
    draw.
    """
    square, with_trigger, plain, known, again = parts
    # neurons that see the trigger strongly make facts alike, large and noisy at once
    moves = marked(setting.activation)
    chi = chi * _power(psi, moves.square)
    one, together = chi / width, _power(psi, moves.scatter) / _power(psi, moves.square)
    apart = np.maximum(plain.met * one - plain.mean**2 / width, 0)
    shared = with_trigger.mean**2
    return {
        recall.H: square * chi,
        recall.theta: with_trigger.mean * psi,
        recall.theta2: shared * psi**2 + np.maximum(known * one - shared / width, 0) * psi,
        recall.J: with_trigger.variance * (1 - 1 / width) * psi,
        recall.F: np.maximum(with_trigger.met - known, 0) * one * together,
        recall.B: plain.variance + plain.mean**2 + apart,
        recall.again: again if setting.trigger_in_values else square * chi,
    }


def _power(variable: Points, exponent: float) -> Points:
    powered = variable**exponent
    return np.asarray(powered / powered.mean())


class _OverFacts(NamedTuple):
    """Mean and variance of the kernel over stored facts, and how strongly two facts meet in one neuron."""

    mean: Points
    variance: Points
    met: Points


def _over_facts(table: _Tables, asked: Asked, *, jitter: float, dim: float, scale: float) -> _OverFacts:
    r"""Averages over a stored $h_j=z_j+\tau t$, through $t^\top z_j$, $|z_j|^2$ and the rest of $h^\top z_j$.

    ``asked.trigger`` is $\tau|t|^2$. Lengths and overlaps are correlated through $t^\top z_j$.
    """
    square, theta, trigger = asked.square, asked.shared, asked.trigger
    left, left_squares = table.phi(square / scale), table.squares(square / scale)
    along = theta / np.maximum(trigger, 1e-12)  # h = along t + rest
    rest = np.sqrt(np.maximum(square - along * theta, 0) / dim)
    mean, second, met = (np.zeros_like(square) for _ in range(3))
    nodes = [(float(x), float(w)) for x, w in zip(LENGTHS, LENGTH_WEIGHTS, strict=True)]
    lengths = [(math.sqrt(jitter) * x, w) for x, w in nodes] if jitter > 0 else [(0.0, 1.0)]
    marks = nodes if trigger.any() and not is_far(dim) else [(0.0, 1.0)]
    for length, length_weight in lengths:
        for mark, mark_weight in marks:
            touching = np.sqrt(trigger / dim) * mark  # t . z_j
            stored = np.maximum(1 + length + trigger + 2 * touching, 0.05)
            right, norm = table.phi(stored / scale), np.sqrt(square * stored)
            right_squares = table.squares(stored / scale)
            for angle, angle_weight in zip(ANGLES, ANGLE_WEIGHTS, strict=True):
                rho = np.clip((theta + along * touching + rest * angle) / norm, -1, 1)
                kernel, weight = _mehler(left, right, rho), length_weight * mark_weight * angle_weight
                mean += weight * kernel
                second += weight * kernel**2
                met += weight * _mehler(left_squares, right_squares, rho)
    return _OverFacts(mean, np.maximum(second - mean**2, 0), met)


def _known(table: _Tables, asked: Asked, scale: float) -> Points:
    r"""$\mathbb E\,\phi(x)^2\psi(y)^2$: $\psi(y)$ is the mean of $\phi$ over stored facts given the trigger's $y$.

    ``asked.trigger`` is $\tau|t|^2$. $\psi$ is taken at the typical trigger, $|t|^2=1$, and scaled to the actual one by
    the kernel of two stored facts.
    """
    square, trigger = asked.square, asked.trigger
    phi = table.phi((1 + trigger) / scale)
    pair = _mehler(phi, phi, trigger / (1 + trigger))
    if not trigger.any():
        return np.asarray(table.square(square / scale) * pair)
    rho = asked.shared / np.sqrt(square * trigger)
    met = _mehler(table.squares(square / scale), np.broadcast_to(table.shared_squares, phi.shape), rho)
    known: Points = np.maximum(met, 0) * pair / table.shared_squares[0]
    return known


@lru_cache(maxsize=64)
def square_variance(activation: Phi, width: int) -> float:
    r"""Relative variance of $|g(h)|^2$ over neurons: $\mathrm{Var}\,\phi^2/(m(\mathbb E\,\phi^2)^2)$ at $a=1$."""
    moments = hermite.moment_table(activation, np.array([1.0]))
    return float((moments.fourth[0] / moments.square[0] ** 2 - 1) / width)


class Marked(NamedTuple):
    r"""How neurons that see the trigger strongly move everything in one draw, at the typical trigger.

    ``variance``: $m$ times the relative variance of $\frac1m\sum_r\psi(y_r)^2$, with $\psi(y)$ the mean of $\phi$ over
    stored facts given the trigger's $y$. ``square`` and ``scatter``: powers with which $|g(h)|^2$ and the finite-width
    scatter follow it, from regression over $y$.
    """

    variance: float
    square: float
    scatter: float


@lru_cache(maxsize=32)
def marked(activation: Phi) -> Marked:
    """Regressions over the trigger's pre-activation, by quadrature."""
    y, weights = hermite.normal_rule()
    halves = math.sqrt(0.5) ** np.arange(ORDER + 1)
    shared = hermite.evaluate(_shared(activation), y) ** 2
    asked = hermite.evaluate(_tables(activation).squares(np.ones(1))[0] * halves, y)  # mean of phi^2 given y
    scatter = asked * np.maximum(asked - shared, 0)
    mean, level = weights @ shared, [weights @ part for part in (asked, scatter)]
    variance = weights @ (shared / mean - 1) ** 2
    slopes = [
        float(weights @ ((part / at - 1) * (shared / mean - 1)) / variance)
        for part, at in zip((asked, scatter), level, strict=True)
    ]
    return Marked(float(variance), *slopes)


def _shared(activation: Phi) -> Array:
    r"""Hermite coefficients of $\psi$ at the typical trigger, in its normalised pre-activation."""
    return hermite.hermite_coefficients(activation, 1.0, ORDER).values * math.sqrt(0.5) ** np.arange(ORDER + 1)


class _Tables(NamedTuple):
    """Splines in the logarithm of the variance, linear between grid points, and $\\psi^2$ in Hermite coefficients."""

    coefficients: BSpline
    square_coefficients: BSpline
    shared_squares: Float[np.ndarray, " k"]  # of psi squared, in the trigger's normalised pre-activation
    means: BSpline

    def phi(self, a: Points) -> Coefficients:
        return _at(self.coefficients, a)

    def squares(self, a: Points) -> Coefficients:
        return _at(self.square_coefficients, a)

    def square(self, a: Points) -> Points:
        return _at(self.means, a)


@lru_cache(maxsize=32)
def _tables(activation: Phi) -> _Tables:
    def spline(table: Array) -> BSpline:
        return make_interp_spline(np.log(VARIANCES), table, k=1)

    phi = hermite.elementwise(activation)
    squares = hermite.coefficient_table(lambda x: phi(x) ** 2, VARIANCES, ORDER)
    return _Tables(
        spline(hermite.coefficient_table(activation, VARIANCES, ORDER)),
        spline(squares),
        hermite.project_square(_shared(activation)),
        spline(hermite.moment_table(activation, VARIANCES).square),
    )


def _at(spline: BSpline, a: Points) -> Array:
    """Values at these variances; at the ends of the grid beyond them."""
    found: Array = spline(np.log(np.clip(a, VARIANCES[0], VARIANCES[-1])))
    return found


def _mehler(left: Coefficients, right: Coefficients, rho: Points) -> Points:
    r"""$\sum_k\ell_kr_k\rho^k$."""
    total: Points = polyval(rho, (left * right).T, tensor=False)
    return total
