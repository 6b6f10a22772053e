"""The closed-form bound: every inequality of the proofs on draws, with its slack; the algebra by
enumeration."""

import itertools
import math
import re
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp
from measured_steps import Steps
from scipy.linalg import hadamard
from scipy.stats import binom, norm

import recallbook as rb
from recallbook_studies.ch06 import product_form as pf
from recallbook_theory.bounds import closed_form as cf
from recallbook_theory.symbolic.expressions import L, N, V, d, numeric, tau

pytestmark = pytest.mark.essential

# V, L, d, N, tau; one where the lower bounds say something, and five that are seen everywhere
DRAWS = [
    (120, 8, 60, 2000, 0),
    (120, 8, 60, 2000, 1),
    (60, 2, 50, 4000, 1),
    (60, 40, 30, 1500, 1),
    (200, 24, 150, 2500, 0),
]
WIDE = [(30, 3, 2500, 2000, 0), (30, 3, 2500, 2000, 1)]
SEEDS = (0, 1)
POSITIVE = {"shortest", "key of the trigger", "rarest", "all counts", "signal", "right overlap"}
BOOK = Path(__file__).parent.parent / "book"
PAGE = (BOOK / "proofs.md").read_text(encoding="utf-8")


@cache
def ratios(sizes, seed):
    """Of the upper bounds, and the pairs of the lower ones."""
    log = cf.union(sizes[0], 1, cf.EVENTS)
    draw = Steps(sizes, log, seed, pairs=3 if sizes in WIDE else 12)
    return draw.upper(), draw.lower()


# Every inequality


@pytest.mark.parametrize(
    ("sizes", "seed"),
    [
        *itertools.product(DRAWS, SEEDS),
        *(pytest.param(sizes, 0, marks=pytest.mark.nightly) for sizes in WIDE),
    ],
)
def test_every_bound_holds(sizes, seed):
    upper, lower = ratios(sizes, seed)
    assert {name: ratio for name, ratio in upper.items() if not ratio <= 1} == {}
    assert {name: pair for name, pair in lower.items() if not pair[0] <= pair[1]} == {}
    if sizes in WIDE:  # where the theorem says something
        assert {name for name, (proved, _) in lower.items() if proved > 0} >= POSITIVE | (
            {"right weight"} if not sizes[-1] else set()
        )


@pytest.mark.nightly
def test_how_much_of_each_bound_is_used():
    """The table of the page. A constant changed by a fifth is noticed, in whichever direction."""
    found = {}
    for sizes in (*DRAWS, *WIDE):
        for name, ratio in ratios(sizes, 0)[0].items():
            found[name] = max(found.get(name, 0), ratio)
    table = PAGE.split("| inequality | share used |")[1].split("\n\n")[0]
    said = {name: float(share) for name, share in re.findall(r"\| (.+?) \| ([0-9.e-]+) \|", table)}
    assert found.keys() == said.keys()
    off = {name: found[name] / said[name] for name in found if said[name]}
    assert [ratio for ratio in off.values() if not (0.85 < ratio < 1.15)] == [], off


# The page


def lines(formula):
    """What the page prints on a line each: the terms of a sum; a long product with a sum is
    multiplied out."""
    sums = [factor for factor in formula.args if factor.is_Add and len(sp.latex(factor)) > 40]
    if len(sp.latex(formula)) > 110 and formula.is_Mul and sums:
        widest = max(sums, key=lambda factor: len(sp.latex(factor)))
        formula = sp.Add(*(term * formula / widest for term in widest.args))
    return [
        line
        for term in sp.Add.make_args(formula)
        for line in ([term] if term == formula else lines(term))
    ]


def test_the_page_prints_the_formulas():
    printed = [
        f"{sp.latex(symbol)}&={sp.latex(e)}"
        for symbol, e in cf.definitions().items()
        if symbol not in {cf.lam, cf.Lambda_prime}
    ]
    sums = (*cf.losses().values(), *cf.norms().values(), cf.signal)
    printed += [sp.latex(term) for of in sums for term in lines(of)]
    assert not [formula for formula in printed if formula not in PAGE]
    assert not [name for name in {**cf.losses(), **cf.norms()} if rf"\text{{{name}}}:" not in PAGE]


