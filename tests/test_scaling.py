"""Sweeps: each point once, every setting with all seeds, predictions of the right settings."""

from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
from sized import sized

import recallbook as rb
from recallbook.analysis.critical import with_predictions
from recallbook.sweeps.catalogue import find_sweep, sweeps


@pytest.mark.parametrize("name", sweeps())
def test_no_point_is_there_twice_and_every_setting_has_all_seeds(name):
    points = find_sweep(name).points()
    assert len({point.key for point in points}) == len(points)
    seeds = Counter(replace(point, seed=0) for point in points)
    assert len(set(seeds.values())) == (
        2 if name == "accuracy" else 1
    )  # fewer at the larger vocabulary
    fewer = {
        "trial": 1,
        "accuracy": 6,
        "remedies_rates": 3,
        "zipf_threshold": 8,
        "zipf_error": 8,
    }
    assert min(seeds.values()) >= {"lock_on": 30, **fewer}.get(name, 10)


def test_predictions_are_of_the_right_settings():
    table = pd.DataFrame({"dim": [32, 64], "seq_len": [128, 128], "critical": [1.0, 2.0]})
    found = with_predictions(table, "lock_on", 0.5, vocab=256)
    for dim, predicted in zip(table["dim"], found["predicted"], strict=True):
        setting = sized(256, 128, dim, round(predicted))
        assert rb.predict(setting).lock_on == pytest.approx(0.5, abs=0.01)
