"""Sweeps of the scaling chapter: their grids lie where the laws bind, and their reductions on known
answers."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sized import sized

import recallbook as rb
from recallbook.analysis.critical import predicted_size, with_predictions
from recallbook.sweeps.catalogue import find_sweep, sweeps
from recallbook_studies.ch09 import (
    envelope,
    four_corners,
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


@pytest.mark.parametrize("case", list(lock_on.CENTRES)[::4], ids=str)
def test_lock_on_is_measured_around_its_predicted_transition(case):
    vocab, seq_len, dim = case
    found = predicted_size(sized(vocab, seq_len, dim, lock_on.CENTRES[case]))
    assert 0.6 < found / lock_on.CENTRES[case] < 1.7
    assert vocab / 5 < found


@pytest.mark.slow
@pytest.mark.parametrize("case", list(label_frequencies.CENTRES)[::3], ids=str)
def test_accuracy_is_measured_where_label_frequencies_bind(case):
    sizes = dict(zip(("vocab", "dim"), case, strict=True), samples=label_frequencies.CENTRES[case])
    setting = rb.Setting(**sizes, seq_len=label_frequencies.LENGTH, trigger_in_values=True)
    assert 0.5 < predicted_size(setting, "accuracy") / setting.samples < 2.2
    # half way to the centre; at the smallest d of V = 128 interference binds as well
    assert rb.phase(replace(setting, samples=setting.samples // 2)) in (
        "label frequencies",
        "interference",
    )


def test_predictions_are_of_the_right_settings():
    table = pd.DataFrame({"dim": [32, 64], "seq_len": [128, 128], "critical": [1.0, 2.0]})
    found = with_predictions(table, "lock_on", 0.5, vocab=256)
    for dim, predicted in zip(table["dim"], found["predicted"], strict=True):
        setting = sized(256, 128, dim, round(predicted))
        assert rb.predict(setting).lock_on == pytest.approx(0.5, abs=0.01)


def test_four_corners_are_four_rows_near_their_predictions():
    found = four_corners.critical(rb.load_results("four_corners"), False, "accuracy")
    assert [*zip(found["dim"], found["seq_len"], strict=True)] == [
        (128, 8),
        (128, 256),
        (512, 8),
        (512, 256),
    ]
    # ten seeds and octaves between sizes: catches a prediction off by a third
    assert np.abs(np.log(found["critical"] / found["predicted"])).max() < 0.25
