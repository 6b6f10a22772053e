r"""Checks of claims about how many facts a memory holds, with and without an MLP."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.training.simulation import simulate
from recallbook_studies.ch02.associative import capacity, recalled
from recallbook_studies.ch07 import phase as plane
from recallbook_studies.ch07.features import alone, drawn, perfect_recall
from recallbook_studies.ch09 import mlp_sizes
from recallbook_studies.ch12 import capacity as trained_matrices, runs, sizes
from recallbook_studies.claims.findings import measures
from recallbook_studies.intervals import Interval, seed_interval

HELD = 0.99  # of the facts: what counts as held, as in the public code on trained memories
SMALL = 8  # d of the memories that are compared

# Facts held


@cache
def facts_held(dim: int) -> Interval:
    """Facts that a sum of outer products holds, simulated: the mean of eight draws on the
    sphere."""

    def held(seed: int) -> float:
        return capacity(lambda facts: float(recalled(facts, dim, seed, "sphere").mean()), HELD)

    return seed_interval([held(seed) for seed in range(8)])


def _divided(facts: dict[int, Interval], power: int) -> dict[int, Interval]:
    return {dim: Interval(*(x / dim**power for x in found)) for dim, found in facts.items()}


def _sums(*dims: int) -> dict[int, Interval]:
    """Facts for each dimension of a sum of outer products."""
    return _divided({dim: facts_held(dim) for dim in dims}, 1)


def _matrices() -> pd.DataFrame:
    """Trained matrices of chapter 12, all facts in the loss, by rung and d."""
    rows = trained_matrices.load().query("steps == 1000 and decay == 0")
    return rows.set_index(["rung", "dim"])


def _trained(rung: str = "AdamW") -> dict[int, Interval]:
    """Facts of which a trained matrix holds nine tenths, by d: the ends are the last two sizes
    tried."""
    most = trained_matrices.LARGEST
    return {
        r.Index: Interval(math.sqrt(r.facts * min(r.next, most)), r.facts, r.next)
        for r in _matrices().loc[rung].itertuples()
    }


def _by_dim(line: dict[int, Interval]) -> dict[str, Interval]:
    return {f"d = {dim}": x for dim, x in line.items()}


@measures()
def superposition() -> SimpleNamespace:
    """Facts for each dimension, of a sum of outer products and of a trained matrix, by d."""
    trained = _by_dim(_divided(_trained(), 1))
    return SimpleNamespace(sums=_by_dim(_sums(16, 32, 64, 128)), trained=trained)


@measures()
def nearly_optimal() -> SimpleNamespace:
    """Facts that three memories hold at one d, and bits for each weight of the two that are trained
    to the end."""
    names = {"once": "three steps", "fixed": "AdamW", "learned": "learned embeddings"}
    bits = _matrices()["bits"]
    return SimpleNamespace(
        dim=SMALL,
        **{name: _trained(rung)[SMALL] for name, rung in names.items()},
        fixed_bits=bits["AdamW", SMALL],
        learned_bits=bits["learned embeddings", SMALL],
    )


@measures()
def smaller_dim_stores_more() -> SimpleNamespace:
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


@measures()
def hopfield() -> SimpleNamespace:
    """Facts for each dimension of a sum of outer products, and facts and bits for each number of a
    trained matrix, by d."""
    trained = {dim: x for dim, x in _trained().items() if dim > SMALL}
    bits = {dim: Interval(*(n * math.log2(n) for n in x)) for dim, x in trained.items()}
    lines = (_sums(32, 64, 128), _divided(trained, 2), _divided(bits, 2))
    return SimpleNamespace(lines=[{str(dim): x for dim, x in line.items()} for line in lines])


@measures()
def learned_embeddings() -> SimpleNamespace:
    """Accuracy with learned minus that with fixed embeddings on the same draws (chapter 12), and
    with clustered minus that with random ones after three steps, by d."""
    table = runs.load().query("vocab == 64 and seq_len == 8 and samples == 1024")
    wide = table.pivot(index=["dim", "seed"], columns="rung", values="accuracy")
    level = 1 - 0.05 / len(sizes.DIMS)  # several d are looked at

    def three_steps(dim: int, law: str) -> np.ndarray:
        setting = Setting(vocab=64, seq_len=8, dim=dim, samples=1024, embeddings=law)
        return np.array([simulate(setting, seed).accuracy for seed in range(20)])

    gain = wide["learned embeddings"] - wide["trigger in the values"]
    lost = {
        dim: three_steps(dim, "clustered(16, 0.5)") - three_steps(dim, "gaussian")
        for dim in sizes.DIMS
    }
    lines = {
        kind: {dim: seed_interval(line[dim], level) for dim in sizes.DIMS}
        for kind, line in (("learned", gain), ("clustered", lost))
    }
    dims = {k: max(line, key=lambda dim: (abs(line[dim].mean), dim)) for k, line in lines.items()}
    most = {kind: line[dims[kind]] for kind, line in lines.items()}
    return SimpleNamespace(lines=lines, dims=dims, most=most)


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


@measures("width_helps", "width_at_small_dim", "mlp_harder")
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


@measures()
def phase_diagram() -> SimpleNamespace:
    """Cells of the plane of N and L, by the term that asks for the width there."""
    counts = plane.plane()["term"].value_counts().to_dict()
    shown = ", ".join(f"{term} {count}" for term, count in counts.items())
    gradient = counts.get("gradient noise", 0)
    return SimpleNamespace(
        counts=counts, cells=sum(counts.values()), shown=shown, gradient=gradient
    )
