"""Recall: step 3 simulated directly against the formulas and the prediction; product laws; exact
limits."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sampling import by_day, standard_error
from sized import either, sized

import recallbook as rb
from recallbook.data.embeddings import draw_embeddings
from recallbook.model.ties import credit
from recallbook_studies import laws
from recallbook_studies.ch06 import origins
from recallbook_theory import lock_on, recall

pytestmark = pytest.mark.essential


def slope(sizes, values):
    return np.polyfit(np.log(np.asarray(sizes, float)), np.log(values), 1)[0]


# Step 3 with perfect attention


@either("tau")
def test_origins_sum_to_the_logits_of_the_stored_matrix(tau):
    setting = sized(30, 1, 12, 200, trigger_in_values=tau)
    tables, counts = draw_embeddings(setting, 3), origins.fact_counts(setting, 3)
    trigger = tau * np.asarray(tables.trigger).reshape(-1)
    stored = np.zeros((12, 12))
    for v in range(30):
        label = tables.output[v] - tables.output.mean(axis=0)
        stored += counts[v] / 200 * np.outer(label, tables.input[v] + trigger)
    logits = (tables.input + trigger) @ stored.T @ tables.output.T
    found = np.sum(list(origins.logits_by_origin(setting, 3).values()), axis=0)
    np.testing.assert_allclose(found, logits, atol=1e-12)


@either("tau")
def test_measured_noises_are_the_ledgers(tau):
    """Within four standard errors and 3 %: what the leading order leaves out at these sizes."""
    setting = sized(400, 1, 100, 4000, trigger_in_values=tau)
    found, off = origins.squares([setting]).groupby("origin")["square"], {}
    for name, size in origins.predicted_squares(setting).items():
        values = found.get_group(name)
        allowed = 4 * standard_error(values) + 0.03 * size
        if abs(values.mean() - size) > allowed:
            off[name] = values.mean() / size
    assert off == {}


@pytest.mark.parametrize("shown", [8, 500])  # the last: counts are taken as normal
def test_located_counts_are_parts_of_poisson_counts(shown):
    setting = sized(64, 16, 24, 64 * shown)
    lock = lock_on.lock(replace(setting, samples=150), ())  # far from all sequences
    mean = shown * lock.token
    found = recall.located_counts(setting, lock)
    assert np.mean(found - mean) == pytest.approx(0, abs=0.02 * np.sqrt(mean.mean()))
    assert np.mean((found - mean) ** 2) == pytest.approx(mean.mean(), rel=0.05)
    assert np.array_equal(recall.located_counts(setting, lock, ("coverage",)), mean)
    own, means = list(recall.own_counts(setting, lock)), shown * lock.draw
    first, square = means @ lock_on.NODE_WEIGHTS, means**2 @ lock_on.NODE_WEIGHTS
    for power, moment in enumerate((np.ones_like(first), first, first + square)):
        assert sum(k**power * chance for k, chance in own) == pytest.approx(moment, rel=1e-6)


@either("tau")
@pytest.mark.parametrize(
    ("vocab", "dim", "samples"),
    by_day([(128, 64, 1024), (256, 64, 2048), (256, 128, 8192)], quick=2),
)
def test_predicted_recall(vocab, dim, samples, tau):
    """Within 0.01 plus four standard errors: what the leading order leaves out."""
    setting = sized(vocab, 1, dim, samples, trigger_in_values=tau)
    values = [rb.simulate(setting, seed, test_samples=1).recall for seed in range(40)]
    error = np.mean(values) - rb.predict(setting).recall
    assert abs(error) < 0.01 + 4 * standard_error(values)


# Exact limits


@either("tau")
@pytest.mark.parametrize("samples", [40, 120, 800, 4000])
def test_orthogonal_recall_is_a_rule_about_counts(samples, tau):
    setting = sized(60, 1, 62, samples, embeddings="orthogonal", trigger_in_values=tau)
    for seed in range(10):  # prop-counts; a tie among k counts 1/k
        counts = rb.draw(setting, seed).tokens[:, 0].long().bincount(minlength=60)
        rule = credit(counts.diag() + tau * counts, torch.arange(60), 0).mean()
        recall = rb.simulate(setting, seed, test_samples=1).recall
        assert recall == pytest.approx(float(rule), abs=1e-12)


# Product laws


@pytest.mark.slow
@either("tau")
def test_superposition_binds_as_the_square_of_the_dimension(tau):
    """Finite sizes drift: the exponent of d² in V log V is 1 within a tenth, the constant for half
    the facts 0.9."""
    vocabs = np.array([2**10, 2**12, 2**14])
    dims = np.array([laws.least_dim(int(v), 0.5, trigger_in_values=tau) for v in vocabs], float)
    assert slope(vocabs * np.log(vocabs), dims**2) == pytest.approx(1, abs=0.1)
    assert np.all(np.abs(dims**2 / (2 * (1 + tau) * vocabs * np.log(vocabs)) - 0.9) < 0.1)


# Grids and reductions
