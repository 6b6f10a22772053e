"""Enumerated moments of step 2: against brute force over all data, simulation, the table, and the ledger."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
import torch
from numpy.polynomial.hermite_e import hermegauss

import recallbook as rb
from recallbook.theory import moments
from recallbook.theory.symbolic import lock_terms as lock_symbols
from recallbook.theory.symbolic.expressions import L, N, V, d, numeric, tau
from recallbook.theory.symbolic.spectra import pairings
from recallbook_studies.ch05 import enumeration as enumerated, scores, terms_alone
from recallbook_studies.ch05.contractions import TRIGGER, contractions

pytestmark = pytest.mark.essential

NAMES = set(terms_alone.TERMS)


def test_partitions_and_pairings_are_counted():
    assert [len(enumerated.set_partitions(k)) for k in range(7)] == [1, 1, 2, 5, 15, 52, 203]
    assert [len(pairings(tuple(range(k)))) for k in range(9)] == [1, 0, 1, 0, 3, 0, 15, 0, 105]


@pytest.mark.parametrize("names", [1, 3, 4])
def test_chances_of_partitions_are_those_of_uniform_choices(names):
    """Each partition's chance is its share of all choices, at four sizes, also where some partitions cannot be."""
    for size in (1, 2, 3, 5):
        counted = {}
        for choice in itertools.product(range(size), repeat=names):
            seen = [choice.index(one) for one in choice]
            blocks = tuple(sorted(set(seen)).index(one) for one in seen)
            counted[blocks] = counted.get(blocks, 0) + 1
        for partition in enumerated.set_partitions(names):
            powers = enumerated.falling(max(partition) + 1, names)
            chance = sum(c * sp.Rational(1, size) ** power for power, c in powers.items())
            assert chance == sp.Rational(counted.get(partition, 0), size**names)


def test_contractions_are_gaussian_means():
    """(x.y)^2 has the mean 1/d, (x.x)^2 the mean 1 + 2/d, (t.x)^2 the mean T/d, by pairings."""
    for places, expected in (
        ((0, 1, 0, 1), {(1, 0): 1}),
        ((0, 0, 0, 0), {(0, 0): 1, (1, 0): 2}),
        ((TRIGGER, 0, TRIGGER, 0), {(1, 1): 1}),
        ((TRIGGER, TRIGGER, TRIGGER, TRIGGER), {(0, 2): 1}),
    ):
        found = {}
        for pairs, dims, triggers in contractions(tuple(place == TRIGGER for place in places)):
            if all(places[a] == places[b] for a, b in pairs):
                found[dims, triggers] = found.get((dims, triggers), 0) + 1
        assert found == expected


def nodes(count, variance):
    """Gauss and Hermite's rule: exact for polynomials of degree below twice the count."""
    x, weights = hermegauss(count)
    return list(zip(x * math.sqrt(variance), weights / weights.sum(), strict=True))


def brute_force(vocab, seq_len, samples, trigger_in_values):
    """First and second moments over all data and, in one dimension, all embeddings by quadrature; |t|^2 is 0.81."""
    setting = rb.Setting(
        vocab=vocab, seq_len=seq_len, dim=1, samples=samples, trigger_in_values=bool(trigger_in_values)
    )
    problem, trigger = rb.draw(setting, 0), torch.tensor([0.9], dtype=torch.float64)
    inputs = list(itertools.product(nodes(5, 1.0), repeat=vocab))  # of degree 8 in each
    outputs = list(itertools.product(nodes(3, 1.0), repeat=vocab))  # of degree 4
    total, data = np.zeros(4), 0
    for row in itertools.product(range(vocab), repeat=samples * seq_len):
        tokens = torch.tensor(row).view(samples, seq_len)
        for places in itertools.product(range(seq_len), repeat=samples):
            positions = torch.tensor(places)
            labels = tokens[torch.arange(samples), positions]
            keys = {"tokens": tokens, "positions": positions, "labels": labels, "trigger": trigger}
            data += 1
            for z, u in itertools.product(inputs, outputs):
                weight = math.prod(w for _, w in (*z, *u))
                tables = [torch.tensor([[x] for x, _ in part], dtype=torch.float64) for part in (z, u)]
                one = replace(
                    problem,
                    **keys,
                    input_embeddings=tables[0],
                    output_embeddings=tables[1],
                    permutation=torch.arange(vocab),
                )
                w = scores.attention_vector(one)
                mark, token = float(trigger @ w), (tables[0] @ w).numpy()
                total += weight * np.array([mark, mark**2, np.mean(token**2), token.mean() ** 2])
    score, square, mean_square, square_mean = total / data
    return score, square, mean_square - square_mean


