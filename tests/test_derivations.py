"""Step 3's noises and the MLP's kernels, derived: against the ledger and the numerical kernels."""

import numpy as np
import pytest
import sympy as sp

from recallbook_studies.ch05.contractions import TRIGGER
from recallbook_studies.ch06 import derived_recall as derived
from recallbook_studies.ch07 import derived_overlaps
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
