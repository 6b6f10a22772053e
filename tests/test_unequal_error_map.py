"""The committed map of errors with unequal facts: recomputed, up to date, and nothing off without a warning."""

import warnings

import numpy as np
import pytest

import recallbook as rb
from recallbook.theory.caveats import UNEQUAL_DOUBTS, doubts
from recallbook_studies.ch11 import unequal_map
from recallbook_studies.prediction_errors import QUANTITIES, TOLERANCES

MAP = unequal_map.judged()
ROWS = MAP.to_dict("records")


def test_it_covers_what_is_new_in_a_setting():
    assert len(MAP) == unequal_map.COUNT and MAP["unseen"].sum() == unequal_map.UNSEEN >= 50
    assert {*MAP["output_bias"]} == {"none", "calibrated", "trained"} and {*MAP["loss_weights"]} == {"equal", "inverse"}
    laws = MAP["embeddings"].str.replace(r"\(.*", "", regex=True)
    assert {*laws} == {"gaussian", "sphere", "orthogonal", "power_law", "clustered", "low_rank"}
    assert MAP["zipf"].max() > 1.9 and MAP["balanced"].mean() > 0.1 and MAP["other_zipf"].notna().mean() > 0.2
    assert 0.1 < MAP["lock_on"].between(0.02, 0.98).mean() < 0.9
    assert 0.3 < MAP["accuracy"].between(0.02, 0.98).mean()


def test_settings_are_those_of_their_numbers():
    for row in ROWS:
        assert unequal_map.random_setting(row["index"]) == unequal_map.as_setting(row)


def test_rows_are_what_the_simulation_gives():
    small = [row for row in ROWS if row["vocab"] < 130 and row["samples"] * row["seq_len"] < 30000]
    assert len(small) > 5
    for row in small[:2]:
        seeds = unequal_map.seeds_of(row["index"], row["seeds"])
        again = list(unequal_map.outcomes(unequal_map.as_setting(row), seeds))
        assert np.mean(again, axis=0) == pytest.approx([row[name] for name in QUANTITIES], abs=2e-3)


def test_predictions_are_up_to_date():
    quick = sorted((row for row in ROWS if row["predicted_error"] < 0.0045), key=lambda row: row["vocab"])
    for row in quick[:3]:
        found = unequal_map.predicted(row)
        for name, value in found.items():
            assert value == pytest.approx(row[name], abs=1e-6), (row["index"], name)


@pytest.mark.parametrize("unseen", [False, True])
def test_nothing_is_off(unseen):
    """Beyond the tolerance and two standard errors, of simulation and prediction together."""
    part = MAP[(MAP["unseen"] == unseen) & ~MAP["doubted"]]
    assert len(part) >= 50
    for name in QUANTITIES:
        assert not part[f"off_{name}"].any(), part.loc[part[f"off_{name}"], ["index", name, f"predicted_{name}"]]


@pytest.mark.parametrize("name", QUANTITIES)
def test_differences_are_no_larger_than_sampling_explains(name):
    """Root mean square: what is left when both standard errors are taken off is well below the tolerance."""
    difference = MAP[f"predicted_{name}"] - MAP[name]
    variance = MAP[f"{name}_error"] ** 2 + MAP["predicted_error"] ** 2
    assert np.sqrt(max(0.0, (difference**2 - variance).mean())) < 0.6 * TOLERANCES[name]
    assert abs(difference.mean()) < 3 * np.sqrt(variance.sum()) / len(MAP) + 0.002


def test_the_map_reaches_as_far_as_its_doubts_say():
    assert not MAP["doubted"].any()
    assert MAP["vocab"].min() < 70 and MAP["dim"].min() < 15 and (MAP["samples"] / MAP["vocab"]).min() < 0.8
    assert MAP["seq_len"].max() > 110 and (MAP["seq_len"] / MAP["vocab"]).max() > 1
    sizes = {"vocab": 100, "seq_len": 20, "dim": 40, "samples": 400, "zipf": 1.0, "trigger_in_values": True}
    beyond = {"vocab": 50, "dim": 10, "samples": 40, "seq_len": 200}
    for field, doubt in zip(beyond, UNEQUAL_DOUBTS, strict=True):
        setting = rb.Setting(**{**sizes, field: beyond[field]})
        assert [found.name for found in doubts(setting, 1.0)] == [doubt.name], field
    assert not doubts(rb.Setting(**sizes), 0.5)
    equal = rb.Setting(vocab=50, seq_len=20, dim=40, samples=400, trigger_in_values=True)
    assert [found.name for found in doubts(equal, 0.5, own=True)] == ["few tokens"] and not doubts(
        equal, 0.5, own=True
    )[0].about


def test_a_warning_names_the_reason(monkeypatch):
    monkeypatch.setattr("recallbook.theory.unequal.MOST", 16)
    with pytest.warns(UserWarning, match=r"dim=8 below 12.*beyond the settings where predictions were checked"):
        rb.predict(rb.Setting(vocab=64, seq_len=4, dim=8, samples=640, zipf=0.5, trigger_in_values=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.predict(rb.Setting(vocab=64, seq_len=4, dim=60, samples=3000, balanced=True, trigger_in_values=True))
