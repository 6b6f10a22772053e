"""Closed forms against autograd, finite differences, limits and invariances, in float64."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings as profile, strategies as st
from randomised import at_random_weights, largest_difference
from sampling import generator
from settings import settings
from sized import marked, sized
from unequal import UNEQUAL, plain_loss

import recallbook as rb
from recallbook.activations import he2, he3
from recallbook.model import attention
from recallbook.training import early_phase
from recallbook.training.gradients import descent_directions

pytestmark = pytest.mark.essential

NAMES = ("value1", "key_query", "value2")
thorough = profile(
    max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
RATES = ((0.3, 2.0), (20.0, 300.0), (1e-4, 1e7))


@thorough
@given(settings(), st.integers(0, 99), st.sampled_from(RATES))
def test_three_steps_match_autograd(setting, seed, rates):
    problem, (eta, gamma) = rb.draw(setting, seed), rates
    ours = rb.three_steps(problem, eta, gamma, chunk=11)
    theirs = rb.reference.three_steps(problem, eta, gamma)
    for name, rate in zip(NAMES, (eta, eta * gamma, eta + gamma), strict=True):
        # what is exactly zero, as key_query at L = 1, is rounding in the oracle: compare on the
        # scale of the rates
        expected = getattr(theirs, name)
        allowed = 1e-10 * max(float(expected.abs().max()), 1e-5 * rate)
        assert float((getattr(ours, name) - expected).abs().max()) <= allowed, name
    assert torch.allclose(
        eta * rb.initial_gradient(problem), theirs.value1, rtol=1e-10, atol=1e-15 * eta
    )
    if float(theirs.value2.abs().max()) < 1e-12 * (eta + gamma):
        return  # zero but for rounding, as where two facts cancel: rounding answers
    ours, theirs = rb.evaluate(problem, ours, 300), rb.evaluate(problem, theirs, 300)
    assert ours.recall == theirs.recall and abs(ours.accuracy - theirs.accuracy) <= 1 / 300


@thorough
@given(settings(loss_weights="equal", output_bias="none"), st.integers(0, 99), st.integers(1, 40))
def test_step_two_alone_reads_a_second_batch(setting, seed, count):
    problem = rb.draw(setting, seed)
    second = problem.fresh(count, role="batch")
    for eta, gamma in RATES[:2]:
        ours = rb.three_steps(problem, eta, gamma, second_batch=second)
        model = rb.RecallTransformer(problem)
        model.value.data.copy_(ours.value1)
        loss = plain_loss(problem, model(second.tokens, second.positions), second.labels)
        slope = torch.autograd.grad(loss, model.key_query)[0]
        assert torch.allclose(ours.key_query, -gamma * slope, rtol=1e-9, atol=1e-12 * gamma * eta)
        model.key_query.data.copy_(ours.key_query)
        loss = plain_loss(problem, model(problem.tokens, problem.positions), problem.labels)
        slope = torch.autograd.grad(loss, model.value)[0]
        assert torch.allclose(ours.value2, ours.value1 - gamma * slope, rtol=1e-9, atol=1e-12)
    limit = rb.three_steps(problem, second_batch=second)
    ours = rb.three_steps(problem, 1e-6, 1.0, second_batch=second)
    assert torch.allclose(ours.key_query / 1e-6, limit.key_query, rtol=1e-4, atol=1e-7)


def test_a_second_batch_is_refused_where_it_has_no_meaning():
    problem = rb.draw(sized(6, 4, 5, 9), seed=0)
    for wrong in (None, problem.tokens, rb.draw(sized(6, 3, 5, 9), seed=0).sequences):
        with pytest.raises(ValueError, match=r"sequences=.* is not allowed: Sequences of 4 tokens"):
            problem.with_batch(wrong)
    weighted = rb.draw(replace(problem.setting, loss_weights="inverse"), seed=0)
    with pytest.raises(ValueError, match="setting="):
        rb.three_steps(weighted, second_batch=problem.sequences)


def without_bias(problem):
    """A model at random weights, whose bias is left to :func:`plain_loss`."""
    model = at_random_weights(rb.RecallTransformer(problem), 2)
    model.output_bias.zero_()
    return model


@thorough
@given(settings(), st.integers(0, 99), st.sampled_from([(), ("value",), ("key_query",)]))
def test_gradients_match_autograd_of_the_loss_written_out(setting, seed, left_out):
    """Away from zero every term of the gradient is present at once; weights and bias from their
    definitions. What is not asked for is zero."""
    problem = rb.draw(setting, seed)
    model = without_bias(problem)
    loss = plain_loss(problem, model(problem.tokens, problem.positions), problem.labels)
    value, key_query = torch.autograd.grad(loss, [model.value, model.key_query])
    direction = model.key_query.detach() @ problem.query
    ours = descent_directions(
        problem,
        problem.sequences,
        model.value.detach(),
        direction,
        wrt={"value", "key_query"} - {*left_out},
        chunk=7,
    )
    assert ours.loss == pytest.approx(loss.item(), rel=1e-12)
    # what is exactly zero, as the value's where all labels are alike, is rounding in the oracle:
    # weights are of size 1
    for name, theirs in {"value": value, "key_query": key_query}.items():
        mine, theirs = getattr(ours, name), theirs * (name not in left_out)
        assert float((mine + theirs).abs().max()) < 1e-10 * max(1e-3, float(theirs.abs().max()))
    weight = (
        model.attention(problem.tokens, problem.positions)
        .gather(1, problem.positions[:, None])
        .mean()
    )
    assert ours.attention == pytest.approx(weight.item(), abs=1e-12)


@pytest.mark.parametrize("given", [{}, {"trigger_in_values": True}, *UNEQUAL], ids=str)
@pytest.mark.parametrize("width", [None, 24])
def test_limit_is_reached_at_first_order(width, given):
    """With tiny eta and huge gamma the distance to the limit is proportional to eta: fitted slope
    1."""
    setting = sized(12, 5, 9, 150, width=width, activation="gelu", **given)
    problem = rb.draw(setting, seed=3)
    limit = rb.three_steps(problem)
    etas = np.array([1e-2, 1e-3, 1e-4])
    distances = {"key_query": [], "value2": []}
    for eta in etas:
        gamma = 1e9 / eta  # gamma * eta is what attention sees: saturated
        finite = rb.three_steps(problem, eta, gamma)
        assert largest_difference(finite.value1 / eta, limit.value1) < 1e-13
        distances["key_query"].append(
            largest_difference(finite.key_query / (gamma * eta), limit.key_query)
        )
        distances["value2"].append(largest_difference(finite.value2 / gamma, limit.value2))
    slopes = {
        name: np.polyfit(np.log(etas), np.log(values), 1)[0] for name, values in distances.items()
    }
    assert slopes == pytest.approx(dict.fromkeys(distances, 1), abs=0.03)


@pytest.mark.parametrize("given", [{}, *UNEQUAL], ids=str)
@pytest.mark.parametrize("width", [None, 14])
@pytest.mark.parametrize("trigger_in_values", [True, False])
def test_fast_routes_are_the_plain_steps(monkeypatch, trigger_in_values, width, given):
    """Labels first, and the label-by-token table in one block or several: sequence by sequence."""
    setting = sized(23, 6, 9, 300, trigger_in_values=trigger_in_values, width=width, **given)
    problem = rb.draw(setting, seed=1)
    assert early_phase.count_table_is_cheaper(problem) == (width is None)
    assert early_phase.labels_first_is_cheaper(problem) == (width is not None)
    value = early_phase.plain_value_step(problem, 11)
    for numbers in (early_phase.TABLE_NUMBERS, 5 * 23):
        monkeypatch.setattr(early_phase, "TABLE_NUMBERS", numbers)
        assert largest_difference(early_phase.value_step(problem), value) < 1e-12
        psi = early_phase.key_query_step(problem, value)
        monkeypatch.setattr(early_phase, "labels_first_is_cheaper", lambda problem: False)
        plain = early_phase.plain_key_query_step(problem, value, 11)
        assert largest_difference(psi, plain) < 1e-12
        monkeypatch.undo()


def test_products_by_gathering_agree(monkeypatch):
    problem = rb.draw(marked(40, 6, 5, 50), seed=0)
    queries = torch.randn(50, 5, dtype=torch.float64, generator=generator())
    dense = attention.token_products(problem, queries, problem.tokens)
    monkeypatch.setattr(attention, "GATHER_COST", 0)
    monkeypatch.setattr(attention, "CHUNK_NUMBERS", 100)
    assert (
        largest_difference(attention.token_products(problem, queries, problem.tokens), dense)
        < 1e-13
    )


def test_float32_is_close_to_float64():
    problem = rb.draw(marked(60, 8, 30, 2000), seed=0)
    exact = rb.three_steps(problem, 5.0, 1e4)
    rounded = rb.three_steps(problem, 5.0, 1e4, dtype=torch.float32)
    for name in NAMES:
        assert getattr(rounded, name).dtype == torch.float32
        assert largest_difference(getattr(rounded, name).double(), getattr(exact, name)) < 1e-3


@pytest.mark.slow
def test_no_large_tensor_is_made():
    """Peak of torch's own allocations stays far below N*L*d, N*V and N*m numbers."""
    setting = marked(300, 16, 64, 1500, width=256)
    problem = rb.draw(setting, seed=0, dtype=torch.float32)
    full = 4 * 1500 * min(300, 256)  # bytes of the smallest forbidden matrix, N by m
    for rates in ((None, None), (5.0, 50.0)):
        with torch.profiler.profile(profile_memory=True) as record:
            rb.three_steps(problem, *rates, chunk=64)
        sizes = [event.self_cpu_memory_usage for event in record.events()]
        assert 0 < max(sizes) < full / 4


def test_hermite_activations_are_orthonormal():
    """Under the standard normal law, together with 1 and x; the quadrature is exact for these
    degrees."""
    points, weights = (torch.from_numpy(x) for x in np.polynomial.hermite_e.hermegauss(8))
    table = torch.stack([torch.ones_like(points), points, he2(points), he3(points)])
    gram = (table * weights) @ table.T / weights.sum()
    assert torch.allclose(gram, torch.eye(4, dtype=gram.dtype), rtol=0, atol=1e-13)
