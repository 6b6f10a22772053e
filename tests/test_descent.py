"""Gradient descent beyond three steps, against a plain autograd loop."""

import pytest
import torch
from sized import marked, sized

import recallbook as rb


@pytest.fixture
def problem():
    return rb.draw(marked(9, 4, 7, 60), seed=0)


def test_descend_goes_on_where_it_stopped(problem):
    once, twice = rb.RecallTransformer(problem), rb.RecallTransformer(problem)
    rb.descend(once, problem, 10, eta=4.0, gamma=6.0)
    for _ in range(2):
        rb.descend(twice, problem, 5, eta=4.0, gamma=6.0)
    assert torch.equal(once.value, twice.value) and torch.equal(once.key_query, twice.key_query)


def test_descend_learns_the_task():
    problem = rb.draw(sized(16, 4, 24, 600), seed=0)
    model = rb.RecallTransformer(problem)
    history = rb.descend(model, problem, steps=300, eta=20.0, gamma=20.0)
    outcome = rb.evaluate(problem, model, 2000)
    assert history["loss"].iloc[-1] < 0.2 * history["loss"].iloc[0]
    assert outcome.accuracy > 0.95 and outcome.lock_on > 0.95


@pytest.mark.parametrize("progress", [False, True])
def test_progress_bar_goes_to_standard_error(problem, capsys, progress):
    rb.descend(rb.RecallTransformer(problem), problem, 2, eta=1.0, gamma=1.0, progress=progress)
    said = capsys.readouterr().err
    assert ("2/2" in said) == progress == bool(said)
