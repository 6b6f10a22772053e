"""Recall: step 3 simulated directly against the formulas and the prediction; product laws; exact limits."""

import numpy as np
import pandas as pd
import pytest
import sympy as sp

import recallbook as rb
from recallbook.data.embeddings import draw_embeddings
from recallbook.theory.symbolic import recall_terms as recall_symbols
from recallbook.theory.symbolic.expressions import N, V, d, numeric, tau
from recallbook.theory.values import sizes
from recallbook_studies.ch06 import by_hand, critical_sizes, finite_rates, origins

pytestmark = pytest.mark.essential


def slope(sizes, values):
    return np.polyfit(np.log(np.asarray(sizes, float)), np.log(values), 1)[0]


def standard_error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


# Step 3 with perfect attention


@pytest.mark.parametrize("tau", [False, True])
def test_origins_sum_to_the_logits_of_the_stored_matrix(tau):
    setting = rb.Setting(vocab=30, seq_len=1, dim=12, samples=200, trigger_in_values=tau)
    tables, counts = draw_embeddings(setting, 3), origins.fact_counts(setting, 3)
    trigger = tau * np.asarray(tables.trigger).reshape(-1)
    stored = np.zeros((12, 12))
    for v in range(30):
        label = tables.output[v] - tables.output.mean(axis=0)
        stored += counts[v] / 200 * np.outer(label, tables.input[v] + trigger)
    logits = (tables.input + trigger) @ stored.T @ tables.output.T
    found = np.sum(list(origins.logits_by_origin(setting, 3).values()), axis=0)
    np.testing.assert_allclose(found, logits, atol=1e-12)


@pytest.mark.parametrize("tau", [False, True])
@pytest.mark.parametrize(("vocab", "dim", "samples"), [(128, 64, 1024), (256, 64, 2048), (256, 128, 8192)])
def test_predicted_recall(vocab, dim, samples, tau):
    """Within 0.01 plus four standard errors: what the leading order leaves out."""
    setting = rb.Setting(vocab=vocab, seq_len=1, dim=dim, samples=samples, trigger_in_values=tau)
    values = [origins.perfect_recall(setting, seed) for seed in range(40)]
    error = np.mean(values) - rb.predict(setting).recall
    assert abs(error) < 0.01 + 4 * standard_error(values)


@pytest.mark.parametrize("tau", [False, True])
@pytest.mark.parametrize(("vocab", "dim", "samples"), [(128, 64, 1024), (256, 32, 512), (200, 128, 8000)])
def test_mean_squares(vocab, dim, samples, tau):
    """Each origin on the sphere: z below 4 once the leading order's own error of 5/d + 5/V is allowed.

    Label overlap is left out: its measure is over the measured right logit, so that on the sphere its ratio to the
    prediction is that of the labels' own overlaps. :func:`test_label_overlap_is_that_of_the_labels` says so.
    """
    setting = rb.Setting(vocab=vocab, seq_len=1, dim=dim, samples=samples, trigger_in_values=tau, embeddings="sphere")
    predicted = origins.predicted_squares(setting)
    found = [origins.measured_squares(setting, seed) for seed in range(60)]
    for name in predicted.keys() - {"label overlap"}:
        expected, values = predicted[name], np.array([row[name] for row in found])
        if expected == 0:
            assert np.all(values == 0)
            continue
        allowed = 4 * standard_error(values) + expected * (5 / dim + 5 / vocab)
        assert abs(values.mean() - expected) < allowed, (name, values.mean(), expected)


def test_label_overlap_is_that_of_the_labels():
    """An identity, to rounding, when every right logit is alike: no measurement of the theory."""
    setting = rb.Setting(vocab=50, seq_len=1, dim=20, samples=10**9, embeddings="sphere")
    labels = draw_embeddings(setting, 3).output
    overlap = labels @ (labels - labels.mean(axis=0)).T
    off = np.mean(overlap[~np.eye(50, dtype=bool)] ** 2) / np.mean(np.diag(overlap) ** 2)
    assert origins.measured_squares(setting, 3)["label overlap"] == pytest.approx(off, rel=1e-3)


# Exact limits


@pytest.mark.parametrize("tau", [False, True])
@pytest.mark.parametrize("samples", [40, 120, 800, 4000])
def test_orthogonal_recall_is_a_rule_about_counts(samples, tau):
    setting = rb.Setting(vocab=60, seq_len=1, dim=62, samples=samples, embeddings="orthogonal", trigger_in_values=tau)
    for seed in range(10):
        assert np.array_equal(origins.recalled(setting, seed), origins.count_rule(setting, seed))


