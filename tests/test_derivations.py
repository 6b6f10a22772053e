"""Step 3's noises and the MLP's kernels, derived: against the ledger and the numerical kernels."""

import numpy as np
import pytest
import sympy as sp
from numpy.polynomial import Polynomial
from numpy.polynomial.hermite_e import hermegauss

from recallbook_studies.ch05.contractions import TRIGGER
from recallbook_studies.ch06 import derived_recall as derived
from recallbook_theory.feature_kernels import near_zero
from recallbook_theory.symbolic import lock_terms as lock_symbols, recall_terms as symbolic
from recallbook_theory.symbolic.expressions import N, V, d, numeric, tau


def test_means_of_inner_products():
    assert derived.mean_of((0, 1, 0, 1)) == 1 / d
    assert sp.simplify(derived.mean_of((0, 0, 0, 0)) - (1 + 2 / d)) == 0
    assert derived.mean_of((0, TRIGGER, 0, TRIGGER)) == 1 / d and derived.mean_of((0, 1)) == 0


@pytest.mark.parametrize("flag", [0, 1])
def test_the_ledgers_noises_are_leading_parts(flag):
    """At N >> V >> d >> 1; label overlap is the ledger's at the mean count, so counts are many
    here."""
    at = {V: 1e6, N: 1e11, d: 1e4, tau: flag}
    for name, term in symbolic.mean_squares().items():
        leading = float(numeric(term)(at)) if term.subs(tau, flag) != 0 else 0.0
        found = float(numeric(derived.mean_squares()[name])(at))
        assert found == pytest.approx(leading, rel=2e-3), name


# phi, phi' and phi'' of normalised Hermite polynomials
POLYNOMIALS = {
    name: [polynomial.deriv(order) if order else polynomial for order in range(3)]
    for name, polynomial in (
        ("linear", Polynomial([0, 1])),
        ("he2", Polynomial([-1, 0, 1]) / 2**0.5),
        ("he3", Polynomial([0, -3, 0, 1]) / 6**0.5),
    )
}


def mean_product(one, other, variance, covariance):
    """Mean of a product of polynomials of two pre-activations: exact quadrature."""
    nodes, weights = hermegauss(8)
    chances = np.outer(weights, weights) / (2 * np.pi)
    x, y = np.meshgrid(nodes, nodes, indexing="ij")
    first = variance**0.5 * x
    second = covariance / variance**0.5 * x + (variance - covariance**2 / variance) ** 0.5 * y
    return np.sum(chances * one(first) * other(second))


@pytest.mark.parametrize("activation", POLYNOMIALS)
@pytest.mark.parametrize("flag", [0, 1])
def test_kernels_near_zero(activation, flag):
    """By Price's theorem: derivatives of a mean in variances and covariance are means of
    derivatives."""
    length, vocab, scale = 32, 128, 1 + flag
    numbers = near_zero(activation, length, vocab, dim=1e9, tau=flag)
    shared = (1 - 1 / length) / vocab + flag / length**2
    variance = (1 / length + shared) / scale
    other, same = shared / scale, (shared + 1 / length**2) / scale
    phi, slope, bend = POLYNOMIALS[activation]

    def mean(one, two, covariance):
        return mean_product(one, two, variance, covariance)

    for symbol, value in (
        (lock_symbols.k_same, mean(slope, slope, same)),
        (lock_symbols.k_other, mean(slope, slope, other)),
        (lock_symbols.k_bias, mean(slope, slope, other) + mean(bend, phi, other)),
        (lock_symbols.k_own, mean(slope, slope, variance) + mean(bend, phi, variance)),
        (lock_symbols.p_other, np.sqrt(scale) * mean(slope, phi, other)),
        (lock_symbols.p_own, np.sqrt(scale) * mean(slope, phi, variance)),
        (lock_symbols.spread, scale * mean(slope, slope, variance) * mean(phi, phi, variance)),
    ):
        assert numbers[symbol] == pytest.approx(value, rel=1e-6, abs=1e-9), symbol
