"""What three steps need: every step of the proof on draws, the bound against simulation, the page."""

import itertools
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
import torch
from sampling import by_night
from scipy.stats import norm
from sized import SIZES, either, marked, sized

import recallbook as rb
from recallbook_theory import moments
from recallbook_theory.bounds import closed_form, coverage, necessary, recall_law
from recallbook_theory.symbolic.expressions import L, N, V, d, numeric, tau

PAGE = Path(__file__).parent.parent / "book" / "proofs_necessary.md"


def values(setting):
    """Every symbol of the theorem at a setting, theta left out."""
    sizes = (getattr(setting, name) for name in (*SIZES, "trigger_in_values"))
    found = dict(zip((V, L, d, N, tau), map(int, sizes), strict=True)) | {necessary.theta: 0.5}
    found[necessary.e_2] = math.sqrt(necessary.pull_square(found))
    return closed_form.constants(found, necessary.mean_bias)


def attention_vector(problem):
    """w, up to the factor |z_EOS|^2."""
    return rb.three_steps(problem).key_query @ problem.query / problem.query.square().sum()


class Draw:
    """One draw with its pair of tokens, or one alone, and, for the trigger and the trigger turned,
    keys along a by label, with their means given a fact; and the matrix that multiplies the mean
    embedding."""

    def __init__(self, setting, seed, pair=True):
        self.problem = problem = rb.draw(setting, seed)
        vocab, length, flag = setting.vocab, setting.seq_len, int(setting.trigger_in_values)
        table, mark = problem.input_embeddings.numpy(), problem.trigger.numpy()
        first, second = np.random.default_rng(seed).permutation(vocab)[:2]
        self.beta = beta = table - table.mean(axis=0)
        self.a = a = mark + table[first] - table[second] if pair else beta[first]
        self.second, self.x = beta.T @ beta / vocab, (x := beta @ a)
        named = problem.output_embeddings[problem.permutation].numpy()
        named = named - named.mean(axis=0)
        tokens = problem.tokens.numpy()
        place = (np.arange(length) == problem.positions.numpy()[:, None]).astype(float)
        which = np.eye(vocab)[(tokens * place).sum(axis=1).astype(int)].T / setting.samples
        self.share = share = which.sum(axis=1)
        self.excess = share - 1 / vocab
        pulls = named @ (loud := self.excess @ named)
        self.means, self.keys = [], []
        for turned in (mark, -mark):
            shown, read = (table[tokens] + on * place[..., None] * turned for on in (1, flag))
            shown -= shown.mean(axis=1, keepdims=True)
            fact = (x + turned @ a)[:, None] * (beta + flag * turned) * (length - 1) / length**2
            self.means.append(fact + (1 - 1 / length) ** 2 * (self.second @ a))
            self.keys.append(which @ np.einsum("ij,ijk->ik", shown @ a, read) / length)
            self.matrix = np.einsum("i,ija,ijb->ab", pulls @ which, read, shown) / length
        total, along = pulls @ self.keys @ a, np.array(self.means) @ a
        self.total, self.others = total, total - along @ (pulls * share)
        self.facts = total - self.others - loud @ loud * along.mean(axis=1)
        own = (
            (table[first] - table[second]) @ a / 2**0.5 if pair else a @ a / (1 - 1 / vocab) ** 0.5
        )
        rest = np.square(x).mean() - own**2 / vocab
        self.main = (1 - 1 / length) * rest * (loud @ loud)


SETTINGS = [sized(24, 6, 10, 40), marked(16, 20, 12, 20), marked(40, 5, 20, 40)]


