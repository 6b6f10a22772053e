"""Numbers of sequences that are proved to suffice: the bet, the search, and the committed cases."""

import math

import numpy as np
import pytest

import recallbook as rb
from recallbook_studies.ch06 import sandwich
from recallbook_studies.critical import critical_table
from recallbook_theory.bounds import sufficient

SIZES = ("vocab", "seq_len", "dim", "trigger_in_values", "embeddings", "accuracy")


@pytest.mark.essential
def test_a_bet_on_no_more_than_the_target_does_not_gain():
    """Its mean is linear in the mean of what is certified, 1 at the target; and capital cannot fall
    below zero."""
    for accuracy in (0.1, 0.5, 0.99):
        values = np.array([0.0, 1.0, accuracy])
        factors = np.array([sufficient.bet(v, accuracy) for v in values])
        assert factors[2] == pytest.approx(1) and factors.min() > 0
        chance = accuracy  # of 1, else 0: the most that a mean of `accuracy` can vary
        assert (1 - chance) * factors[0] + chance * factors[1] == pytest.approx(1)


def test_it_is_found_and_told():
    lines = []
    sizes = {"vocab": 24, "seq_len": 3, "dim": 40, "trigger_in_values": False}
    found = rb.sufficient_samples(**sizes, accuracy=0.5, progress=lines.append)
    assert (found.by, found.confidence) == ("certificates", 0.95)
    assert rb.critical_samples(**sizes, accuracy=0.5, warn=False) <= found < math.inf
    assert any("pilot" in line for line in lines) and "capital" in lines[-1]
    runs = [
        rb.simulate(rb.Setting(**sizes, samples=int(found)), seed, test_samples=500).accuracy
        for seed in range(40)
    ]
    assert np.mean(runs) > 0.5


def test_nothing_is_proved_below_the_wall():
    found = rb.sufficient_samples(64, 8, 8, trigger_in_values=False)
    assert found == math.inf and (found.by, found.confidence) == ("nothing", 1)


def test_nothing_is_tried_beyond_64_times_the_predicted_number(monkeypatch):
    tried = []
    monkeypatch.setattr(sufficient, "critical_samples", lambda **kind: 10.0)
    monkeypatch.setattr(
        sufficient._Proof, "certified", lambda proof, samples, number: tried.append(samples) or 0.0
    )
    assert rb.sufficient_samples(16, 4, 8, 0.3, zipf=1.0) == math.inf and max(tried) == 640


@pytest.mark.essential
def test_chances_of_winning_falsely_add_up_to_the_risk(monkeypatch):
    goals = []
    monkeypatch.setattr(sufficient, "critical_samples", lambda **kind: 100.0)
    monkeypatch.setattr(sufficient._Proof, "promising", lambda proof, samples: True)
    monkeypatch.setattr(
        sufficient._Proof, "wins", lambda proof, samples, goal, n: goals.append(goal)
    )
    assert rb.sufficient_samples(16, 4, 8, 0.3, confidence=0.9, zipf=1.0) == math.inf
    assert len(goals) > 1 and sum(1 / goal for goal in goals) < 0.1


# The committed cases


@pytest.fixture(scope="module")
def proved():
    return sandwich.load()


def test_at_most_twenty_times_the_predicted_number(proved):
    ratio = proved["sufficient"] / proved["critical"]
    assert ratio.max() < 20 and ratio.median() < 3
    assert (ratio > 0.9).all()  # what is proved lies above what happens


def test_what_is_proved_happens(proved):
    short = (proved["accuracy"] - proved["simulated"]) / proved["error"].clip(lower=1e-4)
    assert short.max() < 2


def test_the_sandwich_is_in_order(proved):
    found = sandwich.table(rb.load_results("sandwich"))
    assert len(found) == 19
    assert (found["measured"] < found["sufficient"]).all()
    keys = ["vocab", "seq_len", "dim", "trigger_in_values"]
    measured = critical_table(
        rb.load_results("sandwich"), keys, outcome="accuracy", level=sandwich.LEVEL
    )
    assert (measured["low"] < measured["critical"]).all() and (
        measured["critical"] < measured["high"]
    ).all()


@pytest.mark.nightly
def test_predicted_samples_beside_the_proved_ones_are_those_of_today():
    for row in sandwich.load().to_dict("records"):
        sizes = {name: row[name] for name in SIZES}
        assert rb.critical_samples(**sizes, warn=False) == row["critical"], row["case"]
