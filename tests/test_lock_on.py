"""Signal and noise of the attention vector against simulation, and what must hold exactly."""

import pytest
import sympy as sp
from sampling import by_night, standard_error
from sized import either, marked, sized

from recallbook_studies.ch05 import scores
from recallbook_theory import lock_on
from recallbook_theory.symbolic import lock_terms as lock_symbols
from recallbook_theory.symbolic.expressions import L, N, d, numeric, tau
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
# width, activation, and what leading order may miss
WITH_MLP = [
    # short sequences: leading order in 1/L misses most
    (sized(250, 4, 40, 2500, width=200, activation="he2"), 0.15),
    (sized(600, 20, 60, 600, width=60), 0.15),  # neuron bias is most of it, N = V
    (sized(300, 40, 40, 3000, width=200), 0.05),
    (marked(300, 20, 60, 1500, width=100, activation="gelu"), 0.05),
    (marked(300, 60, 40, 3000, width=80, activation="tanh"), 0.05),
    (sized(400, 60, 60, 1500, width=200, activation="he3"), 0.05),
]
WITHOUT = [(setting, 0.05) for setting in DOMINATED.values()]


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "slack"), [
    *WITH_MLP[:2], *WITHOUT[:3],
    *(pytest.param(*one, marks=pytest.mark.nightly) for one in WITH_MLP[2:] + WITHOUT[3:]),
], ids=str)  # fmt: skip
def test_score_and_scatter(setting, slack):
    """Mean score of the mark and variance of token scores, each draw against the prediction at its
    own T, Q, M: their fluctuation is no error. What is left is sampling and ``slack``."""
    mlp = setting.width is not None
    frame = scores.run(setting, range(40, 120 if mlp else 80))
    shared = {symbol: frame[symbol.name].to_numpy() for symbol in lock_symbols.SHARED}
    at, scale = lock_on.values(setting, shared), setting.mlp_input_scale if mlp else 1.0
    score = numeric(lock_symbols.trigger_score(mlp))(at)
    off = scale * frame["score"] - score
    assert abs(off.mean()) < LARGEST_Z * standard_error(off) + mlp * slack * abs(score.mean())
    # differences, not ratios of single draws: the scatter is skewed
    scatter = sum(numeric(term.token)(at) for term in lock_symbols.lock_terms(mlp).values())
    off = scale**2 * frame["variance"] - scatter
    error = standard_error(off)
    assert abs(off.mean()) < LARGEST_Z * error + slack * scatter.mean()
    assert error < (0.06 if mlp else 0.15) * scatter.mean()


def at_typical_draw(setting):
    """Variance of token scores by term, at T = Q = M = 1."""
    at = {**sizes(setting), **TYPICAL}
    return {name: float(numeric(term)(at)) for name, term in scores.terms().items()}


@pytest.mark.parametrize("name", DOMINATED)
def test_the_named_term_matters(name):
    terms = at_typical_draw(DOMINATED[name])
    shares = {term: size / sum(terms.values()) for term, size in terms.items()}
    named = name.split(",")[0]
    assert named == "gradient noise" or max(shares, key=shares.get) == named
    assert shares[named] > 0.25


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
    terms = at_typical_draw(setting) | {"unequal lengths": 0.0}
    ratio = frame["variance"] / sum(terms.values())
    assert abs(ratio.mean() - 1) < 0.1 + LARGEST_Z * standard_error(ratio)
