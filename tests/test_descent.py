"""Gradient descent beyond three steps, against a plain autograd loop."""

import pytest
import torch
from torch.nn import functional

import recallbook as rb


def autograd_step(model, sequences, eta, gamma):
    loss = functional.cross_entropy(model(sequences.tokens, sequences.positions), sequences.labels)
    value, key_query = torch.autograd.grad(loss, [model.value, model.key_query])
    model.value.data -= eta * value
    model.key_query.data -= gamma * key_query
    return loss.item()


@pytest.mark.parametrize("width", [None, 12])
@pytest.mark.parametrize("batch", [None, 25])
def test_descend_matches_autograd(width, batch):
    problem = rb.draw(rb.Setting(vocab=9, seq_len=4, dim=7, samples=60, width=width, activation="tanh"), seed=0)
    ours, theirs = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    history = rb.descend(ours, problem, steps=12, eta=4.0, gamma=6.0, batch=batch)
    losses = []
    for step in range(12):
        fresh = problem.sequences if batch is None else problem.fresh(batch, role="batch", block=step)
        losses.append(autograd_step(theirs, fresh, 4.0, 6.0))
    assert history["loss"].to_numpy() == pytest.approx(losses, rel=1e-11)
    assert torch.allclose(ours.value, theirs.value, rtol=1e-9, atol=1e-11)
    assert torch.allclose(ours.key_query, theirs.key_query, rtol=1e-9, atol=1e-11)
    assert list(history.columns) == ["step", "loss", "attention"] and len(history) == 12
    assert history["attention"][0] == pytest.approx(1 / 4)
    assert isinstance(ours.value, torch.nn.Parameter)


def test_descend_goes_on_where_it_stopped():
    problem = rb.draw(rb.Setting(vocab=9, seq_len=4, dim=7, samples=60), seed=0)
    once, twice = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    rb.descend(once, problem, 10, eta=4.0, gamma=6.0)
    for _ in range(2):
        rb.descend(twice, problem, 5, eta=4.0, gamma=6.0)
    assert torch.equal(once.value, twice.value) and torch.equal(once.key_query, twice.key_query)


def test_descend_learns_the_task():
    problem = rb.draw(rb.Setting(vocab=16, seq_len=4, dim=24, samples=600, trigger_in_values=False), seed=0)
    model = rb.RecallTransformer(problem)
    history = rb.descend(model, problem, steps=300, eta=20.0, gamma=20.0)
    outcome = rb.evaluate(problem, model, 2000)
    assert history["loss"].iloc[-1] < 0.2 * history["loss"].iloc[0]
    assert outcome.accuracy > 0.95 and outcome.lock_on > 0.95


def test_first_two_updates_are_the_first_two_steps():
    """From zero the first update moves only the values; its rate is eta."""
    problem = rb.draw(rb.Setting(vocab=9, seq_len=4, dim=7, samples=60), seed=0)
    model = rb.RecallTransformer(problem)
    rb.descend(model, problem, 1, eta=4.0, gamma=6.0)
    assert torch.allclose(model.value, rb.three_steps(problem, 4.0, 6.0).value1, rtol=1e-13, atol=0)
    assert float(model.key_query.detach().abs().max()) < 1e-15


def test_progress_bar_goes_to_standard_error(capsys):
    problem = rb.draw(rb.Setting(vocab=9, seq_len=4, dim=7, samples=60), seed=0)
    rb.descend(rb.RecallTransformer(problem), problem, 2, eta=1.0, gamma=1.0)
    assert capsys.readouterr().err == ""
    rb.descend(rb.RecallTransformer(problem), problem, 2, eta=1.0, gamma=1.0, progress=True)
    assert "2/2" in capsys.readouterr().err
