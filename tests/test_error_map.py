"""The committed map of errors: recomputed, predictions up to date, and what the warnings say fitted
on it."""

import warnings
from dataclasses import replace

import error_model
import numpy as np
import pandas as pd
import pytest
import torch
from sized import either, marked

import recallbook as rb
from recallbook_studies import error_map
from recallbook_studies.ch11 import unequal_map
from recallbook_studies.error_map import QUANTITIES, outcomes
from recallbook_theory import expected_errors
from recallbook_theory.caveats import LARGEST, doubts
from recallbook_theory.prediction import predicted_lock_on, theory_of

pytestmark = pytest.mark.essential

MAP = error_map.load()


QUICK = unequal_map.judged().query("predicted_error < 0.0045").nsmallest(3, "vocab")
CHOSEN = [(unequal_map, row) for row in QUICK.to_dict("records")]
CHOSEN += [(error_map, row) for row in MAP.sample(15, random_state=3).to_dict("records")]


def named(value):
    return getattr(value, "__name__", None) or f"{value['index']}"


@pytest.mark.parametrize(
    ("map_", "row"),
    CHOSEN[:8] + [pytest.param(*one, marks=pytest.mark.nightly) for one in CHOSEN[8:]],
    ids=named,
)
def test_predictions_are_those_of_today(map_, row):
    found = map_.predicted(row)
    for name in (f"predicted_{quantity}" for quantity in QUANTITIES):
        assert found[name] == pytest.approx(row[name], abs=1e-6), name


CHEAP = MAP.query("samples * seq_len < 3000 and seeds <= 40 and dim < 500")
OTHERS = unequal_map.judged().query("vocab < 130 and samples * seq_len < 30000")
MADE_AGAIN = [(error_map, row) for row in CHEAP.sample(3, random_state=2).to_dict("records")]
MADE_AGAIN += [(unequal_map, row) for row in OTHERS[:2].to_dict("records")]


@pytest.mark.slow
@pytest.mark.parametrize(("map_", "row"), MADE_AGAIN, ids=named)
def test_rows_are_what_the_simulation_gives(map_, row):
    index, count = row["index"], row["seeds"]
    plain = map_ is error_map
    seeds = error_map.seeds_of(index)[:count] if plain else unequal_map.seeds_of(index, count)
    again = list(outcomes(map_.as_setting(row), seeds))
    # the MLP is simulated in single precision
    assert np.mean(again, axis=0) == pytest.approx([row[name] for name in QUANTITIES], abs=2e-3)


@pytest.mark.nightly
def test_expected_errors_are_fitted_on_the_map():
    """The committed weights, and what ten folds say of settings outside of those fitted: errors as
    large as expected, and most of what is off above the threshold."""
    found, expected = error_model.fitted(MAP)
    committed = pd.read_csv(str(expected_errors.FOLDER / expected_errors.TABLE))
    pd.testing.assert_frame_equal(found, committed, rtol=0.02, atol=2e-3)
    warned, off = expected.max(axis=1) > expected_errors.LARGE, error_map.judged()["off"]
    assert off.sum() > 90 and off[warned].sum() > 0.75 * off.sum()
    assert off[warned].mean() > 0.25


def test_a_fresh_map_is_met_as_the_page_says():
    """Warnings catch most of what is off, with few false alarms; an error is as large as expected,
    small or large."""
    fresh = error_map.judged(rb.load_results("fresh_map"))
    warned = fresh[fresh["warns"]]
    assert warned["off"].sum() >= 0.8 * fresh["off"].sum() > 10
    assert len(warned) <= len(fresh) / 3 and warned["off"].mean() > 0.2
    worst = error_map.square_miss(fresh[~fresh["warns"]], "accuracy").idxmax()
    assert fresh.loc[worst, ["activation", "embeddings"]].tolist() == ["he2", "orthogonal"]
    bins = error_map.by_expected(fresh.drop(worst))
    assert (bins["missed"] / bins["expected"])[1:].between(0.5, 2).all()


def test_predictions_are_not_below_chance():
    """Where attention fails one answer in V is right: without it misses there are twice as large."""
    for name, most in (("fresh_map", 0.004), ("error_map", 0.006)):
        frame = rb.load_results(name).query("predicted_lock_on < 0.5 and width.isna()")
        assert len(frame) > 50 and (frame["predicted_accuracy"] > 0.99 / frame["vocab"]).all()
        assert max(error_map.square_miss(frame, "accuracy").mean(), 0) ** 0.5 < most
    row = frame.iloc[0].to_dict()  # committed predictions are today's
    assert error_map.predicted(row)["predicted_accuracy"] == pytest.approx(
        row["predicted_accuracy"]
    )
    few = rb.predict(marked(3, 8, 4, 12), warn=False)
    seeds = range(54000, 54060)
    runs = [rb.simulate(marked(3, 8, 4, 12), s, test_samples=300).accuracy for s in seeds]
    assert few.accuracy == pytest.approx(np.mean(runs), abs=0.08)


