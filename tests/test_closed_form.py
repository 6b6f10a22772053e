"""The closed-form bound: every inequality of the proofs on draws, with its slack; the algebra by enumeration."""

import itertools
import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings, strategies as st
from measured_steps import Steps
from scipy.special import betainc

import recallbook as rb
from recallbook.bounds import closed_form as cf
from recallbook.theory.symbolic.expressions import L, N, V, d, numeric, tau
from recallbook_studies.ch05 import scores
from recallbook_studies.ch06 import product_form as pf

pytestmark = pytest.mark.essential

DRAWS = [  # V, L, d, N, tau; one where the lower bounds say something, and five that are seen everywhere
    (120, 8, 60, 2000, 0),
    (120, 8, 60, 2000, 1),
    (60, 2, 50, 4000, 1),
    (60, 40, 30, 1500, 1),
    (200, 24, 150, 2500, 0),
]
WIDE = [(30, 3, 2500, 2000, 0), (30, 3, 2500, 2000, 1)]
SEEDS = (0, 1)
BOOK = Path(__file__).parent.parent / "book"
PAGE = "".join((BOOK / f"{name}.md").read_text(encoding="utf-8") for name in ("proofs", "proofs_margins"))


@cache
def steps(sizes, seed):
    return Steps(sizes, cf.union(sizes[0], 1), seed, pairs=3 if sizes in WIDE else 12)


# Every inequality


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sizes", DRAWS, ids=str)
def test_every_upper_bound_holds(sizes, seed):
    above = {name: ratio for name, ratio in steps(sizes, seed).upper().items() if not ratio <= 1}
    assert not above


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sizes", DRAWS, ids=str)
def test_every_lower_bound_holds(sizes, seed):
    assert [(proved, there) for proved, there in steps(sizes, seed).lower().values() if not (proved <= there)] == []


@pytest.mark.slow
@pytest.mark.parametrize("sizes", WIDE, ids=str)
def test_bounds_hold_where_the_theorem_says_something(sizes):
    draw = steps(sizes, 0)
    assert max(draw.upper().values()) <= 1
    lower = draw.lower()
    assert [(proved, there) for proved, there in lower.values() if not (proved <= there)] == []
    positive = {name for name, (proved, _) in lower.items() if proved > 0}
    assert positive >= {"shortest", "smallest key", "rarest", "signal"}


@pytest.mark.slow
def test_how_much_of_each_bound_is_used():
    """The table of the page. A constant changed by a fifth is noticed, in whichever direction."""
    found = {}
    for sizes in (*DRAWS, *WIDE):
        for name, ratio in steps(sizes, 0).upper().items():
            found[name] = max(found.get(name, 0), ratio)
    table = PAGE.split("| inequality | share used |")[1].split("\n\n")[0]
    said = {name: float(share) for name, share in re.findall(r"\| (.+?) \| ([0-9.e-]+) \|", table)}
    assert found.keys() == said.keys()
    off = {name: found[name] / said[name] for name in found if said[name]}
    assert [ratio for ratio in off.values() if not (0.85 < ratio < 1.15)] == [], off


# The page


def lines(formula):
    """What the page prints on a line each: the terms of a sum; a long product with a sum is multiplied out."""
    sums = [factor for factor in formula.args if factor.is_Add and len(sp.latex(factor)) > 40]
    if len(sp.latex(formula)) > 110 and formula.is_Mul and sums:
        widest = max(sums, key=lambda factor: len(sp.latex(factor)))
        formula = sp.Add(*(term * formula / widest for term in widest.args))
    return [line for term in sp.Add.make_args(formula) for line in ([term] if term == formula else lines(term))]


