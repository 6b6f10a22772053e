r"""Learning rate and weight decay of the ladder's rungs, searched for together by one rule.

At the base every pair of a grid is trained for each number of steps, and at other N for some rungs. At
the other shapes, 400 steps, the pair that a coarser search kept at the base (``COARSE``) and its
neighbours; at the large shape a whole grid. Ten seeds, used nowhere else. A pair is *as good as the
best* if its mean accuracy is at most one standard error of the paired difference, over seeds, below
the best; of those that are, the one nearest to their middle is kept.

``python -m recallbook table survives_tuning STORE`` makes the runs, ``--export`` writes the table.
The base's were made on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recallbook.arguments import Device
from recallbook_studies.ch12 import sizes
from recallbook_studies.ch12.rungs import BRANCHES, LADDER, RUNGS, Rung
from recallbook_studies.ch12.training import STEPS, train
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_tuning")  # the committed rows
SEEDS = range(1000, 1010)  # none of the sweep's
MATRICES = (0.01, 0.03, 0.1, 0.3, 1.0)  # where the book's two matrices are all that moves
ONE_LAYER = (0.003, 0.01, 0.03, 0.1, 0.3)  # and learned embeddings
TWO_LAYERS = (0.001, 0.003, 0.01, 0.03, 0.1)  # and a marker token; and the large shape
BOOK_RATES = (1.0, 3.0, 10.0, 30.0, 100.0)  # factors on the book's
DECAYS = (0.01, 0.1, 0.3, 1.0, 3.0)
# where no pair gets further, nothing was learnt that could tell them apart, and the base's is kept
NOTHING = 0.1
ROUNDING = 1e-6  # of committed digits: a pair that lies at the standard error is as good


class Pair(NamedTuple):
    """A rate and a decay."""

    rate: float
    decay: float


# what a search over the coarser grid kept: of other shapes' neighbours, and of what is beside the ladder
COARSE = {
    "tuned rates": Pair(10, 0), "AdamW": Pair(0.3, 0.1), "trigger in the values": Pair(0.1, 0.01),
    "learned embeddings": Pair(0.03, 0.3), "positions": Pair(0.03, 0.3), "MLP": Pair(0.03, 1),
    "library attention": Pair(0.03, 0.3), "four heads": Pair(0.03, 0.3),
    "residual and norm": Pair(0.03, 1), "marker token": Pair(0.01, 1), "second layer": Pair(0.01, 1),
}  # fmt: skip


def coarse(name: str) -> Pair:
    """The pair of a rung beside the ladder; 1 and 0 at the book's rates."""
    return COARSE.get(name, Pair(1.0, 0.0))


class Search(NamedTuple):
    """Where one rung's pairs are compared."""

    rung: str
    shape: sizes.Shape
    samples: int
    steps: int = STEPS


