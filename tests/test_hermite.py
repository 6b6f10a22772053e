"""Hermite coefficients and Gaussian moments: quadrature against Monte Carlo."""

import math

import numpy as np
import pytest
import torch
from sampling import standard_error

from recallbook_theory import hermite

pytestmark = pytest.mark.essential

NAMES = ("linear", "relu", "gelu", "tanh", "he2", "he3")


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
        z = (sample.mean() - exact[0]) / max(standard_error(sample), 1e-12)
        assert abs(z) < 4


def test_the_growth_of_the_second_moment():
    step = 1e-4
    for activation in NAMES:
        low, high = (
            hermite.moment_table(activation, np.array([1 + s])).square[0] for s in (-step, step)
        )
        growth = hermite.moment_table(activation, np.array([1.0])).growth[0]
        assert (high - low) / (2 * step) == pytest.approx(growth, rel=1e-6)


def test_a_kink_away_from_zero_shows_in_the_error():
    def bent(x):
        return torch.relu(x - 0.37)

    def error(activation):  # against half the panels
        whole, half = (
            hermite.coefficient_table(activation, np.ones(1), 6, panels) for panels in (24, 12)
        )
        return np.abs(whole - half).max()

    assert 100 * error("tanh") < error(bent) < 1e-2
    assert error("gelu") < 1e-8
