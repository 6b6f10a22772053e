r"""Learning rate and weight decay of the ladder's rungs, searched for together, at every shape, by
one rule.

At the base and at the large shape every pair of a grid is trained; at each other shape the pair
kept at the base and its neighbours in the grid. Ten seeds, used nowhere else. A pair is *as good as
the best* if its mean accuracy is at most one standard error of the paired difference, over seeds,
below the best; of those that are, the one nearest to their middle is kept.

``python -m recallbook table survives_tuning STORE`` makes the runs, the base first: export it with
``--export``, then call both again for the other shapes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recallbook_studies.ch12 import sizes
from recallbook_studies.ch12.rungs import LADDER, RUNGS, Rung
from recallbook_studies.ch12.training import by_seed
from recallbook_studies.running import archive
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_tuning")  # the committed rows
SEEDS = range(1000, 1010)  # the sweep's are 0 to 9
MATRICES = (0.01, 0.03, 0.1, 0.3, 1.0)  # where the book's two matrices are all that moves
ONE_LAYER = (0.003, 0.01, 0.03, 0.1, 0.3)  # and learned embeddings
TWO_LAYERS = (0.001, 0.003, 0.01, 0.03, 0.1)  # and a marker token; and the large shape
BOOK_RATES = (1.0, 3.0, 10.0, 30.0, 100.0)  # factors on the book's
DECAYS = (0.01, 0.1, 0.3, 1.0, 3.0)
# where no pair gets further, nothing was learnt that could tell them apart, and the base's is kept
NOTHING = 0.1
COLUMNS = ["accuracy", "lock_on", "loss"]
ROUNDING = 1e-6  # of committed digits: a pair that lies at the standard error is as good


class Pair(NamedTuple):
    """A rate and a decay."""

    rate: float
    decay: float


def grid(
    rung: Rung, shape: sizes.Shape = sizes.BASE
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The rates and the decays that are tried; smaller rates for two layers, and at the large
    shape."""
    if rung.optimiser == "sgd":
        return BOOK_RATES, (0.0,)
    rates = ONE_LAYER
    if not rung.learned:
        rates = MATRICES
    elif rung.layers > 1 or rung.trigger == "marker" or shape == sizes.LARGE:
        rates = TWO_LAYERS
    return rates, DECAYS


def pairs(rung: Rung, shape: sizes.Shape) -> list[Pair]:
    """What is tried: the whole grid at the base and the large shape, else the base's pair and its
    neighbours."""
    rates, decayed = grid(rung, shape)
    if shape in (sizes.BASE, sizes.LARGE):
        return [Pair(rate, decay) for rate in rates for decay in decayed]
    middle = chosen()[rung.name, sizes.BASE]
    i, j = rates.index(middle.rate), decayed.index(middle.decay)
    near = [(i - 1, j), (i, j), (i + 1, j), (i, j - 1), (i, j + 1)]
    inside = [(a, b) for a, b in near if 0 <= a < len(rates) and 0 <= b < len(decayed)]
    return [Pair(rates[a], decayed[b]) for a, b in inside]


def keys(shapes: Iterable[sizes.Shape]) -> list[str]:
    """Every run, "rung V L d rate decay seed", the base first."""
    return [
        " ".join(map(str, (rung.name, *shape, f"{pair.rate:g}", f"{pair.decay:g}", seed)))
        for shape in shapes
        for rung in LADDER
        if rung.rates == "tuned"
        if shape in (*sizes.shapes_of(rung), *([sizes.LARGE] * (rung.name in sizes.LARGE_RUNGS)))
        for pair in pairs(rung, shape)
        for seed in SEEDS
    ]


def row(key: str) -> dict[str, Any]:
    """One run by its key. All seeds of its pair are trained; the others are kept for the next
    keys."""
    name, *rest = key.rsplit(" ", 6)
    shape, pair = sizes.Shape(*map(int, rest[:3])), Pair(*map(float, rest[3:5]))._asdict()
    rung, seed = RUNGS[name], int(rest[5])
    setting = sizes.setting(shape, sizes.tuned_samples(rung, shape.vocab))
    found = by_seed(rung, setting, SEEDS, **pair, looks=1).loc[seed, COLUMNS].to_dict()
    return {"key": key, "rung": name, **shape._asdict(), **pair, "seed": seed, **found}


def as_good(part: pd.DataFrame) -> list[Pair]:
    """The pairs of one rung and shape that are as good as the best, by the paired scatter of
    seeds."""
    by_seed = part.pivot_table(index="seed", columns=["rate", "decay"], values="accuracy")
    short = by_seed.sub(by_seed[by_seed.mean().idxmax()], axis=0)
    error = short.std(ddof=1) / np.sqrt(len(short))
    return [Pair(*pair) for pair in short.columns[-short.mean() <= error + ROUNDING]]


def choose(frame: pd.DataFrame) -> dict[tuple[str, sizes.Shape], Pair]:
    """The pair of each rung and shape: of those as good as the best, the one nearest to their
    middle in the grid.

    Nearest in steps of the grid; of two that are equally near, the one with the higher accuracy. A
    shape at which every pair fails is left out."""
    kept = {}
    for (name, *shape), part in frame.groupby(["rung", *sizes.Shape._fields], sort=False):
        rates, decayed = grid(RUNGS[name], sizes.Shape(*shape))
        good = as_good(part)
        places = np.array([(rates.index(pair.rate), decayed.index(pair.decay)) for pair in good])
        away = ((places - places.mean(axis=0)) ** 2).sum(axis=1)
        means = part.groupby(["rate", "decay"])["accuracy"].mean()
        if shape != [*sizes.BASE] and means.max() < NOTHING:
            continue
        order = sorted(range(len(good)), key=lambda i: (round(away[i], 9), -means[tuple(good[i])]))
        kept[name, sizes.Shape(*shape)] = good[order[0]]
    return kept


@lru_cache(maxsize=1)
def chosen() -> dict[tuple[str, sizes.Shape], Pair]:
    """What the committed search keeps."""
    return choose(load())


def pair_of(rung: Rung, shape: sizes.Shape = sizes.BASE) -> Pair:
    """The pair of a rung at a shape.

    Rungs at the book's rates have 1 and 0; a shape that was not searched has the base's.
    """
    if rung.rates == "book":
        return Pair(1.0, 0.0)
    kept = chosen()
    return kept.get((rung.name, shape), kept[rung.name, sizes.BASE])


def searched() -> list[sizes.Shape]:
    """The base, and the other shapes once the base is committed."""
    return [*sizes.shapes(), sizes.LARGE] if "survives_tuning" in archive.tables() else [sizes.BASE]
