r"""Checks of claims about how many facts a memory holds, with and without an MLP, and about
budgets."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from recallbook.analysis.intervals import Interval, seed_interval
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.training.simulation import simulate
from recallbook_studies.ch07 import phase as plane
from recallbook_studies.ch07.features import alone, drawn, perfect_recall
from recallbook_studies.ch09 import mlp_sizes
from recallbook_studies.ch12 import capacity, runs, sizes
from recallbook_studies.claims.checks_model import RUNNING
from recallbook_studies.claims.findings import (
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

# Facts held

SMALL = 8  # d of the memories that are compared


def _held(rung: str = "AdamW") -> dict[int, Interval]:
    """Facts of which a matrix of chapter 12 holds nine tenths, all facts in the loss, by d: the
    ends are the last two sizes tried."""
    table = capacity.load().query(
        "rung == @rung and asked == 'all' and steps == 1000 and decay == 0"
    )
    return {
        r.dim: Interval(math.sqrt(r.facts * min(r.next, capacity.LABELS)), r.facts, r.next)
        for r in table.itertuples()
    }


def _superposition() -> SimpleNamespace:
    """Facts for each dimension, of a sum of outer products and of a trained matrix, by d."""
    sums = {dim: Interval(*(x / dim for x in facts_held(dim))) for dim in (16, 32, 64, 128)}
    trained = {dim: Interval(*(x / dim for x in found)) for dim, found in _held().items()}
    return SimpleNamespace(sums=sums, trained=trained)


@decided_by(
    _superposition,
    "Orthogonal embeddings exist for at most d tokens, so d facts are their limit, whatever the memory. Confirmed if"
    " random ones hold more at every size tried, by the whole interval, in a sum of outer products and in a trained"
    " matrix; true only where if at some; held means that 0.99 of the facts come back, or 0.9 from a trained matrix.",
)
def superposition(found: SimpleNamespace) -> Finding:
    """More facts than dimensions?"""
    text = "facts held for each dimension, sum of outer products: "
    text += said(*((f"d = {dim}", x) for dim, x in found.sums.items()))
    text += "; trained matrix: " + said(*((f"d = {dim}", x) for dim, x in found.trained.items()))
    more = [x.low > 1 for line in (found.sums, found.trained) for x in line.values()]
    return Finding(
        text + "; orthogonal: at most 1",
        CONFIRMED if all(more) else PARTLY if any(more) else REFUTED,
    )


def _yardsticks() -> SimpleNamespace:
    """Facts that three memories hold at one d, and bits for each weight of the two that are
    trained to the end."""
    names = {"three steps": "once", "AdamW": "fixed", "learned embeddings": "learned"}
    rows = capacity.load().query(
        "dim == @SMALL and asked == 'all' and steps == 1000 and decay == 0"
    )
    bits = rows.set_index("rung")["bits"]
    return SimpleNamespace(
        **{name: _held(rung)[SMALL] for rung, name in names.items()},
        fixed_bits=float(bits["AdamW"]),
        learned_bits=float(bits["learned embeddings"]),
    )


@decided_by(
    _yardsticks,
    "Close to the best: within a factor of two of the best that we know, at one d. Two yardsticks, both against a"
    " matrix whose tables of embeddings are trained with it: the facts held, and bits for each trained weight."
    " Confirmed if a matrix trained on random embeddings is close by both, true only where if by one, refuted if by"
    " neither. Held means that 0.9 of the facts come back.",
)
def nearly_optimal(found: SimpleNamespace) -> Finding:
    """Random embeddings against learned ones, at their best and as three steps use them."""
    text = f"d = {SMALL}, facts held: {found.once.low:.0f} after three steps, {found.fixed.low:.0f} by a matrix trained "
    text += f"on random embeddings, at least {found.learned.low:.0f}, the most tried, where embeddings learn; bits for "
    text += f"each trained weight: {found.fixed_bits:.2f}, and at least {found.learned_bits:.2f}"
    close = [2 * found.fixed.high >= found.learned.low, 2 * found.fixed_bits >= found.learned_bits]
    return Finding(text, CONFIRMED if all(close) else PARTLY if any(close) else REFUTED)


BUDGET = {
    "d = 96, no MLP": (96, None),
    "d = 64, m = 656": (64, 656),
    "d = 32, m = 2336": (32, 2336),
}


def _smaller_dim() -> SimpleNamespace:
    """Facts held by d without MLP, and recall of 512 facts with the same number of parameters, by d
    and m."""
    recall = {
        name: seed_interval(
            [
                perfect_recall(drawn(alone(512, dim, m, "he3", embeddings="sphere"), seed))
                for seed in range(8)
            ]
        )
        for name, (dim, m) in BUDGET.items()
    }
    return SimpleNamespace(held={dim: facts_held(dim) for dim in (32, 128)}, shared=recall)


@decided_by(
    _smaller_dim,
    "Two readings. Facts held without MLP: a smaller d should hold more. With a fixed number of parameters,"
    " tables of embeddings and value matrix together (the random layer, which can be drawn again, is not counted):"
    " a smaller d, with the MLP that the rest pays for, should recall more. Refuted if neither holds by whole"
    " intervals, true only where if one does.",
)
def smaller_dim_stores_more(found: SimpleNamespace) -> Finding:
    """Does a smaller d raise capacity: at its own size, or at an equal number of parameters?"""
    text = "facts held without MLP: " + ", ".join(
        f"{x.mean:.0f} at d = {dim}" for dim, x in found.held.items()
    )
    text += "; recall of 512 facts with 107,520 parameters, cubic Hermite: " + said(
        *found.shared.items()
    )
    small, large = (found.held[dim] for dim in sorted(found.held))
    first, *rest = found.shared.values()
    more = [small.low > large.high, all(x.low > first.high for x in rest)]
    return Finding(text, CONFIRMED if all(more) else PARTLY if any(more) else REFUTED)


def _ratios() -> dict[str, dict[int, Interval]]:
    """Facts for each dimension of a sum of outer products, and facts and bits for each number of a
    trained matrix, by d."""
    trained = {dim: found for dim, found in _held().items() if dim > SMALL}
    return {
        "facts for each dimension": {
            d: Interval(*(x / d for x in facts_held(d))) for d in (32, 64, 128)
        },
        "facts for each number of a trained matrix": {
            d: Interval(*(x / d**2 for x in found)) for d, found in trained.items()
        },
        "bits for each number": {
            d: Interval(*(x * math.log2(x) / d**2 for x in found)) for d, found in trained.items()
        },
    }


@decided_by(
    _ratios,
    "A classical limit is a constant number of patterns for each neuron. It has a counterpart if facts for each"
    " dimension, or facts or bits (log₂ n for each of n facts) for each trained number, change by less than a quarter"
    " over the sizes tried. Confirmed if the constant is 0.14 as well, refuted if"
    " nothing is constant.",
)
def hopfield(found: dict[str, dict[int, Interval]]) -> Finding:
    """What is constant?"""
    text = "; ".join(
        name + ": " + said(*((f"{size}", x) for size, x in line.items()))
        for name, line in found.items()
    )
    lines = [list(line.values()) for line in found.values()]
    same = [line for line in lines if max(x.low for x in line) < 1.25 * min(x.high for x in line)]
    known = any(x.low <= 0.14 <= x.high for line in same for x in line)
    return Finding(text, CONFIRMED if known else PARTLY if same else REFUTED)


def _learned() -> dict[str, dict[int, Interval]]:
    """Accuracy with learned minus that with fixed embeddings on the same draws (chapter 12), and
    with clustered minus that with random ones after three steps, by d."""
    table = runs.load().query("vocab == 64 and seq_len == 8 and samples == 1024")
    wide = table.pivot(index=["dim", "seed"], columns="rung", values="accuracy")
    gain = wide["learned embeddings"] - wide["trigger in the values"]
    found: dict[str, dict[int, Interval]] = {"learned": {}, "clustered": {}}
    for dim in sizes.DIMS:
        at = Setting(vocab=64, seq_len=8, dim=dim, samples=1024, **OUT)
        accuracy = [
            np.array([simulate(replace(at, embeddings=law), seed).accuracy for seed in range(20)])
            for law in ("clustered(16, 0.5)", "gaussian")
        ]
        level = 1 - 0.05 / len(sizes.DIMS)  # several d are looked at
        found["learned"][dim] = seed_interval(gain[dim], level)
        found["clustered"][dim] = seed_interval(accuracy[0] - accuracy[1], level)
    return found


@decided_by(
    _learned,
    "Confirmed if learned embeddings differ from fixed ones after training, and clustered from random ones after"
    " three steps, at some d, each d by itself: where all recall nothing, or all everything, nothing can differ. By"
    " intervals that exclude 0, wide enough to look at three d. True only where if one of the two differs, refuted if"
    " neither.",
)
def learned_embeddings(found: dict[str, dict[int, Interval]]) -> Finding:
    """Learned embeddings against fixed ones, and clustered against random ones."""
    text = (
        "V = 64, L = 8, N = 1024, accuracy minus that with random embeddings, where most differ: "
    )
    largest = {
        kind: max((abs(x.mean), dim) for dim, x in line.items())[1] for kind, line in found.items()
    }
    text += ", ".join(
        f"{kind} {signed(found[kind][dim])} at d = {dim}" for kind, dim in largest.items()
    )
    apart = [any(x.low > 0 or x.high < 0 for x in line.values()) for line in found.values()]
    return Finding(text, CONFIRMED if all(apart) else PARTLY if any(apart) else REFUTED)


# Budgets

TOTAL = 256 * 8 * 16 * 96  # N L d of N = 8 V at L = 16, d = 96


def _budgets() -> SimpleNamespace:
    """Accuracy at one budget N L d, along d at one L and along L at one d."""

    def accuracy(length: int, dim: int) -> Interval:
        setting = replace(RUNNING, seq_len=length, dim=dim, samples=round(TOTAL / length / dim))
        return seed_interval(
            [simulate(setting, seed, test_samples=2000).accuracy for seed in range(10)]
        )

    dims = {dim: accuracy(16, dim) for dim in (48, 96, 192, 384, 768)}
    return SimpleNamespace(
        dims=dims, lengths={length: accuracy(length, 192) for length in (4, 16, 64, 256)}
    )


@decided_by(
    _budgets,
    "An optimum inside: at one budget N·L·d some middle size beats both ends, by intervals that do not overlap."
    " Confirmed if so along d and along L, true only where if along one.",
)
def trade_off(found: SimpleNamespace) -> Finding:
    """At one budget, is there a best dimension, and a best length?"""
    text = f"V = 256, accuracy at N·L·d = {TOTAL:,}, along d at L = 16: "
    text += ", ".join(f"{x.mean:.2f} at {size}" for size, x in found.dims.items())
    text += "; along L at d = 192: " + ", ".join(
        f"{x.mean:.2f} at {size}" for size, x in found.lengths.items()
    )
    inside = [_inside(line) for line in (found.dims, found.lengths)]
    return Finding(text, CONFIRMED if all(inside) else PARTLY if any(inside) else REFUTED)


def _inside(line: dict[int, Interval]) -> bool:
    first, *middle, last = (line[size] for size in sorted(line))
    return any(x.low > max(first.high, last.high) for x in middle)


# The MLP

NAMES = {
    "none": "no MLP",
    "relu": "ReLU",
    "tanh": "tanh",
    "he2": "quadratic Hermite",
    "he3": "cubic Hermite",
}
WIDEST = 4096
Cells = dict[tuple[str, int], Interval]  # by activation and width


def _cells(table: pd.DataFrame, samples: int) -> Cells:
    """Means with intervals by activation and width at one N; without MLP the width is 0."""
    rows = table[table["samples"] == samples]
    return {
        (r.activation, 0 if r.activation == "none" else int(r.features)): Interval(
            r.mean, r.low, r.high
        )
        for r in rows.itertuples(name="Row")
    }


def _large() -> Cells:
    return _cells(mlp_sizes.means(mlp_sizes.large(load_results("mlp_sizes")), "recall"), 8192)


@decided_by(
    _large,
    "An activation gains from width if recall at m = 4096 is above that without MLP, by intervals that do not"
    " overlap: width that stays below no MLP at all makes nothing easier. Confirmed if both activations gain, true"
    " only where if one does.",
)
def width_helps(found: Cells) -> Finding:
    """Recall against width for two activations."""
    none, parts, gains = found["none", 0], [], []
    for name in ("he3", "relu"):
        parts.append(
            f"{NAMES[name]} " + said(*((f"m = {m}:", found[name, m]) for m in (256, WIDEST)))
        )
        gains.append(found[name, WIDEST].low > none.high)
    text = f"V = 1024, d = 64, recall: no MLP {ends(none)}; " + "; ".join(parts)
    return Finding(text, CONFIRMED if all(gains) else PARTLY if any(gains) else REFUTED)


def _small() -> SimpleNamespace:
    """Recall at d = 32 with the trigger out of and in the values, lock-on with few sequences;
    recall at V = 1024."""
    results = load_results("mlp_sizes")
    out, inside = (
        _cells(mlp_sizes.means(mlp_sizes.small(results, flag), "recall"), 8192)
        for flag in (False, True)
    )
    locks = _cells(mlp_sizes.means(mlp_sizes.small(results, False), "lock_on"), 512)
    return SimpleNamespace(out=out, inside=inside, locks=locks, large=_large())


@decided_by(
    _small,
    "Capacity is kept if recall at m = 4096 is at least 0.9, the level that this book calls learnt, by the whole"
    " interval, where without MLP it is below. Confirmed if so for all four activations with the trigger in and"
    " out of the values, refuted if for none.",
)
def width_at_small_dim(found: SimpleNamespace) -> Finding:
    """Recall at d = 32 with and without an MLP, trigger out of and in the values."""
    text, kept = "V = 256, d = 32, N = 8192, recall without MLP and at m = 4096: ", []
    for where, cells in (("out of", found.out), ("in", found.inside)):
        shown = [(NAMES["none"], cells["none", 0])]
        for name in ("relu", "tanh", "he2", "he3"):
            shown.append((NAMES[name], cells[name, WIDEST]))
            kept.append(cells[name, WIDEST].low >= 0.9 > cells["none", 0].high)
        text += said(*shown) + f", with the trigger {where} the values; "
    return Finding(
        text.removesuffix("; "), CONFIRMED if all(kept) else PARTLY if any(kept) else REFUTED
    )


@decided_by(
    _small,
    "Harder: recall or lock-on with the MLP is below that without, by intervals that do not overlap. Confirmed if"
    " so for every activation and width tried, true only where if for some, refuted if for none.",
)
def mlp_harder(found: SimpleNamespace) -> Finding:
    """Recall and lock-on with an MLP, against those without."""
    cases = {"recall, trigger out of the values": found.out, "trigger in the values": found.inside}
    cases |= {"lock-on at N = 512": found.locks, "recall, V = 1024, d = 64": found.large}
    parts, count = [], [0, 0]
    for what, cells in cases.items():
        below = [key for key, x in cells.items() if x.high < cells["none", 0].low]
        count = [count[0] + len(below), count[1] + len(cells) - 1]
        names = [
            f"{NAMES[name]} at m = {_widths(below, name)}" for name in NAMES if _widths(below, name)
        ]
        parts.append(f"{what}: {', '.join(names) or 'none'}")
    first, wide = found.out["none", 0], found.out["he3", WIDEST]
    text = f"V = 256, d = 32, below no MLP in {count[0]} of {count[1]} cases; " + "; ".join(parts)
    text += f"; above it most: cubic Hermite, m = 4096, {ends(wide)} against {ends(first)}"
    return Finding(text, CONFIRMED if count[0] == count[1] else PARTLY if count[0] else REFUTED)


def _widths(keys: list[tuple[str, int]], name: str) -> str:
    return ", ".join(str(m) for activation, m in sorted(keys) if activation == name)


def _regions() -> pd.Series:
    """Cells of the plane of N and L, by the term that asks for the width there."""
    return plane.plane()["term"].value_counts()


@decided_by(
    _regions,
    "A region is at least one cell of our plane of N and L in which that noise costs most accuracy at the"
    " critical width (90 cells, three models). Confirmed if all three named noises have one, true only where if"
    " some have.",
)
def phase_diagram(found: pd.Series) -> Finding:
    """Which noises have a region of their own in our diagram of the width that is needed?"""
    named = [name for name in ("mean bias", "gradient noise", "MLP noise") if found.get(name, 0)]
    text = f"V = 256, accuracy 0.9, the term that binds in {found.sum()} cells: "
    text += ", ".join(f"{term} {count}" for term, count in found.items())
    text += f"; gradient noise {found.get('gradient noise', 0)}" * ("gradient noise" not in found)
    return Finding(text, (REFUTED, PARTLY, PARTLY, CONFIRMED)[len(named)])
