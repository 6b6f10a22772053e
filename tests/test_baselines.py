"""Baselines against enumeration of every sequence at tiny sizes, and against drawn sequences."""

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


def test_bag_of_words_accuracy_is_that_of_drawn_sequences():
    problem = rb.draw(marked(20, 12, 1, 1), seed=0)
    test = problem.fresh(20_000)
    counts = np.array([np.bincount(row, minlength=20) for row in test.tokens])
    right = np.mean(problem.permutation.numpy()[counts.argmax(1)] == test.labels.numpy())
    exact = baselines.bag_of_words_accuracy(20, 12)
    assert abs(right - exact) < 4 * np.sqrt(exact * (1 - exact) / 20_000)


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
