"""Remedies for unequal facts: the points are what they are called, rates follow their rule, and no
remedy must win."""

from dataclasses import replace

import pandas as pd
import pytest

import recallbook as rb
from recallbook.sweeps.archive import table
from recallbook.sweeps.store import Result
from recallbook_studies.ch11 import remedies, remedies_rates
from recallbook_studies.ch11.remedies import LIMIT, compared, labelled, verdicts
from recallbook_studies.ch11.remedies_rates import GRIDS, chosen, tuning


def invented(points, outcome):
    """Results of points with outcomes from a function of the point; ``None`` is a failure."""
    results = []
    for point in points:
        value = outcome(point)
        found = None if value is None else {"accuracy": value, "lock_on": value, "recall": value}
        results.append(
            Result(point, found, "ArithmeticError: overflow" if value is None else None, 0.1)
        )
    return table(results)


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
    assert not set(remedies.SEEDS) & set(remedies_rates.SEEDS)


def tuned(way, rates, outcome):
    points = [
        remedies_rates.point(remedies_rates.SETTING, s, way, r) for r in rates for s in (100, 101)
    ]
    return invented(points, outcome)


def test_the_rule_takes_the_smallest_rates_near_the_best():
    rates = GRIDS["adam"].rates()
    least = rates[0].eta
    for outcome, best, edge in (
        (lambda p: 0.8 if (p.eta, p.gamma) == rates[4] else 0.4, rates[4], ""),
        # all alike: the smallest; a little worse is no reason for larger rates, clearly worse is
        (lambda p: 0.5, rates[0], "eta and gamma"),
        (lambda p: 0.5 - 0.004 * (p.eta == least), rates[0], "eta and gamma"),
        (lambda p: 0.5 - 0.006 * (p.eta == least), (4 * least, rates[0].gamma), None),
    ):
        found = chosen(tuned("adam", rates, outcome)).loc["adam"]
        assert (found["eta"], found["gamma"]) == best and edge in (found["edge"], None)


def test_a_failed_run_is_counted_and_is_nothing_right():
    rates = GRIDS["sign"].rates()[:2]
    frame = tuned(
        "sign", rates, lambda p: None if p.gamma == rates[1].gamma and p.seed == 101 else 0.6
    )
    found = tuning(frame).set_index("gamma")[["accuracy", "failed"]]
    assert [found.loc[rate.gamma].tolist() for rate in rates] == [[0.6, 0], [0.3, 1]]
    assert chosen(frame)["failed"].item() == 1
    rows = compared(
        limit_pair(lambda p: None if p.setting.output_bias == "trained" and p.seed < 5 else 1.0)
    )
    rows = rows.set_index("remedy")[["failed", "accuracy"]]
    assert rows.loc[["trained bias", "nothing"]].to_numpy().tolist() == [[5, 0.5], [0, 1]]


def limit_pair(outcome):
    """Two remedies in the limit over ten seeds, with these outcomes."""
    settings = [remedies.setting(name, 2048, 1.0) for name in ("nothing", "trained bias")]
    return invented(
        [rb.Point(s, seed, test_samples=5000) for s in settings for seed in range(10)], outcome
    )


@pytest.mark.parametrize("winner, sign", [("none", -1), ("trained", 1)])
def test_a_verdict_follows_the_data_whichever_remedy_they_favour(winner, sign):
    frame = limit_pair(lambda p: 0.99 if p.setting.output_bias == winner else 0.2 + 0.01 * p.seed)
    found = verdicts(compared(frame).set_index("remedy"))
    assert [found[name] for name in ("nothing", "trained bias")] == ["no", "yes"][::sign]


def test_a_verdict_is_open_where_seeds_scatter():
    scattered = compared(limit_pair(lambda p: 1.0 if p.seed % 5 else 0.7))
    assert set(verdicts(scattered)) == {"open"} and scattered["lock_on high"].max() <= 1
