r"""Checks of claims about how many facts a memory holds, with and without an MLP."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import pandas as pd

from recallbook.analysis.intervals import Interval, seed_interval
from recallbook.sweeps.archive import load_results
from recallbook_studies.ch02.associative import capacity, recalled
from recallbook_studies.ch07 import phase as plane, trained_memories
from recallbook_studies.ch07.features import alone, drawn, perfect_recall
from recallbook_studies.ch09 import mlp_sizes
from recallbook_studies.ch10 import learned_embeddings as learned
from recallbook_studies.claims.findings import by_size, decided_by, holds

HELD = 0.99  # of the facts: what counts as held, as in the public code on trained memories

# Facts held


@cache
def facts_held(dim: int) -> Interval:
    """Facts that a sum of outer products holds, simulated: the mean of eight draws on the
    sphere."""

    def held(seed: int) -> float:
        return capacity(lambda facts: float(recalled(facts, dim, seed, "sphere").mean()), HELD)

    return seed_interval([held(seed) for seed in range(8)])


def _for_each_dimension(*dims: int) -> dict[int, Interval]:
    return {dim: Interval(*(x / dim for x in facts_held(dim))) for dim in dims}


def _trained() -> pd.DataFrame:
    """The smallest matrix tried that holds 0.99 of the facts, trained on random embeddings, by
    facts and seed; facts for each dimension, and facts and bits for each number."""
    rows = trained_memories.critical(trained_memories.committed().query("memory == 'linear'"))
    facts = rows["facts"]
    return rows.assign(
        by_dim=facts / rows["size"] ** 0.5,
        by_number=facts / rows["size"],
        bits=facts * facts.map(math.log2) / rows["size"],
    )


def _superposition() -> SimpleNamespace:
    """Facts for each dimension: of a sum of outer products by d, of a trained matrix by facts."""
    sums = {f"d = {dim}": x for dim, x in _for_each_dimension(16, 32, 64, 128).items()}
    trained = {f"{n} facts": x for n, x in by_size(_trained(), "facts", "by_dim").items()}
    return SimpleNamespace(sums=sums, trained=trained)


@decided_by(_superposition)
def superposition(found: SimpleNamespace) -> list[bool]:
    """More facts than dimensions?"""
    return [x.low > 1 for line in (found.sums, found.trained) for x in line.values()]


def _yardsticks() -> SimpleNamespace:
    """For 256 facts: squared dimension, and numbers that are trained, of four memories."""
    facts, table = learned.FACTS, learned.load()
    known = table[table["kind"] == "learned"].groupby("dim")["recall"].min()
    least = int(known.index[known >= HELD].min())  # the smallest d tried
    one = trained_memories.critical(trained_memories.curve("one gradient", (facts,)))["size"]
    square = by_size(_trained(), "facts", "size")[facts]
    numbers = least**2 + 2 * facts * least
    return SimpleNamespace(one=seed_interval(one), trained=square, square=least**2, numbers=numbers)


@decided_by(_yardsticks)
def nearly_optimal(found: SimpleNamespace) -> list[bool]:
    """Random embeddings against learned ones, at their best and as three steps use them."""
    return [found.trained.high <= 2 * best for best in (found.square, found.numbers)]


def _smaller_dim() -> SimpleNamespace:
    """Facts held by d without MLP, and recall of 512 facts with the same number of parameters, by d
    and m."""

    def recall(dim: int, width: int | None) -> Interval:
        memory = alone(512, dim, width, "he3", embeddings="sphere")
        return seed_interval([perfect_recall(drawn(memory, seed)) for seed in range(8)])

    shared = {
        f"d = {dim}, m = {width}": recall(dim, width) for dim, width in ((64, 656), (32, 2336))
    }
    held = {dim: facts_held(dim) for dim in (32, 128)}
    return SimpleNamespace(held=held, shared={"d = 96, no MLP": recall(96, None), **shared})


@decided_by(_smaller_dim)
def smaller_dim_stores_more(found: SimpleNamespace) -> list[bool]:
    """Does a smaller d raise capacity: at its own size, or at an equal number of parameters?"""
    first, *rest = found.shared.values()
    return [found.held[32].low > found.held[128].high, all(x.low > first.high for x in rest)]


def _ratios() -> SimpleNamespace:
    """Facts for each dimension of a sum of outer products, by d; facts, and bits, for each trained
    number, by facts."""
    table = _trained()
    lines = (
        _for_each_dimension(32, 64, 128),
        *(by_size(table, "facts", what) for what in ("by_number", "bits")),
    )
    return SimpleNamespace(lines=[{str(size): x for size, x in line.items()} for line in lines])


@decided_by(_ratios)
def hopfield(found: SimpleNamespace) -> list[bool]:
    """What is constant?"""
    lines = [list(line.values()) for line in found.lines]
    same = [line for line in lines if max(x.low for x in line) < 1.25 * min(x.high for x in line)]
    return [bool(same), any(holds(x, 0.14) for line in same for x in line)]


def _learned() -> SimpleNamespace:
    """Recall with learned and with clustered minus that with random embeddings, by dimension."""
    table = learned.load().pivot(index=["dim", "seed"], columns="kind", values="recall")
    level = 1 - 0.05 / len(learned.DIMS)  # several d are looked at

    def gained(kind: str) -> dict[int, Interval]:
        gain = (table[kind] - table["random"]).groupby("dim")
        return {int(dim): seed_interval(part, level) for dim, part in gain}

    lines = {kind: gained(kind) for kind in ("learned", "clustered")}
    dims = {k: max(line, key=lambda dim: (abs(line[dim].mean), dim)) for k, line in lines.items()}
    most = {kind: line[dims[kind]] for kind, line in lines.items()}
    return SimpleNamespace(lines=lines, dims=dims, most=most, facts=learned.FACTS)


@decided_by(_learned)
def learned_embeddings(found: SimpleNamespace) -> list[bool]:
    """Learned and clustered embeddings against random ones in a trained linear memory."""
    return [not all(map(holds, line.values())) for line in found.lines.values()]


# The MLP

NAMES = {
    "none": "no MLP",
    "relu": "ReLU",
    "tanh": "tanh",
    "he2": "quadratic Hermite",
    "he3": "cubic Hermite",
}
WIDEST = 4096
Cells = dict[tuple[str, int], Interval]  # by activation and width; without MLP the width is 0


def _cells(table: pd.DataFrame, outcome: str, samples: int = 8192) -> Cells:
    """Means with intervals by activation and width at one N."""
    rows = mlp_sizes.means(table, outcome).query("samples == @samples")
    return {
        (r.activation, r.activation != "none" and int(r.features)): Interval(r.mean, r.low, r.high)
        for r in rows.itertuples()
    }


def _below(cells: Cells) -> list[tuple[str, int]]:
    """Activations and widths that stay below no MLP, by intervals that do not overlap."""
    return sorted(key for key, x in cells.items() if x.high < cells["none", 0].low)


def _mlps() -> SimpleNamespace:
    """Recall at d = 32 with the trigger out of and in the values, lock-on with few sequences,
    recall at V = 1024; and where they are below those without MLP."""
    results = load_results("mlp_sizes")
    out = mlp_sizes.small(results, False)
    cells = {
        "out": _cells(out, "recall"),
        "inside": _cells(mlp_sizes.small(results, True), "recall"),
        "locks": _cells(out, "lock_on", 512),
        "large": _cells(mlp_sizes.large(results), "recall"),
    }
    where, widest = {}, {}
    for key, line in cells.items():
        below = _below(line)
        widths = {name: [str(m) for activation, m in below if activation == name] for name in NAMES}
        names = [f"{NAMES[name]} at m = {', '.join(m)}" for name, m in widths.items() if m]
        where[key] = ", ".join(names) or "none"
        chosen = {name: line.get((name, WIDEST * (name != "none"))) for name in NAMES}
        widest[key] = {NAMES[name]: x for name, x in chosen.items() if x}
    counts = {
        "below": sum(len(_below(line)) for line in cells.values()),
        "cases": sum(len(line) - 1 for line in cells.values()),
    }
    large = {
        name: {f"m = {m}": cells["large"][name, m] for m in (256, WIDEST)}
        for name in ("he3", "relu")
    }
    none = {NAMES["none"]: cells["large"]["none", 0]}
    return SimpleNamespace(**cells, where=where, widest=widest, widths=large, none=none, **counts)


@decided_by(_mlps)
def width_helps(found: SimpleNamespace) -> list[bool]:
    """Recall against width for two activations."""
    return [found.large[name, WIDEST].low > found.large["none", 0].high for name in ("he3", "relu")]


@decided_by(_mlps)
def width_at_small_dim(found: SimpleNamespace) -> list[bool]:
    """Recall at d = 32 with and without an MLP, trigger out of and in the values."""
    return [
        cells[name, WIDEST].low >= 0.9 > cells["none", 0].high
        for cells in (found.out, found.inside)
        for name in NAMES
        if name != "none"
    ]


@decided_by(_mlps)
def mlp_harder(found: SimpleNamespace) -> list[bool]:
    """Recall and lock-on with an MLP, against those without."""
    lines = (found.out, found.inside, found.locks, found.large)
    return [key in _below(cells) for cells in lines for key in cells if key[1]]


def _regions() -> SimpleNamespace:
    """Cells of the plane of N and L, by the term that asks for the width there."""
    counts = plane.plane()["term"].value_counts().to_dict()
    shown = ", ".join(f"{term} {count}" for term, count in counts.items())
    gradient = counts.get("gradient noise", 0)
    return SimpleNamespace(
        counts=counts, cells=sum(counts.values()), shown=shown, gradient=gradient
    )


@decided_by(_regions)
def phase_diagram(found: SimpleNamespace) -> list[bool]:
    """Which noises have a region of their own in our diagram of the width that is needed?"""
    named = ("mean bias", "gradient noise", "MLP noise")
    return [found.counts.get(name, 0) > 0 for name in named]