def test_noises_vanish_where_they_must():
    terms = recall_symbols.mean_squares()
    assert [
        name for name in ("interference", "label overlap", "own fact") if sp.limit(terms[name], d, sp.oo) != 0
    ] == []
    assert sp.limit(terms["label frequencies"], N, sp.oo) == 0
    assert sp.simplify(sp.limit(terms["label frequencies"].subs(tau, 1), d, sp.oo) - V / N) == 0
    assert terms["label frequencies"].subs(tau, 0) == 0
    assert rb.predict(
        rb.Setting(vocab=200, seq_len=1, dim=4000, samples=10**7, trigger_in_values=True)
    ).recall == pytest.approx(1, abs=1e-6)
    assert rb.predict(rb.Setting(vocab=200, seq_len=1, dim=4000, samples=1000)).recall == pytest.approx(
        1 - (1 - 1 / 200) ** 1000, abs=2e-3
    )


def test_frequency_constant():
    """At this constant the smallest and the largest of V Poisson counts have tails of order 1/V, a factor two apart."""
    c = critical_sizes.frequency_constant()
    rates = [a for a in np.linspace(0.5, 1, 100001)[1:-1] if c * (1 - a + a * np.log(a)) > 1]
    a = max(rates)
    assert c * (1 - 2 * a + 2 * a * np.log(2 * a)) == pytest.approx(1, abs=1e-3)


def test_all_counts_lie_within_a_factor_two_around_the_constant():
    """The window narrows with V: at half the constant never, at 1.4 times nearly always."""
    vocab = 4096
    few, many = (round(f * critical_sizes.frequency_constant() * vocab * np.log(vocab)) for f in (0.5, 1.4))
    assert critical_sizes.all_counts_near(vocab, few) < 0.05 and critical_sizes.all_counts_near(vocab, many) > 0.95
    assert critical_sizes.all_counts_near(2, 1) == 0  # one token unseen


def test_largest_law_is_the_largest():
    frame = pd.DataFrame({"dim": [4096, 512, 512], "seq_len": [16, 16, 4096]})
    coverage, frequencies = 256 * np.log(10), 2 * 256 * (256 + 512) * np.log(256) / 512
    lock = np.sqrt(2 * np.log(4096)) * 4096**2 * 16 / 512**1.5
    assert critical_sizes.largest_law(frame, False) == pytest.approx([coverage, coverage, lock])
    assert critical_sizes.largest_law(frame, True)[1:] == pytest.approx([frequencies, lock])


# Product laws


def test_conditions_are_the_product_laws():
    zero, one = origins.conditions(0), origins.conditions(1)
    assert zero["label frequencies"] == 0
    assert sp.simplify(one["label frequencies"] - 2 * V**2 * sp.log(V) / (N * d)) == 0
    for square, found in enumerate((zero, one), start=1):
        assert sp.simplify(found["interference"] - 2 * square * V * sp.log(V) / d**2) == 0
        assert sp.simplify(found["own fact"] - 2 * square * sp.log(V) / d) == 0


@pytest.mark.slow
def test_label_frequencies_bind_as_a_product_of_samples_and_dimension():
    vocab, dims = 2**20, [2**15, 2**16, 2**17]
    found = [rb.critical_samples(vocab, 16, dim, trigger_in_values=True) for dim in dims]
    assert slope(dims, found) == pytest.approx(-1, abs=0.1)  # other laws differ by a half at least
    vocabs = np.array([2**14, 2**17, 2**20])
    dims = (vocabs**0.8).astype(int)
    found = [rb.critical_samples(int(v), 16, int(d), trigger_in_values=True) for v, d in zip(vocabs, dims, strict=True)]
    assert slope(vocabs**2 * np.log(vocabs) / dims, found) == pytest.approx(1, abs=0.1)


def test_coverage_binds_in_proportion_to_the_vocabulary():
    vocabs = [2**8, 2**11, 2**14]
    found = [rb.critical_samples(v, 1, 16 * v) for v in vocabs]
    assert slope(vocabs, found) == pytest.approx(1, abs=0.01)
    assert found[-1] / vocabs[-1] == pytest.approx(np.log(10), rel=0.01)


@pytest.mark.parametrize("tau", [False, True])
def test_superposition_binds_as_the_square_of_the_dimension(tau):
    """Finite sizes drift: the exponent of d² in V log V is 1 within a tenth, the constant for half the facts 0.9."""
    vocabs = np.array([2**10, 2**12, 2**14])
    dims = np.array([critical_sizes.critical_dim(int(v), tau, 0.5) for v in vocabs], float)
    assert slope(vocabs * np.log(vocabs), dims**2) == pytest.approx(1, abs=0.1)
    assert np.all(np.abs(dims**2 / (2 * (1 + tau) * vocabs * np.log(vocabs)) - 0.9) < 0.1)


