"""Unequal facts in expressions: brute force over all sequences, Monte Carlo, Wick, and the limit of
equal facts."""

from itertools import product

import numpy as np
import pytest
import sympy as sp
from sampling import standard_error
from sized import either, marked, sized

import recallbook as rb
from recallbook.setting import fact_frequencies, other_frequencies
from recallbook_studies import laws
from recallbook_theory.sampled import unequal_terms as symbolic
from recallbook_theory.sampled.attention_vector import AttentionVector
from recallbook_theory.sampled.drawn_facts import drawn_facts
from recallbook_theory.sampled.theory import label_choice
from recallbook_theory.symbolic import lock_terms
from recallbook_theory.symbolic.expressions import L, N, V, d, numeric, power, q, tau, trace
from recallbook_theory.values import effective_dim, sizes

pytestmark = pytest.mark.essential

EQUAL = {
    **{power(i, j): V ** (1 - i - j) for i in range(7) for j in range(7 - i) if i + j > 1},
    **{trace(j): d ** (1 - j) for j in range(2, 9)},
    **{symbolic.f: 1 / V, q: 1 / V},
}


UNEQUAL = [
    {"zipf": 1.0},
    {"zipf": 2.0, "other_zipf": 0.0},
    {"zipf": 0.5, "other_zipf": 1.5},
    {"zipf": 0.0, "other_zipf": 1.0},
]


def values_of(setting):
    """Sizes, power sums of both frequencies and traces of the covariance, by symbol; ``f`` and
    ``q`` are arrays over tokens."""
    facts, others = fact_frequencies(setting), other_frequencies(setting)
    sums = {power(i, j): np.sum(facts**i * others**j) for i in range(-2, 7) for j in range(7)}
    law, dim = setting.law, effective_dim(setting)
    traces = {trace(j): law.trace(j, dim) for j in range(2, 12)}
    return {**sizes(setting), **sums, **traces, symbolic.f: facts, q: others}


def chosen(labels):
    """What of a setting gives labels of this name."""
    others = {"inverse": {"loss_weights": "inverse"}, "balanced": {"balanced": True}}
    return others.get(labels, {"output_bias": labels})


# moments


def table(law, spectrum, rng, draws):
    return rng.standard_normal((draws, len(law), len(spectrum))) * np.sqrt(spectrum)


def power_values(law, spectrum):
    sums = {power(0, j): float(np.sum(law**j)) for j in range(2, 9)}
    return sums | {trace(j): float(np.sum(spectrum**j)) for j in range(2, 9)}


def zipf(size, exponent):
    law = np.arange(1, size + 1) ** -exponent
    return law / law.sum()


def test_moments_agree_with_simulation():
    """The overlap with the mean token's pull, exact; a sum of rare tokens' squares and cubes, whose
    leading part grows exact with sizes."""
    law, spectrum, token = zipf(12, 1.0), zipf(6, 0.7), 1
    z = table(law, spectrum, np.random.default_rng(0), 100_000)
    mean = np.einsum("x,nxi->ni", law, z)
    gram = np.einsum("nxi,x,nxj->nij", z, law, z)
    read = np.einsum("ni,nij->nj", z[:, token], gram)
    along = np.einsum("ni,ni->n", z[:, token], mean)
    overlap = np.einsum("nj,nj->n", read, mean) - along * np.sum(mean**2, axis=1)
    at = power_values(law, spectrum) | {q: law[token]}
    error = standard_error(overlap)
    assert abs(overlap.mean() - numeric(symbolic.BIAS_OVERLAP)(at)) < 4 * error
    assert error < 0.04 * overlap.mean()  # a wrong coefficient would show
    law, spectrum = zipf(600, 0.3), zipf(300, 0.3)
    z = table(law, spectrum, np.random.default_rng(600), 4)
    gram, rare_ones = (z * law[:, None]).mT @ z, slice(300, None)
    at, read = power_values(law, spectrum) | {q: law[rare_ones]}, z[:, rare_ones] @ gram
    for expression, found in (
        (symbolic.TOKEN_SQUARE, np.sum(read**2, axis=2)),
        (symbolic.TOKEN_CUBE, np.sum(read * (read @ gram), axis=2)),
    ):
        assert np.mean(found) == pytest.approx(np.mean(numeric(expression)(at)), rel=0.03)


# scores of tokens and of the mark


def every_sequence(setting, residual_bias):
    """Population scores by adding up all sequences, with orthonormal embeddings and their
    probabilities."""
    vocab, length = setting.vocab, setting.seq_len
    facts, others = fact_frequencies(setting), other_frequencies(setting)
    frame, trigger = np.eye(vocab + 1)[:vocab], np.eye(vocab + 1)[vocab]
    weights, at_zero = (facts, facts if residual_bias != "none" else np.full(vocab, 1 / vocab))
    if residual_bias in symbolic.EVEN:
        weights = at_zero = np.full(vocab, 1 / vocab)
    centred = np.eye(vocab) - at_zero
    means, moments = np.zeros((vocab, vocab + 1)), np.zeros((vocab, vocab + 1, vocab + 1))
    for asked in range(vocab):
        for rest in product(range(vocab), repeat=length - 1):
            chance = float(np.prod(others[list(rest)]))
            tokens = frame[[asked, *rest]]
            keys, values = tokens.copy(), tokens.copy()
            keys[0] += trigger
            values[0] += setting.trigger_in_values * trigger
            means[asked] += chance * values.mean(axis=0)
            moments[asked] += chance * keys.T @ (values - values.mean(axis=0)) / length
    query = np.einsum("y,k,yk,kb->yb", weights, weights, centred @ centred.T, means)
    w = np.einsum("yab,yb->a", moments, query)
    return w[:vocab], float(w[vocab])