@pytest.mark.parametrize("setting", SETTINGS[:2], ids=str)
def test_margins_are_linear_in_the_mean_embedding(setting):
    """And what multiplies it, along a, is the covariance that the proof goes on with; also with
    the trigger turned."""
    draw = Draw(setting, 3)
    for problem, total in zip(
        (draw.problem, replace(draw.problem, trigger=-draw.problem.trigger)),
        draw.total,
        strict=True,
    ):
        vectors = [
            attention_vector(replace(problem, input_embeddings=problem.input_embeddings + shift))
            for shift in torch.from_numpy(np.outer((0, 1, -2), draw.a))
        ]
        rise = vectors[1] - vectors[0]
        assert torch.allclose(vectors[2] - vectors[0], -2 * rise, rtol=1e-9, atol=1e-16)
        assert float(draw.a @ rise.numpy()) == pytest.approx(total, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("pair", by_night([True, False], day=1))
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_moments_are_on_their_side(setting, pair):
    """Over draws, but for four standard errors; bounds on mean squares are within a factor of 12
    of these, for one token of 50."""
    said, draws = values(setting), [Draw(setting, seed, pair) for seed in range(500)]
    length = np.array([np.linalg.norm(draw.a) for draw in draws])
    main = np.array([draw.main for draw in draws]) / length
    error = main.std() / 500**0.5
    least = said[necessary.y] * (1 if pair else ((1 - 1 / setting.vocab) / 3) ** 0.5)
    assert main.mean() == pytest.approx(least, abs=4 * error, rel=0.02)
    relative = np.square(main / main.mean() - 1)
    assert relative.mean() < said[necessary.s] + 4 * relative.std() / 500**0.5
    for name, symbol in (("facts", necessary.r_1), ("others", necessary.r_2)):
        square = np.square([getattr(draw, name) for draw in draws]).mean(axis=1) / length**2
        bound = said[symbol] * (1 if pair else 1.5)
        assert square.mean() < bound + 4 * square.std() / 500**0.5
        assert bound < (12 if pair else 50) * square.mean()
    worst = np.array([min(draw.total) for draw in draws]) / length
    assert np.mean(worst >= 0.5 * least) >= said[necessary.P]
    spread = [
        np.linalg.norm(draw.second, 2) * np.linalg.norm(draw.matrix, 2) ** 2 for draw in draws
    ]
    taken = np.mean(spread) / (0.95 * (0.5 * least) ** 2)
    bound = closed_form.constants({**said, necessary.z: 1.0}, necessary.many_tokens)[necessary.b]
    assert pair or taken < bound < 80 * taken


SMALL = [marked(8, 4, 12, 16), marked(5, 3, 6, 7), sized(3, 2, 4, 3), sized(24, 6, 10, 40)]


@pytest.mark.parametrize("setting", SMALL, ids=str)
def test_the_pull_has_all_terms_of_the_table(setting):
    """Power by power it is what the table's polynomials in |t|^2 give in the mean over t."""
    exact, sizes = moments.exact(setting), values(setting)
    given = (exact.pull + 2 * exact.overlap).coef  # |t|^2 is a gamma variable: E T^k is a product
    means = np.cumprod(
        [1.0, *(1 + j * setting.law.length_variance(setting.dim) for j in range(len(given) - 1))]
    )
    whole = float(given @ means)
    found = np.polynomial.Polynomial(necessary.pull_parts(sizes))(1 / setting.samples)
    assert found == pytest.approx(whole, rel=1e-9)
    assert necessary.pull_square(sizes) >= whole


@pytest.mark.parametrize("level", necessary.LEVELS)
def test_the_two_signs_against_many_tokens(level):
    """Step 5: whatever the signals of both signs are, in units of the least deviation."""
    signals = np.random.default_rng(0).normal(1, 3, (2, 10**5))
    own = norm.cdf(level - np.maximum(signals, 0)).mean(axis=0) - norm.cdf(-1.25)
    slope = float(necessary.many_tokens()[necessary.a].subs(necessary.z, level))
    below = (level + 1.25) ** 2 - np.maximum(signals.mean(axis=0), 0) ** 2
    assert 0 < (own - slope * below).min() < 0.01


@pytest.mark.nightly
@pytest.mark.parametrize("samples", [1500, 6000])
def test_uneven_labels_lengthen_the_weights(samples):
    """Steps 3 and 4 of label frequencies: weights of all facts of a draw, then their chances."""
    vocab, dim = 1500, 500
    problem = rb.draw(setting := marked(vocab, 2, dim, samples), 0)
    at = {**values(setting), necessary.N_plus: samples}
    said = closed_form.constants(at, necessary.label_frequencies)
    weights = vocab * recall_law.stored_weights(problem).numpy()
    length = np.linalg.norm(weights, axis=1)
    assert said[necessary.Q] < length.min() < 4 * said[necessary.Q]
    shown = np.bincount(problem.tokens.gather(1, problem.positions[:, None])[:, 0], minlength=vocab)
    usual = np.flatnonzero(shown <= samples / vocab)
    right = dim**0.5 * abs(np.diag(weights) / length)[usual]
    assert right.max() < said[necessary.r] < 12 * right.max()
    recalled = numeric(necessary.label_frequencies()[necessary.R])(
        {**said, necessary.r: right.max()}
    )
    most = recall_law.recall_at_most(torch.from_numpy(weights), dim)[usual].max()
    assert most < 1 - (1 - recalled) / (0.5 - 3 / vocab ** (1 / 3)) < 0.9


@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("sizes", [(9, 2, 3), (64, 200, 8), (256, 1000, 96), (2000, 2, 1000)])
def test_nothing_falls_with_more_sequences(sizes, flag):
    """What the corollary needs to stop at the first N."""
    grid = [
        {V: sizes[0], L: sizes[1], d: sizes[2], tau: flag, N: sizes[0] * 1.5**k} for k in range(40)
    ]
    pulls = [at[N] ** 2 * necessary.pull_square(at) for at in grid]
    missed = [necessary.outscored(at) for at in grid]
    assert pulls == sorted(pulls)
    assert [(a, b) for a, b in itertools.pairwise(missed) if a > 0 and b > a] == []


# Against simulation


@pytest.mark.slow
@pytest.mark.parametrize("flag", by_night([False, True], day=1))
def test_marked_tokens_are_outscored_as_often_as_is_proved(flag):
    setting = sized(64, 300, 48, 64, trigger_in_values=flag)
    proved = necessary.outscored({V: 64, L: 300, d: 48, N: 64, tau: int(flag)})
    behind = []
    for seed in range(300):
        problem = rb.draw(setting, seed)
        scores = problem.input_embeddings @ (vector := attention_vector(problem))
        behind.append(float((problem.trigger @ vector + scores[:, None] < scores).double().mean()))
    assert 0.05 < proved < np.mean(behind) - 4 * np.std(behind) / 300**0.5


@pytest.mark.slow
@pytest.mark.parametrize("sizes", by_night([
    (64, 256, 48),
    (256, 2048, 256),
    (256, 512, 128),
    (1000, 3000, 400),
    (4096, 64, 512),
    (10**4, 10**4, 2000),
    (10**5, 10**5, 10**4),
], day=1), ids=str)  # fmt: skip
def test_what_is_necessary_is_not_above_what_is_predicted(sizes):
    """Coverage is nearly all that is predicted where it binds."""
    for accuracy in (0.8, 0.9, 0.97):
        for flag in (False, True):
            given = {"trigger_in_values": flag}
            predicted = rb.critical_samples(*sizes, accuracy, warn=False, **given)
            assert rb.minimum_samples(*sizes, accuracy, learner="three steps", **given) < (
                1.01 * predicted
            )
            assert necessary.mean_bias_samples(*sizes, accuracy, flag) < 0.5 * predicted


# The call


def test_what_three_steps_need_is_at_least_coverage():
    shown = coverage.coverage_samples(256, 0.9)
    least = partial(rb.minimum_samples, learner="three steps")
    for kind in ({"accuracy": 0.7}, {"width": 64}, {}):
        found = coverage.coverage_samples(256, kind.get("accuracy", 0.9))
        assert least(256, 16, 96, **kind) == found
    assert least(256, 1, 96) == shown
    assert least(2, 900, 96) == coverage.coverage_samples(2, 0.9)
    long = [least(256, 4000, 96, accuracy) for accuracy in (0.8, 0.9, 1.0)]
    assert shown < long[0] < long[1] < long[2]
    # at least all, but for a tenth: nine tenths on average
    assert least(256, 4000, 96, 1.0, error=0.1) == pytest.approx(long[1])


@pytest.mark.parametrize(("vocab", "says"), [(1000, False), (8000, False), (10**4, True)])
def test_many_tokens_say_nothing_at_small_vocabularies(vocab, says):
    """At any other sizes; p' falls with N and rises with L."""
    length, best = 10**8, -math.inf
    for dim in np.geomspace(4, 3 * vocab, 24):
        sizes = {V: vocab, L: length, d: dim, N: vocab, tau: 0}
        known = {**sizes, necessary.theta: necessary.THETAS}
        known[necessary.e_2] = math.sqrt(necessary.pull_square(sizes))
        found = closed_form.constants(known, necessary.mean_bias)
        levels = {**found, necessary.z: necessary.LEVELS[:, None]}
        found = closed_form.constants(levels, necessary.many_tokens)
        best = max(best, np.max(found[necessary.p_all]))
    assert (best > 0) == says


@pytest.mark.essential
def test_at_large_sizes_it_is_the_leading_order():
    vocab, length, dim = 10**9, 10**9, 10**7
    leading = 6.6 * 0.4**0.5 * length**2 * vocab**0.5 / dim**1.5
    assert 0.95 < necessary.mean_bias_samples(vocab, length, dim) / leading < 1
    # far below L = sqrt(V d) nothing: with tau = 1 the trigger gains more than 1/(L^2 V)
    assert necessary.mean_bias_samples(10**10, 10**6, 10**4, 0.9, True) == 0


def test_numbers_are_excluded_where_every_sequence_locks():
    sizes = (10**6, 1000, 10**5)
    first, last = necessary.excluded_samples(*sizes)
    assert 1e7 < first < 2e7 and 1.3e8 < last < 1.4e8
    assert (
        last
        < necessary.excluded_samples(*sizes, 0.95)[1]
        < 0.5 * rb.critical_samples(*sizes, trigger_in_values=True)
    )
    # where the first is beyond the last, none is; below it, nothing is known
    first, last = necessary.excluded_samples(10**5, 1000, 10**4)
    assert 2.3e5 < first == last
    least = partial(rb.minimum_samples, learner="three steps", trigger_in_values=True)
    assert least(*sizes) < 2.4e6
    assert necessary.excluded_samples(1000, 10, 10) == (math.inf, math.inf)


@pytest.mark.essential
def test_without_a_model_it_is_what_both_need():
    least = partial(rb.minimum_samples, 10**6, 10**5, 10**4, learner="three steps")
    plain, marked = (least(trigger_in_values=flag) for flag in (False, True))
    assert least() == min(plain, marked) < 0.6 * max(plain, marked)


@pytest.mark.essential
def test_the_page_prints_the_formulas():
    page = PAGE.read_text(encoding="utf-8")
    formulas = necessary.mean_bias(), necessary.many_tokens(), necessary.label_frequencies()
    printed = [
        f"{sp.latex(symbol)}&={sp.latex(e, ln_notation=True)}"
        for of in formulas
        for symbol, e in of.items()
    ]
    assert [formula for formula in printed if formula not in page] == []


@pytest.mark.slow
@pytest.mark.essential
@either("flag")
@pytest.mark.parametrize("vocab", [2, 3, 4, 216, 3000])
def test_at_the_edges_of_the_sizes(vocab, flag):
    """One token, one dimension, more of them than facts: coverage at least, the mean of both."""
    least = partial(rb.minimum_samples, learner="three steps", trigger_in_values=flag)
    shown = coverage.coverage_samples(vocab, 0.9)
    for length, dim in itertools.product((1, 2, 10**6), (1, 2, vocab, 9 * vocab)):
        found = least(vocab, length, dim)
        assert shown <= found < math.inf
        assert found <= least(vocab, length, dim, 0.95)
        assert length > 1 or found == shown
        at = {V: vocab, d: dim, N: max(2.0 * vocab, 8), necessary.N_plus: 3.0 * vocab}
        # nan where r^2 > d, which excludes nothing
        assert (
            vocab < 216
            or not closed_form.constants(at, necessary.label_frequencies)[necessary.R] < 0.5
        )
