"""Points of a sweep: their checks, and names that no process, version or order of fields may
change."""

from dataclasses import replace

import pytest
from sized import marked, sized

import recallbook as rb
from recallbook_studies.running.point import digest, from_values
from recallbook_studies.running.run import measure
from recallbook_studies.sweeps import TRIAL

pytestmark = pytest.mark.essential

SETTING = marked(64, 8, 64, 4096)
CHANGES = (
    {"width": 5, "activation": "he3"},
    {"trigger_in_values": False},
    {"embeddings": "sphere"},
)
POINTS = [
    *(rb.Point(SETTING, seed) for seed in (0, 1, 2**70)),
    *(rb.Point(replace(SETTING, **change), 0) for change in CHANGES),
    *(rb.Point(SETTING, 0, **way) for way in ({"method": "argmax"}, {"test_samples": 100})),
]


def test_keys_are_those_that_were_stored():
    # Literals: a stored sweep is found again, by any process, only as long as they stay.
    keys = [TRIAL.key_of(point.values).canonical for point in POINTS]
    assert keys[0] == (
        '{"activation":"relu","dim":64,"embeddings":"gaussian","method":"three_steps","samples":4096,"scheme":2,'
        '"seed":0,"seq_len":8,"test_samples":20000,"trigger_in_values":true,"vocab":64}'
    )
    assert digest(keys[0]) == "6d4e3927e5cf1311c143f9d3410bf2a3d9ac537f4932ae71cf0571e7fb1225d8"
    assert len({*keys}) == len(POINTS)


def test_a_sweep_has_columns_and_takes_points_alone():
    frame = rb.run_sweep([])
    assert len(frame) == 0 and list(frame.columns)[:2] == ["vocab", "seq_len"]
    assert [from_values(point.values) for point in POINTS] == POINTS


def test_outcomes_are_those_of_the_plain_functions():
    setting = sized(24, 6, 12, 300)
    problem = rb.draw(setting, 3)

    def outcome(**given):
        return measure(rb.Point(setting, 3, test_samples=500, **given))

    assert outcome() == vars(rb.simulate(setting, 3, test_samples=500))
    for method in ("argmax", "assignment"):
        right = (rb.decode(problem, method) == problem.permutation).double().mean()
        assert outcome(method=method) == {"recall": float(right)}