@pytest.mark.parametrize("bias", ["none", "calibrated", "trained", *symbolic.EVEN])
@pytest.mark.parametrize("fields", UNEQUAL)
@either("trigger")
def test_mean_scores_are_those_of_all_sequences(fields, trigger, bias):
    setting = sized(
        4, 4, 6, 10**9, embeddings="orthogonal", **fields, trigger_in_values=trigger, **chosen(bias)
    )
    tokens, mark = every_sequence(setting, bias)
    at, size = values_of(setting), max(mark, np.abs(tokens).max())
    found = sum(numeric(part)(at) for part in symbolic.token_scores(bias).values())
    assert np.abs(found - tokens).max() < 1e-7 * size
    assert abs(numeric(symbolic.mark_score(bias))(at) - mark) < 1e-7 * size


# noises


def drawn_noises(setting, draws=12):
    """Squares of tokens' scores across t, by noise of the attention vector, whose oracle is in
    test_unequal.py."""
    found = {}
    for draw in range(draws):
        vector = AttentionVector(drawn_facts(setting, draw, {}).facts)
        z, t = vector.facts.tokens, vector.facts.trigger
        across = z - np.outer(z @ t, t) / (t @ t)
        for name, covariance in vector.noises.items():
            found.setdefault(name, []).append(np.sum(across @ covariance * across, axis=1))
        found.setdefault("own", []).append(t @ vector.means["own sequence"])
    return {name: np.mean(values, axis=0) for name, values in found.items()}


@pytest.mark.parametrize("bias", ["trained", "balanced", "none", "inverse"])
def test_noises_are_those_of_the_attention_vector(bias):
    """Of frequent tokens and of rare ones, averaged over draws of the tables: leading order at V =
    2d."""
    frequencies = {"zipf": 0.0, "other_zipf": 0.4} if bias == "balanced" else {"zipf": 0.4}
    setting = marked(64, 12, 32, 2560, **frequencies, **chosen(bias))
    values, label = values_of(setting), label_choice(setting)
    found = drawn_noises(setting)
    rare, frequent = slice(setting.vocab // 4, None), slice(4)
    ratios = {}
    for name, expression in symbolic.noises(label).items():
        expected = np.broadcast_to(numeric(expression)(values), found[name].shape)
        ratios[name] = [
            found[name][part].mean() / expected[part].mean() for part in (rare, frequent)
        ]
    assert {
        name: pair for name, pair in ratios.items() if min(pair) < 0.72 or max(pair) > 1.1
    } == {}
    # of the mark, where R / L^2 (1 - P'_2) stands for a token's third moment
    tokens, mark = 3 / L * (q**2 - q * power(0, 2)), (1 - 1 / L) / L**2 * (1 - power(0, 2))
    own = numeric(symbolic.own_sequence(label) / tokens * mark)(values)
    assert found["own"] == pytest.approx(float(np.mean(own)), rel=0.05)


def test_sequences_exchanged_count_twice_at_large_dimension():
    """Where d is far above V two sequences pull each other alike: without that half the ratio would
    be above 1.3."""
    setting = marked(24, 8, 96, 480, zipf=0.0, other_zipf=0.4, balanced=True)
    expected = numeric(symbolic.noises("balanced")["gradient noise"])(values_of(setting))
    assert 0.6 < drawn_noises(setting)["gradient noise"].mean() / np.mean(expected) < 1.1


@pytest.mark.slow
def test_equal_facts_give_back_the_terms_of_equal_facts():
    """To leading order for 1 << L << d << V << N << LV, without the trigger in the values."""
    growth = {V: 8, N: 12, L: 5, d: 6}
    typical = {lock_terms.T: 1, lock_terms.Q: 1, lock_terms.M: 1, tau: 0}
    old = {name: term.token.subs(typical) for name, term in lock_terms.lock_terms().items()}
    new, trained = (
        {name: noise.subs(EQUAL).subs(tau, 0) for name, noise in symbolic.noises(bias).items()}
        for bias in ("none", "trained")
    )
    pairs = {
        "gradient noise": new["gradient noise"],
        "frequency noise": new["value noise"] - trained["value noise"],
        "bias noise": new["key noise"] - trained["key noise"],
        "fact interference": trained["key noise"] + trained["value noise"],
    }
    for name, expression in pairs.items():
        before, after = (
            laws.leading(sp.together(part), growth) for part in (old[name], expression)
        )
        assert sp.simplify(after / before) == 1, name
    mark = symbolic.mark_score().subs(EQUAL).subs(tau, 0)
    of_mark = laws.leading(sp.together(lock_terms.trigger_score().subs(typical)), growth)
    assert sp.simplify(laws.leading(sp.together(mark), growth) / of_mark) == 1


# rare facts


def test_errors_fall_to_what_was_never_seen_with_inverse_weights():
    frame = rb.load_results("zipf_error")
    errors = 1 - frame.groupby(["zipf", "loss_weights", "dim", "samples"])["accuracy"].mean()
    for exponent in (1.5, 2.0):
        facts = fact_frequencies(marked(2048, 1, 256, 64, zipf=exponent))
        covered = errors[exponent, "inverse", 256]
        missed = [facts @ (1 - facts) ** samples for samples in covered.index]
        assert (covered / missed).between(0.9, 1.12).all()
