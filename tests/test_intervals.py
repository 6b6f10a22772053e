"""Intervals over seeds against scipy, and slopes on synthetic data with a known answer."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from recallbook_studies.intervals import fitted_slope, over_seeds, seed_interval

pytestmark = pytest.mark.essential


def test_interval_is_students():
    values = np.random.default_rng(0).normal(size=9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    interval = seed_interval(values, 0.9)
    assert interval == pytest.approx((values.mean(), expected.low, expected.high))


def test_slope_recovers_a_known_exponent():
    sizes = np.array([10, 30, 100, 300])
    noise = np.random.default_rng(2).normal(scale=0.05, size=(20, 4))
    slope = fitted_slope(sizes, 7 * sizes**-1.5 * np.exp(noise))
    assert slope.low < -1.5 < slope.high and slope.high - slope.low < 0.1
    assert fitted_slope(
        sizes, 7.0 * sizes[None] ** np.array([[-1.5], [-1.5]])
    ).mean == pytest.approx(-1.5)


def test_over_seeds_groups():
    frame = pd.DataFrame(
        {"d": [1, 1, 2, 2], "N": [5, 5, 5, 5], "seed": [0, 1, 0, 1], "x": [0.0, 1.0, 2.0, 4.0]}
    )
    one = over_seeds(frame, ["d"], "x")
    assert one["mean"].tolist() == [0.5, 3.0]
    assert one["seeds"].tolist() == [2, 2]
    assert one["d"].tolist() == [1, 2]
    cut = over_seeds(frame, ["d"], "x", within=(0, 1))
    assert cut["mean"].tolist() == [0.5, 3.0]  # only the ends are cut
    assert cut["low"].tolist() == [0, 0] and cut["high"].tolist() == [1, 1]
