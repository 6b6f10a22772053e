"""The page of laws: each law against the ledger and the prediction, each number against another way
to compute it."""

import math
import re
from dataclasses import replace

import laws as page
import laws_numbers as numbers
import numpy as np
import pytest
import sympy as sp
from sized import sized

import recallbook as rb
from recallbook_studies import laws
from recallbook_studies.ch07 import features
from recallbook_theory.sampled import unequal_terms as of_frequencies
from recallbook_theory.symbolic import lock_terms as of_lock_on, recall_terms as of_recall
from recallbook_theory.symbolic.expressions import L, N, V, d, numeric, power

# Inside 1 << L << V << N << LV: what is left out is of relative order V/N, N/(LV), L/V, 1/L and
# 1/d, all at most 1 %, and enters with factors up to four.
LARGE = {V: 1e10, L: 1e5, N: 1e12}


@pytest.mark.parametrize(
    ("share", "small"), [(1e-4, True), (1e-4, False), (0.1, False), (1, False)]
)
@pytest.mark.parametrize("marked", [False, True])
def test_noises_of_lock_on_are_those_of_the_ledger(share, small, marked):
    """Every term, with d small against V and of its order; a wrong coefficient or power is off by
    more than 5 %."""
    at = {**LARGE, d: share * LARGE[V]}
    typical = {of_lock_on.T: 1, of_lock_on.Q: 1, of_lock_on.M: 1, of_lock_on.tau: int(marked), **at}
    score = float(numeric(of_lock_on.trigger_score())(typical))
    for name, noise in laws.lock_on_noises(marked, small_dim=small).items():
        exact = float(numeric(of_lock_on.lock_terms()[name].token)(typical)) / score**2
        assert float(numeric(noise)(at)) == pytest.approx(exact, rel=0.05), name


@pytest.mark.parametrize("marked", [False, True])
def test_noises_of_recall_are_those_of_the_ledger(marked):
    """All at N and d of the order of V: what is left out is of order 1/V."""
    at = {V: 10**6, N: 3 * 10**6, d: 2 * 10**6, of_recall.tau: int(marked)}
    for name, noise in laws.recall_noises(marked).items():
        exact = float(numeric(of_recall.mean_squares()[name])(at))
        assert float(numeric(noise)(at)) == pytest.approx(exact, rel=1e-4, abs=1e-15), name


def test_laws_have_the_constants_that_the_chapters_quote():
    """Label frequencies, coverage and superposition: powers and constants written out by hand."""
    at = {V: 3000.0, L: 70.0, d: 150.0}
    size = 3000 * math.log(3000)
    found = {name: float(numeric(law)(at)) for name, law in laws.samples(True).items()}
    assert found["label frequencies"] == pytest.approx(2 * size * (3000 + 150) / 150)
    assert found["coverage"] == pytest.approx(3000 * math.log(10))
    for marked in (False, True):
        squared = float(numeric(laws.superposition(marked))(at)) ** 2
        assert squared == pytest.approx(2 * (1 + marked) * size)
    assert "label frequencies" not in laws.samples(False)


def test_laws_lie_where_their_noise_meets_the_price():
    for name, law in laws.lock_on().items():
        met = laws.lock_on_noises(small_dim=True)[name].subs(N, law) * laws.PRICE**2
        assert sp.simplify(met) == 1, name


def test_the_cliff_is_the_least_that_mean_bias_asks_for():
    """Over vocabularies: N d = sqrt(10 log L) L^2, at V = d."""
    at = {L: 300.0, d: 128.0}
    asked = laws.PRICE * sp.sqrt(laws.lock_on_noises()["mean bias"] * N**2)
    vocabs = np.arange(2, 2000)
    needed = numeric(asked)({**at, V: vocabs})
    least = float(numeric(laws.cliff())(at))
    assert vocabs[needed.argmin()] == 128 and needed.min() == pytest.approx(least)
    assert least == pytest.approx(math.sqrt(10 * math.log(300)) * 300**2 / 128)


@pytest.mark.slow
def test_mean_bias_law_is_where_lock_on_turns():
    """At L = sqrt(V) to V/4 and d << V, half lock-on is within a factor 1.6 of the law: its powers
    cover 200."""
    for vocab, seq_len, dim in ((2**14, 2**10, 128), (2**16, 2**12, 256), (2**16, 2**14, 1024)):
        law = float(numeric(laws.lock_on()["mean bias"])({V: vocab, L: seq_len, d: dim}))
        setting = sized(vocab, seq_len, dim, round(law))
        less, more = (
            rb.predict(replace(setting, samples=round(law * factor)), warn=False).lock_on
            for factor in (0.6, 1.6)
        )
        assert less < 0.5 < more


