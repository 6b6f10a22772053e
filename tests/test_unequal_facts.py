"""Loss weights and output bias: against autograd and finite differences, and what they are for."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings as profile, strategies as st
from settings import settings
from sized import marked

import recallbook as rb
from recallbook.data.residuals import residuals
from recallbook.setting import fact_frequencies

pytestmark = pytest.mark.essential

NAMES = ("value1", "key_query", "value2")
BASE = marked(12, 4, 9, 90)


def test_without_weights_a_label_that_the_bias_excludes_costs_without_end():
    problem = rb.draw(replace(BASE, samples=10, output_bias="trained"), seed=0)
    model = rb.RecallTransformer(problem)
    history = rb.descend(model, problem, steps=2, eta=1.0, gamma=1.0, batch=60)
    assert np.isinf(history["loss"]).all() and bool(model.value.isfinite().all())


# What they are for


@profile(max_examples=25, deadline=None, derandomize=True)
@given(settings(output_bias="trained"), st.integers(0, 99))
def test_a_trained_bias_leaves_no_residual_on_average(setting, seed):
    problem = rb.draw(setting, seed)
    known, size = residuals(problem), setting.vocab
    each = known.weights[problem.labels][:, None] * (
        torch.eye(size)[problem.labels] - known.prediction
    )
    assert float(each.sum(dim=0).abs().max()) < 1e-10 * setting.samples
    met = torch.bincount(problem.labels, minlength=size) > 0
    assert torch.equal(known.bias.isneginf(), ~met)


@pytest.mark.parametrize(
    "same",
    [
        {"output_bias": "calibrated"},
        {"output_bias": "calibrated", "other_zipf": 1.0},
        {"output_bias": "calibrated", "zipf": 1.0, "balanced": True},
        {"output_bias": "calibrated", "zipf": 1.0, "loss_weights": "inverse"},
    ],
    ids=str,
)
@pytest.mark.parametrize("rates", [(None, None), (3.0, 200.0)])
def test_a_calibrated_bias_is_none_where_training_sees_equal_facts(rates, same):
    with_bias = replace(BASE, **same)
    problem = rb.draw(with_bias, seed=3)
    plain = replace(problem, setting=replace(with_bias, output_bias="none"))
    one, other = rb.three_steps(problem, *rates), rb.three_steps(plain, *rates)
    assert [
        name for name in NAMES if not torch.equal(getattr(one, name), getattr(other, name))
    ] == []
    assert rb.evaluate(problem, one, 500) == rb.evaluate(plain, other, 500)


# What is measured


def test_a_model_that_knows_nothing_answers_with_the_most_frequent_label():
    """Accuracy is by frequency, recall is not; in the limit logits are per unit gamma, and the bias
    is nothing."""
    setting = replace(BASE, samples=400, zipf=1.0, output_bias="calibrated")
    problem = rb.draw(setting, seed=0)
    silent = rb.evaluate(problem, rb.three_steps(problem, 1e-9, 1e-9), 20000)
    assert silent.recall == pytest.approx(1 / 12)
    assert silent.accuracy == pytest.approx(fact_frequencies(setting)[0], abs=0.015)
    silent = rb.evaluate(problem, rb.RecallTransformer(problem), 20000)
    assert silent.recall == pytest.approx(1 / 12)
    loud = rb.evaluate(problem, rb.three_steps(problem, 1e-6, 1e13), 2000)
    limit = rb.evaluate(problem, rb.three_steps(problem), 2000)
    assert limit.recall > 1 / 12
    assert loud.recall == limit.recall
    assert abs(loud.accuracy - limit.accuracy) < 0.005


def test_labels_never_met_are_never_answered_at_finite_rates():
    setting = marked(12, 4, 4, 10, output_bias="trained")
    excluded = 0
    for seed in range(6):
        problem = rb.draw(setting, seed)
        model = rb.RecallTransformer(problem)
        model.value.data = rb.three_steps(problem, 1.0, 100.0).value2
        found = model(*problem.fresh(200)[:2])
        met = torch.bincount(problem.labels, minlength=12) > 0
        excluded += int((~met).sum())
        assert bool(met[found.argmax(dim=1)].all())
        weights = rb.three_steps(problem, 1.0, 100.0)
        known = met[problem.permutation].double().mean()
        assert rb.evaluate(problem, weights, 200).recall <= float(known)
    assert excluded > 10
