"""Draws shared by many problems are the draws of each."""

from dataclasses import fields, replace

import pytest
import torch
from randomised import random_setting

import recallbook as rb
from recallbook.sweeps.paired import PairedDraws

pytestmark = pytest.mark.essential

SIZES = [(40, 12, None), (7, 5, None), (40, 6, 9), (23, 12, 4), (1, 3, 20)]


def assert_same(ours: rb.Problem, theirs: rb.Problem) -> None:
    for field in fields(rb.Problem):
        if field.name == "label_counts":
            continue
        mine, other = getattr(ours, field.name), getattr(theirs, field.name)
        assert torch.equal(mine, other) if isinstance(other, torch.Tensor) else mine == other, field.name


@pytest.mark.parametrize(
    "embeddings", ["gaussian", "sphere", "orthogonal", "power_law(0.5)", "clustered(4,0.3)", "low_rank(3)"]
)
@pytest.mark.parametrize("flag", [True, False])
def test_cuts_equal_draws_bit_for_bit(embeddings, flag):
    extra = 11 if embeddings == "orthogonal" else 0  # orthogonal rows need dim >= vocab + 2
    settings = [
        rb.Setting(
            vocab=9,
            seq_len=5,
            dim=dim + extra,
            samples=samples,
            width=width,
            embeddings=embeddings,
            trigger_in_values=flag,
        )
        for samples, dim, width in SIZES
        if not (embeddings.startswith("low") and dim < 3)
    ]
    draws = PairedDraws(settings, seed=3)
    for setting in settings:
        assert_same(draws.problem(setting), rb.draw(setting, seed=3))


def test_shared_counts_change_no_bit_of_the_weights():
    counted = 0
    for seed in range(12):
        setting = random_setting(seed)
        shared, alone = PairedDraws([setting], seed).problem(setting), rb.draw(setting, seed)
        counted += shared.label_counts is not None
        for name in ("value1", "key_query", "value2"):
            assert torch.equal(getattr(rb.three_steps(shared), name), getattr(rb.three_steps(alone), name))
    assert 0 < counted < 12


@pytest.mark.parametrize(
    "law",
    [
        dict(zipf=1.0),
        dict(zipf=1.0, other_zipf=0.0),
        dict(other_zipf=1.5),
        dict(balanced=True),
        dict(zipf=0.7, balanced=True),
    ],
    ids=str,
)
def test_cuts_equal_draws_with_unequal_facts(law):
    """Loss weights and bias are those of each cut: they do not come from the longest batch."""
    choices = [("equal", "none"), ("inverse", "none"), ("equal", "trained"), ("inverse", "calibrated")]
    settings = [
        rb.Setting(
            vocab=9,
            seq_len=5,
            dim=6,
            samples=samples,
            loss_weights=weights,
            output_bias=bias,
            **law,
            trigger_in_values=True,
        )
        for samples in (40, 13)
        for weights, bias in choices
    ]
    draws = PairedDraws(settings, seed=3)
    for setting in settings:
        ours, theirs = draws.problem(setting), rb.draw(setting, seed=3)
        assert_same(ours, theirs)
        assert torch.equal(rb.three_steps(ours).value2, rb.three_steps(theirs).value2)
    with pytest.raises(ValueError, match="setting="):
        draws.problem(replace(settings[0], zipf=0.1))


def test_shared_counts_are_those_of_the_cut():
    settings = [rb.Setting(vocab=6, seq_len=4, dim=3, samples=samples, trigger_in_values=True) for samples in (30, 8)]
    draws = PairedDraws(settings, seed=0)
    for setting in [*settings, settings[0]]:
        problem = draws.problem(setting)
        counts = torch.zeros(6, 6, dtype=torch.int64)
        for label, tokens in zip(problem.labels, problem.tokens, strict=True):
            for token in tokens:
                counts[label, token] += 1
        assert torch.equal(problem.label_counts, counts)


@pytest.mark.parametrize(
    "other", [dict(vocab=7), dict(seq_len=3), dict(dim=5), dict(samples=31), dict(width=2)], ids=str
)
def test_what_was_not_drawn_is_refused(other):
    sizes = dict(vocab=6, seq_len=4, dim=3, samples=30, trigger_in_values=True)
    draws = PairedDraws([rb.Setting(**sizes)], seed=0)
    with pytest.raises(ValueError, match="setting="):
        draws.problem(rb.Setting(**{**sizes, **other}))


def test_laws_of_one_seed_share_their_draws():
    sizes = dict(vocab=9, seq_len=5, dim=8, samples=20, trigger_in_values=True)
    laws = ["clustered(2,0.5)", "clustered(7,0.9)", "gaussian", "power_law(1)", "clustered(1,0)"]
    settings = [rb.Setting(**sizes, embeddings=law) for law in laws]
    draws = PairedDraws(settings, seed=1)
    for setting in settings:
        assert_same(draws.problem(setting), rb.draw(setting, seed=1))
    with pytest.raises(ValueError, match="setting="):
        draws.problem(rb.Setting(**sizes, embeddings="clustered(8,0.5)"))


def test_mixed_lengths_are_refused():
    with pytest.raises(ValueError, match="settings="):
        PairedDraws(
            [
                rb.Setting(vocab=6, seq_len=4, dim=3, samples=10, trigger_in_values=True),
                rb.Setting(vocab=6, seq_len=5, dim=3, samples=10, trigger_in_values=True),
            ],
            seed=0,
        )
    with pytest.raises(ValueError, match="settings="):
        PairedDraws([], seed=0)