def test_the_page_prints_the_constants():
    for flag in (0, 1):
        assert rf"$C_1={pf.DIM_SQUARE[flag]}$, $C_2={pf.SAMPLES[flag]}$ for $\tau={flag}$" in PAGE
    assert (
        rf"{pf.DIM_OVER_LOG}\,\Lambda\le d\le V" in PAGE
        and rf"\Lambda=\log\frac{{{cf.EVENTS}\,V^2}}\delta" in PAGE
    )
    assert rf"\log\frac{{{5 * cf.OF_LOCK_ON}\,V^2}}\delta" in PAGE
    assert rf"\Lambda_1=\log\frac{{{cf.OF_ONE}\,V}}\delta" in PAGE
    assert rf"x_j=\Big(1-\big(1-\tfrac j{cf.LEVELS}\big)^2\Big)" in PAGE
    assert rf"V\ge{pf.VOCAB}$ and $\Lambda\ge{pf.LOG}" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_page_prints_the_sizes(step):
    row = r"\| (\d+) \| (\d+) \| (\d+) \| ([01]) " + r"\| (.+?) " * 4 + r"\|"
    rows = re.findall(row, PAGE)
    assert len(rows) == 16
    for *sizes, flag, predicted, some, every, ratio in rows[::step]:
        sizes = (*map(int, sizes), 0.9, flag == "1")
        found = [cf.sufficient_samples_closed_form(*sizes, every=e) for e in (False, True)]
        found.append(rb.critical_samples(*sizes[:4], trigger_in_values=sizes[4]))
        assert float(ratio) == pytest.approx(found[0] / found[2], abs=0.06)
        for number, text in zip(found, (some, every, predicted), strict=True):
            said = float(text.strip("$}").replace(r"\cdot10^{", "e").replace(r"\infty", "inf"))
            assert number == pytest.approx(said, rel=0.05)


# The algebra


def covariance_and_mean(tokens, z, t, flag):
    first = np.eye(len(tokens))[0][:, None]
    keys, values = z[list(tokens)] + first * t, z[list(tokens)] + flag * first * t
    mean = values.mean(axis=0)
    return (keys - keys.mean(axis=0)).T @ (values - mean) / len(tokens), mean


@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("flag", [0, 1])
def test_conditional_means_by_enumeration(flag, length):
    """Over all sequences with label 1 of a tiny task, X and Y of the margin's proof by their
    definitions."""
    rng = np.random.default_rng(5)
    z, t, g = rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2)
    mean, beta = z.mean(axis=0), z - z.mean(axis=0)
    gamma = beta.T @ beta / 3
    a, b = beta[1] + t, beta[1] + flag * t
    rest = itertools.product(range(3), repeat=length - 1)
    pairs = [covariance_and_mean((1, *others), z, t, flag) for others in rest]
    l1, l2 = (length - 1) / length**2, (length - 1) ** 2 / length**2
    expected = l1 * b * (a @ g) + l2 * gamma @ g
    assert np.mean([s.T @ g for s, _ in pairs], axis=0) == pytest.approx(expected)
    assert np.mean([m for _, m in pairs], axis=0) == pytest.approx(b / length + mean)
    # a sequence with itself
    products = [(s.T @ g - expected) @ (m - b / length - mean) for s, m in pairs]
    cubes = np.mean((beta @ g) * (beta**2).sum(axis=1))
    own = (a @ g) * np.trace(gamma) + b @ gamma @ g
    others = length - 1
    assert np.mean(products) == pytest.approx(
        others**2 / length**3 * cubes - others / length**3 * own
    )


def test_count_of_events():
    """Of the list at the end of the proof, for every vocabulary that is allowed, at V <= N."""
    v, n = sp.symbols("v n", positive=True)
    of_tokens = 2 * (v + 1) + v + 2 * v  # lengths, counts, values' noise
    # overlaps; spread and lengths; counts; the signal
    of_all = v * (v + 1) / 2 + 3 + 2 + 1
    # embeddings and counts, the trace, the norm, the keys' noise, halves, sequences, the margin
    of_pair = sp.Rational(13, 2) + sp.Rational(15, 2) + 4 + 1 + 4 / n + 6 / n + 1
    of_lock_on = 2 * v * of_tokens + of_all + v * (v - 1) * of_pair
    of_recall = 2 * v * 5 * v + v * (v - 1) * cf.LEVELS
    for events, paid in ((of_lock_on, cf.OF_LOCK_ON), (of_lock_on + of_recall, cf.EVENTS)):
        left = sp.cancel((paid * v**2 - events).subs(n, v).subs(v, v + cf.SMALLEST_VOCAB))
        assert min(sp.Poly(sp.numer(left), v).coeffs()) >= 0
    of_one = 2 * v * 6 + v + 1 + cf.LEVELS * (v - 1)  # too rare a fact is an event of its own
    assert sp.expand(21 * v - of_one) == cf.LEVELS - 1
    assert sp.Rational(21, cf.OF_ONE) + sp.Rational(1, cf.RARE) + sp.Rational(1, 5) == 1


