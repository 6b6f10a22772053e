"""The laws that set the number of sequences, each alone and to leading order. Estimates, not bounds; ours."""

from __future__ import annotations

import sympy as sp

from recallbook.theory.symbolic.expressions import L, V, d

MOST = sp.Rational(9, 10)  # of the facts


def lock_on() -> dict[str, sp.Expr]:
    r"""$\sqrt{2\log L}\,L/d^{3/2}$ times $L\sqrt V$ (mean bias), $V\sqrt{L/d}$ (frequency noise), $V$ (gradient noise).

    The largest binds.
    """
    price = sp.sqrt(2 * sp.log(L)) * L / sp.sqrt(d) ** 3
    return {
        "mean bias": price * L * sp.sqrt(V),
        "frequency noise": price * V * sp.sqrt(L / d),
        "gradient noise": price * V,
    }


def label_frequencies() -> sp.Expr:
    r"""$2V\log V\,(V+d)/d$: with the trigger in the values, half of the facts are recalled."""
    return 2 * V * sp.log(V) * (V + d) / d


def coverage(share: sp.Expr = MOST) -> sp.Expr:
    r"""$V\log\frac1{1-\text{share}}$: this share of the facts is seen."""
    return V * sp.log(1 / (1 - share))


def samples(trigger_in_values: bool) -> dict[str, sp.Expr]:
    """All of them by name; label frequencies cost nothing without the trigger in the values."""
    laws = {**lock_on(), "coverage": coverage()}
    return {**laws, "label frequencies": label_frequencies()} if trigger_in_values else laws
