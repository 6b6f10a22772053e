"""Predictions: the target on a fixed seed, limits, monotonicity, the ledger, and the arguments."""

import math

import numpy as np
import pytest
from sampling import by_day, standard_error
from scipy.stats import binom, qmc
from sized import marked, sized

import recallbook as rb
from recallbook_studies.ch02.associative import recalled
from recallbook_theory import lock_on, values as fluctuations
from recallbook_theory.symbolic import lock_terms as lock_symbols
from recallbook_theory.symbolic.expressions import V, d

pytestmark = pytest.mark.essential


def test_endless_data_is_the_linear_memory():
    """N to infinity with the trigger out of the values: step 3 stores the plain sum of outer
    products."""
    setting = sized(200, 10, 60, 2**31 - 1)
    prediction = rb.predict(setting)
    assert prediction.lock_on == pytest.approx(
        1, abs=1e-3
    )  # only tokens that resemble the trigger are left
    drawn = np.mean([recalled(200, 60, seed).mean() for seed in range(20)])
    assert prediction.recall == pytest.approx(drawn, abs=0.01)


def test_points_and_counts_are_those_of_scipy():
    """To the bit: the table, and quantiles of counts at chances from 0 to 1 of 0 to 1e9 trials."""
    points = qmc.Sobol(len(fluctuations.AXES), scramble=False).random_base2(fluctuations.POINTS)
    u, level, *_ = found = np.array(list(fluctuations.uniform().values()))
    assert np.array_equal(found.T, points + 0.5 / len(points))
    trials = np.floor(1e9 * found[2] ** 9)
    for chance in (u**40, 1 - u**40, u > 0.5):
        counts = fluctuations.binomial_quantile(level, trials, chance)
        assert np.array_equal(counts, binom.ppf(level, trials, chance))


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_spectral_moments_against_simulation(power):
    vocab, dim = 120, 40
    values = []
    for seed in range(60):
        z = np.random.default_rng(seed).normal(size=(vocab, dim)) / np.sqrt(dim)
        values.append(np.trace(np.linalg.matrix_power(z.T @ z / vocab, power)) / dim * dim**power)
    exact = float(lock_symbols.spectral_moment(power).subs({V: vocab, d: dim}))
    # Marchenko-Pastur moments are exact up to relative O(1/(d V))
    assert abs(np.mean(values) - exact) < 4 * standard_error(values) + exact * 10 / (dim * vocab)


@pytest.mark.parametrize(
    ("sizes", "fields", "term"),
    by_day(
        [
            ((400, 10, 200, 500), {}, {"coverage"}),
            ((800, 10, 40, 40000), {}, {"interference"}),
            ((300, 10, 200, 3000), {"trigger_in_values": True}, {"label frequencies"}),
            ((300, 150, 40, 1500), {}, set(lock_symbols.lock_terms())),
        ],
        quick=1,
    ),
)
def test_phase_names_the_binding_term(sizes, fields, term):
    assert rb.phase(sized(*sizes, **fields)) in term


def test_leaving_a_term_out_never_hurts():
    setting = marked(300, 100, 40, 3000)
    base = rb.predict(setting)
    for name in set(base.ledger) - {
        "coverage"
    }:  # uneven counts help where only frequent facts are recalled at all
        assert rb.predict(setting, without=(name,)).accuracy > base.accuracy - 0.01, name


def test_critical_samples_reach_their_accuracy():
    sizes = {"trigger_in_values": False}
    found = rb.critical_samples(200, 10, 100, accuracy=0.9, **sizes)
    at = rb.predict(sized(200, 10, 100, int(found), **sizes)).accuracy
    below = rb.predict(sized(200, 10, 100, int(found * 0.97), **sizes)).accuracy
    assert at >= 0.9 > below
    assert rb.critical_samples(200, 10, 30, accuracy=0.9, **sizes) == math.inf
    assert isinstance(found, float)


def test_the_critical_width_reaches_its_accuracy():
    sizes, activation = (16, 1, 16, 100), "he3"
    found = rb.critical_width(*sizes, 0.5, activation=activation, trigger_in_values=False)
    at, below = (
        rb.predict(sized(*sizes, width=int(found) - less, activation=activation), warn=False)
        for less in (0, 1)
    )
    assert at.accuracy >= 0.5 > below.accuracy


@pytest.mark.parametrize("seq_len", [2, 10, 40])
def test_a_mark_that_adds_nothing_finds_one_in_l(monkeypatch, seq_len):
    """With no lift all distinct tokens of a sequence are alike, and the average of Phi(g)^K is
    1/(K+1) exactly."""
    nothing, one = np.zeros(2**fluctuations.POINTS), np.ones(2**fluctuations.POINTS)
    monkeypatch.setattr(
        lock_on, "score_laws", lambda setting, without: lock_on.ScoreLaws(nothing, one, nothing)
    )
    lock = lock_on.lock(marked(300, seq_len, 60, 3000), ())
    distinct = 300 * (1 - (1 - 1 / 300) ** (seq_len - 1))
    assert lock.token.mean() == pytest.approx(1 / (1 + distinct), rel=0.01)
    assert lock.mean == pytest.approx(1 / (1 + distinct), rel=0.05)
    assert lock.decoys.mean() == pytest.approx((1 - lock.token.mean()) / 300, rel=0.02)


def test_a_printed_prediction_can_be_read():
    """In the ledger stand names and sizes; a formula is asked for by its field."""
    prediction = rb.predict(sized(64, 8, 24, 512))
    assert "\\" not in repr(prediction) and "mean bias: 0." in repr(prediction)