def test_events_of_one_fact():
    """How often each happens, over fresh embeddings and counts, against the price that it pays."""
    rng, draws, vocab, samples = np.random.default_rng(3), 4000, 60, 900
    sizes = {V: vocab, L: 2, d: 400, N: samples, tau: 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cf, "_recall", lambda values, rarest: (values, rarest))
        a, rarest = cf.conditions(sizes, 1.0, every=False)[1]
    assert rarest == pytest.approx(math.log(cf.RARE))
    f = vocab / samples * rng.multinomial(samples, [1 / vocab] * vocab, size=draws)
    wrong = (f[:, 1:] ** 2 * rng.normal(size=(draws, vocab - 1)) ** 2 / 400).sum(axis=1)
    assert np.mean(wrong > a[cf.R] / a[cf.h_2]) <= math.exp(-a[cf.lam])
    assert 0 < np.mean(f.max(axis=1) > a[cf.f_plus]) <= vocab * math.exp(-a[cf.Lambda])


@pytest.mark.parametrize("samples", [200, 1000, 30000])
def test_rare_and_frequent_facts(samples):
    """Chernoff's bound in closed form against the binomial itself, at every level of a token."""
    vocab, levels = 50, np.linspace(0.01, 0.8 * samples / 50, 200)
    above, below = (
        numeric(cf.definitions()[side])({cf.theta: levels * vocab / samples})
        for side in (cf.f_plus, cf.f_minus)
    )
    counts = binom(samples, 1 / vocab)
    assert (counts.sf(np.ceil(above * samples / vocab) - 1) <= np.exp(-levels)).all()
    assert (counts.cdf(below * samples / vocab) <= np.exp(-levels)).all()
    assert counts.cdf(below[-1] * samples / vocab) > np.exp(-2.5 * levels[-1])  # and not by much


@pytest.mark.parametrize("sequences", [3, 4, 30])
def test_a_sum_over_pairs_is_a_mean_over_halves(sequences):
    """Of the proof of keys and values: at most 2N halves."""
    size = 2 ** math.floor(math.log2(sequences) + 1)
    halves = hadamard(size)[:, 1 : sequences + 1] > 0
    products = np.random.default_rng(0).normal(size=(sequences, sequences))
    sums = np.einsum("si,sj,ij->s", halves, ~halves, products)
    assert size <= 2 * sequences
    assert 4 * sums.mean() == pytest.approx(products.sum() - np.trace(products))


@pytest.mark.parametrize(("dim", "mean", "right"), [(60, 6, 0.7), (200, 40, 0.9), (900, 9, 0.4)])
def test_wrong_labels_are_averaged(dim, mean, right):
    """Of the proof of recall: over the count of a wrong label and its overlap, exp(-d A^2 / 4 Q^2)
    where A > 0, and 1 elsewhere, against the exponent of the package."""
    vocab, wrong, c = 50, 4.0, 1.1
    known = {N: vocab * mean, V: vocab, d: dim, tau: 1, cf.c_plus: c, cf.h_2: 2.0, cf.f_plus: 3.0}
    known |= {cf.p_minus: 0.5, cf.Lambda: 1.0, cf.R: wrong}
    at = {cf.definitions()[cf.q_minus]: right, cf.definitions()[cf.f_minus]: 1.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cf, "numeric", lambda e: lambda _: np.full(cf.LEVELS, at[e]))
        exponent = 1 / cf._recall(known, 0.0)
    y = np.arange(int(3 * mean) + 1) / mean
    chance = binom(vocab * mean, 1 / (vocab - 1)).pmf(y * mean)
    square = right**2 + wrong

    def lost(n):
        ahead = right - c * (y[:, None] - 1) - y[:, None] * n * (2 / dim) ** 0.5
        return chance @ np.exp(-dim * np.maximum(ahead, 0) ** 2 / 4 / square)

    n = np.linspace(-8, 8, 4001)
    found = lost(n) @ norm.pdf(n) * (n[1] - n[0])
    assert 0.02 < found / math.exp(-exponent) <= 1


# The bound


@pytest.mark.parametrize(
    ("vocab", "seq_len", "dim", "flag"),
    [
        (10**5, 32, 10**4, False),
        (10**6, 10**5, 10**5, True),
        (100, 4, 4000, False),
        (10**5, 10**5, 10**5, False),
    ],
)
@pytest.mark.parametrize("every", [False, True])
def test_sufficient_samples_are_where_the_conditions_begin(vocab, seq_len, dim, flag, every):
    sizes, given = (vocab, seq_len, dim), {"trigger_in_values": flag, "every": every}
    samples = cf.sufficient_samples_closed_form(*sizes, 0.9, **given)

    def hold(factor):
        at = dict(zip((V, L, d, N, tau), (*sizes, samples * factor, flag), strict=True))
        return max(cf.conditions(at, 0.1, every)) <= 1

    assert [hold(f) for f in (0.9, 0.999, 1, 1.01, 3, 100, 1e6, 1e20)] == [False] * 2 + [True] * 6
    assert samples > rb.critical_samples(*sizes, trigger_in_values=flag)
    assert cf.sufficient_samples_closed_form(*sizes, 0.99, **given) > samples


