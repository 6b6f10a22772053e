"""Gradient descent beyond three steps, against a plain autograd loop."""

import torch

import recallbook as rb


def test_descend_goes_on_where_it_stopped():
    problem = rb.draw(rb.Setting(vocab=9, seq_len=4, dim=7, samples=60, trigger_in_values=True), seed=0)
    once, twice = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    rb.descend(once, problem, 10, eta=4.0, gamma=6.0)
    for _ in range(2):
        rb.descend(twice, problem, 5, eta=4.0, gamma=6.0)
    assert torch.equal(once.value, twice.value) and torch.equal(once.key_query, twice.key_query)


def test_descend_learns_the_task():
    problem = rb.draw(rb.Setting(vocab=16, seq_len=4, dim=24, samples=600), seed=0)
    model = rb.RecallTransformer(problem)
    history = rb.descend(model, problem, steps=300, eta=20.0, gamma=20.0)
    outcome = rb.evaluate(problem, model, 2000)
    assert history["loss"].iloc[-1] < 0.2 * history["loss"].iloc[0]
    assert outcome.accuracy > 0.95 and outcome.lock_on > 0.95


def test_first_two_updates_are_the_first_two_steps():
    """From zero the first update moves only the values; its rate is eta."""
    problem = rb.draw(rb.Setting(vocab=9, seq_len=4, dim=7, samples=60, trigger_in_values=True), seed=0)
    model = rb.RecallTransformer(problem)
    rb.descend(model, problem, 1, eta=4.0, gamma=6.0)
    assert torch.allclose(model.value, rb.three_steps(problem, 4.0, 6.0).value1, rtol=1e-13, atol=0)
    assert float(model.key_query.detach().abs().max()) < 1e-15


def test_progress_bar_goes_to_standard_error(capsys):
    problem = rb.draw(rb.Setting(vocab=9, seq_len=4, dim=7, samples=60, trigger_in_values=True), seed=0)
    rb.descend(rb.RecallTransformer(problem), problem, 2, eta=1.0, gamma=1.0)
    assert capsys.readouterr().err == ""
    rb.descend(rb.RecallTransformer(problem), problem, 2, eta=1.0, gamma=1.0, progress=True)
    assert "2/2" in capsys.readouterr().err
