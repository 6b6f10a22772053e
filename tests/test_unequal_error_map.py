"""The committed map of errors with unequal facts: nothing off without a warning. Its rows are made again
in test_error_map.py."""

from dataclasses import replace

import numpy as np
import pytest
from sized import either, marked

from recallbook.embedding_laws import LAWS
from recallbook.setting import LOSS_WEIGHTS, OUTPUT_BIASES
from recallbook.theory.caveats import UNEQUAL_DOUBTS, doubts
from recallbook_studies.ch11 import unequal_map
from recallbook_studies.prediction_errors import QUANTITIES, TOLERANCES

MAP = unequal_map.judged()


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
    assert not MAP["doubted"].any()
    # settings just inside of what is warned of
    assert MAP["vocab"].min() < 70 and MAP["dim"].min() < 15 and MAP["seq_len"].max() > 110
    assert (MAP["samples"] / MAP["vocab"]).min() < 0.8 and (MAP["seq_len"] / MAP["vocab"]).max() > 1
    setting = marked(100, 20, 40, 400, zipf=1.0)
    beyond = {"vocab": 50, "dim": 10, "samples": 40, "seq_len": 200}
    for (field, size), doubt in zip(beyond.items(), UNEQUAL_DOUBTS, strict=True):
        found = doubts(replace(setting, **{field: size}), 1.0)
        assert [one.name for one in found] == [doubt.name], field
    assert not doubts(setting, 0.5)
    (few,) = doubts(marked(50, 20, 40, 400), 0.5, own=True)
    assert few.name == "few tokens" and not few.about
