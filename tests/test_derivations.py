"""Step 3's noises and the MLP's kernels, derived: against the ledger, simulation and the numerical
kernels."""

import numpy as np
import pytest
import sympy as sp
from sampling import standard_error
from sized import either, sized

from recallbook.theory.feature_kernels import near_zero
from recallbook.theory.symbolic import lock_terms as lock_symbols, recall_terms as symbolic
from recallbook.theory.symbolic.expressions import N, V, d, numeric, tau
from recallbook_studies.ch05.contractions import TRIGGER
from recallbook_studies.ch06 import derived_recall as derived, origins
from recallbook_studies.ch07 import derived_overlaps


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
        assert float(numeric(derived.mean_squares()[name])(at)) == pytest.approx(
            leading, rel=2e-3
        ), name


@either("flag")
def test_derived_noises_against_simulation(flag):
    """At small sizes: within the relative 1/V that the mean of the labels costs, and four standard
    errors."""
    setting = sized(40, 1, 20, 200, trigger_in_values=flag)
    wrong, found = ~np.eye(40, dtype=bool), {}
    for seed in range(200):
        for name, part in origins.logits_by_origin(setting, seed).items():
            found.setdefault(name, []).append(float(np.mean(part[wrong] ** 2)) * 40**2)
    at = {V: 40, N: 200, d: 20, tau: int(flag)}
    for name, expression in derived.mean_squares().items():
        expected, values = float(numeric(expression)(at)), np.array(found[name])
        slack = 4 * standard_error(values) + 4 / 40 * expected
        assert abs(values.mean() - expected) <= slack, name


def test_label_overlap_is_exact():
    """With the trigger in the values, at two dimensions, where 1/d is large."""
    rng, size = np.random.default_rng(0), 10**6
    token, count = rng.normal(size=(size, 2)) / 2**0.5, rng.binomial(200, 1 / 40, size)
    weight = count * ((token**2).sum(axis=1) + token[:, 0]) + (1 + token[:, 0]) * (count - 5)
    expected = numeric(derived.mean_squares()["label overlap"])({V: 40, N: 200, d: 2, tau: 1})
    assert np.mean(weight**2) / 25 / 2 == pytest.approx(float(expected), rel=0.01)


@pytest.mark.parametrize("activation", ["linear", "he2", "he3"])
@pytest.mark.parametrize("flag", [0, 1])
def test_kernels_near_zero(activation, flag):
    """Derived from the polynomial, against quadrature of its Hermite series, at infinite d."""
    length, vocab, scale = 9, 300, 1 + flag
    found = near_zero(activation, length, vocab, dim=1e9, tau=flag)
    shared = (1 - 1 / length) / vocab + flag / length**2
    variance = (1 / length + shared) / scale
    derivatives = derived_overlaps.kernels_near_zero(activation)

    def at(name, covariance):
        return float(
            derivatives[name].subs(
                {derived_overlaps.a: variance, derived_overlaps.covariance: covariance}
            )
        )

    other, same = shared / scale, (shared + 1 / length**2) / scale
    for symbol, value in (
        (lock_symbols.k_same, at("slope", same)),
        (lock_symbols.k_other, at("slope", other)),
        (lock_symbols.k_bias, at("bias", other)),
        (lock_symbols.k_own, at("own", other)),
        (lock_symbols.p_other, np.sqrt(scale) * at("neuron", other)),
        (lock_symbols.p_own, np.sqrt(scale) * at("neuron", variance)),
        (lock_symbols.spread, scale * at("scatter", other)),
    ):
        assert found[symbol] == pytest.approx(value, rel=1e-6, abs=1e-9), symbol
