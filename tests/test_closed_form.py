"""The closed-form bound: every inequality of the proofs on draws, with its slack; the algebra by
enumeration."""

import itertools
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from measured_steps import Steps
from sampling import by_day
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
POSITIVE = {"key of the trigger", "rarest", "right overlap"}
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
        *by_day(itertools.product(DRAWS, SEEDS), quick=1),
        *(pytest.param(sizes, 0, marks=pytest.mark.nightly) for sizes in WIDE),
    ],
)
def test_every_bound_holds(sizes, seed):
    upper, lower = ratios(sizes, seed)
    assert {name: ratio for name, ratio in upper.items() if not ratio <= 1} == {}
    # alpha_- is not a number where nothing is proved
    assert {name: pair for name, pair in lower.items() if pair[0] > pair[1]} == {}
    if sizes in WIDE:  # where the theorem says something
        assert {name for name, (proved, _) in lower.items() if proved > 0} >= POSITIVE | (
            {"right weight"} if not sizes[-1] else set()
        )


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
    chain = {**cf.definitions(), **cf.question()}
    del chain[cf.Lambda_prime]
    printed = [f"{sp.latex(symbol)}&={sp.latex(e)}" for symbol, e in chain.items()]
    printed += [sp.latex(term) for loss in cf.losses().values() for term in lines(loss)]
    printed += [f"$F={sp.latex(cf.norm)}.$", *(rf"\text{{{name}}}:" for name in cf.losses())]
    assert cf.signal == cf.alpha_minus * (1 - 1 / V) and r"$T=\alpha_-(1-\frac1V)$" in PAGE
    assert [formula for formula in printed if formula not in PAGE] == []


def test_the_page_prints_the_constants():
    for flag in (0, 1):
        assert rf"$C_1={pf.DIM_SQUARE[flag]}$, $C_2={pf.SAMPLES[flag]}$ for $\tau={flag}$" in PAGE
    for said in (
        rf"\Lambda=\ln\frac{{{cf.EVENTS}\,V^2}}\delta",
        rf"{pf.DIM_OVER_LOG}\,\Lambda\le d\le V",
        rf"$\ln\frac{{{5 * cf.OF_LOCK_ON}\,V^2}}\delta$",
        rf"$\ln\frac{{{cf.OF_ONE}\,V}}\delta$ in (b) and $x=\ln\frac{cf.RARE}\delta$",
        rf"V\ge{pf.VOCAB}$ and $\Lambda\ge{pf.LOG}",
    ):
        assert said in PAGE
    worst = [pf.worst(flag) for flag in (False, True)]
    for name in ("losses", "norms", "recall"):
        assert f"{worst[0][name]:.2f} and {worst[1][name]:.2f}" in PAGE
    other = (BOOK / "proofs_necessary.md").read_text(encoding="utf-8")
    assert rf"$\ln({100 * cf.OF_LOCK_ON}\,V^2)$" in other


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
    """Of the proofs of the lemmas, for every vocabulary that is allowed, at V <= N and L >= 2."""
    v = sp.Symbol("v", positive=True)
    lengths, overlaps = 2 + 2 * v, v + v * (v - 1) / 2
    # embeddings, spread and counts; values' noise; the signal
    of_all = lengths + overlaps + 1 + v + 1 + 2 * v + 1
    # coordinates, third moment and uneven facts; S; the trace; the norm; the margin; truncation
    # and halves, 10 N exp(-Lambda') at N = 5, L = 2
    of_pair = 5 + 1 + sp.Rational(7, 2) + 1 + 1 + sp.Rational(10, 5 * 2**2)
    of_lock_on = of_all + v * (v - 1) * of_pair
    of_fact = 6 + v + (v - 1)
    for events, paid in (
        (of_lock_on, cf.OF_LOCK_ON * v**2),
        (of_lock_on + v * (of_fact + v), cf.EVENTS * v**2),
        (of_fact, 3 * v),
    ):
        left = sp.Poly(sp.expand((paid - events).subs(v, v + cf.SMALLEST_VOCAB)), v)
        assert min(left.coeffs()) >= 0
    assert sp.Rational(3, cf.OF_ONE) + sp.Rational(1, cf.RARE) + sp.Rational(1, 5) == 1