def test_the_page_prints_the_formulas():
    printed = [f"{sp.latex(symbol)}&={sp.latex(e)}" for symbol, e in cf.definitions().items() if symbol != cf.log_all]
    sums = (*cf.losses().values(), *cf.norms().values(), cf.recall_gap(), cf.recall_noise())
    printed += [sp.latex(term) for of in sums for term in lines(of)] + [sp.latex(cf.signal())]
    assert not [formula for formula in printed if formula not in PAGE]
    assert not [name for name in {**cf.losses(), **cf.norms()} if rf"\text{{{name}}}:" not in PAGE]


def test_the_page_prints_the_constants():
    for flag in (0, 1):
        assert rf"$C_1={pf.DIM_SQUARE[flag]}$, $C_2={pf.SAMPLES[flag]}$ for $\tau={flag}$" in PAGE
    assert rf"{pf.DIM_OVER_LOG}\,\Lambda\le d\le V" in PAGE and rf"\frac{{{cf.EVENTS}\,V^2}}\delta" in PAGE
    assert rf"V\ge{pf.VOCAB}$ and $\Lambda\ge{pf.LOG}" in PAGE


@pytest.mark.slow
def test_the_page_prints_the_sizes():
    rows = re.findall(r"\| (\d+) \| (\d+) \| (\d+) \| ([01]) \| (.+?) \| (.+?) \|", PAGE)
    assert len(rows) == 12
    for *sizes, flag, predicted, proved in rows:
        vocab, seq_len, dim = map(int, sizes)
        found = rb.critical_samples(vocab, seq_len, dim, trigger_in_values=flag == "1")
        assert found == pytest.approx(printed_number(predicted), rel=0.05)
        found = cf.sufficient_samples_closed_form(vocab, seq_len, dim, 0.9, flag == "1")
        assert found == pytest.approx(printed_number(proved), rel=0.05)


def printed_number(text):
    if "infty" in text:
        return math.inf
    digits, power = re.fullmatch(r"\$(.+)\\cdot10\^\{(\d+)\}\$", text).groups()
    return float(digits) * 10 ** int(power)


# The algebra


def small_task():
    """All sequences with label 1, their X's and Y's, of a tiny task with both tau."""
    rng = np.random.default_rng(5)
    for flag in (0, 1):
        z, t, g = rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2)
        for length in (2, 3, 4):
            rest = itertools.product(range(3), repeat=length - 1)
            yield flag, length, z, t, g, [(1, *others) for others in rest]


def covariance_and_mean(tokens, z, t, flag):
    first = np.eye(len(tokens))[0][:, None]
    keys, values = z[list(tokens)] + first * t, z[list(tokens)] + flag * first * t
    mean = values.mean(axis=0)
    return (keys - keys.mean(axis=0)).T @ (values - mean) / len(tokens), mean


def test_conditional_means_by_enumeration():
    for flag, length, z, t, g, sequences in small_task():
        mean, beta = z.mean(axis=0), z - z.mean(axis=0)
        gamma = beta.T @ beta / 3
        a, b = beta[1] + t, beta[1] + flag * t
        pairs = [covariance_and_mean(tokens, z, t, flag) for tokens in sequences]
        l1, l2 = (length - 1) / length**2, (length - 1) ** 2 / length**2
        expected = l1 * b * (a @ g) + l2 * gamma @ g
        assert np.mean([s.T @ g for s, _ in pairs], axis=0) == pytest.approx(expected)
        assert np.mean([m for _, m in pairs], axis=0) == pytest.approx(b / length + mean)
        # a sequence with itself
        products = [(s.T @ g - expected) @ (m - b / length - mean) for s, m in pairs]
        cubes = np.mean((beta @ g) * (beta**2).sum(axis=1))
        own = (a @ g) * np.trace(gamma) + b @ gamma @ g
        others = length - 1
        assert np.mean(products) == pytest.approx(others**2 / length**3 * cubes - others / length**3 * own)


