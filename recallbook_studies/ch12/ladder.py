r"""The ladder's committed runs, trained again from their own columns; the rates that a search keeps.

``survives`` has every rung at every shape and number of sequences, and at the base after three
numbers of steps; beside it tokens by Zipf's law. ``survives_long`` has the two matrices at lengths
for which three steps need many sequences, at every rate, decay and number of steps that was tried.
``survives_tuning`` is the search for their learning rates and weight decays, on seeds used nowhere
else: at the base every pair of a grid, elsewhere the pair of a coarser search (``COARSE``) and its
neighbours.

Training amplifies rounding: a run made again agrees to the scatter between machines, not to the
digit; means over seeds do. The base's runs were made on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recallbook.arguments import Device
from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook_studies import grids
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import STEPS, train
from recallbook_studies.running.archive import load_results

# through which one size at a time is varied
BASE: dict[str, Any] = {"vocab": 64, "seq_len": 8, "dim": 32}
BUDGETS = (400, 1600, 6400)  # steps
SEEDS = range(10)
# where no pair gets further, nothing was learnt that could tell them apart, and the base's is kept
NOTHING = 0.1
ROUNDING = 1e-6  # of committed digits: a pair that lies at the standard error is as good


class Pair(NamedTuple):
    """A rate and a decay."""

    rate: float
    decay: float


# what a search over a coarser grid kept: of other shapes' neighbours, and of what is beside the ladder
COARSE = {
    "tuned rates": Pair(10, 0), "AdamW": Pair(0.3, 0.1), "trigger in the values": Pair(0.1, 0.01),
    "learned embeddings": Pair(0.03, 0.3), "positions": Pair(0.03, 0.3), "MLP": Pair(0.03, 1),
    "library attention": Pair(0.03, 0.3), "four heads": Pair(0.03, 0.3),
    "residual and norm": Pair(0.03, 1), "marker token": Pair(0.01, 1), "second layer": Pair(0.01, 1),
}  # fmt: skip


def coarse(name: str) -> Pair:
    """The pair of a rung beside the ladder; 1 and 0 at the book's rates."""
    return COARSE.get(name, Pair(1.0, 0.0))


# What is committed


def run(
    rung: str,
    seed: Sequence[int],
    *,
    rate: float | Sequence[float],
    decay: float | Sequence[float],
    steps: int,
    columns: Sequence[str],
    device: Device = "cpu",
    **sizes: Any,
) -> list[dict[str, Any]]:
    """Train a rung with these seeds, side by side, and give these columns of the outcomes of each."""
    found = train(
        RUNGS[rung], Setting(**sizes), seed, rate=rate, decay=decay, steps=steps, device=device
    )
    return [*map(dict, found.outcomes[[*columns]].to_dict("records"))]


def load(steps: int = STEPS, zipf: float = 0.0, fresh: bool = False) -> pd.DataFrame:
    """The committed runs with this number of steps and these frequencies, a row for each rung,
    shape, N and seed; of the first ten seeds, or with ``fresh`` of all.

    Three steps are three whatever ``steps`` is.
    """
    frame = load_results("survives")
    wanted = (frame["steps"] == steps) | (frame["rung"] == "three steps")
    wanted &= fresh | frame["seed"].isin(SEEDS)
    return frame[wanted & (frame["zipf"] == zipf)].reset_index(drop=True)


def at_base(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows at the base's sizes."""
    return grids.at(frame, **BASE)


# How rates and decays are chosen


def as_good(part: pd.DataFrame) -> list[Pair]:
    """The pairs of one search whose mean accuracy is at most one standard error of the paired
    difference, over seeds, below the best."""
    by_seed = part.pivot_table(index="seed", columns=["rate", "decay"], values="accuracy")
    short = by_seed.sub(by_seed[by_seed.mean().idxmax()], axis=0)
    error = short.std(ddof=1) / np.sqrt(len(short))
    return [Pair(*pair) for pair in short.columns[-short.mean() <= error + ROUNDING]]


def middle(part: pd.DataFrame) -> Pair:
    """Of the pairs that are as good as the best, the one nearest to their middle in the grid.

    Nearest in steps of the grid; of two that are equally near, the one with the higher accuracy."""
    good = as_good(part)
    rates, decayed = (sorted(part[name].unique()) for name in ("rate", "decay"))
    places = np.array([(rates.index(pair.rate), decayed.index(pair.decay)) for pair in good])
    away = ((places - places.mean(axis=0)) ** 2).sum(axis=1)
    means = part.groupby(["rate", "decay"])["accuracy"].mean()
    order = sorted(range(len(good)), key=lambda i: (round(away[i], 9), -means[tuple(good[i])]))
    return good[order[0]]


def choose(frame: pd.DataFrame) -> dict[tuple[Any, ...], Pair]:
    """The pair of each search, by rung, V, L, d, N and steps; a shape beside the base at which every
    pair fails is left out."""
    kept = {}
    for key, part in frame.groupby(["rung", *BASE, "samples", "steps"], sort=False):
        means = part.groupby(["rate", "decay"])["accuracy"].mean()
        if key[1:4] == tuple(BASE.values()) or means.max() >= NOTHING:
            kept[key] = middle(part)
    return kept


# Accuracy beside coverage


def curves(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs with ``share``, the share of the facts that the training sequences of each draw show,
    and by how much accuracy falls ``short`` of it."""
    keys = frame[["vocab", "seq_len", "samples", "seed"]].itertuples(index=False)
    share = np.array([shown(*key) for key in keys])
    return frame.assign(share=share, short=share - frame["accuracy"])


@cache
def shown(vocab: int, seq_len: int, samples: int, seed: int) -> float:
    """Share of the facts that the training sequences of this draw show."""
    problem = draw(Setting(vocab=vocab, seq_len=seq_len, dim=1, samples=samples), seed)
    return len(set(problem.labels.tolist())) / vocab