# Thresholds


def test_lock_on_of_a_ratio_is_what_draws_give():
    generator = np.random.default_rng(0)
    for ratio, others in ((1.7, 15), (4.0, 63)):
        own = generator.standard_normal(40_000)
        rest = generator.standard_normal((40_000, others)).max(axis=1)
        assert laws.lock_on_at(ratio, others) == pytest.approx(
            np.mean(own + ratio > rest), abs=0.01
        )
        drawn = generator.standard_normal(40_000) + ratio
        assert numbers.drawn_lock_on(ratio, others) == pytest.approx(
            np.mean(own + drawn > rest), abs=0.01
        )
    for share in (0.2, 0.5, 0.99):
        assert laws.lock_on_at(laws.ratio_for(share, 63), 63) == pytest.approx(share, abs=1e-9)
        assert numbers.drawn_lock_on(numbers.drawn_ratio(share, 63), 63) == pytest.approx(share)


@pytest.mark.parametrize(("vocab", "dim"), [(256, 128), (1024, 256), (256, 512)])
def test_where_label_frequencies_are_the_largest(vocab, dim):
    edge = min(dim, vocab) * (vocab + dim) / 2 - vocab
    for factor, largest in ((0.8, True), (1.25, False)):
        setting = sized(vocab, 2, dim, round(factor * edge), trigger_in_values=True)
        ledger = rb.predict(setting, warn=False).ledger
        sizes = {name: ledger[name] for name in laws.recall_noises(True)}
        assert (max(sizes, key=sizes.get) == "label frequencies") == largest, factor


# The page


# predictions of these take minutes
SLOW = re.compile("over_the_law|helps|over_labels|span|critical|wall")


def expected(path, slow):
    """A pattern that the committed page has to match: its words, and what expressions give; those
    that are slow match anything if they are not asked for."""
    words, place = "", 0
    for found in page.EXPRESSION.finditer(template := page.template(path)):
        words += re.escape(template[place : found.start()])
        skipped = SLOW.search(found[1]) and not slow
        words += "(?s:.*?)" if skipped else re.escape(page.written(found))
        place = found.end()
    return words + re.escape(template[place:])


@pytest.mark.parametrize("path", page.PAGES, ids=lambda path: path.stem)
@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_pages_are_what_the_script_gives(path, slow):
    text = path.read_text(encoding="utf-8")
    assert re.fullmatch(expected(path, slow), text), "run python book/laws.py"
    assert all((path.parent / f"images/{name}.svg").is_file() for name in page.PICTURES)


def test_words_that_no_expression_writes():
    """Lock-on at the law is one number for the lengths of the page's table, he2 and he3 have no
    cap, and the closed form gives the fraction."""
    lengths = (16, 64, 256)
    at_law = [numbers.drawn_lock_on(math.sqrt(2 * math.log(n)), n - 1) for n in lengths]
    assert max(at_law) - min(at_law) < 0.03
    assert {features.coefficients(name)["cap"] for name in ("he2", "he3")} == {math.inf}
    assert rb.sufficient_samples(**numbers.CLOSED).by == "closed form"


def test_formulas_of_the_page_give_the_running_setting():
    """As rb.predict does; without the draws' luck, or without the mean over counts, they do not."""
    found = numbers.predicted(numbers.RUNNING)
    ratio = found.ratio
    lock_on, typical = (
        of(ratio, numbers.rivals()) for of in (numbers.drawn_lock_on, laws.lock_on_at)
    )
    assert abs(lock_on - found.lock_on) < 0.01 and typical - found.lock_on > 0.05
    often = numbers.recall_of_counts()["recalled"][8]
    assert abs(numbers.mean_recall() - found.recall) < 0.01 and often - found.recall > 0.15


def test_pull_of_uneven_labels_does_not_fall_with_the_number_of_sequences():
    """The page's words for |g|^2."""
    square = of_frequencies.labels("none").square.subs(1 / N, 0)
    assert sp.simplify(square - (power(2) - 1 / V)) == 0 and square != 0
    assert of_frequencies.labels("trained").square == of_frequencies.labels("balanced").square == 0


def test_the_cap_of_the_mlp_is_where_its_formula_is_one():
    """``mlp`` at m of infinity and phi_1 of 1, K of 1, phi_0 of 0 is the law without MLP."""
    plain = features.superposition().subs({features.phi0: 0, features.phi1: 1, features.square: 1})
    assert (
        sp.simplify(sp.limit(plain, features.m, sp.oo) - (laws.superposition(False) / d) ** 2) == 0
    )