def test_second_moment_of_a_product_of_sums():
    """With its exact terms, and below what the deviation of X takes it for."""
    for _, length, z, _, g, sequences in small_task():
        beta = z - z.mean(axis=0)
        key, others = beta @ g, length - 1
        square = np.mean((beta**2).sum(axis=1) * key**2)
        cross = np.mean(beta * key[:, None], axis=0)
        length_square, key_square = np.mean((beta**2).sum(axis=1)), np.mean(key**2)
        exact = others * square + others * (others - 1) * (length_square * key_square + 2 * cross @ cross)
        sums = [(beta[list(s[1:])].sum(axis=0), key[list(s[1:])].sum()) for s in sequences]
        assert np.mean([v @ v * k**2 for v, k in sums]) == pytest.approx(exact)
        longest = (beta**2).sum(axis=1).max()
        spread = np.linalg.eigvalsh(beta.T @ beta / 3).max()
        assert exact <= others**2 * spread * (g @ g) * (longest + 2 * spread) * (1 + 1e-12)


@pytest.mark.parametrize("flag", [False, True])
def test_x_is_what_is_left_of_the_keys(flag):
    r"""$X=\frac1L\sum(\alpha\beta-\Gamma g)-\frac1{L^2}(s_\beta s_\alpha-p\Gamma g+\alpha^*s_\beta+b\,s_\alpha)$."""
    draw = steps((60, 2, 50, 4000, 1), 0) if flag else steps((120, 8, 60, 2000, 0), 0)
    x, y = draw.sequences
    others, labels, p = draw.beta[draw.tokens[:, 1:]], draw.labels, draw.L - 1
    keys, sums = others @ draw.g, others.sum(axis=1)
    both = np.einsum("nld,nlg->ndg", others, keys) - p * draw.spread_g
    key_sums = keys.sum(axis=1)
    rest = sums[:, :, None] * (key_sums + draw.alpha[labels])[:, None, :] - p * draw.spread_g
    rest += draw.b[labels][:, :, None] * key_sums[:, None, :]
    assert np.abs(x - both / draw.L + rest / draw.L**2).max() < 1e-12
    assert np.abs(y - sums / draw.L).max() < 1e-12


def test_facts_with_facts():
    """The signal, less the product of means: all of that part of the trace without the trigger in the values."""
    draw = steps((120, 8, 60, 2000, 0), 0)
    weighted = draw.f[:, None] * draw.alpha
    means = (draw.beta.T @ weighted).T @ (draw.beta.T @ draw.f)
    assert draw.trace("facts", "facts") == pytest.approx(draw.V * draw.facts - means)


@pytest.mark.parametrize("flag", [False, True])
def test_margin_is_a_quadratic_form(flag):
    problem = rb.draw(rb.Setting(vocab=12, seq_len=4, dim=6, samples=90, trigger_in_values=flag), seed=1)
    z, t, u = (x.numpy() for x in (problem.input_embeddings, problem.trigger, problem.output_embeddings))
    labels, g = problem.labels.numpy(), t + z[3] - z[7]
    first = np.zeros((90, 4, 1))
    first[np.arange(90), problem.positions.numpy()] = 1
    keys = z[problem.tokens.numpy()] + first * t
    values = z[problem.tokens.numpy()] + flag * first * t
    means = values.mean(axis=1)
    vectors = np.einsum("nld,nl->nd", values - means[:, None], keys @ g) / 4
    s, m = np.zeros((12, 6)), np.zeros((12, 6))
    np.add.at(s, labels, vectors / 90)
    np.add.at(m, labels, means / 90)
    centre = np.eye(12) - 1 / 12
    matrix = centre @ (s @ m.T + m @ s.T) / 2 @ centre
    assert np.einsum("va,vw,wa->", u, matrix, u) == pytest.approx(float(g @ scores.attention_vector(problem).numpy()))
    assert np.linalg.norm(matrix) <= np.linalg.norm(centre @ s @ m.T @ centre) + 1e-12


