"""Points of a sweep: their checks, and names that no process, version or order of fields may change."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

import recallbook as rb
from recallbook.sweeps.point import from_frame, from_values, measure, unique
from recallbook.sweeps.run import table
from recallbook.sweeps.store import Result

pytestmark = pytest.mark.essential

SETTING = rb.Setting(vocab=64, seq_len=8, dim=64, samples=4096, trigger_in_values=True)
DESCENT = {"method": "descend", "steps": 3, "eta": 1.0, "gamma": 1.0}
POINTS = [
    rb.Point(SETTING, 0),
    rb.Point(SETTING, 1),
    rb.Point(replace(SETTING, width=5, activation="he3"), 0),
    rb.Point(replace(SETTING, trigger_in_values=False), 0),
    rb.Point(replace(SETTING, embeddings="sphere"), 0),
    rb.Point(SETTING, 0, eta=0.5, gamma=3),
    rb.Point(SETTING, 0, method="argmax"),
    rb.Point(SETTING, 0, eta=0.5, gamma=3, method="descend", steps=7),
    rb.Point(SETTING, 0, eta=0.5, gamma=3, method="descend", steps=7, batch=9),
    rb.Point(SETTING, 0, test_samples=100),
    rb.Point(SETTING, 2**70),
]


def test_keys_are_those_that_were_stored():
    # Literals: a stored sweep is found again only as long as they stay.
    assert POINTS[0].canonical == (
        '{"activation":"relu","dim":64,"embeddings":"gaussian","method":"three_steps","samples":4096,"scheme":2,'
        '"seed":0,"seq_len":8,"test_samples":20000,"trigger_in_values":true,"vocab":64}'
    )
    assert POINTS[0].key == "6d4e3927e5cf1311c143f9d3410bf2a3d9ac537f4932ae71cf0571e7fb1225d8"
    assert POINTS[8].canonical.count('"eta":0.5,') == POINTS[8].canonical.count('"gamma":3.0,') == 1


def test_every_field_changes_the_key():
    assert len({point.key for point in POINTS}) == len(POINTS)


@pytest.mark.slow
def test_keys_agree_between_processes():
    code = "import recallbook as rb; print(rb.Point(rb.Setting(vocab=64, seq_len=8, dim=64, samples=4096, "
    code += "trigger_in_values=True), 0).key)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == POINTS[0].key


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("setting", dict(setting=3)),
        ("activation", dict(setting=replace(SETTING, width=4, activation=torch.sin))),
        ("seed", dict(seed=-1)),
        ("gamma", dict(eta=1.0)),
        ("gamma", dict(eta=1.0, gamma=-2.0)),
        ("method", dict(method="four_steps")),
        ("eta", dict(method="argmax", eta=1.0, gamma=1.0)),
        ("eta", dict(method="descend", steps=3)),
        ("steps", dict(method="descend", eta=1.0, gamma=1.0)),
        ("steps", dict(steps=3)),
        ("batch", dict(batch=3)),
        ("optimizer", dict(optimizer="adam")),
        ("learn", dict(learn="value")),
        ("embedding_rate", dict(embedding_rate=1.0)),
        ("optimizer", dict(**DESCENT, optimizer="lion")),
        ("learn", dict(**DESCENT, learn="value+trigger")),
        ("embedding_rate", dict(**DESCENT, embedding_rate=1.0)),
        ("batch", dict(**DESCENT, batch=0)),
        ("test_samples", dict(test_samples=0)),
    ],
)
def test_bad_points_are_refused_by_name(field, given):
    with pytest.raises(ValueError, match=rf"^{field}="):
        rb.Point(**{"setting": SETTING, "seed": 0, **given})


def test_points_survive_a_table():
    small = [point for point in POINTS if point.seed < 2**63]  # a column of integers holds no more
    frame = rb.run_sweep([])
    assert len(frame) == 0 and list(frame.columns)[:2] == ["vocab", "seq_len"]
    assert [from_values(point.values) for point in POINTS] == POINTS
    assert from_frame(table(Result(point, None, None, 0.0) for point in small)) == small
    with pytest.raises(ValueError, match="missing: seed"):
        from_frame(frame.drop(columns="seed"))


def test_unique_keeps_order_and_refuses_what_is_no_point():
    assert unique([POINTS[1], POINTS[0], POINTS[1]]) == [POINTS[1], POINTS[0]]
    with pytest.raises(ValueError, match="points="):
        unique([SETTING])


def test_outcomes_are_those_of_the_plain_functions():
    setting = rb.Setting(vocab=24, seq_len=6, dim=12, samples=300, trigger_in_values=False)
    problem = rb.draw(setting, 3)

    def outcome(**given):
        return measure(rb.Point(setting, 3, test_samples=500, **given), problem)

    assert outcome() == vars(rb.simulate(setting, 3, test_samples=500))
    assert outcome(eta=20.0, gamma=5.0) == vars(rb.simulate(setting, 3, eta=20.0, gamma=5.0, test_samples=500))
    for batch in (None, 16):
        model = rb.RecallTransformer(problem)
        rb.descend(model, problem, 5, eta=20.0, gamma=5.0, batch=batch)
        expected = vars(rb.evaluate(problem, model, 500))
        assert outcome(method="descend", steps=5, eta=20.0, gamma=5.0, batch=batch) == expected
    for method in ("argmax", "assignment"):
        right = (rb.decode(problem, method) == problem.permutation).double().mean()
        assert outcome(method=method) == {"accuracy": None, "lock_on": None, "recall": float(right)}


def test_assignment_is_for_equal_facts():
    setting = rb.Setting(vocab=6, seq_len=3, dim=5, samples=10, zipf=1.0, trigger_in_values=True)
    assert rb.Point(setting, 0, method="argmax").setting == setting
    with pytest.raises(ValueError, match=r"^zipf=1\.0 is not allowed"):
        rb.Point(setting, 0, method="assignment")
