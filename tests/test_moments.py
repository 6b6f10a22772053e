"""Enumerated moments of step 2: against brute force over all data, simulation, the table, and the
ledger."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import torch
from numpy.polynomial.hermite_e import hermegauss
from sampling import by_day
from sized import either, sized

import recallbook as rb
from recallbook_studies.ch05 import enumeration as enumerated, scores
from recallbook_studies.ch05.contractions import TRIGGER, joined
from recallbook_theory import moments
from recallbook_theory.symbolic import lock_terms as lock_symbols
from recallbook_theory.symbolic.expressions import L, N, V, d, tau

pytestmark = pytest.mark.essential

NAMES = set(scores.TERMS)


def nodes(count, variance):
    """Gauss and Hermite's rule: exact for polynomials of degree below twice the count."""
    x, weights = hermegauss(count)
    return list(zip(x * math.sqrt(variance), weights / weights.sum(), strict=True))


def batches(setting):
    """The problem of seed 0 with every batch that there is: all tokens at all places, all
    positions."""
    problem, count = (
        replace(rb.draw(setting, 0), permutation=torch.arange(setting.vocab)),
        setting.samples,
    )
    for row in itertools.product(range(setting.vocab), repeat=count * setting.seq_len):
        tokens = torch.tensor(row).view(count, setting.seq_len)
        for places in itertools.product(range(setting.seq_len), repeat=count):
            positions = torch.tensor(places)
            yield replace(
                problem,
                tokens=tokens,
                positions=positions,
                labels=tokens[torch.arange(count), positions],
            )


def moments_of_scores(problem):
    """The mark's score, its square, and the mean square, squared mean and mean cube of the tokens'
    scores."""
    w = scores.attention_vector(problem)
    token, mark = (problem.input_embeddings @ w).numpy(), float(problem.trigger @ w)
    return np.array([mark, mark**2, np.mean(token**2), token.mean() ** 2, np.mean(token**3)])


def brute_force(setting):
    """First and second moments over all data and, in one dimension, all embeddings by quadrature;
    |t|^2 is 0.81."""
    trigger = torch.tensor([0.9], dtype=torch.float64)
    inputs = list(itertools.product(nodes(5, 1.0), repeat=setting.vocab))  # of degree 8 in each
    outputs = list(itertools.product(nodes(3, 1.0), repeat=setting.vocab))  # of degree 4
    total, data = np.zeros(5), 0
    for problem in batches(setting):
        data += 1
        for parts in itertools.product(inputs, outputs):
            z, u = (torch.tensor([[x] for x, _ in part], dtype=torch.float64) for part in parts)
            weight = math.prod(w for part in parts for _, w in part)
            one = replace(problem, input_embeddings=z, output_embeddings=u, trigger=trigger)
            total += weight * moments_of_scores(one)
    score, square, mean_square, square_mean, _ = total / data
    return score, square, mean_square - square_mean


SIZES = [
    (2, 2, 1),
    *(pytest.param(sizes, marks=pytest.mark.nightly) for sizes in ((2, 3, 1), (2, 2, 2))),
]


@pytest.mark.slow
@either("trigger_in_values")
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_moments_by_brute_force(sizes, trigger_in_values):
    """Everything there is: all tokens, all positions, all embeddings that rules of this degree
    need."""
    vocab, seq_len, samples = sizes
    fixed = {"vocab": vocab, "seq_len": seq_len, "dim": 1, "samples": samples}
    setting = rb.Setting(**fixed, trigger_in_values=trigger_in_values)
    found = [moments.polynomial(setting, name)(0.81) for name in ("score", "square", "scatter")]
    assert found == pytest.approx(brute_force(setting), rel=1e-9, abs=1e-14)


@either("trigger_in_values")
@pytest.mark.parametrize(
    ("vocab", "seq_len", "samples"), by_day([(2, 2, 2), (3, 2, 2), (2, 3, 2), (4, 2, 1)], quick=1)
)
def test_orthonormal_moments_by_brute_force(vocab, seq_len, samples, trigger_in_values):
    """With orthonormal embeddings data are all there is to average over: second and third moments
    of token scores."""
    fixed = {
        "vocab": vocab,
        "seq_len": seq_len,
        "dim": vocab + 2,
        "samples": samples,
        "embeddings": "orthogonal",
    }
    setting = rb.Setting(**fixed, trigger_in_values=trigger_in_values)
    every = [moments_of_scores(problem) for problem in batches(setting)]
    score, square, mean_square, square_mean, cube = np.mean(every, axis=0)
    found = moments.exact(setting)
    assert square_mean == pytest.approx(0, abs=1e-18)  # token scores sum to zero
    assert found.score(1.0) == pytest.approx(score, abs=1e-14)
    assert found.pull(1.0) + found.noise(1.0) == pytest.approx(square, abs=1e-14)
    distinct = vocab / (vocab - 1)
    assert found.overlap(1.0) + found.scatter(1.0) == pytest.approx(
        distinct * mean_square, abs=1e-14
    )
    assert found.cube == pytest.approx(
        cube, rel=1e-9, abs=1e-11
    )  # its terms are of order one, and cancel


def as_rows(quantity, terms):
    return {
        (quantity, name, odd, *powers): c
        for (name, odd), poly in terms.items()
        for powers, c in poly.items()
        if c
    }


def rows(quantity):
    """Rows of the stored table."""
    return pd.read_parquet(moments.TABLE).query("quantity == @quantity").itertuples(index=False)


def stored(quantity):
    return {tuple(row[:-1]): row[-1] for row in rows(quantity)}


def test_the_mean_of_the_table_is_what_the_enumeration_gives():
    assert as_rows("score", enumerated.moment((TRIGGER,))) == stored("score")


