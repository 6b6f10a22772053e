"""Remedies for unequal facts: the points are what they are called, rates follow their rule, and no remedy must win."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import recallbook as rb
from recallbook.sweeps.run import table, typed
from recallbook.sweeps.store import Result
from recallbook_studies.ch11 import remedies, remedies_rates
from recallbook_studies.ch11.remedies import LIMIT, compared, gains, labelled, verdicts
from recallbook_studies.ch11.remedies_rates import GRIDS, chosen, tuning


def invented(points, outcome):
    """Results of points with outcomes from a function of the point; ``None`` is a failure."""
    results = []
    for point in points:
        value = outcome(point)
        found = None if value is None else {"accuracy": value, "lock_on": value, "recall": value}
        results.append(Result(point, found, "ArithmeticError: overflow" if value is None else None, 0.1))
    return table(results)


def test_every_way_is_there_at_the_same_sequences():
    frame = labelled(pd.DataFrame([point.values for point in remedies.points()]))
    frame = frame[(frame["samples"] == 2048) & (frame["zipf"] == 1) & (frame["embeddings"] == "gaussian")]
    ways = {"gradient, 30 steps", "gradient, 100 steps", "sign, 30 steps", "Adam, 30 steps", "Muon, 30 steps"}
    for _, rows in frame.groupby("trigger_in_values"):
        assert ways < set(rows["way"]) and set(rows["remedy"]) == set(remedies.REMEDIES)
        assert rows.groupby(["way", "remedy"])["seed"].apply(list).map(sorted).map(tuple).nunique() == 1
    assert not set(remedies.SEEDS) & set(remedies_rates.SEEDS)
    plain, biased = (rb.draw(remedies.setting(name, 2048, 1.0), seed=3) for name in ("nothing", "inverse weights"))
    assert [(a, b) for a, b in zip(plain.sequences, biased.sequences, strict=True) if not (a == b).all()] == []


@pytest.mark.parametrize("remedy", remedies.REMEDIES)
def test_a_remedy_is_read_back_from_its_point(remedy):
    setting = remedies.setting(remedy, 2048, 1.5, "orthogonal", True)
    frame = labelled(pd.DataFrame([rb.Point(setting, 0).values]))
    assert frame["remedy"].item() == remedy and frame["way"].item() == LIMIT
    chosen_fields = {name: getattr(setting, name) for name in remedies.REMEDIES[remedy]}
    assert chosen_fields == remedies.REMEDIES[remedy]
    back = replace(setting, loss_weights="equal", output_bias="none", balanced=False)
    assert back == remedies.setting("nothing", 2048, 1.5, "orthogonal", True)


def test_rates_are_those_that_the_rule_takes_from_the_committed_tuning():
    found = chosen(rb.load_results("remedies_rates"))
    assert {way: tuple(row) for way, row in found[["eta", "gamma"]].iterrows()} == remedies.RATES
    assert set(found.index) == set(GRIDS) == set(remedies.RATES)


def test_the_rule_takes_the_smallest_rates_near_the_best():
    rates = GRIDS["adam"].rates()
    points = [remedies_rates.point(remedies_rates.SETTING, s, "adam", r) for r in rates for s in (100, 101)]
    best = rates[4]
    found = chosen(invented(points, lambda p: 0.8 if (p.eta, p.gamma) == best else 0.4), ["adam"]).loc["adam"]
    assert (found["eta"], found["gamma"]) == best and found["edge"] == "" and found["accuracy"] == 0.8
    # all alike: the smallest; a little worse is no reason for larger rates, clearly worse is
    flat = chosen(invented(points, lambda p: 0.5), ["adam"]).loc["adam"]
    assert (flat["eta"], flat["gamma"]) == rates[0] and flat["edge"] == "eta and gamma"
    near = chosen(invented(points, lambda p: 0.5 - 0.004 * (p.eta == rates[0].eta)), ["adam"]).loc["adam"]
    assert (near["eta"], near["gamma"]) == rates[0]
    far = chosen(invented(points, lambda p: 0.5 - 0.006 * (p.eta == rates[0].eta)), ["adam"]).loc["adam"]
    assert far["eta"] == 4 * rates[0].eta


def test_a_failed_seed_counts_as_nothing_right():
    rates = GRIDS["sign"].rates()[:2]
    points = [remedies_rates.point(remedies_rates.SETTING, s, "sign", r) for r in rates for s in (100, 101)]
    frame = invented(points, lambda p: None if p.gamma == rates[1].gamma and p.seed == 101 else 0.6)
    found = tuning(frame).set_index("gamma")
    assert found.loc[rates[1].gamma, "accuracy"] == 0.3 and found.loc[rates[1].gamma, "failed"] == 1
    assert found.loc[rates[0].gamma, "accuracy"] == 0.6 and chosen(frame, ["sign"])["failed"].item() == 1
    with pytest.raises(ValueError, match=r"ways='muon' is not allowed"):
        chosen(frame, ["muon"])


def limit_pair(outcome):
    """Two remedies in the limit over ten seeds, with these outcomes."""
    settings = [remedies.setting(name, 2048, 1.0) for name in ("nothing", "trained bias")]
    return invented([rb.Point(s, seed, test_samples=5000) for s in settings for seed in range(10)], outcome)


def test_a_verdict_follows_the_data_whichever_remedy_they_favour():
    for winner in ("none", "trained"):
        frame = limit_pair(lambda p, winner=winner: 0.99 if p.setting.output_bias == winner else 0.2 + 0.01 * p.seed)
        rows = compared(frame).set_index("remedy")
        found = verdicts(rows)
        better, worse = ("nothing", "trained bias") if winner == "none" else ("trained bias", "nothing")
        assert found[better] == "yes" and found[worse] == "no"
        assert np.sign(gains(frame)["mean"].item()) == (1 if winner == "trained" else -1)
    scattered = compared(limit_pair(lambda p: 1.0 if p.seed % 5 else 0.7))
    assert set(verdicts(scattered)) == {"open"}
    assert scattered["lock_on high"].max() <= 1


def test_a_gain_is_taken_seed_by_seed():
    frame = limit_pair(lambda p: 0.08 * p.seed + 0.1 * (p.setting.output_bias == "trained"))
    found = gains(frame).iloc[0]
    assert found["remedy"] == "trained bias"
    assert found[["mean", "low", "high"]].to_numpy(float) == pytest.approx(0.1, abs=1e-12)
    shuffled = gains(frame.sample(frac=1, random_state=1)).iloc[0]
    assert shuffled["low"] == pytest.approx(0.1, abs=1e-12)


def test_a_failed_run_is_counted_and_is_no_success():
    rows = compared(limit_pair(lambda p: None if p.setting.output_bias == "trained" and p.seed < 5 else 1.0))
    rows = rows.set_index("remedy")
    assert rows.loc["trained bias", "failed"] == 5 and rows.loc["trained bias", "accuracy"] == 0.5
    assert rows.loc["nothing", "failed"] == 0 and rows.loc["nothing", "accuracy"] == 1


def test_without_unequal_facts_a_calibrated_bias_is_nothing():
    frame = labelled(rb.load_results("remedies"))
    frame = frame[(frame["zipf"] == 0) & (frame["way"] == LIMIT)].set_index([*remedies.SETTINGS, "seed"])
    plain, biased = (frame[frame["remedy"] == name] for name in ("nothing", "calibrated bias"))
    assert len(plain) == 80
    for outcome in ("accuracy", "lock_on", "recall"):
        assert (plain[outcome] == biased[outcome].reindex(plain.index)).all()


def test_wrong_names_are_refused():
    with pytest.raises(ValueError, match=r"remedy='prayer' is not allowed"):
        remedies.setting("prayer", 2048, 1.0)
    with pytest.raises(ValueError, match=r"embeddings='sphere' is not allowed"):
        remedies.setting("nothing", 2048, 1.0, "sphere")
    frame = limit_pair(lambda p: 0.5)
    with pytest.raises(ValueError, match=r"outcome='luck'"):
        gains(frame, "luck")
    with pytest.raises(ValueError, match=r"outcome='luck'"):
        verdicts(compared(frame), "luck")
    assert typed(frame).equals(frame)
