r"""Checks of claims about the task, embeddings, and how many facts they hold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from recallbook.analysis.intervals import Interval, over_seeds, seed_interval
from recallbook.claims.findings import (
    CONFIRMED,
    OUT,
    PARTLY,
    REFUTED,
    Finding,
    decided_by,
    ends,
    facts_held,
    said,
    signed,
)
from recallbook.data import baselines, coherence
from recallbook.experiments.mlp import trained_memories
from recallbook.experiments.mlp.features import alone, drawn, perfect_recall
from recallbook.experiments.scaling import geometry
from recallbook.experiments.verdicts import learned_embeddings as learned
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
    "Attention is on a position when its largest weight is there in more than half of fresh sequences, by the whole"
    " interval: more often than on all others together. Confirmed if so in every setting.",
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
    "Confirmed if overlaps are at least as large as the floor for this d and V, and if orthogonal embeddings of the same"
    " dimension, which have none, lock on more often on the same draws: an overlap that costs nothing would be no"
    " interference.",
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
    "Nearly orthogonal: the squared overlaps of a token with all others sum to less than a tenth of its own square, so"
    " that all of them together are a small part. Confirmed if only d far above V gets there, true only where if chosen"
    " directions get there at d = V.",
)
def nearly_orthogonal(found: dict[str, Interval]) -> Finding:
    """Squared overlaps of one token with all others, for random and for orthogonal embeddings."""
    text = "squared overlaps of a token with all others, V = 256: "
    text += ", ".join(f"{name}: {abs(x.mean):.2f}" for name, x in found.items())
    near = {name: x.high < 0.1 for name, x in found.items()}
    needs = not near["random, d = V"] and near["random, d = 16 V"]
    return Finding(text, REFUTED if not needs else PARTLY if near["orthogonal, d = V + 2"] else CONFIRMED)


def _superposition() -> dict[int, Interval]:
    return {dim: facts_held(dim) for dim in (16, 32, 64, 128)}


@decided_by(
    _superposition,
    "Orthogonal embeddings exist for at most d tokens, so d facts are their limit. Confirmed if random ones hold more at"
    " every d tried, by the whole interval; held means that 0.99 of the facts come back.",
)
def superposition(found: dict[int, Interval]) -> Finding:
    """More facts than dimensions?"""
    text = "facts held by a sum of outer products: " + said(
        *((f"d = {dim}:", _whole(x)) for dim, x in found.items())
    ).replace(".00", "")
    more = [x.low > dim for dim, x in found.items()]
    return Finding(text + "; orthogonal: at most d", CONFIRMED if all(more) else PARTLY if any(more) else REFUTED)


def _whole(found: Interval) -> Interval:
    return Interval(*(float(round(x)) for x in found))


def _constants() -> dict[str, Interval]:
    """The square of d over n log n at which n = 256 facts are held, by memory."""
    trained = trained_memories.committed().query("memory == 'linear'")
    parts = {"one gradient": trained_memories.curve("one gradient", (256,)), "trained": trained.query("facts == 256")}
    return {name: seed_interval(trained_memories.critical(part)["constant"]) for name, part in parts.items()}


@decided_by(
    _constants,
    "Close to the best: within a factor of two of the smallest d² that a memory trained on the same random embeddings"
    " needs, the best that we know. The grid of sizes allows no finer distinction than a fifth.",
)
def nearly_optimal(found: dict[str, Interval]) -> Finding:
    """Sums of outer products against trained memories on the same embeddings."""
    text = "256 facts, d² over n log n: " + said(*found.items())
    return Finding(text, PARTLY if found["one gradient"].low > 2 * found["trained"].high else CONFIRMED)


BUDGET = {"d = 96, no MLP": (96, None), "d = 64, m = 656": (64, 656), "d = 32, m = 2336": (32, 2336)}


class Stored(NamedTuple):
    """Facts held by d without MLP, and recall of 512 facts with the same number of parameters, by d and m."""

    held: dict[int, Interval]
    shared: dict[str, Interval]


def _smaller_dim() -> Stored:
    recall = {
        name: seed_interval(
            [perfect_recall(drawn(alone(512, dim, m, "he3", embeddings="sphere"), seed)) for seed in range(8)]
        )
        for name, (dim, m) in BUDGET.items()
    }
    return Stored({dim: facts_held(dim) for dim in (32, 128)}, recall)


@decided_by(
    _smaller_dim,
    "Two readings. Facts held without MLP: a smaller d should hold more. With a fixed number of parameters, tables of"
    " embeddings and value matrix together: a smaller d, with the MLP that the rest pays for, should recall more."
    " Refuted if neither holds by whole intervals, true only where if one does.",
)
def smaller_dim_stores_more(found: Stored) -> Finding:
    """Does a smaller d raise capacity: at its own size, or at an equal number of parameters?"""
    text = "facts held without MLP: " + ", ".join(f"{x.mean:.0f} at d = {dim}" for dim, x in found.held.items())
    text += "; recall of 512 facts with 107,520 parameters, cubic Hermite: " + said(*found.shared.items())
    small, large = (found.held[dim] for dim in sorted(found.held))
    first, *rest = found.shared.values()
    alone_more, shared_more = small.low > large.high, all(x.low > first.high for x in rest)
    return Finding(text, CONFIRMED if alone_more and shared_more else PARTLY if alone_more or shared_more else REFUTED)


class Ratios(NamedTuple):
    """Facts for each dimension, of a sum of outer products by d, and for each parameter, trained, by facts."""

    per_dim: dict[int, Interval]
    per_parameter: dict[int, Interval]


def _ratios() -> Ratios:
    dims = {dim: Interval(*(x / dim for x in facts_held(dim))) for dim in (32, 64, 128)}
    sizes = trained_memories.critical(trained_memories.committed().query("memory == 'linear'"))
    trained = {int(facts): seed_interval(facts / rows["size"]) for facts, rows in sizes.groupby("facts")}
    return Ratios(dims, trained)


@decided_by(
    _ratios,
    "A classical limit is a constant number of patterns for each neuron. It carries over if facts for each dimension, or"
    " for each trained parameter, change by less than a quarter over the sizes tried: the grid of sizes allows a fifth."
    " Confirmed if the constant is 0.14 as well.",
)
def hopfield(found: Ratios) -> Finding:
    """Facts for each dimension and for each parameter: constant?"""
    text = "facts for each dimension: " + said(*((f"d = {size}", x) for size, x in found.per_dim.items()))
    text += "; for each parameter of a trained matrix: "
    text += said(*((f"n = {size}", x) for size, x in found.per_parameter.items()))
    same = [x for x in found if max(i.low for i in x.values()) < 1.25 * min(i.high for i in x.values())]
    known = any(i.low <= 0.14 <= i.high for x in same for i in x.values())
    return Finding(text, CONFIRMED if known else PARTLY if same else REFUTED)


def memorised_power() -> Interval:
    """Exponent in d of the facts that a sum of outer products holds, from the ends of two intervals."""
    few, many = facts_held(32), facts_held(128)
    pairs = ((many.mean, few.mean), (many.low, few.high), (many.high, few.low))
    return Interval(*(math.log(a / b) / math.log(4) for a, b in pairs))


@decided_by(memorised_power)
def memorised(found: Interval) -> Finding:
    """If N were the number of facts that fit: its exponent in d."""
    return Finding(f"facts that a sum of outer products holds grow as d^ {ends(found)}; L is not in it")


def _learned() -> dict[str, Interval]:
    table = learned.load().groupby(["kind", "seed"])["recall"].mean().unstack(0)
    return {kind: seed_interval(table[kind] - table["random"]) for kind in ("learned", "clustered")}


@decided_by(
    _learned,
    "Confirmed if a memory with learned embeddings and one with clustered ones both differ from random ones on the same"
    " draws, by intervals of the recall averaged over all d tried that exclude 0.",
)
def learned_embeddings(found: dict[str, Interval]) -> Finding:
    """Learned and clustered embeddings against random ones in a trained linear memory."""
    text = f"recall of {learned.FACTS} facts by a trained matrix, mean over d = {min(learned.DIMS)} to "
    text += f"{max(learned.DIMS)}, minus that with random embeddings: "
    text += ", ".join(f"{kind} {signed(x)}" for kind, x in found.items())
    apart = [x.low > 0 or x.high < 0 for x in found.values()]
    return Finding(text, CONFIRMED if all(apart) else PARTLY if any(apart) else REFUTED)


# Budgets


class Budgets(NamedTuple):
    """Accuracy at one budget N L d, along d at one L and along L at one d."""

    dims: dict[int, Interval]
    lengths: dict[int, Interval]


TOTAL = 256 * 8 * 16 * 96  # N L d of N = 8 V at L = 16, d = 96


def _budgets() -> Budgets:
    def accuracy(length: int, dim: int) -> Interval:
        setting = replace(RUNNING, seq_len=length, dim=dim, samples=round(TOTAL / length / dim))
        return seed_interval([simulate(setting, seed, test_samples=2000).accuracy for seed in range(10)])

    dims = {dim: accuracy(16, dim) for dim in (48, 96, 192, 384, 768)}
    return Budgets(dims, {length: accuracy(length, 192) for length in (4, 16, 64, 256)})


@decided_by(
    _budgets,
    "An optimum inside: at one budget N·L·d some middle size beats both ends, by intervals that do not overlap. Confirmed"
    " if so along d and along L, true only where if along one.",
)
def trade_off(found: Budgets) -> Finding:
    """At one budget, is there a best dimension, and a best length?"""
    text = f"V = 256, accuracy at N·L·d = {TOTAL:,}, along d at L = 16: "
    text += ", ".join(f"{x.mean:.2f} at {size}" for size, x in found.dims.items())
    text += "; along L at d = 192: " + ", ".join(f"{x.mean:.2f} at {size}" for size, x in found.lengths.items())
    inside = [_inside(line) for line in found]
    return Finding(text, CONFIRMED if all(inside) else PARTLY if any(inside) else REFUTED)


def _inside(line: dict[int, Interval]) -> bool:
    first, *middle, last = (line[size] for size in sorted(line))
    return any(x.low > max(first.high, last.high) for x in middle)
