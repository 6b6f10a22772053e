"""The MLP as memory: the cap of an activation, and how figures draw it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from recallbook.setting import Setting
from recallbook_studies import plotting
from recallbook_theory.hermite import Phi, hermite_coefficients, moment_table
from recallbook_theory.symbolic import recall_terms as symbolic
from recallbook_theory.symbolic.expressions import N, V, d, m

ENDLESS = 2**31 - 1  # number of sequences that stands for equal frequencies
ACTIVATIONS = ("linear", "relu", "gelu", "tanh", "he2", "he3")


def name(activation: Phi) -> str:
    """How a figure calls an activation."""
    return activation if isinstance(activation, str) else activation.__name__


def look(activation: Phi) -> dict[str, Any]:
    """The colour and marker of an activation, the same in every figure."""
    index = (*ACTIVATIONS, "wave").index(name(activation))
    colours, markers = (*plotting.COLOURS, plotting.GREY), (*plotting.MARKERS, "X")
    return {"color": colours[index], "marker": markers[index]}


def alone(vocab: int, dim: int, width: int | None, activation: Phi, **choices: Any) -> Setting:
    """Attention has nothing to choose from, and there is no end of data: superposition is all that
    is left."""
    choices = {"trigger_in_values": False, "width": width, "activation": activation, **choices}
    return Setting(vocab=vocab, seq_len=1, dim=dim, samples=ENDLESS, **choices)


# The cap, from the ledger's expressions

phi0, phi1 = sp.symbols("phi_0 phi_1", positive=True)
square = symbolic.H  # E phi^2


def superposition() -> sp.Expr:
    r"""Interference and MLP noise at $N\to\infty$, $\tau=0$, to leading order in $1/d$ and $1/V$,
    times $2\log V$.

    $J\approx\phi_1^4/d$; $\theta=\phi_0^2$ is what all features share. In one neuron two facts meet
    with the mean square $H^2$, of which $H\phi_0^2$ is the same for all: $F\approx
    H(H-\phi_0^2)/m$. 1 where about half is lost."""
    parts = symbolic.mean_squares(mlp=True)
    inserted = {
        symbolic.J: phi1**4 / d,
        symbolic.F: square * (square - phi0**2) / m,
        symbolic.theta: phi0**2,
    }
    total = (parts["interference"] + parts["MLP noise"]).subs(inserted)
    many = sp.limit(sp.expand(total), N, sp.oo)
    return sp.factor(2 * sp.log(V) * V * sp.limit(sp.expand(many / V), V, sp.oo))


def coefficients(activation: Phi) -> dict[str, float]:
    r"""$\phi_0,\phi_1,H$ at variance 1, and the cap over that of the identity (infinite without
    $\phi_1$)."""
    first = hermite_coefficients(activation, 1.0, 3)
    total = float(moment_table(activation, np.ones(1)).square[0])
    linear = abs(first[1]) > 1e-9
    factor = ((total - first[0] ** 2) / first[1] ** 2) ** 2 if linear else math.inf
    return {"phi_0": float(first[0]), "phi_1": float(first[1]), "H": total, "cap": factor}