def test_all_sequences_lock_where_all_margins_are_positive():
    found = set()
    for samples in (12, 4000):
        problem = rb.draw(rb.Setting(vocab=24, seq_len=4, dim=48, samples=samples, trigger_in_values=False), seed=2)
        weights = rb.three_steps(problem)
        w = scores.attention_vector(problem)
        token, mark = problem.input_embeddings @ w, problem.trigger @ w
        positive = bool(mark > token.max() - token.min())
        lock_on = rb.evaluate(problem, weights, test_samples=4000).lock_on
        assert lock_on == 1 or not positive
        found.add(positive)
    assert found == {False, True}


# Two tails over the output embeddings


@given(st.integers(0, 10**6), st.integers(8, 400), st.floats(0.05, 3))
@settings(max_examples=60, deadline=None)
def test_tail_of_the_margin(seed, dim, tilt):
    """The smallest moment generating function is below what the proof says of trace and norm alone."""
    rng = np.random.default_rng(seed)
    eigenvalues = rng.normal(size=rng.integers(1, 12)) + tilt
    trace, norm = eigenvalues.sum(), np.linalg.norm(eigenvalues)
    if trace <= 0:
        return
    step = min(dim * trace / (4 * norm**2), dim / (4 * norm))
    log_mean = -dim / 2 * np.log1p(2 * step * eigenvalues / dim).sum()
    assert log_mean <= -min(dim * trace**2 / (8 * norm**2), dim / 8) + 1e-9


def test_a_wrong_fact_wins_by_the_beta_law():
    rng = np.random.default_rng(3)
    dim, q = 10, np.array([1.0, 0.4, -0.7, 0.1, -0.8])
    u = rng.normal(size=(40_000, 5, dim))
    beaten = np.mean(((u[:, 0] - u[:, 1]) * np.einsum("nkd,k->nd", u, q)).sum(axis=1) < 0)
    rho = (q[0] - q[1]) / (2**0.5 * np.linalg.norm(q))
    exact = betainc(dim / 2, dim / 2, (1 - rho) / 2)
    assert beaten == pytest.approx(exact, abs=4 * (exact / 40_000) ** 0.5)
    for size, cosine in itertools.product((1, 2, 7, 64, 900), np.linspace(0, 0.99, 23)):
        tail = betainc(size / 2, size / 2, (1 - cosine) / 2)
        assert tail <= (1 - cosine**2) ** (size / 2) <= math.exp(-size * cosine**2 / 2)


def test_count_of_events():
    """Of the list at the end of the proof, for every vocabulary that is allowed, at d <= V <= N."""
    v, n = sp.symbols("v n", positive=True)
    embeddings = 2 * (v + 1) + v + v * (v - 1) / 2 + 1 + 1 + (v + 1) + v * (v - 1) + (v + 1)
    counts, values, running = 2 * v + 1, 2 * v, 2 * v / n**2
    # sums of the trace, norm of the keys' noise, running sums of X and Y, sequences, the margin
    of_pair = 6 + 2 + 2 * running + 6 / n + 1
    events = embeddings + counts + values + v * (v - 1) * (of_pair + 1)  # 1 more: recall
    left = sp.expand((cf.EVENTS * v**2 - events).subs(n, v).subs(v, v + cf.SMALLEST_VOCAB) * (v + 5) ** 2)
    assert [coefficient for coefficient in sp.Poly(sp.cancel(left), v).coeffs() if not (coefficient > 0)] == []


# The bound


LARGE = {V: 1e14, L: 1e8, d: 1e10, N: 1e18, tau: 1, cf.log: 30.0}
SLOPES = [  # part, and its powers of V, N, L, d
    (cf.losses()["mean bias"], (0.5, -1, 2, -1.5)),
    (cf.losses()["facts and mean"], (0, -0.5, 1, -0.5)),
    (cf.losses()["spread and facts"], (0.5, -0.5, 1, -1.5)),
    (cf.losses()["spread and trigger"], (1, -1, 1, -1)),
    (cf.losses()["spread and values"], (0.5, -1, 1.5, -1.5)),
    (cf.losses()["keys and values"], (0.5, -1, 1, -0.5)),
    (cf.norms()["frequency noise"] / sp.sqrt(d), (1, -1, 1.5, -2)),
    (cf.norms()["gradient noise"] / sp.sqrt(d), (1, -1, 1, -1.5)),
    (cf.norms()["facts and values"] / sp.sqrt(d), (0.5, -0.5, 0.5, -1)),
]


