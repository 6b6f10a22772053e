r"""What the fixed random MLP makes of overlaps: near zero for step 2, at norm one for step 3.

With $x=\omega^\top h$, $x'=\omega^\top h'$ and $\omega\sim N(0,I/s^2)$, the mean of $g(h)^\top g(h')$ over neurons is
$K=\mathbb E\,\phi(x)\phi(x')=\sum_k\phi_k(a)\phi_k(a')\rho^k$; a finite width adds its own fluctuations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

from recallbook.hermite import (
    coefficient_table,
    elementwise,
    evaluate,
    hermite_coefficients,
    moment_table,
    normal_rule,
    project_square,
)
from recallbook.setting import Setting

Array = NDArray[np.float64]
ORDER = 16  # of the series in the overlap; what is left at small rho is below 1e-4
VARIANCES = np.geomspace(1e-2, 12, 160)  # grid of pre-activation variances, interpolated
ANGLES, ANGLE_WEIGHTS = hermegauss(5)  # fluctuations of an overlap
LENGTHS, LENGTH_WEIGHTS = hermegauss(3)  # fluctuations of a length
ANGLE_WEIGHTS, LENGTH_WEIGHTS = ANGLE_WEIGHTS / ANGLE_WEIGHTS.sum(), LENGTH_WEIGHTS / LENGTH_WEIGHTS.sum()


class NearZero(NamedTuple):
    r"""What step 2 sees of $\phi$ at the variance $a$ of a mean value's pre-activation; $s^2$-scaled.

    ``same``, ``other``: $\partial_cK$ for sequences with the same and with different labels, and ``other_square`` its
    mean square over pairs of the latter. ``bias``: the same plus
    $2\partial_aK$. ``own``: $\frac d{da}\mathbb E\,\phi^2$, a sequence meeting itself. ``neurons_other``,
    ``neurons_own``: $s\,\mathbb E\,\phi'\phi$ for a pair and for one. ``spread``:
    $s^2\,\mathbb E\,\phi'^2\,\mathbb E\,\phi^2$, what a finite width scatters.
    """

    same: float
    other: float
    other_square: float
    bias: float
    own: float
    neurons_other: float
    neurons_own: float
    spread: float


LINEAR = NearZero(1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # Attention-only


@lru_cache(maxsize=512)
def near_zero(activation: Any, seq_len: int, vocab: int, dim: float, tau: int) -> NearZero:
    r"""Step 2's numbers; $|\bar e'|^2\approx\frac1L+\frac RV+\frac\tau{L^2}$ before division by $s^2$."""
    scale = 1.0 + tau
    shared = (1 - 1 / seq_len) / vocab + tau / seq_len**2
    a = (1 / seq_len + shared) / scale
    phi = hermite_coefficients(activation, a, ORDER).values
    order = np.arange(ORDER + 1.0)
    slope = np.sqrt(order[1:]) * phi[1:] / math.sqrt(a)  # coefficients of phi'
    second = np.sqrt(order[1:-1]) * slope[1:] / math.sqrt(a)  # and of phi''
    other, same = shared / (a * scale), (shared + 1 / seq_len**2) / (a * scale)

    def series(first: Array, by: Array, rho: float) -> float:
        count = min(len(first), len(by))
        return float(np.sum(first[:count] * by[:count] * rho ** order[:count]))

    moments = moment_table(activation, np.array([a]))
    jitter = math.sqrt(1 / dim + 1 / vocab) / (seq_len * scale * a)  # of the overlap of two mean values
    pairs = [series(slope, slope, float(np.clip(other + jitter * angle, -1, 1))) for angle in ANGLES]
    return NearZero(
        same=series(slope, slope, min(same, 1.0)),
        other=series(slope, slope, other),
        other_square=float(ANGLE_WEIGHTS @ np.square(pairs)),
        bias=series(slope, slope, other) + series(second, phi, other),
        own=float(moments.growth[0]),
        neurons_other=math.sqrt(scale) * series(slope, phi, other),
        neurons_own=math.sqrt(scale) * float(moments.product[0]),
        spread=scale * float(moments.slope_square[0] * moments.square[0]),
    )


class Lookup(NamedTuple):
    r"""Overlaps that a looked-up token has in feature space, as arrays over draws.

    ``square``: $|g(h)|^2$. ``shared``: mean of $g(h)^\top g(h_j)$ over stored facts, and ``shared_square`` its mean
    square over neurons. ``scatter``: its variance from fact to fact, and ``neurons`` what a finite width adds.
    ``wrong``: mean square of the overlap with a token located wrongly, without the trigger. ``again``: overlap with
    the asked token located wrongly.
    """

    square: Array
    shared: Array
    shared_square: Array
    scatter: Array
    neurons: Array
    wrong: Array
    again: Array


def linear_lookup(asked: Array, theta: Array, again: Array, dim: float) -> Lookup:
    r"""Attention-only: $g(h)=h$, with ``asked`` $=|h|^2$, ``theta`` $=\tau\,t^\top h$, ``again`` $=z_v^\top h$."""
    return Lookup(asked, theta, theta**2, asked / dim, np.zeros_like(asked), asked / dim, again)


def lookup(
    setting: Setting,
    width: int,
    asked: Array,
    theta: Array,
    again: Array,
    trigger: Array,
    token: Array,
    dim: float,
    chi: Array,
    psi: Array,
) -> Lookup:
    r"""The same in the feature space of the MLP.

    ``trigger`` $=|t|^2$, ``token`` $=|z_v|^2$; ``chi`` is a lognormal variable of mean 1 and variance
    :func:`square_variance`: the fluctuation of $|g(h)|^2$ over neurons. ``psi``, of variance
    ``marked(activation).variance / width``, is that of what all stored facts share in one draw.
    """
    return at_width(setting, width, endless(setting, asked, theta, again, trigger, token, dim), chi, psi)


class Endless(NamedTuple):
    """What :func:`at_width` needs at every width: kernels over stored facts with and without the trigger, and more."""

    square: Array
    with_trigger: _OverFacts
    plain: _OverFacts
    known: Array
    caught: Array


def endless(
    setting: Setting, asked: Array, theta: Array, again: Array, trigger: Array, token: Array, dim: float
) -> Endless:
    """The part of :func:`lookup` that takes long, and that the width does not enter."""
    tau, scale = float(setting.trigger_in_values), 1.0 + float(setting.trigger_in_values)
    table = _tables(setting.activation)
    a = asked / scale
    jitter = 2 / dim if setting.embeddings == "gaussian" else 0.0
    with_trigger = _over_facts(table, asked, theta, trigger * tau, jitter, dim, scale)
    plain = _over_facts(table, asked, np.zeros_like(a), np.zeros_like(a), jitter, dim, scale) if tau else with_trigger
    known = _known(table, asked, theta, tau * trigger, scale)
    caught = _mehler(table.phi(a), table.phi(token / scale), np.minimum(again / np.sqrt(asked * token), 1.0))
    return Endless(table.square(a), with_trigger, plain, known, caught)


def at_width(setting: Setting, width: int, parts: Endless, chi: Array, psi: Array) -> Lookup:
    """The rest of :func:`lookup`: what so few neurons add."""
    square, with_trigger, plain, known, caught = parts
    # neurons that see the trigger strongly make facts alike, large and noisy at once
    moves = marked(setting.activation)
    chi = chi * _power(psi, moves.square)
    one, together = chi / width, _power(psi, moves.scatter) / _power(psi, moves.square)
    apart = np.maximum(plain.met * one - plain.mean**2 / width, 0)
    return Lookup(
        square * chi,
        with_trigger.mean * psi,
        with_trigger.mean**2 * psi**2 + np.maximum(known * one - with_trigger.mean**2 / width, 0) * psi,
        with_trigger.variance * (1 - 1 / width) * psi,
        np.maximum(with_trigger.met - known, 0) * one * together,
        plain.variance + plain.mean**2 + apart,
        caught if setting.trigger_in_values else square * chi,
    )


def _power(variable: Array, exponent: float) -> Array:
    powered = variable**exponent
    return powered / powered.mean()


class _OverFacts(NamedTuple):
    """Mean and variance of the kernel over stored facts, and how strongly two facts meet in one neuron."""

    mean: Array
    variance: Array
    met: Array


def _over_facts(
    table: _Tables, asked: Array, theta: Array, trigger: Array, jitter: float, dim: float, scale: float
) -> _OverFacts:
    r"""Averages over a stored $h_j=z_j+\tau t$, through $t^\top z_j$, $|z_j|^2$ and the rest of $h^\top z_j$.

    ``trigger`` is $\tau|t|^2$ and ``theta`` $\tau\,t^\top h$. Lengths and overlaps are correlated through $t^\top z_j$.
    """
    left, left_squares = table.phi(asked / scale), table.squares(asked / scale)
    along = theta / np.maximum(trigger, 1e-12)  # h = along t + rest
    rest = np.sqrt(np.maximum(asked - along * theta, 0) / dim)
    mean, second, met = (np.zeros_like(asked) for _ in range(3))
    nodes = [(float(x), float(w)) for x, w in zip(LENGTHS, LENGTH_WEIGHTS, strict=True)]
    lengths = [(math.sqrt(jitter) * x, w) for x, w in nodes] if jitter > 0 else [(0.0, 1.0)]
    marks = nodes if trigger.any() and dim < 1e6 else [(0.0, 1.0)]
    for length, length_weight in lengths:
        for mark, mark_weight in marks:
            touching = np.sqrt(trigger / dim) * mark  # t . z_j
            stored = np.maximum(1 + length + trigger + 2 * touching, 0.05)
            right, norm = table.phi(stored / scale), np.sqrt(asked * stored)
            right_squares = table.squares(stored / scale)
            for angle, angle_weight in zip(ANGLES, ANGLE_WEIGHTS, strict=True):
                rho = np.clip((theta + along * touching + rest * angle) / norm, -1, 1)
                kernel, weight = _mehler(left, right, rho), length_weight * mark_weight * angle_weight
                mean += weight * kernel
                second += weight * kernel**2
                met += weight * _mehler(left_squares, right_squares, rho)
    return _OverFacts(mean, np.maximum(second - mean**2, 0), met)


def _known(table: _Tables, asked: Array, theta: Array, trigger: Array, scale: float) -> Array:
    r"""$\mathbb E\,\phi(x)^2\psi(y)^2$: $\psi(y)$ is the mean of $\phi$ over stored facts given the trigger's $y$.

    $\psi$ is taken at the typical trigger, $|t|^2=1$, and scaled to the actual one by the kernel of two stored facts.
    """
    a = (1 + trigger) / scale
    phi = table.phi(a)
    pair = _mehler(phi, phi, trigger / (1 + trigger))
    if not trigger.any():
        return table.square(asked / scale) * pair
    rho = theta / np.sqrt(asked * trigger)
    met = _mehler(table.squares(asked / scale), np.broadcast_to(table.shared_squares, phi.shape), rho)
    return np.maximum(met, 0) * pair / table.shared_squares[0]


@lru_cache(maxsize=64)
def square_variance(activation: Any, width: int) -> float:
    r"""Relative variance of $|g(h)|^2$ over neurons: $\mathrm{Var}\,\phi^2/(m(\mathbb E\,\phi^2)^2)$ at $a=1$."""
    moments = moment_table(activation, np.array([1.0]))
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
def marked(activation: Any) -> Marked:
    """Regressions over the trigger's pre-activation, by quadrature."""
    y, weights = normal_rule()
    halves = math.sqrt(0.5) ** np.arange(ORDER + 1)
    shared = evaluate(_shared(activation), y) ** 2
    asked = evaluate(_tables(activation).squares(np.ones(1))[0] * halves, y)  # mean of phi^2 given y
    scatter = asked * np.maximum(asked - shared, 0)
    mean, level = weights @ shared, [weights @ part for part in (asked, scatter)]
    variance = weights @ (shared / mean - 1) ** 2
    slopes = [
        float(weights @ ((part / at - 1) * (shared / mean - 1)) / variance)
        for part, at in zip((asked, scatter), level, strict=True)
    ]
    return Marked(float(variance), *slopes)


