"""Draws shared by many problems are the draws of each."""

from dataclasses import fields, replace

import pytest
import torch
from sized import sized

import recallbook as rb
from recallbook_studies.running.paired import PairedDraws

pytestmark = pytest.mark.essential

BASE = sized(9, 5, 8, 20)
CUTS = [(40, 12, None), (7, 5, None), (40, 6, 9), (23, 12, 4), (1, 3, 20)]
CHOICES = [("equal", "none"), ("inverse", "none"), ("equal", "trained"), ("inverse", "calibrated")]


FIELDS = [field.name for field in fields(rb.Problem)]


def same(mine, other):
    return torch.equal(mine, other) if isinstance(other, torch.Tensor) else mine == other


def cuts(law, flag):
    """Smaller batches, dimensions and widths of one law; orthogonal rows need dim >= vocab + 2."""
    extra = 11 if law == "orthogonal" else 0
    return [
        sized(9, 5, dim + extra, samples, width=width, embeddings=law, trigger_in_values=flag)
        for samples, dim, width in CUTS
    ]


def choices(**law):
    """Loss weights and bias are those of each cut: they do not come from the longest batch."""
    return [
        replace(BASE, samples=samples, loss_weights=weights, output_bias=bias, **law)
        for samples in (40, 13)
        for weights, bias in CHOICES
    ]


LAWS = ["gaussian", "sphere", "orthogonal", "power_law(0.5)", "clustered(4,0.3)", "low_rank(3)"]
GROUPS = {
    **{f"{law}, {flag}": cuts(law, flag) for law in LAWS for flag in (True, False)},
    "zipf": choices(zipf=1.0),
    "tokens": choices(zipf=1.0, other_zipf=0.0),
    "others": choices(other_zipf=1.5),
    "balanced": choices(zipf=0.7, balanced=True),
    "laws of one seed": [
        replace(BASE, embeddings=law)
        for law in (
            "clustered(2,0.5)",
            "clustered(7,0.9)",
            "gaussian",
            "signs",
            "power_law(1)",
            "clustered(1,0)",
        )
    ],
}


@pytest.mark.parametrize("group", GROUPS)
def test_cuts_equal_draws_bit_for_bit(group):
    draws = PairedDraws(GROUPS[group], seed=3)
    for setting in GROUPS[group]:
        ours, theirs = draws.problem(setting), rb.draw(setting, seed=3)
        different = [
            name for name in FIELDS if not same(getattr(ours, name), getattr(theirs, name))
        ]
        assert different == [], setting
        assert torch.equal(rb.three_steps(ours).value2, rb.three_steps(theirs).value2), setting


@pytest.mark.parametrize(
    "other",
    [{"vocab": 8}, {"seq_len": 3}, {"dim": 9}, {"samples": 21}, {"width": 2}, {"zipf": 0.1}],
    ids=str,
)
def test_what_was_not_drawn_is_refused(other):
    draws = PairedDraws([replace(BASE, embeddings="clustered(2, 0.5)")], seed=0)
    with pytest.raises(ValueError, match="setting="):
        draws.problem(replace(BASE, embeddings="clustered(2, 0.5)", **other))


def test_mixed_lengths_are_refused():
    for settings in ([], [BASE, replace(BASE, seq_len=4)]):
        with pytest.raises(ValueError, match="settings="):
            PairedDraws(settings, seed=0)
