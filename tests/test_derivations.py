"""Step 3's noises and the MLP's kernels, derived: against the ledger and the numerical kernels."""

import math

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


@pytest.mark.parametrize(
    ("activation", "coefficients"),
    [("linear", [0, 1]), ("he2", [-1, 0, 1]), ("he3", [0, -3, 0, 1])],
)
@pytest.mark.parametrize("flag", [0, 1])
def test_kernels_near_zero(activation, coefficients, flag):
    """By Price's theorem: derivatives of a mean in variances and covariance are means of
    derivatives, which quadrature has exactly for polynomials."""
    length, vocab, scale = 32, 128, 1 + flag
    numbers = near_zero(activation, length, vocab, dim=1e9, tau=flag)
    shared = (1 - 1 / length) / vocab + flag / length**2
    variance = (1 / length + shared) / scale
    other, same = shared / scale, (shared + 1 / length**2) / scale
    phi = Polynomial(coefficients) / math.factorial(len(coefficients) - 1) ** 0.5
    slope, bend = phi.deriv(), phi.deriv(2)
    nodes, weights = hermegauss(8)
    x, y = np.meshgrid(nodes, nodes, indexing="ij")

    def mean(one, two, covariance):
        second = covariance * x + np.sqrt(variance**2 - covariance**2) * y
        products = one(variance**0.5 * x) * two(second / variance**0.5)
        return weights @ products @ weights / (2 * np.pi)

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
