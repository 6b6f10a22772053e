r"""Hermite coefficients and Gaussian moments of an activation $\phi$, exact up to the error of
a quadrature.

For a pre-activation $x=\sqrt a\,\xi$ with $\xi$ standard normal, $\phi(\sqrt
a\,\xi)=\sum_k\phi_k(a)\,\mathrm{He}_k(\xi)/\sqrt{k!}$, and for two of covariance $c$ (eq-mehler,
chapter 7) $\mathbb E\,\phi(x)\phi(x')=\sum_k\phi_k(a)\phi_k(a')\,\rho^k$, $\rho=c/\sqrt{aa'}$."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import hermite_e, legendre

from recallbook.activations import Activation, differentiated
from recallbook.arguments import check_finite, check_rate, check_size
from recallbook.setting import applied, check_activation
from recallbook_theory.symbolic.expressions import Array

Phi = str | Activation
REACH = 12.0  # standard deviations; the normal density beyond is below 1e-31
PANELS = 24  # panels of equal width with an edge at 0, where the kinks of common activations are
PER_PANEL = 12
LARGEST_ORDER = 60


class ActivationMoments(NamedTuple):
    r"""Means over $x\sim N(0,a)$ of $\phi^2,\phi'^2,\phi\phi'$, and $\frac d{da}\mathbb E\,\phi^2$,
    by $a$."""

    square: Array
    slope_square: Array
    product: Array
    growth: Array


@lru_cache(maxsize=8)
def normal_rule(panels: int = PANELS) -> tuple[Array, Array]:
    """Nodes and weights of the standard normal law: Gauss and Legendre's rule on each of ``panels``
    panels."""
    nodes, weights = legendre.leggauss(PER_PANEL)
    edges = np.linspace(-REACH, REACH, panels + 1)
    half = np.diff(edges)[:, None] / 2
    x = ((edges[:-1] + edges[1:])[:, None] / 2 + half * nodes).ravel()
    return x, (half * weights).ravel() * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def hermite_coefficients(activation: Phi, variance: float = 1.0, order: int = 10) -> Array:
    r"""Compute $\phi_k(a)=\mathbb E\,\phi(\sqrt a\,\xi)\,\mathrm{He}_k(\xi)/\sqrt{k!}$ for $k=0,\dots,$
    ``order``.

    Raises
    ------
    ValueError
        If an argument is out of range, or ``activation`` is neither a name nor an elementwise map
        on tensors.
    """
    variance = check_rate("variance", variance)
    order = check_size("order", order, largest=LARGEST_ORDER)
    return np.asarray(coefficient_table(activation, np.array([variance]), order)[0])


def coefficient_table(activation: Phi, variances: Array, order: int, panels: int = PANELS) -> Array:
    r"""$\phi_k(a)$ for each variance, ``(len(variances), order + 1)``."""
    x, weights = normal_rule(panels)
    table: Array = (values(activation, np.sqrt(variances)[:, None] * x) * weights) @ _basis(
        order, panels
    )
    return table


@lru_cache(maxsize=16)
def _basis(order: int, panels: int = PANELS) -> Array:
    r"""$\mathrm{He}_k/\sqrt{k!}$ at the nodes, ``(nodes, order + 1)``."""
    scale = np.sqrt(np.cumprod(np.concatenate([[1.0], np.arange(1.0, order + 1)])))
    return hermite_e.hermevander(normal_rule(panels)[0], order) / scale


def moment_table(activation: Phi, variances: Array) -> ActivationMoments:
    """:class:`ActivationMoments` for each variance, as arrays."""
    x, weights = normal_rule()
    points = np.sqrt(variances)[:, None] * x
    phi, slope = values(activation, points), slopes(activation, points)
    parts = (phi**2, slope**2, phi * slope, phi * slope * points / variances[:, None])
    return ActivationMoments(*(np.asarray(part @ weights) for part in parts))


def values(activation: Phi, x: Array) -> Array:
    r"""$\phi(x)$."""
    import torch

    images = elementwise(activation)(torch.from_numpy(np.ascontiguousarray(x)))
    return np.asarray(check_finite("activation", images))


def slopes(activation: Phi, x: Array) -> Array:
    r"""$\phi'(x)$ by automatic differentiation."""
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(x))
    images, pullback = differentiated(elementwise(activation), tensor)
    return np.asarray(pullback(torch.ones_like(images)))


def elementwise(activation: Phi) -> Activation:
    """The activation as a function on tensors."""
    return applied(check_activation("activation", activation))
