"""CUDA agrees with the CPU; skipped with a printed reason where there is no GPU."""

import pytest
import torch
from randomised import largest_difference, random_setting
from sized import marked

import recallbook as rb

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


@cuda
@pytest.mark.parametrize("seed", range(24))
def test_cuda_agrees_with_cpu(seed):
    setting = random_setting(seed)
    here, there = rb.draw(setting, seed), rb.draw(setting, seed, device="cuda")
    assert torch.equal(here.tokens, there.tokens.cpu())
    assert torch.equal(here.input_embeddings, there.input_embeddings.cpu())
    for rates in ((None, None), (3.0, 200.0)):
        ours, theirs = rb.three_steps(there, *rates), rb.three_steps(here, *rates)
        assert ours.value2.device.type == "cuda"
        for name in ("value1", "value2"):
            assert largest_difference(getattr(ours, name).cpu(), getattr(theirs, name)) < 1e-9
        a, b = rb.evaluate(there, ours, 500), rb.evaluate(here, theirs, 500)
        assert a.accuracy == pytest.approx(b.accuracy, abs=0.01) and a.lock_on == pytest.approx(
            b.lock_on, abs=0.01
        )


@cuda
def test_one_call_moves_the_problem():
    problem = rb.draw(marked(30, 5, 20, 300), seed=0)
    assert rb.three_steps(problem, device="cuda").value2.device.type == "cuda"
    assert (
        rb.simulate(problem.setting, 0, device="cuda").lock_on
        == rb.simulate(problem.setting, 0).lock_on
    )


def test_moving_keeps_the_data():
    problem = rb.draw(
        marked(30, 5, 20, 300, width=6),
        seed=0,
    )
    assert problem.to() is problem
    moved = problem.to(dtype=torch.float32)
    assert moved.dtype == torch.float32 and moved.mlp_weights.dtype == torch.float32
    assert moved.tokens.dtype == torch.int32 and torch.equal(moved.tokens, problem.tokens)
    assert problem.dtype == torch.float64
