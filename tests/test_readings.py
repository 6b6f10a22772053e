"""The gradient read with an error, coverage for every reader, and the larger of the two: against
enumeration."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sized import marked

import recallbook as rb
from recallbook_studies.ch01.baselines import seen_distribution
from recallbook_studies.intervals import seed_interval
from recallbook_theory.bounds import coverage, information

pytestmark = pytest.mark.essential

# The true gradient


def test_the_gradient_is_a_linear_image_of_counts():
    """{eq}`eq-bound-counts`, what :func:`initial_gradient` computes."""
    problem = rb.draw(marked(4, 3, 2, 3), 3)
    counts = np.bincount(problem.labels, minlength=4)
    labels, tokens = (e.numpy() for e in (problem.output_embeddings, problem.input_embeddings))
    tilde, centred = labels - labels.mean(axis=0), tokens - tokens.mean(axis=0)
    table = np.zeros((4, 4), dtype=int)
    np.add.at(table, (np.repeat(problem.labels.numpy(), 3), problem.tokens.numpy().ravel()), 1)
    shared = tokens.mean(axis=0) + problem.trigger.numpy() / 3
    gradient = (tilde.T @ table @ centred + tilde.T @ np.outer(counts * 3, shared)) / 9
    assert np.allclose(gradient, rb.initial_gradient(problem).numpy(), atol=1e-15)


# Directions: only labels that occur


def signals(setting, generator):
    """The mean of the gradient in units of its noise, for each permutation, and counts
    of the labels."""
    counts = generator.multinomial(setting.samples, np.full(setting.vocab, 1 / setting.vocab))
    tables = generator.standard_normal((2, setting.vocab, setting.dim))
    labels, tokens = tables - tables.mean(axis=1, keepdims=True)
    labels = labels @ inverse_root(labels.T @ (counts[:, None] * labels) / setting.samples)
    tokens = tokens @ inverse_root(tokens.T @ tokens / len(tokens))
    orders = np.array(list(itertools.permutations(range(setting.vocab))))
    means = np.einsum("k,ka,pkb->pab", counts, labels, tokens[orders])
    root = math.sqrt(setting.samples * (setting.seq_len - 1))
    return means / root, counts


def inverse_root(matrix):
    """Inverse square root of a symmetric matrix on its range."""
    values, vectors = np.linalg.eigh(matrix)
    positive = values > values[-1] * 1e-10
    return vectors[:, positive] / np.sqrt(values[positive])


def nats(means, draws, generator):
    """What one of these means plus standard normal noise tells about which mean it is."""
    truth = generator.integers(len(means), size=draws)
    read = means[truth] + generator.standard_normal((draws, means.shape[1]))
    logs = -cdist(read, means, "sqeuclidean") / 2
    gaps = logs[np.arange(draws), truth] - logsumexp(logs, axis=1)
    return math.log(len(means)) + float(np.mean(gaps))


@pytest.mark.parametrize("samples", [1, 2, 3, 6])
def test_rank_of_the_labels_is_at_most_the_number_of_sequences(samples):
    """And reached: with N different labels, fewer than d and V - 1, the signal has N rows."""
    setting = marked(7, 4, 5, samples)
    ranks = []
    for seed in range(20):
        means, counts = signals(setting, np.random.default_rng(seed))
        ranks.append(means.shape[1])
        assert ranks[-1] == min(5, np.count_nonzero(counts))
    assert max(ranks) == min(5, samples)


@pytest.mark.parametrize(
    ("vocab", "seq_len", "dim", "samples"),
    [(5, 8, 4, 2), (5, 3, 4, 1), (5, 3, 4, 3), (6, 12, 5, 4), (5, 8, 2, 400)],
)
def test_signal_and_information_are_at_most_the_bounds(vocab, seq_len, dim, samples):
    """With few sequences, fewer than dimensions; with many the signal is all that is allowed."""
    setting = marked(vocab, seq_len, dim, samples)
    energy, directions, told = [], 0, []
    for seed in range(10):
        generator = np.random.default_rng([seed, 3])
        means = signals(setting, generator)[0].reshape(math.factorial(vocab), -1)
        energy.append(np.sum(means**2) / len(means))
        directions += means.shape[1]
        told.append(nats(means, 100, generator))
    signal = (samples + vocab - 1) / (seq_len - 1) / (vocab - 1)
    assert (0.97 if samples == 400 else 0) < sum(energy) / directions / signal < 1
    allowed = information.available_information(vocab, seq_len, dim, samples)
    assert seed_interval(told, level=0.999).high < allowed
    assert allowed == pytest.approx(min(samples, dim) * dim / 2 * math.log1p(signal))


@given(
    vocab=st.integers(2, 300),
    seq_len=st.integers(2, 300),
    dim=st.integers(1, 400),
    width=st.one_of(st.none(), st.integers(1, 500)),
    noise=st.sampled_from([1e-3, 0.5, 1.0, 40.0]),
    accuracy=st.floats(0.02, 1),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_solution_inverts_the_information_also_where_few_labels_occur(**sizes):
    """At the N that is returned there is as much as is needed; a bit less and it is too little."""
    vocab, seq_len, dim, width, noise, accuracy = sizes.values()
    options = {"width": width, "reading_error": noise}

    def there_is(samples):
        return information.available_information(vocab, seq_len, dim, samples, **options)

    need = information.required_information(vocab, accuracy)
    least = information.information_samples(vocab, seq_len, dim, accuracy, **options)
    if 0 < least < 10**6:
        above, below = math.ceil(least * (1 + 1e-9)), math.floor(least * (1 - 1e-9))
        assert there_is(above) >= need * (1 - 1e-9)
        assert below < 1 or there_is(below) < need * (1 - 1e-9)


def test_reading_errors_scale_the_signal():
    """Twice the error is half of the signal over noise; at small ones a factor is half a nat for
    each e squared."""
    sizes, told = (64, 16, 20, 500), information.available_information
    one, other = (told(*sizes, reading_error=error) for error in (1e-12, 1e-14))
    assert other - one == pytest.approx(400 / 2 * math.log(100), rel=1e-6)
    twice = told(*sizes, reading_error=2.0)
    assert twice == pytest.approx(200 * math.log1p(0.5 * 563 / 15 / 63))
    found = information.maximum_accuracy
    assert found(*sizes, reading_error=2.0) < found(*sizes)


# Coverage


# Digits


def told_by_digits(places, chances):
    """Nats about X in X + w, w uniform between -1/2 and 1/2: its density is flat between breaks."""
    places = np.array(places, dtype=float)
    breaks = np.unique(np.concatenate([places - 0.5, places + 0.5]))
    middle = (breaks[1:] + breaks[:-1]) / 2
    density = (abs(middle[:, None] - places) < 0.5) @ np.array(chances)
    return float(-np.sum(np.diff(breaks) * density * np.log(np.where(density > 0, density, 1))))


@pytest.mark.parametrize(
    ("places", "chances", "near"),
    [
        ([-0.01, 0.01], [0.5, 0.5], 0.69),
        ([-0.3, 0.3], [0.5, 0.5], 0.69),
        (range(-20, 21), np.ones(41) / 41, 0.95),
        ([-3, -0.1, 0.1, 3], [0.01, 0.49, 0.49, 0.01], 0.3),
        (np.linspace(-0.9, 0.9, 50), np.ones(50) / 50, 0.55),
    ],
)
def test_an_entry_of_finite_digits_carries_at_most_either_form(places, chances, near):
    ratio = 12 * np.square(places) @ np.array(chances)  # s / c
    first = (math.log(1 + ratio) + math.log(2 * math.pi * math.e / 12)) / 2
    assert near < told_by_digits(places, chances) / min(first, (ratio / 3) ** 0.5) < 1


def test_the_signal_in_an_entry_is_at_most_what_the_bound_has():
    vocab, length, dim, samples = 6, 3, 4, 9
    rng, found = np.random.default_rng(0), []
    for seed in range(400):
        problem = rb.draw(marked(vocab, length, dim, samples), seed)
        share = np.bincount(problem.labels, minlength=vocab)[:, None] / samples
        named, tokens = (e.numpy() for e in (problem.output_embeddings, problem.input_embeddings))
        named, tokens = ((e - e.mean(axis=0)) for e in (named, tokens))
        signals = [(share * named).T @ tokens[rng.permutation(vocab)] / length for _ in range(20)]
        found.append(np.var(signals, axis=0, ddof=1).sum())
    noise = (length - 1) * (1 - 1 / vocab) ** 2 / (samples * length**2)
    said = noise * (samples + vocab - 1) / ((length - 1) * (vocab - 1))
    assert 0.8 * said < np.mean(found) + 4 * np.std(found) / 20 < 1.2 * said
    assert np.mean(found) - 4 * np.std(found) / 20 < said


def best_named(vocab: int, samples: int) -> tuple[float, np.ndarray]:
    """Facts that the best reader of located sequences names: the mean, and P(named >= a) for a =
    0..V, exactly.

    Given u unseen facts: by trying all labels for them, repeated ones too, the best mean and the
    best chance of each a."""
    seen = seen_distribution(vocab, samples)
    mean, chance = 0.0, np.zeros(vocab + 1)
    for known, weight in enumerate(seen):
        u = vocab - known
        orders = np.array(list(itertools.permutations(range(u)))).reshape(math.factorial(u), u)
        guesses = list(itertools.product(range(u), repeat=u))
        named = np.array(
            [(orders == np.array(g, dtype=int).reshape(u)).sum(axis=1) for g in guesses]
        )
        mean += weight * (known + named.mean(axis=1).max())
        for a in range(vocab + 1):
            chance[a] += weight * (named >= a - known).mean(axis=1).max()
    return mean, chance


@pytest.mark.parametrize("vocab", [2, 3, 4, 5])
def test_no_reader_names_more_than_coverage_allows(vocab):
    """Brute force over all guesses: on average, and with high probability; and the mean is nearly
    reached."""
    for samples in (1, 2, 4, 8, 15):
        mean, chance = best_named(vocab, samples)
        assert mean / vocab <= coverage.covered_accuracy(vocab, samples) + 1e-12
        unseen = vocab * (1 - 1 / vocab) ** samples
        for a in range(1, vocab + 1):
            # who names a facts with this chance may have so many unseen ones
            for error in {0.0, 0.1, 0.5, 0.9, max(0.0, 1 - chance[a])}:
                if chance[a] >= 1 - error and error < 1:
                    assert unseen <= coverage.unseen_allowed(vocab, a / vocab, error) + 1e-9
                    assert (
                        coverage.coverage_samples(vocab, a / vocab, error=error) <= samples + 1e-9
                    )
    # the slack: that several facts are missing where one is missing on average
    mean, _ = best_named(vocab, 15)
    assert 0 <= vocab * coverage.covered_accuracy(vocab, 15) - mean < 0.06


def test_coverage_solves_its_condition():
    for vocab, accuracy, error in (
        (2, 1, None),
        (40, 0.9, None),
        (40, 0.9, 0.1),
        (256, 1, 0.5),
        (256, 0.5, 0.0),
    ):
        allowed = coverage.unseen_allowed(vocab, accuracy, error)
        samples = coverage.coverage_samples(vocab, accuracy, error=error)
        assert vocab * (1 - 1 / vocab) ** samples == pytest.approx(allowed)
    assert coverage.unseen_allowed(256, 1.0, 0.5) == pytest.approx(
        (1 + math.sqrt(math.log(2))) ** 2
    )
    spare, allowed = 4, coverage.unseen_allowed(40, 0.9, 0.3)
    s = (-spare + math.sqrt(spare**2 + 4 * allowed)) / 2  # where the exponent is smallest
    assert s - 1 - allowed * (1 - 1 / s) + spare * math.log(s) == pytest.approx(math.log(0.7))
    for samples in (10, 300, 900):
        accuracy = coverage.covered_accuracy(256, samples)
        assert coverage.coverage_samples(256, accuracy) == pytest.approx(samples)
    assert coverage.covered_accuracy(256, 3000) == 1
    assert coverage.coverage_samples(256, 1 / 256) == 0


def test_unseen_facts_are_negatively_dependent():
    r"""The step of the proof: $\mathbb E\,e^{-\lambda u}\le(1-p(1-e^{-\lambda}))^V$, from the exact
    distribution."""
    for vocab, samples in ((3, 2), (6, 9), (20, 50)):
        seen = seen_distribution(vocab, samples)
        chance = (1 - 1 / vocab) ** samples
        for tilt in (0.1, 1.0, 3.0):
            exact = np.sum(seen * np.exp(-tilt * (vocab - np.arange(vocab + 1))))
            above = (1 - chance * (1 - math.exp(-tilt))) ** vocab
            assert exact <= above <= math.exp(-vocab * chance * (1 - math.exp(-tilt)))


# The larger of the two


@pytest.mark.parametrize("error", [None, 0.0, 0.05, 0.5])
@pytest.mark.parametrize("accuracy", [0.3, 1.0])
def test_minimum_is_the_larger_need(error, accuracy):
    binding = set()
    for vocab, seq_len, dim in ((64, 1, 8), (64, 4, 60), (64, 64, 16), (30, 2, 29)):
        told = information.information_samples(vocab, seq_len, dim, accuracy, error=error)
        shown = coverage.coverage_samples(vocab, accuracy, error=error)
        assert rb.minimum_samples(vocab, seq_len, dim, accuracy, error=error) == max(told, shown)
        binding.add(told > shown)
    assert binding == {True, False}


def test_errors_of_zero_and_none():
    """All facts: the same. A fraction: always so many asks for more than so many on average. Small
    errors lead to 0."""
    for sizes in ((64, 4, 60), (64, 64, 16)):
        all_facts, half = (partial(rb.minimum_samples, *sizes, accuracy=a) for a in (1.0, 0.5))
        assert all_facts(error=0.0) == all_facts() and half(error=0) >= half()
        assert half(error=1e-12) == pytest.approx(half(error=0.0), rel=1e-4)
    assert information.required_information(64, 0.5, 0.0) == pytest.approx(math.lgamma(33))


@pytest.mark.parametrize("value", [0, math.nan, "one"])
def test_reading_errors_that_are_not_allowed(value):
    for call in (
        lambda: rb.minimum_samples(8, 4, 3, reading_error=value, accuracy=1.0),
        lambda: information.available_information(8, 1, 3, 5, reading_error=value),
    ):
        with pytest.raises(
            ValueError, match=r"^reading_error=.* is not allowed: a number from 1e-100 to 1e\+100"
        ):
            call()
