"""Quantiles over draws: laws that are known exactly, simulation, the committed comparison, and the
arguments."""

import math

import numpy as np
import pytest
from sampling import OUTCOMES, by_night
from sized import marked, sized

import recallbook as rb
from recallbook_studies.ch09 import quantiles
from recallbook_theory import draws
from recallbook_theory.sampled import unequal

LEVELS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
SETTINGS = {
    "lock-on": sized(200, 100, 40, 1200),
    "trigger": marked(80, 6, 80, 1800),
    "MLP": marked(100, 30, 40, 1000, width=120),
    "sphere": marked(50, 400, 20, 500, embeddings="sphere"),
    "one position": marked(60, 1, 40, 300),
}


@pytest.mark.parametrize("name", by_night(SETTINGS, day=3))
def test_quantiles_ascend_and_their_mean_is_the_prediction(name):
    """The mean of 8,192 values, 512 draws of 128 facts each, is known to about 0.01."""
    found = rb.predict(SETTINGS[name], warn=False)
    values = np.array([found.quantile(q) for q in LEVELS])
    assert np.all(np.diff(values, axis=0) >= 0) and values.min() >= 0 and values.max() <= 1
    every = np.mean([found.quantile(q) for q in (np.arange(200) + 0.5) / 200], axis=0)
    assert every == pytest.approx([found.accuracy, found.lock_on, found.recall], abs=0.025)
    if SETTINGS[name].seq_len == 1:
        assert [found.quantile(q).lock_on for q in LEVELS] == [1] * len(LEVELS)


def test_draws_of_coverage_alone_have_the_law_of_empty_boxes():
    r"""Variance of the share of labels seen: $(e^{-c}-(1+c)e^{-2c})/V$ at $c=N/V$; 1.4 times that
    if independent."""
    setting = sized(300, 10, 302, 450, embeddings="orthogonal")
    c = 1.5
    exact = math.sqrt((math.exp(-c) - (1 + c) * math.exp(-2 * c)) / 300)
    assert draws.draw_law(setting).recall.std() == pytest.approx(exact, rel=0.1)


def test_unequal_facts_take_the_quantiles_of_their_draws(monkeypatch):
    monkeypatch.setattr(unequal, "ENOUGH", 1.0)  # few draws for the mean
    setting = sized(20, 6, 16, 200, zipf=1.0)
    found = rb.predict(setting, warn=False)
    law = unequal.UnequalFacts(setting).draws(setting)
    assert len(law.accuracy) == 256
    assert found.quantile(0.1) == tuple(np.quantile(values, 0.1) for values in law)
    assert found.lock_on == pytest.approx(law.lock_on.mean(), abs=4 * law.lock_on.std() / 4)


# The committed comparison


def test_ties_are_split_as_predicted():
    law = np.repeat([0.2, 0.6, 1.0], 100)
    assert quantiles.share_below(law, 0.6, law, 0.5) == pytest.approx(0.5)
    assert quantiles.share_below(np.array([0.2, 0.2, 0.6, 1.0]), 0.6, law, 0.5) == pytest.approx(
        0.5 + 0.25 / 2
    )


def test_the_comparison_is_where_outcomes_are_open():
    frame = quantiles.load()
    assert not frame[OUTCOMES].isna().any(axis=None)
    inside = frame["accuracy"].between(0.1, 0.9) | frame["lock_on"].between(0.1, 0.9)
    assert inside.all() and frame["width"].notna().sum() == quantiles.COUNTS["MLP"]


@pytest.mark.parametrize(("kind", "tolerance"), [("equal", 0.03), ("MLP", 0.1), ("unequal", 0.1)])
def test_shares_below_predicted_quantiles(kind, tolerance):
    """Standard errors: 0.005 to 0.015 with equal facts, to 0.044 else. Catches laws too wide or
    narrow by a fifth."""
    shares = quantiles.calibration(quantiles.load()).query("kind == @kind")
    assert shares["settings"].min() >= {"equal": 20, "MLP": 8, "unequal": 6}[kind]
    for level in quantiles.LEVELS:
        assert (shares[level] - level).abs().max() < tolerance, (kind, level)