def test_what_does_not_hold():
    sizes = {V: 10**6, L: 1000, d: 10**5, N: 1e9, tau: 1}
    lock_on, recall = cf.conditions(sizes, 0.1)
    assert recall > 1 > lock_on
    # the facts do not fit; all of them overlap
    for dim, locks in ((500, True), (120, False)):
        lock_on, recall = cf.conditions({V: 10**5, L: 16, d: dim, N: 1e12, tau: 0}, 0.1)
        assert (lock_on < 1) == locks and recall > 1
    assert cf.sufficient_samples_closed_form(10**5, 16, 500, 0.9, False) == math.inf


# The product form


@pytest.mark.parametrize("flag", [False, True])
def test_corners_are_in_the_range_and_far_ones_are_not_the_worst(flag):
    assert pf.largest(N / V, flag) > 1e40 > 1 > pf.largest(V / N, flag)
    corners, found = pf.corners(flag), pf.worst(flag)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pf, "corners", lambda _: corners[(corners < 0.9 * pf.FAR).all(axis=1)])
        assert pf.worst.__wrapped__(flag) == found
    assert 0.9 < max(found.values()) <= 1


def multiprecise(expression):
    """As ``numeric``, for numbers beyond the largest float."""
    names = sorted(expression.free_symbols, key=str)
    found = sp.lambdify(names, expression, "mpmath")
    return lambda values: np.frompyfunc(found, len(names), 1)(*(values[name] for name in names))


@pytest.mark.parametrize("flag", [False, True])
def test_nothing_grows_along_an_edge_without_a_corner(flag, monkeypatch):
    """Logarithms are convex, and a slope above 0 is a fraction of small numbers: at exp(10^4) it
    would show."""
    worst = pf.worst(flag)
    monkeypatch.setattr(pf, "FAR", 10**4)
    far = pf.corners.__wrapped__(flag)
    assert 5 < (far.max(axis=1) > 9000).sum() < len(far)
    monkeypatch.setattr(pf, "numeric", multiprecise)
    at = dict(zip(pf.SIZES, np.frompyfunc(mpmath.exp, 1, 1)(far).T, strict=True))
    monkeypatch.setattr(pf, "largest", lambda part, _: float(max(pf.upper(part, flag, at))))
    assert pf.worst.__wrapped__(flag) == pytest.approx(worst, rel=1e-6)
    assert max(pf.upper(cf.losses()["mean bias"] * N / V, flag, at)) > 1e100


def test_lock_on_does_not_ask_for_even_labels(monkeypatch):
    """With the trigger in the values VL/d takes the place of V^2/d."""
    laws = {**pf.laws(False), "trigger": V * L / d}
    monkeypatch.setattr(pf, "laws", lambda _: laws)
    monkeypatch.setattr(pf, "corners", pf.corners.__wrapped__)
    found = pf.worst.__wrapped__(True)
    assert max(found["losses"], found["norms"]) < 0.1 < 1 < found["recall"]


@pytest.mark.parametrize("flag", [0, 1])
def test_conditions_hold_in_the_range_of_the_product_form(flag):
    """At its smallest N, from the smallest dimension on."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        error, vocab = 10.0 ** -rng.uniform(0, 6), int(10 ** rng.uniform(5, 9))
        log = cf.union(vocab, error, cf.EVENTS)
        least = max(pf.DIM_OVER_LOG * log, math.sqrt(pf.DIM_SQUARE[flag] * vocab * log))
        dim = int(least * (vocab / least) ** rng.uniform(0, 1)) + 1
        values = {V: vocab, L: int(2 * (vocab / 2) ** rng.uniform(0, 1)), d: dim, tau: flag}
        largest = samples = max(numeric(law)(values) for law in pf.laws(bool(flag)).values())
        for _ in range(50):  # N = C Lambda'^2 law, with log N in Lambda'
            samples = pf.SAMPLES[flag] * (log + 2 * math.log(samples)) ** 2 * largest
        values |= {N: samples * (1 + 1e-6), cf.Lambda: log}
        assert max(cf.conditions(values, error)) <= 1
        corner, there = pf.edge(bool(flag)), cf.constants(values)
        for symbol in (cf.alpha_minus, cf.p_minus, cf.f_minus, cf.q_minus):
            assert there[symbol] >= corner[symbol], symbol
        assert float(cf.signal.subs(there)) >= float(cf.signal.subs(corner))
        assert there[cf.Delta] <= 2.1 * there[cf.eps]