@pytest.mark.parametrize(("part", "powers"), SLOPES, ids=[str(powers) for _, powers in SLOPES])
def test_exponents(part, powers):
    """Each law of the product form, from the part that makes it; lengths such that L > d would not hide it."""
    at = {**LARGE, L: 1e13, N: 1e26} if part == cf.losses()["keys and values"] else LARGE
    for size, power in zip((V, N, L, d), powers, strict=True):
        low, high = (numeric(part)(cf.constants({**at, size: at[size] * factor})) for factor in (1, 2))
        assert math.log2(high / low) == pytest.approx(power, abs=0.08)


@pytest.mark.parametrize(
    ("vocab", "seq_len", "dim", "flag"),
    [(10**5, 32, 10**4, False), (10**6, 10**5, 10**5, True), (100, 4, 4000, False), (10**5, 10**5, 10**5, False)],
)
def test_sufficient_samples_are_where_the_conditions_begin(vocab, seq_len, dim, flag):
    samples = cf.sufficient_samples_closed_form(vocab, seq_len, dim, 0.9, flag)

    def hold(factor):
        found = cf.conditions(vocab, seq_len, dim, samples * factor, error=0.1, trigger_in_values=flag)
        return found.hold

    assert [hold(f) for f in (0.9, 0.999, 1, 1.01, 3, 100, 1e6, 1e20)] == [False] * 2 + [True] * 6
    assert samples > rb.critical_samples(vocab, seq_len, dim, trigger_in_values=flag)
    assert cf.sufficient_samples_closed_form(vocab, seq_len, dim, 0.99, flag) > samples


def test_sizes_of_the_bound():
    """Against what is predicted: the table of the page."""
    found = [cf.sufficient_samples_closed_form(10**6, 1000, 10**5, 0.9, flag) for flag in (False, True)]
    assert found == pytest.approx([1.49e8, 1.18e10], rel=0.01)
    assert cf.sufficient_samples_closed_form(100, 4, 4000, 0.9, False) == pytest.approx(1.35e5, rel=0.01)


def test_nothing_is_said_where_the_facts_do_not_fit():
    assert cf.sufficient_samples_closed_form(10**5, 16, 500, 0.9, False) == math.inf
    found = cf.conditions(10**5, 16, 500, 10**12, error=0.1, trigger_in_values=False)
    assert not found.hold and found.margin < 0


def test_binding_names_a_part():
    found = cf.conditions(10**6, 1000, 10**5, 10**10, error=0.1, trigger_in_values=True)
    assert not found.hold and found.binding == "recall"
    for samples in (10**6, 10**7, 10**8):
        found = cf.conditions(10**5, 10**5, 10**5, samples, error=0.1, trigger_in_values=False)
        assert found.binding in {*found.losses, *found.norms}


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (dict(vocab=4), "vocab"),
        (dict(seq_len=1), "seq_len"),
        (dict(dim=0), "dim"),
        (dict(accuracy=1.0), "accuracy"),
        (dict(accuracy=0), "accuracy"),
        (dict(trigger_in_values=1), "trigger_in_values"),
    ],
)
def test_complaints(call, field):
    with pytest.raises(ValueError, match=f"{field}="):
        cf.sufficient_samples_closed_form(**{**dict(vocab=100, seq_len=4, dim=50), **call})


@pytest.mark.parametrize(("field", "value"), [("samples", 99), ("samples", 1e61), ("error", 1.5)])
def test_complaints_of_conditions(field, value):
    call = {**dict(samples=1000, error=0.1), field: value}
    with pytest.raises(ValueError, match=f"{field}="):
        cf.conditions(100, 4, 50, trigger_in_values=False, **call)


