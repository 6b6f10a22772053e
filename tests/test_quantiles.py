"""Quantiles over draws: laws that are known exactly, the committed comparison, and what is refused."""

import math

import numpy as np
import pytest
from sized import marked, sized

import recallbook as rb
from recallbook_studies.ch09 import quantiles
from recallbook_theory.sampled import theory as sampled

LEVELS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)


def shares(found):
    return found.accuracy, found.lock_on, found.recall


@pytest.mark.parametrize(
    "setting", [marked(50, 100, 20, 500, embeddings="sphere"), marked(60, 1, 40, 300)]
)
def test_quantiles_ascend_and_their_mean_is_the_prediction(setting):
    """Of equal facts: what is averaged over points is what is averaged over 256 draws."""
    prediction = rb.predict(setting, warn=False)
    values = np.array([shares(prediction.quantile(q)) for q in LEVELS])
    assert np.all(np.diff(values, axis=0) >= 0) and values.min() >= 0 and values.max() <= 1
    law = np.array([shares(prediction.quantile(q)) for q in (np.arange(200) + 0.5) / 200])
    expected = [prediction.accuracy, prediction.lock_on, prediction.recall]
    assert law.mean(axis=0) == pytest.approx(expected, abs=0.04)
    if setting.seq_len == 1:
        assert [prediction.quantile(q).lock_on for q in LEVELS] == [1] * len(LEVELS)


def test_draws_of_coverage_alone_have_the_law_of_empty_boxes():
    r"""Variance of the share of labels seen: $(e^{-c}-(1+c)e^{-2c})/V$ at $c=N/V$; 1.4 times that
    if independent. A deviation of 256 draws is known to 4 %."""
    setting = sized(100, 4, 102, 150, embeddings="orthogonal")
    c = 1.5
    exact = math.sqrt((math.exp(-c) - (1 + c) * math.exp(-2 * c)) / 100)
    law = rb.predict(setting, warn=False)
    ends = [law.quantile(q).recall for q in (0.1587, 0.8413)]
    assert (ends[1] - ends[0]) / 2 == pytest.approx(exact, rel=0.15)


def test_unequal_facts_take_the_quantiles_of_their_draws(monkeypatch):
    monkeypatch.setattr(sampled, "ENOUGH", 1.0)  # few draws for the mean
    setting = sized(20, 6, 16, 200, zipf=1.0)
    found = rb.predict(setting, warn=False)
    law = sampled.SampledTheory(setting).draws(setting, ())
    assert len(law.accuracy) == 256
    assert shares(found.quantile(0.1)) == tuple(np.quantile(values, 0.1) for values in law)
    assert found.lock_on == pytest.approx(law.lock_on.mean(), abs=4 * law.lock_on.std() / 4)


# The committed comparison


def test_ties_are_split_as_predicted():
    law = np.repeat([0.2, 0.6, 1.0], 100)
    assert quantiles.share_below(law, 0.6, law, 0.5) == pytest.approx(0.5)
    drawn = np.array([0.2, 0.2, 0.6, 1.0])
    assert quantiles.share_below(drawn, 0.6, law, 0.5) == pytest.approx(0.5 + 0.25 / 2)


@pytest.mark.parametrize(("kind", "tolerance"), [("equal", 0.03), ("unequal", 0.1)])
def test_shares_below_predicted_quantiles(kind, tolerance):
    """Standard errors: 0.005 to 0.015 with equal facts, to 0.044 else. Catches laws too wide or
    narrow by a fifth."""
    shares = quantiles.calibration(rb.load_results("quantiles")).query("kind == @kind")
    assert shares["settings"].min() >= {"equal": 20, "unequal": 6}[kind]
    for level in quantiles.LEVELS:
        assert (shares[level] - level).abs().max() < tolerance, (kind, level)