def test_neither_enumeration_nor_table_was_changed_without_the_other():
    assert enumerated.DIGEST.read_text(encoding="utf-8").strip() == enumerated.digest(), (
        "the enumeration or its table has changed: `python -m recallbook_studies.ch05.enumeration` makes both anew"
    )


def test_one_token_may_stand_in_six_pairs():
    """As in the cube of a score, where ranks alone are asked for."""
    assert joined(((0, 1),) * 6)[0] == 1 and joined(((0, 1), (2, 3), (1, 2), (3, 0)))[0] == 3


@pytest.mark.nightly
def test_the_table_is_what_the_enumeration_gives():
    found = enumerated.table()
    assert set(found.query("quantity == 'scatter'")["term"]) == NAMES
    for quantity in ("score", "square", "scatter", "cube"):
        again = found[found["quantity"] == quantity].itertuples(index=False)
        assert {tuple(row[:-1]): row[-1] for row in again if row[-1]} == stored(quantity), quantity


ORDERED = (N, L, V, d, lock_symbols.T)


def of_table(quantity, flag, without=()):
    """Rows of the table at this tau, coefficients by powers of 1/N, 1/L, 1/V, 1/d and of T."""
    found = Counter()
    for row in rows(quantity):
        if row.tau <= flag and row.term not in without:
            found[row.N, row.L, row.V, row.d, row.T] += row.coefficient
    return found


def of_ledger(part, flag, names):
    """The same of the ledger's terms at Q = M = 1, by SymPy: polynomials in the same powers."""
    total = sum(getattr(lock_symbols.lock_terms()[name], part) for name in names)
    total = total.subs({lock_symbols.Q: 1, lock_symbols.M: 1, tau: flag})
    total = total.subs({size: 1 / size for size in ORDERED[:4]}, simultaneous=True)
    top, bottom = (sp.Poly(x, *ORDERED) for x in sp.fraction(sp.together(total)))
    quotient, rest = sp.div(top, bottom)
    assert rest.is_zero
    return Counter(dict(quotient.terms()))


def order(poly, growths):
    """The exponent with which a polynomial falls, for each way in which the sizes can grow."""
    powers = np.array([powers[:4] for powers, c in poly.items() if c] or [(99,) * 4])
    return (powers @ growths).min(axis=0)


def alike(exact, ledger, ways):
    """Whether what leads is the same: the difference falls faster, however sizes grow."""
    difference = Counter(exact)
    difference.subtract(ledger)
    return bool((order(difference, ways) > order(exact, ways) + 1e-9).all())


# exponents of N, L, V, d: 1 << L, 1 << d << V << N
WAYS = np.random.default_rng(0).uniform((1, 0.1, 1, 0.1), (3.5, 1.1, 1, 0.99), (5000, 4)).T


@pytest.mark.slow
@pytest.mark.parametrize("flag", [0, 1])
def test_every_term_of_the_ledger_is_derived(flag):
    """However sizes grow, what leads in the ledger is exactly what leads in the enumeration: in all
    of the scatter, and without the tokens that resemble the trigger. At tau = 1 the trigger's part
    of bias noise is in no moment: it is left out."""
    names, led = set(lock_symbols.lock_terms()), set()
    for gone in (set(), {"trigger overlap"} | ({"bias noise"} if flag else set())):
        exact = of_table("scatter", flag, gone)
        assert alike(exact, of_ledger("token", flag, names - gone), WAYS)
        first = order(exact, WAYS) + 1e-9
        for name in names - gone:
            if (order(of_ledger("token", flag, [name]), WAYS) < first).any():
                led.add(name)
    small = {"bias noise", "unequal lengths", ("fact interference", "gradient noise")[flag]}
    assert names - led <= small
    exact = of_table("scatter", 0, NAMES - {"uneven facts"})
    lengths = of_ledger("token", 0, ["uneven facts", "unequal lengths"])
    assert alike(exact, lengths, np.array([[16], [5], [3], [9]]))  # where lengths matter


def test_what_leads_in_the_marks_variance():
    """Without the trigger in the values."""
    exact = of_table("square", 0)
    for one, two in itertools.product(of_table("score", 0).items(), repeat=2):
        exact[tuple(map(sum, zip(one[0], two[0], strict=True)))] -= one[1] * two[1]
    assert alike(exact, of_ledger("trigger", 0, lock_symbols.lock_terms()), WAYS)


def test_every_enumerated_term_is_in_the_ledger():
    assert NAMES - {"cross terms"} <= set(lock_symbols.lock_terms())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "trigger_in_values"),
    [
        ("gaussian", False),
        ("sphere", True),
        pytest.param("gaussian", True, marks=pytest.mark.nightly),
        pytest.param("orthogonal", False, marks=pytest.mark.nightly),
    ],
)
def test_moments_against_simulation(law, trigger_in_values):
    """Where all corrections matter: sequences as long as the vocabulary, few of them, d of its
    order."""
    dim = 42 if law == "orthogonal" else 24
    setting = sized(40, 30, dim, 50, embeddings=law, trigger_in_values=trigger_in_values)
    frame = scores.run(setting, range(200))
    found, trigger = moments.exact(setting), frame["T"].to_numpy()
    for measured, exact in (
        (frame["variance"], found.overlap + found.scatter),
        (frame["score"], found.score),
        (frame["score"] ** 2, found.pull + found.noise),
    ):
        exact = exact(trigger)
        off = measured.to_numpy() - exact
        assert abs(off.mean()) < 3.5 * off.std(ddof=1) / len(off) ** 0.5 + 0.01 * abs(exact.mean())