def test_lock_on_binds_as_the_square_of_the_length():
    lengths = [2000, 4000]
    found = [rb.critical_samples(10000, length, 1000) for length in lengths]
    assert slope(lengths, found) == pytest.approx(2, abs=0.2)


# Grids and reductions


def test_critical_samples_are_reached_in_simulation():
    frame = critical_sizes.critical(False, dims=(192,), lengths=(16,))
    accuracy = critical_sizes.at_critical(frame, False, seeds=range(8))["accuracy"]
    assert abs(accuracy.mean() - 0.9) < 0.01 + 4 * standard_error(accuracy)
    nothing = critical_sizes.critical(True, dims=(48,), lengths=(16,))
    assert np.isinf(nothing["samples"]).all() and critical_sizes.at_critical(nothing, True).empty


# One setting by hand


@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize(("vocab", "dim", "samples"), [(256, 96, 2048), (1000, 40, 700), (500, 2000, 9000)])
def test_boxed_ratio_is_that_of_the_ledger(vocab, dim, samples, flag):
    """The box drops a relative 2/V of two noises; half of that is lost or gained in the root."""
    shape = {"vocab": vocab, "seq_len": 1, "dim": dim, "samples": samples}
    setting = rb.Setting(**shape, trigger_in_values=bool(flag))
    counts = np.array([1, 5, 30])
    signal = (1 + flag) * counts * vocab / samples - flag
    boxed = numeric(by_hand.boxed_ratio())({**sizes(setting), by_hand.right: signal})
    assert by_hand.ratio(setting, counts) == pytest.approx(boxed, rel=2 / vocab)
    mean = by_hand.ratio(setting, np.array([samples / vocab]))
    assert mean[0] == pytest.approx(sum(by_hand.noises(setting).values()) ** -0.5)


def test_by_hand_near_the_prediction_where_lengths_hardly_vary():
    """At large d and tau = 0 the average over counts is all that is left: a fact is recalled if it was located."""
    setting = rb.Setting(vocab=256, seq_len=1, dim=20000, samples=512)
    found = by_hand.recall(setting), by_hand.recall(setting, lock_on=0.5)
    assert found[0] == pytest.approx(rb.predict(setting, warn=False).recall, abs=0.01)
    assert found == pytest.approx((1 - np.exp(-2.0), 1 - np.exp(-1.0)), abs=0.01)


def test_what_helps_says_what_binds():
    marked = rb.Setting(vocab=64, seq_len=8, dim=64, samples=512, trigger_in_values=True)
    found = by_hand.what_helps(marked)
    assert found["binds"] == rb.phase(marked) == "label frequencies"
    without = by_hand.what_helps(by_hand.with_trigger(marked, 0))
    assert without["accuracy"] == found["tau = 0"] > found["accuracy"]
    assert without["tau = 0"] is None


# Finite rates


@pytest.mark.slow
@pytest.mark.parametrize("dim", [64, 128])
def test_shared_part_at_finite_eta(dim):
    """The first order in eta, within a tenth plus four standard errors, up to past its minimum."""
    setting, etas = (
        rb.Setting(vocab=128, seq_len=16, dim=dim, samples=4096, trigger_in_values=True),
        (0.01, 0.1, 0.2, 0.3),
    )
    frame = finite_rates.finite_eta(setting, seeds=range(12), etas=etas)
    for eta, expected in zip(etas, finite_rates.shared_squares(setting, etas), strict=True):
        values = frame.loc[frame["eta"] == eta, "shared"]
        assert abs(values.mean() - expected) < 0.1 * expected + 4 * standard_error(values), (eta, values.mean())


def test_best_eta_is_the_minimum():
    setting = rb.Setting(vocab=128, seq_len=16, dim=64, samples=4096, trigger_in_values=True)
    best = finite_rates.best_eta(setting)
    at, before, after = finite_rates.shared_squares(setting, [best, 0.9 * best, 1.1 * best])
    assert at < before and at < after


def test_rate_map_tends_to_the_limit():
    frame = finite_rates.rate_map(False, seeds=[0]).set_index(["eta", "saturation"])["gain"]
    assert abs(frame[0.03, 10.0]) < 0.02 and frame[0.03, 0.3] < -0.3
