"""Chapter 7: step 3 alone against three steps, remedies, the committed plane."""

import math

import numpy as np
import pytest
import sympy as sp
import torch
from sized import marked, sized

import recallbook as rb
from recallbook_studies.ch07 import features, phase
from recallbook_studies.ch07.features import wave
from recallbook_theory.symbolic.expressions import V, d


@pytest.mark.parametrize("tau", [False, True])
@pytest.mark.parametrize("activation", ["relu", "he3", wave])
def test_perfect_recall_is_that_of_three_steps(activation, tau):
    """With one position attention is perfect, so step 3 alone is all there is."""
    problem = rb.draw(
        sized(64, 1, 24, 700, width=100, activation=activation, trigger_in_values=tau),
        seed=3,
    )
    outcome = rb.evaluate(problem, rb.three_steps(problem), test_samples=10)
    assert features.perfect_recall(problem, features.counted(problem)) == outcome.recall
    images, stored = features.memory(problem, features.counted(problem))
    torch.testing.assert_close(stored, rb.three_steps(problem).value2)
    assert images.shape == (64, 100)


def test_equal_frequencies_are_endless_data():
    setting = sized(40, 1, 24, 400_000, width=64, activation="he3")
    problem = rb.draw(setting, seed=1)
    equal, many = (features.memory(problem, f)[1] for f in (None, features.counted(problem)))
    assert float((equal - many).norm() / equal.norm()) < 0.05
    assert np.isclose(features.counted(problem).sum(), 1)


@pytest.mark.essential
def test_centred_features_lose_their_mean_over_facts():
    setting = marked(50, 1, 20, 500, width=80, activation="relu")
    problem = rb.draw(setting, seed=0)
    plain, centred = (features.memory(problem, centred=c)[0] for c in (False, True))
    torch.testing.assert_close(centred, plain - plain.mean(dim=0))


def test_cap_in_closed_form():
    values = {"relu": 4 * (1 - 1 / math.pi) ** 2, "linear": 1.0, "he2": math.inf, "he3": math.inf}
    for name, value in values.items():
        assert features.coefficients(name)["cap"] == pytest.approx(value, rel=1e-9)
    # he3: half of the facts fit at V log V = m d / 2
    left = features.superposition().subs({features.phi0: 0, features.phi1: 0, features.square: 1})
    assert sp.simplify(left - 2 * V * sp.log(V) / (features.m * d)) == 0


def test_slopes_near_zero():
    for a in (0.01, 0.1, 0.5):
        assert features.slope("he2", a) == pytest.approx(0, abs=1e-9)
        assert features.slope("he3", a) == pytest.approx(math.sqrt(1.5) * (a - 1))
    assert features.coefficients(wave)["phi_1"] == pytest.approx(0, abs=1e-9)
    assert features.slope(wave, 0.01) > 1.5


def test_more_data_never_ask_for_a_wider_mlp():
    plane = rb.load_results("mlp_phase")
    finite = plane[np.isfinite(plane["width"])]
    assert set(finite["panel"]) == set(phase.PANELS)
    for _, row in plane.groupby(["panel", "seq_len"]):
        assert (np.diff(row.sort_values("ratio")["width"][np.isfinite(row["width"])]) <= 0).all()
