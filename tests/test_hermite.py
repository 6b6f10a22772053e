"""Hermite coefficients and Gaussian moments: closed form, quadrature, Monte Carlo."""

import math

import numpy as np
import pytest
import sympy as sp
import torch
from numpy.polynomial import hermite_e

from recallbook.theory import hermite
from recallbook_studies.ch07 import derived_overlaps as symbolic

pytestmark = pytest.mark.essential

VARIANCES = (0.01, 0.3, 1.0, 2.5)
NAMES = ("linear", "relu", "gelu", "tanh", "he2", "he3")


@pytest.mark.parametrize("activation", symbolic.CLOSED)
@pytest.mark.parametrize("variance", VARIANCES)
def test_closed_form_against_quadrature(activation, variance):
    found = hermite.hermite_coefficients(activation, variance, 10)
    exact = [float(symbolic.coefficient(activation, k).subs(symbolic.a, variance)) for k in range(11)]
    assert found.values == pytest.approx(exact, abs=1e-12)
    assert found.error < 1e-10


def test_there_is_no_closed_form_of_tanh():
    assert symbolic.coefficient("tanh", 1) is None


@pytest.mark.slow
@pytest.mark.parametrize("activation", NAMES)
def test_quadrature_against_monte_carlo(activation):
    rng = np.random.default_rng(5)
    variance = 0.7
    x = rng.normal(size=400_000) * math.sqrt(variance)
    phi, slope = hermite.values(activation, x), hermite.slopes(activation, x)
    moments = hermite.moment_table(activation, np.array([variance]))
    samples = (phi**2, slope**2, phi * slope, phi * slope * x / variance)
    for exact, sample in zip(moments, samples, strict=True):
        z = (sample.mean() - exact[0]) / max(sample.std() / len(x) ** 0.5, 1e-12)
        assert abs(z) < 4
    found = hermite.hermite_coefficients(activation, variance, 4).values
    for k in range(5):
        basis = hermite_e.hermeval(x / math.sqrt(variance), np.eye(5)[k]) / math.sqrt(math.factorial(k))
        sample = phi * basis
        assert abs(sample.mean() - found[k]) < 4 * sample.std() / len(x) ** 0.5 + 1e-12


def test_known_coefficients():
    a = symbolic.a
    assert symbolic.coefficient("relu", 0) == sp.sqrt(a) / sp.sqrt(2 * sp.pi)
    assert symbolic.coefficient("relu", 1) == sp.sqrt(a) / 2
    assert symbolic.coefficient("he2", 1) == 0 and symbolic.coefficient("he3", 2) == 0
    assert symbolic.coefficient("he3", 1).subs(a, 1) == 0 and symbolic.coefficient("he3", 3).subs(a, 1) == 1
    assert symbolic.coefficient("he2", 2).subs(a, 1) == 1


@pytest.mark.parametrize("activation", NAMES)
def test_parseval(activation):
    """The coefficients' squares add up to the second moment; relu's fall slowly."""
    found = hermite.hermite_coefficients(activation, 1.0, 60).values
    square = hermite.moment_table(activation, np.array([1.0])).square[0]
    assert np.sum(found**2) <= square + 1e-9
    assert np.sum(found**2) == pytest.approx(square, rel=2e-3)


def test_the_growth_of_the_second_moment():
    step = 1e-4
    for activation in NAMES:
        low, high = (hermite.moment_table(activation, np.array([1 + s])).square[0] for s in (-step, step))
        growth = hermite.moment_table(activation, np.array([1.0])).growth[0]
        assert (high - low) / (2 * step) == pytest.approx(growth, rel=1e-6)


def test_a_kink_away_from_zero_shows_in_the_error():
    def bent(x):
        return torch.relu(x - 0.37)

    smooth = hermite.hermite_coefficients("tanh", 1.0, 6).error
    assert hermite.hermite_coefficients(bent, 1.0, 6).error > 100 * smooth
    assert hermite.hermite_coefficients(bent, 1.0, 6).error < 1e-2


@pytest.mark.parametrize(
    ("field", "given"),
    [("variance", ("relu", 0)), ("variance", ("relu", "x")), ("order", ("relu", 1.0, 61)), ("activation", ("swish",))],
)
def test_arguments(field, given):
    with pytest.raises(ValueError, match=rf"^{field}="):
        hermite.hermite_coefficients(*given)
