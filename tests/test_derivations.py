"""The MLP's kernels, derived: against the numerical kernels."""

import numpy as np
import pytest

from recallbook.theory.feature_kernels import near_zero
from recallbook.theory.symbolic import lock_terms as lock_symbols
from recallbook_studies.ch07 import derived_overlaps


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
