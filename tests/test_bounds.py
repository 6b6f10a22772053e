"""The information bound: its constants from SymPy, each step against exact computation, no
estimator beyond it."""

import itertools
import math
from itertools import product

import pytest
import sympy as sp
from scipy.special import gammaln
from sized import marked

import recallbook as rb
from recallbook_studies.intervals import seed_interval
from recallbook_theory.bounds import information, information_terms as expressions
from recallbook_theory.bounds.decoding import METHODS, decoded
from recallbook_theory.symbolic.expressions import L, N, V

SIZES = [
    (2, 1, 1, 1),
    (2, 2, 1, 5),
    (3, 2, 9, 4),
    (40, 8, 12, 300),
    (128, 32, 64, 1000),
    (4096, 100, 300, 10**6),
]


# Constants, by SymPy


@pytest.mark.parametrize("samples", [1, 3, 4])
def test_signal_over_noise_by_enumeration(samples):
    """Over all ordered pairs of different rows, for any centred rows, and over all batches."""
    table = sp.Matrix([[1, 5], [-3, 2], [2, -11], [0, 4]])
    assert sp.ones(1, 4) * table == sp.zeros(1, 2)
    gram = table * table.T
    off = sum(gram[i, j] for i, j in itertools.permutations(range(4), 2)) / sp.Integer(12)
    pair_mean = off / (sp.trace(gram) / 4)
    squares = [
        sum(sp.Rational(batch.count(k), samples) ** 2 for k in range(4))
        for batch in itertools.product(range(4), repeat=samples)
    ]
    square = sp.Rational(sum(squares), len(squares))
    expected = samples * (1 - pair_mean) * square / (expressions.reading * (L - 1))
    found = expressions.signal_to_noise().subs({V: 4, N: samples})
    assert sp.simplify(found - expected) == 0


def test_leading_order():
    r"""$Nd^2/(2LV^2(\log V-1))\to1$ at $d=V^{0.9}$, $L=V^{0.8}$: closer and closer as $V$ grows."""
    errors = []
    for exponent in (14, 20, 30):
        vocab = 2**exponent
        seq_len = round(2 ** (0.8 * exponent))
        dim = round(2 ** (0.9 * exponent))
        leading = 2 * seq_len * vocab**2 * (math.log(vocab) - 1) / dim**2
        errors.append(abs(information.information_samples(vocab, seq_len, dim) / leading - 1))
    assert errors[2] < 0.03 and errors[2] < errors[1] < errors[0]


def test_tilting_is_optimal_and_covers_all_facts():
    a, lam = expressions.named, sp.Symbol("lambda", positive=True)
    gain = lam * a - (sp.exp(lam) - 1)
    assert sp.diff(gain, lam, 2).is_negative
    assert sp.simplify(expressions.some_facts() - gain.subs(lam, sp.log(a))) == 0
    # log V! exceeds it by half a log(2 pi V), and no more than that in the limit
    difference = [
        float(gammaln(v + 1)) - float(expressions.some_facts().subs(a, v)) for v in (2, 50, 10**6)
    ]
    assert [x for x in difference if not (x > 0)] == []
    assert difference[-1] == pytest.approx(0.5 * math.log(2 * math.pi * 10**6) - 1, abs=1e-5)


def test_fano_against_counted_balls():
    """Never more than Fano with the exact number of permutations in the ball, and not less by more
    than log e."""
    vocab, error = 40, 0.1
    deranged = [sp.subfactorial(j) for j in range(vocab + 1)]
    coin = -error * math.log(error) - (1 - error) * math.log(1 - error)
    for a in (4, 20, 36, 40):
        ball = sum(sp.binomial(vocab, j) * deranged[j] for j in range(vocab - a + 1))
        exact = (1 - error) * float(sp.log(sp.factorial(vocab) / ball)) - coin
        found = information.required_information(vocab, a / vocab, error)
        assert exact - 1 <= found <= exact + 1e-9


def test_what_is_available_is_solved_for_the_number_of_sequences():
    at_least = expressions.available().subs(N, expressions.samples())
    assert sp.simplify(at_least - expressions.information) == 0


# Numbers


@pytest.mark.parametrize("width", [None, 1, 7, 400])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_two_solutions_agree(sizes, width):
    vocab, seq_len, dim, samples = sizes
    if seq_len == 1:
        assert information.available_information(*sizes) == math.inf
        assert information.maximum_accuracy(*sizes) == 1
        assert information.information_samples(vocab, 1, dim) == 0
        return
    given = {"width": width}
    nats = information.available_information(*sizes, **given)
    accuracy = information.maximum_accuracy(*sizes, **given)
    if 1 / vocab < accuracy < 1:
        assert information.required_information(vocab, accuracy) == pytest.approx(nats)
        assert information.information_samples(
            vocab, seq_len, dim, accuracy, **given
        ) == pytest.approx(samples)


def test_ranks_end_at_vocab_less_one():
    for vocab in (2, 5, 30):
        values = [
            information.information_samples(vocab, 9, dim) for dim in (vocab - 1, vocab, 3 * vocab)
        ]
        assert values[0] == values[1] == values[2]
        assert vocab == 2 or information.information_samples(vocab, 9, vocab - 2) > values[0]


def test_degenerate_sizes():
    assert rb.minimum_samples(2, 1, 1, accuracy=1.0) == 1 and rb.minimum_samples(
        2, 2, 1, accuracy=1.0
    ) == pytest.approx(2.0)
    assert information.information_samples(2, 1, 1) == 0
    assert rb.minimum_samples(500, 2, 1, accuracy=1.0) == math.inf
    assert information.required_information(50, 1 / 50) == 0
    assert rb.minimum_samples(50, 9, 10, 1 / 50) == 0
    assert [information.required_information(v) for v in (2, 5)] == pytest.approx(
        [math.log(2), math.log(120)]
    )
    assert rb.minimum_samples(2**31 - 1, 2**31 - 1, 2**31 - 1, accuracy=1.0) > 0


# Estimators against the bound


@pytest.mark.parametrize(("dim", "seq_len"), [(24, 32), (40, 16)])
def test_no_estimator_crosses_the_bound_where_it_binds(dim, seq_len):
    vocab = 64
    least = rb.minimum_samples(vocab, seq_len, dim, 0.5)
    sweep = [
        marked(vocab, seq_len, dim, max(1, round(share * least))) for share in (0.25, 0.5, 1.0, 1.5)
    ]
    for setting, method in product(sweep, METHODS):
        allowed = information.maximum_accuracy(vocab, seq_len, dim, setting.samples)
        assert allowed < 0.9
        shares = [decoded(rb.draw(setting, seed), method) for seed in range(8)]
        assert seed_interval(shares, level=0.999).low <= allowed
