"""Remedies for unequal facts: the points are what they are called, and draws that fail are counted."""

import pandas as pd
import pytest

import recallbook as rb
from recallbook_studies.ch11 import remedies


def test_a_remedy_is_read_back_from_its_point():
    frame = remedies.labelled(rb.load_results("remedies_many"))
    for (name, exponent), part in frame.groupby(["remedy", "zipf"]):
        assert len(part) == 200
        fields = {"zipf": exponent, **remedies.REMEDIES[name]}
        assert (part[list(fields)] == pd.Series(fields)).all(axis=None)
    assert set(frame["remedy"]) == set(remedies.REMEDIES)


def test_draws_that_fail_are_counted_by_lock_on():
    rows = []
    for remedy, locks in (("nothing", [0.1] * 5), ("trained bias", [1.0, 1.0, 1.0, 0.9, 0.5])):
        for seed, lock in enumerate(locks):
            values = rb.Point(remedies.setting(remedy, 1.0), seed).values
            rows.append({**values, "lock_on": lock, "recall": 0.3, "accuracy": lock / 2})
    found = remedies.failing(pd.DataFrame(rows)).set_index("remedy")
    assert found["fails"].to_dict() == {"nothing": 1.0, "trained bias": 0.2}
    assert found.loc["trained bias", "accuracy median"] == 0.5
    assert found.loc["trained bias", "lock_on tenth"] == pytest.approx(0.66)