def test_truncation_is_paid():
    """What the proof says of the vectors by which a truncated sequence differs, at random sizes
    where alpha_- > 0: they are shorter than what 2B in place of 3B/2 leaves."""
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(300):
        vocab, length = (int(10 ** rng.uniform(*ends)) for ends in ((0.7, 7), (0.31, 6)))
        dim, samples = (int(10 ** rng.uniform(*ends)) for ends in ((1.5, 6), (0, 6)))
        sizes = {V: vocab, L: length, d: dim, N: vocab * samples, tau: int(rng.integers(2))}
        a = cf.constants({**sizes, cf.Lambda: cf.union(vocab, 1, cf.OF_LOCK_ON)})
        if not a[cf.alpha_minus] > 0:
            continue
        seen += 1
        worst = 4 * a[cf.alpha] * a[cf.b]
        fixed = 6 * worst * math.exp(-a[cf.Lambda_prime])
        log, sequences = a[cf.Lambda], a[N]
        assert a[cf.G] < 1 and a[cf.o] <= a[cf.ell] ** 2 and a[cf.f] + 1 <= 2 * log
        assert worst <= 3 * length * a[cf.B]
        assert fixed <= 2 * a[cf.B] / (length * (sequences * vocab) ** 2) <= a[cf.B] / 2
        assert fixed <= 1.5 * log * a[cf.B] / sequences  # in S
        spare = 4 / 3 * log * a[cf.B] * a[cf.s_beta] / length  # of a sequence with itself
        assert sequences * a[cf.ell] * fixed <= spare
        pairs = a[cf.s_beta] / length * sequences**2 * (a[cf.f] + 1) / vocab
        assert fixed * pairs <= 4 * a[cf.ell] * a[cf.B] * a[cf.Lambda_prime] ** 2 / length  # in P
    assert seen > 100


@pytest.mark.parametrize("samples", [200, 1000, 30000])
def test_rare_and_frequent_facts(samples):
    """Chernoff's bound in closed form against the binomial itself, at every level of a token."""
    vocab, levels = 50, np.linspace(0.01, 0.8 * samples / 50, 200)
    above, below = (
        numeric(chain[side])(
            {V: vocab, N: samples, cf.theta: levels * vocab / samples, cf.x: levels}
        )
        for side, chain in ((cf.f, cf.definitions()), (cf.f_minus, cf.question()))
    )
    counts = binom(samples, 1 / vocab)
    assert (counts.sf(np.ceil(above * samples / vocab) - 1) <= np.exp(-levels)).all()
    assert (counts.cdf(below * samples / vocab) <= np.exp(-levels)).all()
    assert counts.cdf(below[-1] * samples / vocab) > np.exp(-2.5 * levels[-1])  # and not by much


