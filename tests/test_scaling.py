"""Sweeps of the scaling chapter: their grids lie where the laws bind, and their reductions on known
answers."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sized import marked, sized

import recallbook as rb
from recallbook.analysis.critical import predicted_size, with_predictions
from recallbook.sweeps.catalogue import find_sweep, sweeps
from recallbook_studies.ch09 import (
    envelope,
    label_frequencies,
    lock_on_sizes as lock_on,
)


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


@pytest.mark.parametrize("case", list(envelope.SPANS)[::3], ids=str)
def test_envelope_is_measured_from_below_lock_on_to_above_accuracy(case):
    seq_len, dim = case
    setting = sized(envelope.VOCAB, seq_len, dim, 1000)
    first, last = (2.0**k for k in envelope.SPANS[case])
    assert first < predicted_size(setting, "lock_on") / 1.3
    answered = predicted_size(setting, "accuracy")
    assert last > 1.2 * answered or (np.isinf(answered) and last == 2**16)


# what is measured; the settings' centres, those that are looked at, and how near predictions are
CENTRES = {
    "lock_on": [sized(*case, n) for case, n in list(lock_on.CENTRES.items())[::4]],
    "accuracy": [
        marked(vocab, label_frequencies.LENGTH, dim, n)
        for (vocab, dim), n in list(label_frequencies.CENTRES.items())[::3]
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outcome", "setting"), [(name, one) for name, some in CENTRES.items() for one in some], ids=str
)
def test_sweeps_lie_around_their_predicted_transitions(outcome, setting):
    found = predicted_size(setting, outcome)
    assert 0.55 < found / setting.samples < 2 and setting.vocab / 5 < found
    # half way to the centre label frequencies bind; at the smallest d of V = 128 interference, too
    half = replace(setting, samples=setting.samples // 2)
    assert outcome == "lock_on" or rb.phase(half) in ("label frequencies", "interference")


def test_predictions_are_of_the_right_settings():
    table = pd.DataFrame({"dim": [32, 64], "seq_len": [128, 128], "critical": [1.0, 2.0]})
    found = with_predictions(table, "lock_on", 0.5, vocab=256)
    for dim, predicted in zip(table["dim"], found["predicted"], strict=True):
        setting = sized(256, 128, dim, round(predicted))
        assert rb.predict(setting).lock_on == pytest.approx(0.5, abs=0.01)
