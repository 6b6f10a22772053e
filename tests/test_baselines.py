"""Baselines against enumeration of every sequence at tiny sizes, and against simulation."""

import itertools

import numpy as np
import pytest
from sized import marked

import recallbook as rb
from recallbook_studies.ch01 import baselines

pytestmark = pytest.mark.essential


@pytest.mark.parametrize(("vocab", "seq_len"), [(2, 1), (2, 5), (3, 4), (5, 3), (4, 6)])
def test_largest_count_by_enumeration(vocab, seq_len):
    every = np.array(list(itertools.product(range(vocab), repeat=seq_len)))
    largest = np.array([np.bincount(row, minlength=vocab).max() for row in every])
    expected = [(largest <= k).mean() for k in range(seq_len + 1)]
    assert baselines.largest_count_distribution(vocab, seq_len) == pytest.approx(
        expected, abs=1e-13
    )
    assert baselines.bag_of_words_accuracy(vocab, seq_len) == pytest.approx(
        largest.mean() / seq_len, abs=1e-13
    )


@pytest.mark.parametrize("zipf", [0.0, 1.0])
def test_bag_of_words_guess_is_the_best_for_any_frequencies(zipf):
    """Against the posterior of the informative token, for all sequences of three tokens."""
    problem = rb.draw(marked(4, 3, 1, 1, zipf=zipf), seed=0)
    every = np.array(list(itertools.product(range(4), repeat=3)))
    chances = np.arange(1.0, 5) ** -zipf
    joint = np.zeros((len(every), 4))  # of the sequence and its informative token, up to a factor
    for row, tokens in enumerate(every):
        for token in tokens:
            joint[row, token] += np.prod(chances[tokens])
    guess = problem.permutation.argsort().numpy()[baselines.bag_of_words_guess(problem, every)]
    assert joint[np.arange(len(every)), guess] == pytest.approx(joint.max(axis=1), rel=1e-12)


@pytest.mark.parametrize(("vocab", "samples"), [(2, 1), (3, 4), (4, 5)])
def test_seen_facts_by_enumeration(vocab, samples):
    every = itertools.product(range(vocab), repeat=samples)
    seen = np.bincount([len(set(row)) for row in every], minlength=vocab + 1)
    distribution = baselines.seen_distribution(vocab, samples)
    assert distribution == pytest.approx(seen / seen.sum(), abs=1e-14)
    mean = distribution @ np.arange(vocab + 1) / vocab
    # chapter 1: one who memorises every pair, and guesses what was never seen
    assert mean + (1 - mean) / vocab == pytest.approx(
        1 - (1 - 1 / vocab) ** samples * (1 - 1 / vocab), abs=1e-14
    )


def test_simulated_coverage_follows_the_distribution():
    values = [baselines.simulated_coverage(50, 120, seed) for seed in range(400)]
    distribution = baselines.seen_distribution(50, 120)
    k = np.arange(51) / 50
    mean, variance = distribution @ k, distribution @ k**2 - (distribution @ k) ** 2
    assert abs(np.mean(values) - mean) < 4.5 * np.sqrt(variance / 400)