# The product form


@pytest.mark.slow
@pytest.mark.parametrize("flag", [False, True])
def test_the_constants_of_the_product_form_suffice(flag):
    worst = pf.worst(flag)
    assert max(worst.values()) <= 1
    assert max(worst.values()) > 0.9  # and are not much larger than the proof needs


def test_certificates_are_proofs():
    """Weights at least 0 whose combination of the conditions is the monomial itself, in rational numbers."""
    part = cf.losses()["mean bias"]
    for coefficient, product in pf.monomials(part, True):
        weights = pf.certificate(product, True)
        assert coefficient > 0 and min(weights) >= 0
        total = [sum(w * f.powers[i] for w, f in zip(weights, pf.facets(True), strict=True)) for i in range(6)]
        assert total == [-power for power in pf.powers_of(product)]
    with pytest.raises(ArithmeticError, match="no bound"):
        pf.certificate(N / V, True)


def in_range(rng, flag):
    """Sizes at or near the edge of the theorem's range, its smallest N."""
    error, vocab = 10.0 ** -rng.uniform(0, 6), int(10 ** rng.uniform(4, 9))
    log = cf.union(vocab, error)
    least = max(pf.DIM_OVER_LOG * log, math.sqrt(pf.DIM_SQUARE[flag] * vocab * log))
    if least > vocab:
        return None
    dim = math.ceil(least * (vocab / least) ** rng.uniform(0, 1))
    length = int(2 * (vocab / 2) ** rng.uniform(0, 1))
    largest = max(numeric(law)({V: vocab, L: length, d: dim}) for law in pf.laws(bool(flag)).values())
    samples = largest
    for _ in range(50):  # N = C Lambda'^2 law, with log N in Lambda'
        samples = pf.SAMPLES[flag] * (log + 2 * math.log(samples)) ** 2 * largest
    return {V: vocab, L: length, d: dim, N: samples * (1 + 1e-6), tau: flag, cf.log: log}, error


@pytest.mark.parametrize("flag", [0, 1])
def test_conditions_hold_in_the_range_of_the_product_form(flag):
    rng, tried = np.random.default_rng(7), 0
    while tried < 60:
        drawn = in_range(rng, flag)
        if drawn is None:
            continue
        values, error = drawn
        sizes = (values[V], values[L], min(values[d], values[V]), values[N])
        assert cf.conditions(*sizes, error=error, trigger_in_values=bool(flag)).hold
        caps = pf.caps(bool(flag))
        there = cf.constants(values)
        at_least = {cf.shortest, cf.low_key, cf.least}
        for symbol in caps.keys() - {V, tau, cf.G, cf.share, cf.mean_overlap}:
            assert there[symbol] >= caps[symbol] if symbol in at_least else there[symbol] <= caps[symbol]
        assert there[cf.Delta] <= 2.1 * there[cf.eps]
        tried += 1


def test_exponents_of_the_corollary():
    """At the critical dimension, b = 1/2, lock-on overtakes coverage at c = 5/8 and label frequencies at 7/8."""
    c, b = sp.symbols("c b", positive=True)
    half = sp.Rational(1, 2)
    for flag, at in ((False, sp.Rational(5, 8)), (True, sp.Rational(7, 8))):
        exponent = pf.exponent(c, half, flag)
        low = 1 if not flag else sp.Rational(3, 2)
        assert exponent.subs(c, at) == low == exponent.subs(c, at / 2)
        assert exponent.subs(c, 1) == sp.Rational(7, 4)
    general = sp.Max(1, 2 * c + half - 3 * b / 2, 1 + c - 3 * b / 2, 1 + 3 * c / 2 - 2 * b)
    assert pf.exponent(c, b, False) == general
    assert pf.exponent(c, b, True) == sp.Max(general, 2 - b)
