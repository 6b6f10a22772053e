"""Signal and noise of the attention vector against simulation, and what must hold exactly."""

import numpy as np
import pytest
import sympy as sp
from sampling import by_night, standard_error
from sized import either, marked, sized

import recallbook as rb
from recallbook_studies.ch05 import scores
from recallbook_theory.symbolic import lock_terms as lock_symbols
from recallbook_theory.symbolic.expressions import L, N, V, d, numeric, tau
from recallbook_theory.values import sizes

TYPICAL = {lock_symbols.T: 1, lock_symbols.Q: 1, lock_symbols.M: 1}
# where one term makes up most of the scatter
DOMINATED = {
    "trigger overlap": sized(150, 8, 64, 2000),
    "trigger overlap, in values": marked(150, 8, 64, 2000),
    "mean bias": sized(128, 128, 48, 1500),
    "mean bias, in values": marked(128, 128, 48, 1000),
    "frequency noise": sized(1600, 50, 24, 1800),
    "gradient noise": sized(1200, 23, 20, 1200),  # never most of it for N above V
}
LARGEST_Z = 3.5  # twelve comparisons


def z_score(differences):
    return np.mean(differences) / standard_error(differences)


@pytest.mark.slow
@pytest.mark.parametrize("name", by_night(DOMINATED, day=3))
def test_score_and_scatter(name):
    """Each draw against the prediction at its own T, Q, M: their fluctuation is no error."""
    setting = DOMINATED[name]
    seeds = range(40, 80)
    frame = scores.run(setting, seeds)
    shared = {symbol: frame[symbol.name].to_numpy() for symbol in lock_symbols.SHARED}
    at = {**sizes(setting), **shared}
    assert abs(z_score(frame["score"] - numeric(lock_symbols.trigger_score())(at))) < LARGEST_Z
    # ratios of sums, not of single draws: the scatter is skewed. 5 % is what leading order may miss
    predicted = sum(numeric(term)(at) for term in scores.terms().values())
    off = frame["variance"] - predicted
    error = standard_error(off)
    assert abs(off.mean()) < LARGEST_Z * error + 0.05 * predicted.mean()
    assert error < 0.15 * predicted.mean()


@pytest.mark.parametrize("name", DOMINATED)
def test_the_named_term_matters(name):
    setting = DOMINATED[name]
    terms = {term: scores.predicted(setting)[term] for term in scores.terms()}
    shares = {term: size / scores.variance(setting) for term, size in terms.items()}
    named = name.split(",")[0]
    assert named == "gradient noise" or max(shares, key=shares.get) == named
    assert shares[named] > 0.25
    assert sum(shares.values()) == pytest.approx(1)


# Exact statements


def at_infinity(fraction, symbol):
    """The limit of a fraction of polynomials, from its leading terms: SymPy's own is many times
    slower."""
    above, below = (sp.Poly(part, symbol) for part in sp.fraction(sp.together(fraction)))
    gap = above.degree() - below.degree()
    return sp.oo if gap > 0 else 0 if gap < 0 else above.LC() / below.LC()


def test_one_position_has_nothing_to_lock():
    assert lock_symbols.trigger_score().subs(L, 1) == 0
    assert [term for term in scores.terms().values() if sp.simplify(term.subs(L, 1)) != 0] == []
    frame = scores.run(marked(20, 1, 30, 50), seeds=[0])
    assert abs(frame["score"][0]) < 1e-12 and frame["variance"][0] < 1e-24


@pytest.mark.parametrize("marked", [0, 1])
def test_interference_vanishes_without_overlaps(marked):
    """d to infinity stands for orthogonal embeddings."""
    at = {**TYPICAL, tau: marked}
    limits = {name: at_infinity(term.subs(at), d) for name, term in scores.terms().items()}
    assert {
        str(symbol) for limit in limits.values() for symbol in sp.sympify(limit).free_symbols
    } <= {"V", "N", "L"}
    gone = {name for name, limit in limits.items() if limit == 0}
    assert {"mean bias", "trigger overlap", "unequal lengths"} <= gone
    # what remains is sampling: it vanishes with N
    assert [limit for limit in limits.values() if at_infinity(limit, N) != 0] == []


def test_infinite_data_leave_overlap_and_unequal_facts():
    left = {
        name
        for name, term in scores.terms().items()
        if at_infinity(term.subs(TYPICAL).subs(tau, 0), N) != 0
    }
    assert left == {"trigger overlap", "unequal lengths", "uneven facts"}


@either("tau")
@pytest.mark.parametrize("seq_len", by_night([16, 64, 128], day=1))
def test_orthogonal_scatter_at_all_lengths(seq_len, tau):
    """Coincidences of a token with its own fact grow with L / V: without them the ratio reaches 1.8
    at L = V."""
    setting = sized(128, seq_len, 130, 12800, embeddings="orthogonal", trigger_in_values=tau)
    frame = scores.run(setting, range(12))
    ratio = frame["variance"] / scores.variance(setting)
    assert abs(ratio.mean() - 1) < 0.1 + LARGEST_Z * standard_error(ratio)


# The experiment's own pieces


def test_average_over_draws():
    T, Q, M = lock_symbols.SHARED
    rng = np.random.default_rng(0)
    values = rng.chisquare(20, 400000) / 20
    exact = float(scores.averaged(T**3).subs(d, 20))
    assert (values**3).mean() == pytest.approx(exact, rel=0.01)
    assert scores.averaged(Q**2 * M).subs({d: 20, V: 50}) == 1 + 2 * (
        sp.Rational(1, 20) + sp.Rational(1, 50)
    )
    assert scores.averaged(T**2, equal_lengths=True) == 1


def test_attention_vector_is_that_of_three_steps():
    problem = rb.draw(marked(30, 5, 12, 200), seed=1)
    w = rb.three_steps(problem).key_query @ problem.query / (problem.query @ problem.query)
    assert np.allclose(scores.attention_vector(problem), w, rtol=1e-10, atol=1e-14)