@pytest.mark.slow
@pytest.mark.parametrize("trigger_in_values", [0, 1])
@pytest.mark.parametrize(("vocab", "seq_len", "samples"), [(2, 2, 1), (2, 2, 2), (2, 3, 1)])
def test_moments_by_brute_force(vocab, seq_len, samples, trigger_in_values):
    """Everything there is: all tokens, all positions, all embeddings that rules of this degree need."""
    setting = rb.Setting(
        vocab=vocab, seq_len=seq_len, dim=1, samples=samples, trigger_in_values=bool(trigger_in_values)
    )
    found = [moments.polynomial(setting, name)(0.81) for name in ("score", "square", "scatter")]
    assert found == pytest.approx(brute_force(vocab, seq_len, samples, trigger_in_values), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("trigger_in_values", [0, 1])
@pytest.mark.parametrize(("vocab", "seq_len", "samples"), [(2, 2, 2), (3, 2, 2), (2, 3, 2), (4, 2, 1)])
def test_orthonormal_moments_by_brute_force(vocab, seq_len, samples, trigger_in_values):
    """With orthonormal embeddings data are all there is to average over: second and third moments of token scores."""
    setting = rb.Setting(
        vocab=vocab,
        seq_len=seq_len,
        dim=vocab + 2,
        samples=samples,
        embeddings="orthogonal",
        trigger_in_values=bool(trigger_in_values),
    )
    problem, rows = rb.draw(setting, 0), []
    tables = {"permutation": torch.arange(vocab)}
    for row in itertools.product(range(vocab), repeat=samples * seq_len):
        tokens = torch.tensor(row).view(samples, seq_len)
        for places in itertools.product(range(seq_len), repeat=samples):
            positions = torch.tensor(places)
            labels = tokens[torch.arange(samples), positions]
            one = replace(problem, tokens=tokens, positions=positions, labels=labels, **tables)
            w = scores.attention_vector(one)
            token, mark = (one.input_embeddings @ w).numpy(), float(one.trigger @ w)
            rows.append((mark, mark**2, np.mean(token**2), np.mean(token) ** 2, np.mean(token**3)))
    score, square, mean_square, square_mean, cube = np.mean(rows, axis=0)
    found = moments.exact(setting)
    assert square_mean == pytest.approx(0, abs=1e-18)  # token scores sum to zero
    assert found.score(1.0) == pytest.approx(score, abs=1e-14)
    assert found.pull(1.0) + found.noise(1.0) == pytest.approx(square, abs=1e-14)
    distinct = vocab / (vocab - 1)
    assert found.overlap(1.0) + found.scatter(1.0) == pytest.approx(distinct * mean_square, abs=1e-14)
    assert found.cube == pytest.approx(cube, rel=1e-9, abs=1e-11)  # its terms are of order one, and cancel


def as_rows(quantity, terms):
    return {(quantity, name, odd, *powers): c for (name, odd), poly in terms.items() for powers, c in poly.items() if c}


def stored(quantity):
    return {tuple(row[:-1]): row[-1] for row in moments.rows(quantity).itertuples(index=False)}


def test_the_mean_of_the_table_is_what_the_enumeration_gives():
    assert as_rows("score", enumerated.moment((TRIGGER,))) == stored("score")


def test_neither_enumeration_nor_table_was_changed_without_the_other():
    assert enumerated.DIGEST.read_text(encoding="utf-8").strip() == enumerated.digest(), (
        "the enumeration or its table has changed: `python -m recallbook_studies.ch05.enumeration` makes both anew"
    )


@pytest.mark.nightly
def test_the_table_is_what_the_enumeration_gives():
    found = enumerated.table()
    assert set(found.query("quantity == 'scatter'")["term"]) == NAMES
    for quantity in ("score", "square", "scatter", "cube"):
        again = found[found["quantity"] == quantity].itertuples(index=False)
        assert {tuple(row[:-1]): row[-1] for row in again if row[-1]} == stored(quantity), quantity


def test_the_cube_of_the_table_has_the_right_second_moments():
    """The third moment's enumeration, with two halves, is the second moment at 1/d = 0: same code, cheap enough."""
    at_infinity = {p: c for p, c in as_rows("", enumerated.moment((0, 0))).items() if p[6] == 0}
    assert at_infinity  # tokens among orthonormal embeddings scatter


def test_no_length_no_score():
    """At L = 1 there is nothing to attend to: every moment vanishes, term by term."""
    for quantity in ("score", "square", "scatter"):
        powers = list(moments.POWERS)
        table = moments.rows(quantity).groupby(["term", "odd", *(p for p in powers if p != "L")])["coefficient"].sum()
        assert (table == 0).all(), quantity


def averaged(quantity, term, at):
    """A part of the table at these values, averaged over |t|^2."""
    return float(terms_alone.exact_at(at, quantity)[term])


def of_ledger(names, at, part):
    terms = lock_symbols.lock_terms()
    return sum(float(numeric(scores.averaged(getattr(terms[name], part)))(at)) for name in names)


FEW, MANY = {V: 1e8, d: 1e6, L: 1e5, N: 1e10, tau: 0}, {V: 1e3, d: 1e9, L: 1e5, N: 1e16, tau: 0}
# Terms of the ledger that the enumeration counts under another's name, and sizes at which both matter.
COUNTED_AS = {"bias noise": ("fact interference", FEW), "unequal lengths": ("uneven facts", MANY)}


@pytest.mark.parametrize("term", sorted(lock_symbols.lock_terms()))
def test_every_term_of_the_ledger_is_derived(term):
    """At sizes of 10^3 to 10^16 each is the leading part of an enumerated one, within 3 %; the mark's where it is."""
    assert term in NAMES | set(COUNTED_AS), f"nothing derives {term!r}: name it in `term` of derivations/moments.py"
    counted, at = COUNTED_AS.get(term, (term, FEW))
    names = {counted, term} | ({"bias noise"} if counted == "fact interference" else set())
    assert averaged("scatter", counted, at) == pytest.approx(of_ledger(names, at, "token"), rel=0.03)
    if term in ("mean bias", "gradient noise", "frequency noise"):
        assert averaged("square", term, at) == pytest.approx(of_ledger(names, at, "trigger"), rel=0.03)


def test_every_enumerated_term_is_in_the_ledger():
    assert NAMES - {"cross terms"} <= set(lock_symbols.lock_terms())


@pytest.mark.parametrize(
    ("term", "exponents"),
    [
        ("trigger overlap", (-2, 0, -4, -1)),
        ("mean bias", (-1, -2, 0, -3)),
        ("gradient noise", (0, -2, -2, -3)),
        ("frequency noise", (0, -2, -1, -4)),
    ],
)
def test_exponents_of_the_enumerated_terms(term, exponents):
    """Local slopes of the exact terms at large sizes, in V, N, L, d."""
    base = {V: 1e8, d: 1e6, L: 1e5, N: 1e10, tau: 0}
    for size, power in zip((V, N, L, d), exponents, strict=True):
        up, down = ({**base, size: base[size] * factor} for factor in (1.1, 1 / 1.1))
        slope = math.log(averaged("scatter", term, up) / averaged("scatter", term, down)) / (2 * math.log(1.1))
        assert slope == pytest.approx(power, abs=0.12), size


def test_the_remainder_of_the_mean_is_small_and_named():
    """The exact mean over the ledger's: at tau = 0 it is 1 - 1/N."""
    exact, ledger = moments.expression("score"), lock_symbols.trigger_score().subs(lock_symbols.Q, 1)
    assert sp.simplify((exact / ledger).subs(tau, 0) - (1 - 1 / N)) == 0
    left = (exact / ledger - 1).subs({tau: 1, lock_symbols.T: 1})
    big = sp.Symbol("x", positive=True)
    assert sp.limit((left * big).subs({V: big, N: big, L: 7, d: 30}), big, sp.oo).is_finite


def test_measured_terms_agree_with_the_exact_ones():
    """The committed draws: all intervals but as many as chance takes hold 1, and where it is narrow the ratio is 1."""
    table = terms_alone.table(terms_alone.load())
    assert len(table) == 2 * len(terms_alone.CASES)
    missed = ~((table["low"] <= 1) & (table["high"] >= 1))
    assert missed.sum() <= 5 and (table.loc[missed, "ratio"] - 1).abs().max() < 0.15
    narrow = table["high"] - table["low"] < 0.06
    assert narrow.sum() >= 12 and (table.loc[narrow, "ratio"] - 1).abs().max() < 0.03


@pytest.mark.parametrize("case", [0, 8, 18])
def test_committed_draws_are_what_is_measured(case):
    draws = terms_alone.load().query("case == @case").head(5).reset_index(drop=True)
    again = terms_alone.measure(case, draws["seed"])
    assert np.allclose(draws.to_numpy(float), again.to_numpy(float), rtol=1e-5)


@pytest.mark.parametrize("law", ["gaussian", "sphere", "orthogonal"])
@pytest.mark.parametrize("trigger_in_values", [False, True])
def test_moments_against_simulation(law, trigger_in_values):
    """Where all corrections matter: sequences as long as the vocabulary, few of them, d of its order."""
    dim = 42 if law == "orthogonal" else 24
    setting = rb.Setting(vocab=40, seq_len=30, dim=dim, samples=50, embeddings=law, trigger_in_values=trigger_in_values)
    frame = scores.run([setting], range(250))
    found = moments.exact(setting)
    expected = (found.overlap + found.scatter)(frame["T"].to_numpy())
    for measured, exact in ((frame["variance"], expected), (frame["score"], found.score(frame["T"].to_numpy()))):
        off = measured.to_numpy() - exact
        assert abs(off.mean()) < 3.5 * off.std(ddof=1) / len(off) ** 0.5 + 0.01 * abs(exact.mean())