def grid(
    rung: Rung, shape: sizes.Shape = sizes.BASE
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The rates and the decays that are tried; more at the base, smaller rates for two layers, and
    at the large shape."""
    base = shape == sizes.BASE
    if rung.optimiser == "sgd":
        return (0.3, *BOOK_RATES, 300.0) if base else BOOK_RATES, (0.0,)
    decays = (0.0, *DECAYS, 10.0) if base else DECAYS
    if not rung.learned:
        return ((0.003, *MATRICES, 3.0), (0.0, 0.001, *DECAYS[:4])) if base else (MATRICES, decays)
    if rung.layers > 1 or rung.trigger == "marker" or shape == sizes.LARGE:
        return (0.0003, *TWO_LAYERS) if base else TWO_LAYERS, decays
    return (0.0003, 0.001, *ONE_LAYER) if base else ONE_LAYER, decays


def pairs(rung: Rung, shape: sizes.Shape) -> list[Pair]:
    """What is tried: the whole grid at the base and the large shape, else the coarse search's pair
    and its neighbours."""
    rates, decayed = grid(rung, shape)
    if shape in (sizes.BASE, sizes.LARGE):
        return [Pair(rate, decay) for rate in rates for decay in decayed]
    middle = coarse(rung.name)
    i, j = rates.index(middle.rate), decayed.index(middle.decay)
    near = [(i - 1, j), (i, j), (i + 1, j), (i, j - 1), (i, j + 1)]
    inside = [(a, b) for a, b in near if 0 <= a < len(rates) and 0 <= b < len(decayed)]
    return [Pair(rates[a], decayed[b]) for a, b in inside]


def searches() -> list[Search]:
    """Every search: at the base for each number of steps, then at fewer sequences, then at other
    shapes."""
    tuned = [rung for rung in (*LADDER, *BRANCHES) if rung.rates == "tuned"]
    base = [
        Search(rung.name, sizes.BASE, sizes.tuned_samples(rung, sizes.VOCAB), steps)
        for steps in sizes.BUDGETS
        for rung in tuned
    ]
    few = [
        Search(name, sizes.BASE, samples, steps)
        for name, counts in sizes.FEW.items()
        for samples in counts
        for steps in sizes.BUDGETS
    ]
    others = [
        Search(rung.name, shape, sizes.tuned_samples(rung, shape.vocab))
        for shape in (*sizes.shapes()[1:], sizes.LARGE)
        for rung in tuned[: -len(BRANCHES)]
        if shape in sizes.shapes_of(rung)
        or (shape == sizes.LARGE and rung.name in sizes.LARGE_RUNGS)
    ]
    return [*base, *few, *others]


@lru_cache(maxsize=1)
def every() -> dict[str, tuple[Search, Pair, int]]:
    """Every run, "rung V L d N steps rate decay seed": those of a search follow each other."""
    return {
        f"{one.rung} {' '.join(map(str, one.shape))} {one.samples} {one.steps} "
        f"{pair.rate:g} {pair.decay:g} {seed}": (one, pair, seed)
        for one in searches()
        for pair in pairs(RUNGS[one.rung], one.shape)
        for seed in SEEDS
    }


@lru_cache(maxsize=1)
def searched(search: Search, device: Device = "cpu") -> dict[tuple[Pair, int], Any]:
    """All runs of a search, side by side."""
    runs = [(pair, seed) for pair in pairs(RUNGS[search.rung], search.shape) for seed in SEEDS]
    rates, decays = zip(*(pair for pair, _ in runs), strict=True)
    setting, seeds = sizes.setting(search.shape, search.samples), [seed for _, seed in runs]
    options: dict[str, Any] = {"steps": search.steps, "looks": 1, "device": device}
    found = train(RUNGS[search.rung], setting, seeds, rate=rates, decay=decays, **options)
    return dict(zip(runs, found.outcomes["accuracy"], strict=True))


def row(key: str, device: Device = "cpu") -> dict[str, Any]:
    """One run by its key; the others of its search are kept for the next keys."""
    search, pair, seed = every()[key]
    named = {"key": key, **search.shape._asdict(), **search._asdict(), **pair._asdict()}
    del named["shape"]
    return {**named, "seed": seed, "accuracy": searched(search, device)[pair, seed]}


def as_good(part: pd.DataFrame) -> list[Pair]:
    """The pairs of one rung and shape that are as good as the best, by the paired scatter of
    seeds."""
    by_seed = part.pivot_table(index="seed", columns=["rate", "decay"], values="accuracy")
    short = by_seed.sub(by_seed[by_seed.mean().idxmax()], axis=0)
    error = short.std(ddof=1) / np.sqrt(len(short))
    return [Pair(*pair) for pair in short.columns[-short.mean() <= error + ROUNDING]]


def middle(part: pd.DataFrame, rates: Sequence[float], decayed: Sequence[float]) -> Pair:
    """Of the pairs that are as good as the best, the one nearest to their middle in the grid.

    Nearest in steps of the grid; of two that are equally near, the one with the higher accuracy."""
    good = as_good(part)
    places = np.array([(rates.index(pair.rate), decayed.index(pair.decay)) for pair in good])
    away = ((places - places.mean(axis=0)) ** 2).sum(axis=1)
    means = part.groupby(["rate", "decay"])["accuracy"].mean()
    order = sorted(range(len(good)), key=lambda i: (round(away[i], 9), -means[tuple(good[i])]))
    return good[order[0]]


def choose(frame: pd.DataFrame) -> dict[Search, Pair]:
    """The pair of each search; a shape beside the base at which every pair fails is left out."""
    kept, by = {}, ["rung", *sizes.Shape._fields, "samples", "steps"]
    for (name, *numbers), part in frame.groupby(by, sort=False):
        shape = sizes.Shape(*numbers[:3])
        means = part.groupby(["rate", "decay"])["accuracy"].mean()
        if shape == sizes.BASE or means.max() >= NOTHING:
            kept[Search(name, shape, *numbers[3:])] = middle(part, *grid(RUNGS[name], shape))
    return kept


@lru_cache(maxsize=1)
def chosen() -> dict[Search, Pair]:
    """What the committed search keeps."""
    return choose(load())


def pair_of(
    rung: Rung, shape: sizes.Shape = sizes.BASE, steps: int = STEPS, samples: int | None = None
) -> Pair:
    """The pair of a rung at a shape after a number of steps, tuned at ``samples`` sequences.

    Rungs at the book's rates have 1 and 0; a shape that was not searched has the coarse one of the
    base, and beside the base the number of steps does not matter."""
    if shape != sizes.BASE:
        steps = STEPS
    tuned_at = samples or sizes.tuned_samples(rung, shape.vocab)
    kept = chosen().get(Search(rung.name, shape, tuned_at, steps))
    return kept or coarse(rung.name)
