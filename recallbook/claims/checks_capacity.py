r"""Checks of claims about how many facts a memory holds, and budgets."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from recallbook.analysis.intervals import Interval, seed_interval
from recallbook.claims.checks_task import RUNNING
from recallbook.claims.findings import CONFIRMED, PARTLY, REFUTED, Finding, decided_by, ends, facts_held, said, signed
from recallbook.experiments.mlp import trained_memories
from recallbook.experiments.mlp.features import alone, drawn, perfect_recall
from recallbook.experiments.verdicts import learned_embeddings as learned
from recallbook.training.simulation import simulate


def _superposition() -> dict[int, Interval]:
    return {dim: facts_held(dim) for dim in (16, 32, 64, 128)}


@decided_by(
    _superposition,
    "Orthogonal embeddings exist for at most d tokens, so d facts are their limit. Confirmed if random ones hold"
    " more at every d tried, by the whole interval; held means that 0.99 of the facts come back.",
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
    "Close to the best: within a factor of two of the smallest d² that a memory trained on the same random"
    " embeddings needs, the best that we know. The grid of sizes allows no finer distinction than a fifth.",
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
    "Two readings. Facts held without MLP: a smaller d should hold more. With a fixed number of parameters,"
    " tables of embeddings and value matrix together (the random layer, which can be drawn again, is not counted):"
    " a smaller d, with the MLP that the rest pays for, should recall more. Refuted if neither holds by whole"
    " intervals, true only where if one does.",
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
    "A classical limit is a constant number of patterns for each neuron. It carries over if facts for each"
    " dimension, or for each trained parameter, change by less than a quarter over the sizes tried: the grid of"
    " sizes allows a fifth. Confirmed if the constant is 0.14 as well.",
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
    "Confirmed if a memory with learned embeddings and one with clustered ones both differ from random ones on"
    " the same draws, by intervals of the recall averaged over all d tried that exclude 0.",
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
    "An optimum inside: at one budget N·L·d some middle size beats both ends, by intervals that do not overlap."
    " Confirmed if so along d and along L, true only where if along one.",
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