def _shared(activation: Any) -> Array:
    r"""Hermite coefficients of $\psi$ at the typical trigger, in its normalised pre-activation."""
    return hermite_coefficients(activation, 1.0, ORDER).values * math.sqrt(0.5) ** np.arange(ORDER + 1)


class _Tables(NamedTuple):
    grid: Array
    coefficients: Array  # (grid, ORDER + 1)
    square_coefficients: Array
    shared_squares: Array  # of psi squared, in the trigger's normalised pre-activation (ORDER + 1,)
    means: Array

    def phi(self, a: Array) -> Array:
        return _interpolate(self.grid, self.coefficients, a)

    def squares(self, a: Array) -> Array:
        return _interpolate(self.grid, self.square_coefficients, a)

    def square(self, a: Array) -> Array:
        return np.interp(np.log(a), self.grid, self.means)


@lru_cache(maxsize=32)
def _tables(activation: Any) -> _Tables:
    images = moment_table(activation, VARIANCES)
    phi = coefficient_table(activation, VARIANCES, ORDER)
    shared = project_square(_shared(activation))
    squares = coefficient_table(_squared(activation), VARIANCES, ORDER)
    return _Tables(np.log(VARIANCES), phi, squares, shared, images.square)


def _squared(activation: Any) -> Any:
    phi = elementwise(activation)
    return lambda x: phi(x) ** 2


def _interpolate(grid: Array, table: Array, a: Array) -> Array:
    """Each column at ``log a``, ``(len(a), columns)``; linear between grid points."""
    at = np.clip((np.log(a) - grid[0]) / (grid[1] - grid[0]), 0, len(grid) - 1.000001)
    low = at.astype(int)
    part = (at - low)[:, None]
    return table[low] * (1 - part) + table[low + 1] * part


def _mehler(left: Array, right: Array, rho: Array) -> Array:
    r"""$\sum_k\ell_kr_k\rho^k$ by Horner's rule."""
    product = left * right
    total = product[:, -1]
    for k in range(product.shape[1] - 2, -1, -1):
        total = total * rho + product[:, k]
    return total
