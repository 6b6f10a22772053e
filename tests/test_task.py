"""The sampler: its law, its pairing, its independence of the machine."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from sized import marked, sized

import recallbook as rb
from recallbook.data.streams import gaussian_table, stream, uniform_integers

pytestmark = pytest.mark.essential

PINNED_TOKENS = [[81, 67, 79, 81, 59], [76, 1, 85, 47, 29]]
PINNED_POSITIONS = [0, 2]
PINNED_TRIGGER = [0.12952692643274907, -0.34739261945613464, 0.24208752668817843]
BASE = marked(11, 4, 6, 50)


LAWS = [
    {},
    {"zipf": 1.0},
    {"zipf": 1.0, "other_zipf": 0.0},
    {"other_zipf": 1.5},
    {"zipf": 0.5, "other_zipf": 2.0, "balanced": True},
    {"balanced": True},
]


def powers(exponent: float, vocab: int = 7) -> np.ndarray:
    weights = np.array([1 / (v + 1) ** exponent for v in range(vocab)])
    return weights / weights.sum()


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tokens_have_the_law_of_the_setting(law, fresh):
    """Informative ones, others, and no dependence between them, the position and their
    neighbours."""
    size = 40000
    problem = rb.draw(marked(7, 5, 3, size, **law), seed=1)
    tokens, positions, labels = (
        part.numpy() for part in (problem.fresh(size) if fresh else problem.sequences)
    )
    informative = tokens[np.arange(size), positions]
    beside = tokens[np.arange(size), (positions + 1) % 5]
    again = tokens[np.arange(size), (positions + 2) % 5]
    assert np.array_equal(labels, problem.permutation.numpy()[informative])
    facts = powers(law.get("zipf", 0.0))
    others = powers(law.get("other_zipf", law.get("zipf", 0.0)))
    if law.get("balanced") and not fresh:  # test sequences are not balanced
        assert set(np.bincount(informative, minlength=7)) <= {size // 7, size // 7 + 1}
        facts = np.full(7, 1 / 7)
    for name, codes, chances in (
        ("fact and position", informative * 5 + positions, np.outer(facts, np.full(5, 1 / 5))),
        ("fact and neighbour", informative * 7 + beside, np.outer(facts, others)),
        ("two neighbours", beside * 7 + again, np.outer(others, others)),
    ):
        observed = np.bincount(codes, minlength=chances.size)
        assert 1e-4 < stats.chisquare(observed, size * chances.ravel()).pvalue, name


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_smaller_sample_is_a_prefix_whatever_the_law(law):
    large, small = (rb.draw(replace(BASE, samples=n, **law), seed=5) for n in (50, 17))
    for some, more in (
        (small.sequences, large.sequences),
        (small.fresh(17, seed=6), large.fresh(50, seed=6)),
    ):
        for a, b in zip(some, more, strict=True):
            assert torch.equal(a, b[:17])
    assert torch.equal(large.permutation, small.permutation)


@pytest.mark.parametrize("law", [{}, {"zipf": 1.0}, {"other_zipf": 2.0}], ids=str)
def test_centred_tokens_lose_their_mean_as_they_occur(law):
    setting = rb.Setting(vocab=9, seq_len=3, dim=4, samples=5, **law)
    chances = powers(law.get("other_zipf", law.get("zipf", 0.0)), 9)
    own = {"input": np.arange(36.0).reshape(9, 4) ** 1.5}
    for given in ({}, own):
        plain, centred = (
            rb.draw(replace(setting, centred=flag), 3, embeddings=given) for flag in (False, True)
        )
        z = plain.input_embeddings
        mean = torch.from_numpy(chances) @ z
        assert torch.allclose(centred.input_embeddings, z - mean) and float(mean.abs().max()) > 0.1
        for name in ("output_embeddings", "trigger", "query", "tokens"):
            assert torch.equal(getattr(plain, name), getattr(centred, name))


def test_balanced_runs_are_in_random_order():
    """Every run of V sequences shows every fact once, and each run in another order."""
    problem = rb.draw(replace(BASE, samples=44, zipf=1.0, balanced=True), seed=0)
    runs = problem.labels.view(4, 11)
    assert bool((runs.sort(dim=1).values == torch.arange(11)).all())
    assert len({tuple(run.tolist()) for run in runs}) == 4


def test_exponents_move_tokens_along_the_same_numbers():
    """Draws are paired across exponents: with a steeper law no token is rarer than before."""
    flat, steep = (rb.draw(replace(BASE, zipf=zipf), seed=0).tokens for zipf in (0.5, 1.5))
    assert bool((steep <= flat).all()) and not torch.equal(steep, flat)


@pytest.mark.slow
def test_permutations_are_uniform():
    setting = sized(3, 1, 1, 1)
    seen = np.array([rb.draw(setting, seed).permutation.tolist() for seed in range(1200)])
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("high", [2, 1000, 2**16 + 1, 2**31 - 1])
def test_fewer_integers_are_the_first_of_more(high):
    """Rejections in the generator's own sampling must not depend on how many are asked for."""
    long = uniform_integers(stream(0, "tokens"), high, 5001)
    assert long.dtype == np.int32 and 0 <= long.min() and long.max() < high
    for count in (1, 2, 1000, 4999):
        assert np.array_equal(long[:count], uniform_integers(stream(0, "tokens"), high, count))


