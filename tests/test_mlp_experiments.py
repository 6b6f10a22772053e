"""Chapter 7: the cap of an activation, and the committed plane."""

import math

import numpy as np
import pytest
import sympy as sp

import recallbook as rb
from recallbook_studies.ch07 import features, phase
from recallbook_theory.symbolic.expressions import V, d


def test_cap_in_closed_form():
    values = {"relu": 4 * (1 - 1 / math.pi) ** 2, "linear": 1.0, "he2": math.inf, "he3": math.inf}
    for name, value in values.items():
        assert features.coefficients(name)["cap"] == pytest.approx(value, rel=1e-9)
    # he3: half of the facts fit at V log V = m d / 2
    left = features.superposition().subs({features.phi0: 0, features.phi1: 0, features.square: 1})
    assert sp.simplify(left - 2 * V * sp.log(V) / (features.m * d)) == 0


def test_more_data_never_ask_for_a_wider_mlp():
    plane = rb.load_results("mlp_phase")
    finite = plane[np.isfinite(plane["width"])]
    assert set(finite["panel"]) == set(phase.PANELS)
    for _, row in plane.groupby(["panel", "seq_len"]):
        assert (np.diff(row.sort_values("ratio")["width"][np.isfinite(row["width"])]) <= 0).all()
