"""Labels from the initial gradient: exact cases, likelihood, comparisons over seeds."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings as profile, strategies as st
from randomised import random_setting
from settings import EQUAL, settings
from sized import either, marked, sized

import recallbook as rb
from recallbook_studies.intervals import seed_interval
from recallbook_theory.bounds import decoding

pytestmark = pytest.mark.essential

TINY = sized(7, 2, 3, 90)


def log_likelihood(seen, labels):
    """Minus half of |Y - M|^2 with M the sum of the facts' products, up to a constant."""
    return -0.5 * float((seen.observed - seen.labels[labels].T @ seen.tokens).square().sum())


@profile(max_examples=15, deadline=None, derandomize=True)
@given(settings(**EQUAL), st.integers(0, 99))
def test_labels_of_every_method(setting, seed):
    """Shape, type and range; permutations where promised; the facts themselves are not looked
    at."""
    problem = rb.draw(setting, seed)
    vocab = problem.setting.vocab
    hidden = object.__new__(rb.Problem)
    hidden.__dict__.update({**vars(problem), "permutation": torch.zeros(vocab, dtype=torch.int64)})
    for method in decoding.METHODS:
        labels = rb.decode(problem, method)
        assert labels.shape == (vocab,) and labels.dtype == torch.int64
        assert 0 <= labels.min() and labels.max() < vocab
        if method in ("assignment", "refined"):
            assert len(labels.unique()) == vocab
        assert torch.equal(labels, rb.decode(hidden, method))


@pytest.mark.parametrize("method", decoding.METHODS)
@pytest.mark.parametrize("width", [None, 64])
def test_plenty_of_data_gives_every_fact(method, width):
    setting = sized(8, 2, 40, 20000, width=width)
    assert decoding.decoded(rb.draw(setting, 0), method) == 1


def test_argmax_is_what_it_says():
    problem = rb.draw(marked(20, 4, 8, 500), 3)
    gradient, tokens = rb.initial_gradient(problem), problem.input_embeddings
    scores = problem.output_embeddings @ gradient @ (tokens - tokens.mean(dim=0)).T
    assert torch.equal(rb.decode(problem), scores.argmax(dim=0))


def test_whitened_mean_is_the_signal():
    """Averaged over batches, the observation is the sum over facts."""
    setting = marked(6, 3, 4, 3000)
    problem = rb.draw(setting, 0)
    seen = decoding.whiten(problem, rb.initial_gradient(problem))
    signal = seen.labels[problem.permutation].T @ seen.tokens
    total = torch.zeros(4, 4, dtype=torch.float64)
    for block in range(200):
        batch = problem.fresh(3000, role="batch", block=block)
        again = object.__new__(rb.Problem)
        again.__dict__.update({**vars(problem), **batch._asdict()})
        total += decoding.whiten(problem, rb.initial_gradient(again)).observed / 200
    assert (total - signal).abs().max() < 4.5 / np.sqrt(200)


def test_a_gradient_of_ones_own_is_read():
    problem = rb.draw(marked(12, 4, 8, 300), 0)
    for method in decoding.METHODS:
        assert torch.equal(
            rb.decode(problem, method),
            rb.decode(problem, method, gradient=rb.initial_gradient(problem)),
        )
        other = rb.decode(problem, method, gradient=-rb.initial_gradient(problem))
        assert (other != rb.decode(problem, method)).any()


@pytest.mark.parametrize("seed", range(20))
def test_admissible_labels_are_those_of_all_best_permutations(seed):
    """Small integers tie often: every permutation is tried, and noise of a few roundings changes
    nothing."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    scores = rng.integers(0, 3, (size, size)).astype(float)
    orders = np.array(list(itertools.permutations(range(size))))
    sums = scores[np.arange(size), orders].sum(axis=1)
    expected = np.zeros((size, size), dtype=bool)
    for order in orders[sums == sums.max()]:
        expected[np.arange(size), order] = True
    for noise in (0, 1e-13):
        noisy = torch.from_numpy(scores + noise * rng.standard_normal(scores.shape))
        found = decoding.admissible(noisy, 1e-10)
        assert np.array_equal(found.numpy(), expected)
        labels = decoding._first_matching(found).numpy()
        assert sorted(labels) == list(range(size)) and expected[np.arange(size), labels].all()


@pytest.mark.parametrize("index", range(0, 24, 3))
def test_refinement_raises_the_likelihood_to_a_local_maximum(index):
    problem = rb.draw(random_setting(index), index)
    seen = decoding.whiten(problem, rb.initial_gradient(problem))
    start = torch.arange(problem.setting.vocab)
    end = decoding.refine(seen, start)
    best = log_likelihood(seen, end)
    assert best >= log_likelihood(seen, start)
    for first in range(len(end)):
        for second in range(first):
            other = end.clone()
            other[[first, second]] = other[[second, first]]
            assert log_likelihood(seen, other) <= best + 1e-6


@either("tau")
@pytest.mark.parametrize("multiple", [1, 2, 4])
def test_assignment_is_at_least_as_good_as_arg_max(multiple, tau):
    """Mean over paired seeds; and whitening and refinement lose nothing either."""
    vocab, seq_len, dim = 64, 16, 32
    samples = round(multiple * rb.minimum_samples(vocab, seq_len, dim, accuracy=1.0))
    setting = sized(vocab, seq_len, dim, samples, trigger_in_values=tau)
    problems = [rb.draw(setting, seed) for seed in range(12)]
    table = {
        method: np.array([decoding.decoded(p, method) for p in problems])
        for method in decoding.METHODS
    }
    assert seed_interval(table["assignment"] - table["argmax"], 0.999).low > 0
    assert seed_interval(table["whitened"] - table["argmax"], 0.999).low > 0
    assert seed_interval(table["refined"] - table["assignment"], 0.999).high > 0
    assert table["refined"].mean() >= table["assignment"].mean() - 0.02