def test_rows_of_a_table_are_streams_of_their_own():
    table = gaussian_table(4, "mlp_weights", 6, 9)
    for row, expected in enumerate(table):
        assert np.array_equal(stream(4, "mlp_weights", row).standard_normal(9), expected)


def test_a_smaller_width_uses_the_first_rows():
    large, small, none = (rb.draw(replace(BASE, width=m), seed=5) for m in (9, 4, None))
    assert torch.equal(large.mlp_weights[:4], small.mlp_weights) and none.mlp_weights is None
    narrow = rb.draw(replace(BASE, width=9, dim=4), seed=5)
    assert torch.equal(large.mlp_weights[:, :4], narrow.mlp_weights)
    assert torch.equal(large.tokens, narrow.tokens)
    for name in ("tokens", "input_embeddings"):
        assert torch.equal(getattr(large, name), getattr(none, name)), name
    rounded = rb.draw(small.setting, seed=5, dtype=torch.float32)
    assert torch.equal(rounded.tokens, small.tokens)
    assert torch.equal(rounded.input_embeddings, small.input_embeddings.float())


def test_gaussian_tables_are_standard_normal_and_independent():
    tables = {
        role: gaussian_table(3, role, 60, 50) for role in ("input_embeddings", "output_embeddings")
    }
    for table in tables.values():
        assert stats.kstest(table.ravel(), "norm").pvalue > 1e-4
    a, b = (table.ravel() for table in tables.values())
    assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(a.size)
    assert np.array_equal(
        gaussian_table(3, "input_embeddings", 7, 5), tables["input_embeddings"][:7, :5]
    )


def test_mlp_rows_make_unit_preactivations():
    for flag, scale in ((True, 2.0), (False, 1.0)):
        problem = rb.draw(
            sized(5, 2, 40, 1, width=3000, trigger_in_values=flag),
            seed=0,
        )
        assert float(problem.mlp_weights.var()) == pytest.approx(1 / scale, rel=0.02)


def test_the_scheme_has_not_moved():
    """Stored numbers of the book rest on these draws; change them only together with
    ``streams.SCHEME``."""
    problem = rb.draw(marked(100, 5, 3, 2), seed=0)
    assert problem.tokens.tolist() == PINNED_TOKENS
    assert problem.positions.tolist() == PINNED_POSITIONS
    assert problem.permutation[:5].tolist() == [63, 31, 34, 61, 27]
    assert problem.trigger.tolist() == pytest.approx(PINNED_TRIGGER, abs=1e-15)


def test_global_generators_are_left_alone():
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    rb.simulate(BASE, seed=0)
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])  # noqa: NPY002


def test_tokens_and_positions_differ_between_draws():
    """By seed, block and role: tokens and positions each have a stream of their own."""
    streams = [
        ("tokens", 0, 0),
        ("positions", 0, 0),
        ("tokens", 1, 0),
        ("tokens", 0, 1),
        ("tokens", 2**80, 0),
    ]
    assert len({stream(seed, role, block).random() for role, seed, block in streams}) == len(
        streams
    )
    problem = rb.draw(BASE, seed=0)
    fresh = [
        problem.fresh(50, **names) for names in ({}, {"seed": 1}, {"block": 1}, {"role": "batch"})
    ]
    for first, second in itertools.combinations([problem.sequences, *fresh], 2):
        assert not torch.equal(first.tokens, second.tokens)
        assert not torch.equal(first.positions, second.positions)