def test_sizes_beyond_the_map_count_as_its_last():
    near, far = (marked(v, 8, 10 * v, 2 * v) for v in (1024, 4096))
    sizes = dict.fromkeys(QUANTITIES, 0.7)
    assert expected_errors.expected_errors(near, sizes) == pytest.approx(
        expected_errors.expected_errors(replace(far, seq_len=8), sizes), rel=0.2
    )


@pytest.mark.slow
def test_warnings_say_what_is_off_and_what_was_never_checked():
    setting = marked(98, 13, 12, 2000, width=34, activation=torch.abs)
    found = rb.predict(setting, warn=False)
    size = found.expected_error.lock_on
    assert size > expected_errors.LARGE
    for ask in (rb.predict, predicted_lock_on):
        with pytest.warns(UserWarning, match=f"lock_on typically off by {size:.2f}"):
            ask(setting)
    plain = marked(200, 10, 60, 800)
    with pytest.warns(UserWarning, match="beyond the settings where predictions were checked"):
        rb.predict(replace(plain, samples=50))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert max(rb.predict(plain).expected_error.to_dict().values()) < expected_errors.LARGE
        rb.predict(replace(plain, width=100, activation=torch.sin))


@pytest.mark.slow
def test_all_neurons_may_be_silent():
    """A few ReLU neurons that see nothing: a number, not a NaN."""
    setting = marked(620, 11, 24, 2644, width=3, embeddings="sphere")
    found = rb.predict(setting, warn=False)
    assert [name for name in QUANTITIES if not (0 <= getattr(found, name) <= 1)] == []


# Unequal facts


UNEQUAL = unequal_map.judged()


@either("unseen")
def test_nothing_is_off(unseen):
    """Beyond the tolerance and two standard errors, of simulation and prediction together."""
    part = UNEQUAL[(UNEQUAL["unseen"] == unseen) & ~UNEQUAL["warns"]]
    assert len(part) >= 50
    for name in QUANTITIES:
        assert not part[f"off_{name}"].any(), part.loc[
            part[f"off_{name}"], ["index", name, f"predicted_{name}"]
        ]


@pytest.mark.parametrize("name", QUANTITIES)
def test_differences_are_no_larger_than_sampling_explains(name):
    """Root mean square: what is left when both standard errors are taken off is well below what
    counts as off."""
    difference = UNEQUAL[f"predicted_{name}"] - UNEQUAL[name]
    variance = UNEQUAL[f"{name}_error"] ** 2 + UNEQUAL["predicted_error"] ** 2
    assert np.sqrt(max(0.0, (difference**2 - variance).mean())) < 0.012
    assert abs(difference.mean()) < 3 * np.sqrt(variance.sum()) / len(UNEQUAL) + 0.002


def test_what_is_larger_than_anything_simulated_is_warned_of():
    simulated = pd.concat([MAP, rb.load_results("largest")])
    assert simulated[[*LARGEST]].max().to_dict() == LARGEST
    assert doubts((), rb.Setting(**LARGEST, samples=1)) == []
    larger = rb.Setting(**{name: most + 1 for name, most in LARGEST.items()}, samples=1)
    assert doubts((), larger)[0].says(larger).count(" above ") == len(LARGEST)


def test_the_map_reaches_as_far_as_its_doubts_say():
    assert len(UNEQUAL) == unequal_map.COUNT and UNEQUAL["unseen"].sum() == unequal_map.UNSEEN >= 50
    assert not UNEQUAL["warns"].any()
    # settings just inside of what is warned of
    assert (
        UNEQUAL["vocab"].min() < 70 and UNEQUAL["dim"].min() < 15 and UNEQUAL["seq_len"].max() > 110
    )
    assert (UNEQUAL["samples"] / UNEQUAL["vocab"]).min() < 0.8 and (
        UNEQUAL["seq_len"] / UNEQUAL["vocab"]
    ).max() > 1
    setting = marked(100, 20, 40, 400, zipf=1.0)
    beyond = {"vocab": 50, "dim": 10, "samples": 40, "seq_len": 200}
    known = theory_of(setting).doubts
    for (field, size), doubt in zip(beyond.items(), known, strict=True):
        found = doubts(known, replace(setting, **{field: size}))
        assert [one.name for one in found] == [doubt.name], field
    assert not doubts(known, setting)
    small = marked(50, 20, 40, 400)
    own = theory_of(small, {"trigger": np.ones(40)})
    (few,) = doubts(own.doubts, small)
    assert few.name == "few tokens"
