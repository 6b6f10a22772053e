"""The mean score by enumeration of patterns, against brute force over all data, simulation, and the ledger."""

import itertools
from dataclasses import replace

import enumeration
import numpy as np
import pytest
import sympy as sp
import torch

import recallbook as rb
from recallbook.experiments.lock_on import scores
from recallbook.theory.symbolic import lock_on as lock_symbols
from recallbook.theory.symbolic.expressions import L, N, V, d, numeric, tau


def test_partitions_are_counted_by_bell():
    assert [sum(1 for _ in enumeration.set_partitions("abcdef"[:k])) for k in range(7)] == [1, 1, 2, 5, 15, 52, 203]
    assert list(enumeration.set_partitions("ab")) == [{"a": 0, "b": 0}, {"a": 0, "b": 1}]


@pytest.mark.parametrize("names", ["a", "abc", "abcd"])
def test_chances_of_patterns_are_those_of_uniform_choices(names):
    """Each pattern's chance is its share of all choices, at four sizes, also where some patterns cannot be."""
    for size in (1, 2, 3, 5):
        counted = {}
        for choice in itertools.product(range(size), repeat=len(names)):
            pattern = tuple(choice.index(one) for one in choice)
            counted[pattern] = counted.get(pattern, 0) + 1
        for chance, pattern in enumeration.uniform_patterns(names, V):
            blocks = [pattern[name] for name in names]
            seen = counted.get(tuple(blocks.index(one) for one in blocks), 0)
            assert chance.subs(V, size) == sp.Rational(seen, size ** len(names))


def brute_force(vocab, seq_len, samples, dim, trigger_in_values):
    """Mean of t.w over all data, and over embeddings: it is of second degree in each, so two points do (Gauss)."""
    setting = rb.Setting(
        vocab=vocab, seq_len=seq_len, dim=dim, samples=samples, trigger_in_values=bool(trigger_in_values)
    )
    problem, found = rb.draw(setting, 0), []
    signs = [np.array(s).reshape(vocab, dim) / dim**0.5 for s in itertools.product((-1.0, 1.0), repeat=vocab * dim)]
    trigger = torch.linspace(0.7, 1.1, dim, dtype=torch.float64)
    for row in itertools.product(range(vocab), repeat=samples * seq_len):
        tokens = torch.tensor(row).view(samples, seq_len)
        for places in itertools.product(range(seq_len), repeat=samples):
            positions = torch.tensor(places)
            data = {"tokens": tokens, "positions": positions, "labels": tokens[torch.arange(samples), positions]}
            for z, u in itertools.product(signs, signs):
                tables = {"input_embeddings": torch.from_numpy(z), "output_embeddings": torch.from_numpy(u)}
                one = replace(problem, **data, **tables, trigger=trigger, permutation=torch.arange(vocab))
                found.append(float(trigger @ scores.attention_vector(one)))
    return np.mean(found), float(trigger @ trigger)


@pytest.mark.slow
@pytest.mark.parametrize("trigger_in_values", [0, 1])
@pytest.mark.parametrize(
    ("vocab", "seq_len", "samples", "dim"), [(2, 2, 2, 1), (2, 3, 1, 1), (2, 2, 1, 2), (3, 2, 1, 1)]
)
def test_mean_score_by_brute_force(vocab, seq_len, samples, dim, trigger_in_values):
    """Everything there is: all tokens, all positions, all embeddings that a rule of second degree needs."""
    found, square = brute_force(vocab, seq_len, samples, dim, trigger_in_values)
    values = {V: vocab, L: seq_len, N: samples, d: dim, tau: trigger_in_values, lock_symbols.T: square}
    assert found == pytest.approx(float(numeric(enumeration.mean_score())(values)), rel=1e-10, abs=1e-15)


@pytest.mark.slow
def test_mean_score_where_the_ledger_is_off():
    """Small N, V and d, each draw at its own |t|^2: the exact mean stands, the leading one is many deviations off."""
    setting = rb.Setting(vocab=8, seq_len=5, dim=6, samples=6, trigger_in_values=True)
    frame = scores.run([setting], range(3000))
    values = {V: 8, L: 5, N: 6, d: 6, tau: 1, lock_symbols.T: frame["T"].to_numpy(), lock_symbols.Q: 1.0}
    deviations = []
    for expression in (enumeration.mean_score(), lock_symbols.trigger_score()):
        off = frame["score"].to_numpy() - numeric(expression)(values)
        deviations.append(off.mean() / (off.std(ddof=1) / len(off) ** 0.5))
    assert abs(deviations[0]) < 3.5 < 4.5 < abs(deviations[1]), deviations


def test_the_ledger_is_the_leading_part():
    """What it leaves out is of relative order 1/N + 1/V, at fixed L and d and with both growing."""
    for trigger_in_values in (0, 1):
        left = enumeration.remainder().subs({tau: trigger_in_values, lock_symbols.T: 1})
        big = sp.Symbol("x", positive=True)
        assert sp.limit(left.subs({V: big, N: big}), big, sp.oo) == 0
        assert sp.limit((left * big).subs({V: big, N: big, L: 7, d: 30}), big, sp.oo).is_finite
    assert sp.simplify(enumeration.remainder().subs(tau, 0) + 1 / N) == 0  # a sequence meets itself to no effect
