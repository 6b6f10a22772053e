r"""Checks of claims about the task and the overlap of embeddings."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from recallbook.analysis.intervals import Interval, over_seeds, seed_interval
from recallbook.claims.findings import CONFIRMED, OUT, PARTLY, REFUTED, Finding, decided_by, ends, signed
from recallbook.data import baselines, coherence
from recallbook.experiments.scaling import geometry
from recallbook.memories.expressions import coherence_floor, n
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.symbolic.expressions import d
from recallbook.training.simulation import simulate

RUNNING = Setting(vocab=256, seq_len=128, dim=96, samples=2048, **OUT)

# Task and model


class Alone(NamedTuple):
    """Accuracy with all facts and no place, with the place and no fact, and of the model that does both."""

    facts: float
    place: float
    both: Interval


def _two_problems() -> Alone:
    both = seed_interval([simulate(RUNNING, seed, test_samples=2000).accuracy for seed in range(10)])
    return Alone(baselines.bag_of_words_accuracy(RUNNING.vocab, RUNNING.seq_len), 1 / RUNNING.vocab, both)


@decided_by(
    _two_problems,
    "Confirmed if either problem solved alone scores less than half of what both score together (lower end of the"
    " interval): then neither comes with the other.",
)
def two_problems(found: Alone) -> Finding:
    """Facts without their place, and a place without its fact."""
    text = f"V = 256, L = 128, d = 96, N = 2048: all facts and no place {found.facts:.3f}, the place and no fact "
    text += f"{found.place:.3f}, three steps {ends(found.both)}"
    half = found.both.low / 2
    few = sum(x < half for x in (found.facts, found.place))
    return Finding(text, (REFUTED, PARTLY, CONFIRMED)[few])


def _largest_samples() -> pd.DataFrame:
    """Lock-on at the largest N of every setting without MLP in five committed sweeps, with its interval."""
    sizes = ["vocab", "seq_len", "dim", "embeddings", "trigger_in_values"]
    parts = [load_results(name) for name in ("lock_on", "four_corners", "geometry", "large_sizes", "accuracy")]
    table = over_seeds(pd.concat(parts).drop_duplicates([*sizes, "samples", "seed"]), [*sizes, "samples"], "lock_on")
    return table.sort_values("samples").groupby(sizes).tail(1)


@decided_by(
    _largest_samples,
    "Attention is on a position when its largest weight is there in more than half of fresh sequences, by the"
    " whole interval: more often than on all others together. Confirmed if so in every setting.",
)
def attention_locates(found: pd.DataFrame) -> Finding:
    """Does attention end on the informative position?"""
    there = found["low"] > 0.5
    text = f"largest weight on the informative position in most sequences, at the largest N tried: in {there.sum()} of"
    text += f" {len(found)} settings (V = {found['vocab'].min()} to {found['vocab'].max()})"
    if (short := found[~there]).size:
        text += f"; not with L = {short['seq_len'].min()} to {short['seq_len'].max()} at d = {short['dim'].max()}, "
        text += f"N up to {short['samples'].max()}"
    return Finding(text, CONFIRMED if there.all() else PARTLY if there.mean() > 0.5 else REFUTED)


# Embeddings and what they can hold


class Overlaps(NamedTuple):
    """Typical overlap, what no choice of directions avoids, and lock-on of orthogonal minus random embeddings."""

    typical: Interval
    floor: float
    lost: Interval


def _interference() -> Overlaps:
    typical = seed_interval([coherence.cosines(256, 128, seed).std() for seed in range(10)])
    rows = geometry.labelled(load_results("geometry").query("seq_len == 256 and dim == 258 and not trigger_in_values"))
    means = rows.groupby(["embeddings", "seed"])["lock_on"].mean().unstack(0)
    lost = seed_interval(means["orthogonal"] - means["gaussian"])
    return Overlaps(typical, float(coherence_floor().subs({n: 256, d: 128})), lost)


@decided_by(
    _interference,
    "Confirmed if overlaps are at least as large as the floor for this d and V, and if orthogonal embeddings of"
    " the same dimension, which have none, lock on more often on the same draws: an overlap that costs nothing"
    " would be no interference.",
)
def interference(found: Overlaps) -> Finding:
    """Overlaps of embeddings when there are more tokens than dimensions, and what they cost."""
    text = f"V = 256, d = 128: a typical overlap is {found.typical.mean:.3f}; no choice of directions gets below "
    text += f"{found.floor:.3f}; lock-on, V = L = 256, d = 258, mean over eleven N: orthogonal minus random "
    text += signed(found.lost)
    large, costly = found.typical.low >= found.floor, found.lost.low > 0
    return Finding(text, CONFIRMED if large and costly else PARTLY if large or costly else REFUTED)


def _nearly_orthogonal() -> dict[str, Interval]:
    laws = {
        "random, d = V": ("gaussian", 256),
        "random, d = 16 V": ("gaussian", 4096),
        "orthogonal, d = V + 2": ("orthogonal", 258),
    }
    return {
        name: seed_interval([2 * (coherence.cosines(256, dim, seed, law) ** 2).sum() / 256 for seed in range(5)])
        for name, (law, dim) in laws.items()
    }


@decided_by(
    _nearly_orthogonal,
    "Nearly orthogonal: the squared overlaps of a token with all others sum to less than a tenth of its own"
    " square, so that all of them together are a small part. Confirmed if only d far above V gets there, true only"
    " where if chosen directions get there at d = V.",
)
def nearly_orthogonal(found: dict[str, Interval]) -> Finding:
    """Squared overlaps of one token with all others, for random and for orthogonal embeddings."""
    text = "squared overlaps of a token with all others, V = 256: "
    text += ", ".join(f"{name}: {abs(x.mean):.2f}" for name, x in found.items())
    near = {name: x.high < 0.1 for name, x in found.items()}
    needs = not near["random, d = V"] and near["random, d = 16 V"]
    return Finding(text, REFUTED if not needs else PARTLY if near["orthogonal, d = V + 2"] else CONFIRMED)
