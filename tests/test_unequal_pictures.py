"""Figures and tables of chapter 11: their numbers, computed another way from the committed results."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import recallbook as rb
from recallbook.experiments.unequal import error_sizes, pictures, thresholds
from recallbook.theory import frequencies

pytestmark = pytest.mark.essential


def test_row_of_a_critical_exponent_has_how_often_the_most_frequent_token_stands_in_a_sequence():
    case = {"vocab": 4, "seq_len": 10, "dim": 8, "samples": 200, "trigger_in_values": True}
    law = frequencies.plain_critical_zipf(4, 10, trigger_in_values=True)
    found = {"simulated": 1.0, "low": 0.9, "high": 1.25, "law": law, "predicted": 1.1}
    other = {**case, "vocab": 5, **found}
    (row,) = pictures.critical_rows(pd.DataFrame([{**case, **found}, other]), vocab=4)
    assert row["L p₁ there"] == pytest.approx(10 / (1 + 1 / 2 + 1 / 3 + 1 / 4))
    assert (row["L"], row["τ"], row["mean scores"], row["measured"]) == (10, 1, 1.1, "1.00 [0.90, 1.25]")
    assert row["α*: law"] == frequencies.plain_critical_zipf(4, 10, trigger_in_values=True)


@pytest.mark.parametrize(("vocab", "seq_len", "flag"), [(128, 8, False), (256, 64, True), (1000, 32, False)])
def test_the_plain_law_is_where_two_scores_are_equal(vocab, seq_len, flag):
    """The frequent token's score through the uneven labels, and what facts give the mark; written out with NumPy."""
    exponent = frequencies.plain_critical_zipf(vocab, seq_len, trigger_in_values=flag)
    p = np.arange(1, vocab + 1.0) ** -exponent
    p /= p.sum()
    assert (np.sum(p**2) - 1 / vocab) * p[0] ** 2 == pytest.approx((1 + flag) * np.sum(p**2) / seq_len**2)


def test_the_plain_law_lies_in_the_measured_intervals():
    """All twelve without the trigger in the values, eight of twelve with it, and never farther off than 0.06."""
    broken = thresholds.critical(rb.load_results("zipf_threshold"))
    flags = broken["trigger_in_values"].astype(bool)
    cases = zip(broken["vocab"], broken["seq_len"], flags, strict=True)
    law = np.array([frequencies.plain_critical_zipf(int(v), int(n), trigger_in_values=flag) for v, n, flag in cases])
    held = (broken["low"] <= law) & (law <= broken["high"])
    assert held[~flags].all() and held[flags].sum() == 8
    assert np.abs(law - broken["simulated"]).max() < 0.06


def test_exponents_of_the_error_are_slopes_over_the_committed_grid():
    errors = rb.load_results("zipf_error").query("zipf == 2")
    by_dim, by_samples = pictures.error_exponents(errors)
    assert (by_dim["law"], by_samples["law"]) == (-0.25, -0.5)
    seen = errors.query("loss_weights == 'inverse' and dim == 256")
    means = np.log(1 - seen.pivot(index="samples", columns="seed", values="accuracy"))
    slope = np.polyfit(np.log(means.index), means.to_numpy(), 1)[0].mean()
    assert by_samples["measured"].startswith(f"{slope:.2f} [")
    # the law holds for many facts; the prediction has their sum, and a slope of 0 or of the other law would be far off
    assert by_samples["predicted"] == pytest.approx(slope, abs=0.03)


def test_lock_on_is_drawn_for_every_length_and_setting():
    setting = rb.Setting(vocab=128, seq_len=8, dim=16, samples=64, trigger_in_values=False)
    fig, (left, right) = plt.subplots(1, 2)
    sweep = rb.load_results("zipf_threshold")
    pictures.draw_lock_on_by_exponent(left, sweep, setting)
    pictures.draw_lock_on_by_samples(right, {"plain": setting, "zipf": setting}, (64, 128))
    names = [text.get_text() for text in left.get_legend().get_texts()]
    assert names == ["$L=8$", "$L=16$", "$L=32$", "$L=64$"]
    assert len(right.get_legend().get_texts()) == 2
    plt.close(fig)


def test_errors_are_drawn_with_what_was_never_seen():
    sizes = {"loss_weights": "equal", "deviation": 0.01, "error": 0.3, "predicted": 0.3}
    table = pd.DataFrame(
        [{**sizes, "dim": dim, "samples": n, "uncovered": 1 / n} for dim in (32, 512) for n in (64, 256)]
    )
    fig, ax = plt.subplots()
    pictures.draw_errors({"equal": ax}, table)
    assert 512 not in error_sizes.DIMS, "one more dimension, which has one N"
    dashed = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
    assert [line.get_ydata().tolist() for line in dashed] == [[1 / 64, 1 / 256]]
    plt.close(fig)