@pytest.mark.parametrize(("dim", "mean", "right"), [(60, 6, 0.7), (200, 40, 0.9), (900, 9, 0.4)])
def test_wrong_labels_are_averaged(dim, mean, right):
    """Of the proof of recall: over the count of a wrong label and its overlap, exp(-d A^2 / 4 Q^2)
    where A > 0, and 1 elsewhere, against the exponent of the package."""
    vocab, wrong, c = 50, 4.0, 1.1
    known = {N: vocab * mean, V: vocab, d: dim, tau: 1, cf.c_plus: c, cf.h_2: 2.0, cf.f: 3.0}
    known |= {cf.p_minus: 0.5, cf.Lambda: 1.0, cf.R: wrong, cf.q_minus: right, cf.x: 0.0}
    exponent = 1 / cf.recall(known)
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
    by_day(
        [
            (10**5, 32, 10**4, False),
            (10**6, 10**5, 10**5, True),
            (100, 4, 4000, False),
            (10**5, 10**5, 10**5, False),
        ],
        quick=1,
    ),
)
def test_sufficient_samples_are_where_the_conditions_begin(vocab, seq_len, dim, flag):
    sizes = (vocab, seq_len, dim)
    samples = cf.sufficient_samples_closed_form(*sizes, 0.9, flag)

    def hold(factor):
        at = dict(zip((V, L, d, N, tau), (*sizes, samples * factor, flag), strict=True))
        return max(cf.conditions(at, 0.1)) <= 1

    assert [hold(f) for f in (0.9, 0.999, 1, 1.01, 3, 100, 1e6, 1e20)] == [False] * 2 + [True] * 6
    assert samples > rb.critical_samples(*sizes, trigger_in_values=flag)
    assert cf.sufficient_samples_closed_form(*sizes, 0.99, flag) > samples


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [(100, 4, 4000, True), (40, 6, 3000, False)])
def test_what_suffices_is_certified_and_happens(sizes):
    """One draw at the number that is proved to be enough."""
    samples = math.ceil(cf.sufficient_samples_closed_form(*sizes[:3], 0.9, sizes[3]))
    names = ("vocab", "seq_len", "dim", "trigger_in_values", "samples")
    problem = rb.draw(rb.Setting(**dict(zip(names, (*sizes, samples), strict=True))), seed=0)
    assert rb.certify(problem).accuracy > 0.9
    assert rb.evaluate(problem, rb.three_steps(problem)).accuracy > 0.9


def test_what_does_not_hold():
    sizes = {V: 10**6, L: 1000, d: 10**5, N: 1e9, tau: 1}
    lock_on, recall = cf.conditions(sizes, 0.1)
    assert recall > 1 > lock_on
    # the facts do not fit; all of them overlap
    for dim, locks in ((1000, True), (120, False)):
        lock_on, recall = cf.conditions({V: 10**5, L: 16, d: dim, N: 1e12, tau: 0}, 0.1)
        assert (lock_on < 1) == locks and recall > 1
    assert cf.sufficient_samples_closed_form(10**5, 16, 1000, 0.9, False) == math.inf


# The product form


@pytest.mark.parametrize("flag", [False, True])
def test_corners_are_in_the_range_and_far_ones_are_not_the_worst(flag):
    assert pf.largest(N / V, flag) > 1e40 > 1 > pf.largest(V / N, flag)
    corners, found = pf.corners(flag), pf.worst(flag)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pf, "corners", lambda _: corners[(corners < 0.9 * pf.FAR).all(axis=1)])
        assert pf.worst.__wrapped__(flag) == found
    assert 0.9 < max(found.values()) <= 1


def test_lock_on_does_not_ask_for_even_labels(monkeypatch):
    """With the trigger in the values VL/d takes the place of V^2/d."""
    laws = {**pf.laws(False), "trigger": V * L / d}
    monkeypatch.setattr(pf, "laws", lambda _: laws)
    monkeypatch.setattr(pf, "corners", pf.corners.__wrapped__)
    found = pf.worst.__wrapped__(True)
    assert max(found["losses"], found["norms"]) < 1 < found["recall"]


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
        for _ in range(50):  # N = C Lambda'^2 law, with log N L in Lambda'
            samples = pf.SAMPLES[flag] * (log + 2 * math.log(samples * values[L])) ** 2 * largest
        values |= {N: samples * (1 + 1e-6), cf.Lambda: log, cf.x: log - math.log(vocab)}
        there = cf.constants(cf.constants(values), cf.question)
        assert max(cf.lock_on(there), cf.recall(there)) <= 1
        corner = pf.edge(bool(flag))
        for symbol in (cf.alpha_minus, cf.p_minus, cf.f_minus, cf.q_minus):
            assert there[symbol] >= corner[symbol], symbol
        assert there[cf.c_plus] <= corner[cf.c_plus]
