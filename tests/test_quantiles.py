"""Quantiles over draws: laws that are known exactly, simulation, the committed comparison, and the arguments."""

import math

import numpy as np
import pytest

import recallbook as rb
from recallbook.theory import draws, unequal
from recallbook_studies.ch09 import quantiles

LEVELS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
SETTINGS = {
    "lock-on": rb.Setting(vocab=200, seq_len=100, dim=40, samples=1200, trigger_in_values=False),
    "trigger": rb.Setting(vocab=80, seq_len=6, dim=80, samples=1800, trigger_in_values=True),
    "MLP": rb.Setting(vocab=100, seq_len=30, dim=40, samples=1000, width=120, trigger_in_values=True),
    "sphere": rb.Setting(vocab=50, seq_len=400, dim=20, samples=500, embeddings="sphere", trigger_in_values=True),
    "one position": rb.Setting(vocab=60, seq_len=1, dim=40, samples=300, trigger_in_values=True),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_quantiles_ascend_and_their_mean_is_the_prediction(name):
    """The mean of 8,192 values, 512 draws of 128 facts each, is known to about 0.01."""
    found = rb.predict(SETTINGS[name], warn=False)
    values = np.array([found.quantile(q) for q in LEVELS])
    assert np.all(np.diff(values, axis=0) >= 0) and values.min() >= 0 and values.max() <= 1
    every = np.mean([found.quantile(q) for q in (np.arange(200) + 0.5) / 200], axis=0)
    assert every == pytest.approx([found.accuracy, found.lock_on, found.recall], abs=0.025)
    if SETTINGS[name].seq_len == 1:
        assert [found.quantile(q).lock_on for q in LEVELS] == [1] * len(LEVELS)


def test_draws_of_coverage_alone_have_the_law_of_empty_boxes():
    r"""Variance of the share of labels seen: $(e^{-c}-(1+c)e^{-2c})/V$ at $c=N/V$; 1.4 times that if independent."""
    setting = rb.Setting(vocab=300, seq_len=10, dim=302, samples=450, embeddings="orthogonal", trigger_in_values=False)
    c = 1.5
    exact = math.sqrt((math.exp(-c) - (1 + c) * math.exp(-2 * c)) / 300)
    assert draws.draw_law(setting).recall.std() == pytest.approx(exact, rel=0.1)


def test_larger_vocabularies_scatter_less():
    """Twice the facts and data: recall's scatter falls as the root where facts are nearly independent."""
    narrow, wide = (
        draws.draw_law(rb.Setting(vocab=v, seq_len=4, dim=d, samples=20 * v, trigger_in_values=False)).recall.std()
        for v, d in ((60, 22), (240, 49))
    )
    assert 1.5 < narrow / wide < 2.6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lock-on", "trigger", "MLP"])
def test_simulated_draws_below_quantiles(name):
    """200 seeds: a standard error of 0.02 at 0.1, of 0.035 at 0.5. Independent facts would fail "trigger" by 0.1."""
    setting, found = SETTINGS[name], rb.predict(SETTINGS[name], warn=False)
    seen = [rb.simulate(setting, seed, test_samples=2000) for seed in range(9000, 9200)]
    for outcome in ("accuracy", "lock_on", "recall"):
        if 0.1 < getattr(found, outcome) < 0.9:
            values = np.array([getattr(each, outcome) for each in seen])
            law = np.array([getattr(found.quantile(k / 400), outcome) for k in range(1, 400)])
            for q in quantiles.LEVELS:
                share = quantiles.share_below(values, getattr(found.quantile(q), outcome), law, q)
                assert abs(share - q) < 0.04 + 3 * math.sqrt(q * (1 - q) / 200), (outcome, q, share)


def test_unequal_facts_take_the_quantiles_of_their_draws(monkeypatch):
    monkeypatch.setattr(unequal, "ENOUGH", 1.0)  # few draws for the mean
    setting = rb.Setting(vocab=20, seq_len=6, dim=16, samples=200, zipf=1.0, trigger_in_values=False)
    found = rb.predict(setting, warn=False)
    law = unequal.draw_law(setting, {})
    assert len(law.accuracy) == 256
    assert found.quantile(0.1) == tuple(np.quantile(values, 0.1) for values in law)
    assert found.lock_on == pytest.approx(law.lock_on.mean(), abs=4 * law.lock_on.std() / 4)


@pytest.mark.parametrize("q", [0, 1, math.nan, "half"])
def test_levels_are_between_zero_and_one(q):
    with pytest.raises(ValueError, match=r"^q=.* is not allowed: a number between 0 and 1$"):
        rb.predict(SETTINGS["one position"], warn=False).quantile(q)


# The committed comparison


def test_ties_are_split_as_predicted():
    law = np.repeat([0.2, 0.6, 1.0], 100)
    assert quantiles.share_below(law, 0.6, law, 0.5) == pytest.approx(0.5)
    assert quantiles.share_below(np.array([0.2, 0.2, 0.6, 1.0]), 0.6, law, 0.5) == pytest.approx(0.5 + 0.25 / 2)


def test_the_comparison_is_committed_whole():
    frame = quantiles.load()
    assert list(frame["key"]) == quantiles.keys() and not frame[["accuracy", "lock_on", "recall"]].isna().any(axis=None)
    inside = frame["accuracy"].between(0.1, 0.9) | frame["lock_on"].between(0.1, 0.9)
    assert inside.all() and frame["width"].notna().sum() == quantiles.COUNTS["MLP"]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["equal 9", "equal 23", "MLP 0", "unequal 1"])
def test_rows_made_again(key):
    """Sizes exactly; two of 60 draws may cross a quantile on another processor, or with another order of sums."""
    stored = quantiles.load().set_index("key").loc[key]
    made = quantiles.row(key)
    for name, value in made.items():
        if name in ("vocab", "seq_len", "dim", "samples", "trigger_in_values"):
            assert value == stored[name], name
        elif "below" in name:
            assert value == pytest.approx(stored[name], abs=2.1 / quantiles.SEEDS), name
        elif isinstance(value, float) and name != "width":
            assert value == pytest.approx(stored[name], abs=2e-3), name


@pytest.mark.parametrize(("kind", "tolerance"), [("equal", 0.03), ("MLP", 0.1), ("unequal", 0.1)])
def test_shares_below_predicted_quantiles(kind, tolerance):
    """Standard errors: 0.005 to 0.015 with equal facts, to 0.044 else. Catches laws too wide or narrow by a fifth."""
    shares = quantiles.calibration(quantiles.load()).query("kind == @kind")
    assert shares["settings"].min() >= {"equal": 20, "MLP": 8, "unequal": 6}[kind]
    for level in quantiles.LEVELS:
        assert (shares[level] - level).abs().max() < tolerance, (kind, level)
