"""The committed map of errors with unequal facts: recomputed, up to date, and nothing off without a
warning."""

import numpy as np
import pytest
from sized import either, marked

import recallbook as rb
from recallbook.embedding_laws import LAWS
from recallbook.setting import LOSS_WEIGHTS, OUTPUT_BIASES
from recallbook.theory.caveats import UNEQUAL_DOUBTS, doubts
from recallbook_studies.ch11 import unequal_map
from recallbook_studies.prediction_errors import QUANTITIES, TOLERANCES, outcomes

MAP = unequal_map.judged()
ROWS = MAP.to_dict("records")


def test_rows_are_what_the_simulation_gives():
    small = [row for row in ROWS if row["vocab"] < 130 and row["samples"] * row["seq_len"] < 30000]
    assert len(small) > 5
    for row in small[:2]:
        seeds = unequal_map.seeds_of(row["index"], row["seeds"])
        again = list(outcomes(unequal_map.as_setting(row), seeds, unequal_map.TEST))
        assert np.mean(again, axis=0) == pytest.approx([row[name] for name in QUANTITIES], abs=2e-3)


@either("unseen")
def test_nothing_is_off(unseen):
    """Beyond the tolerance and two standard errors, of simulation and prediction together."""
    part = MAP[(MAP["unseen"] == unseen) & ~MAP["doubted"]]
    assert len(part) >= 50
    for name in QUANTITIES:
        assert not part[f"off_{name}"].any(), part.loc[
            part[f"off_{name}"], ["index", name, f"predicted_{name}"]
        ]


@pytest.mark.parametrize("name", QUANTITIES)
def test_differences_are_no_larger_than_sampling_explains(name):
    """Root mean square: what is left when both standard errors are taken off is well below the
    tolerance."""
    difference = MAP[f"predicted_{name}"] - MAP[name]
    variance = MAP[f"{name}_error"] ** 2 + MAP["predicted_error"] ** 2
    assert np.sqrt(max(0.0, (difference**2 - variance).mean())) < 0.6 * TOLERANCES[name]
    assert abs(difference.mean()) < 3 * np.sqrt(variance.sum()) / len(MAP) + 0.002


def test_the_map_reaches_as_far_as_its_doubts_say():
    assert len(MAP) == unequal_map.COUNT and MAP["unseen"].sum() == unequal_map.UNSEEN >= 50
    assert set(MAP["embeddings"].str.replace(r"\(.*", "", regex=True)) == {
        name for name, law in LAWS.items() if law.measured
    }
    assert {*MAP["output_bias"]} == {*OUTPUT_BIASES} and {*MAP["loss_weights"]} == {*LOSS_WEIGHTS}
    assert 0.1 < MAP["lock_on"].between(0.02, 0.98).mean() < 0.9 and MAP["balanced"].mean() > 0.1
    assert not MAP["doubted"].any()
    assert (
        MAP["vocab"].min() < 70
        and MAP["dim"].min() < 15
        and (MAP["samples"] / MAP["vocab"]).min() < 0.8
    )
    assert MAP["seq_len"].max() > 110 and (MAP["seq_len"] / MAP["vocab"]).max() > 1
    sizes = {
        "vocab": 100,
        "seq_len": 20,
        "dim": 40,
        "samples": 400,
        "zipf": 1.0,
        "trigger_in_values": True,
    }
    beyond = {"vocab": 50, "dim": 10, "samples": 40, "seq_len": 200}
    for field, doubt in zip(beyond, UNEQUAL_DOUBTS, strict=True):
        setting = rb.Setting(**{**sizes, field: beyond[field]})
        assert [found.name for found in doubts(setting, 1.0)] == [doubt.name], field
    assert not doubts(rb.Setting(**sizes), 0.5)
    equal = marked(50, 20, 40, 400)
    assert [found.name for found in doubts(equal, 0.5, own=True)] == ["few tokens"] and not doubts(
        equal, 0.5, own=True
    )[0].about
