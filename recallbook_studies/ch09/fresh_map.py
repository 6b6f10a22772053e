"""A fresh test of predictions, at settings and seeds that nothing was fitted to.

``map``: 400 settings drawn as those of the committed map. ``wide``: 200 with every size log-uniform
over the range of the map. ``he3``: 30 pairs inside the transition of recall that differ in $\\tau$
alone. Beside them 20 settings where coverage costs most accuracy, with 60 seeds each, a row a seed.

``python -m recallbook table fresh_map STORE`` makes the rows of the first three, ``fresh_coverage``
those of the last; ``--export`` adds what is predicted and writes the table. :func:`error_map.fresh`
makes another such test."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.theory.prediction import phase, predict
from recallbook.training.simulation import simulate
from recallbook_studies import error_map
from recallbook_studies.ch09.quantiles import RANGES, SEEDS, TEST_SAMPLES
from recallbook_studies.error_map import Effort, log_uniform
from recallbook_studies.running.archive import load_results

SEED = 1024  # of error_map.fresh
WIDE = 10**5  # numbers of the log-uniform settings are larger by this
COUNTS = {"map": 400, "wide": 200, "he3": 60}
LEAN_SEED, COVERED, COVERED_SEED = 95 * 10**7, 20, 9 * 10**8
MANY = 64  # seeds of a pair at least
# more precise than the committed map: so little of a miss is sampling
EFFORT, LEAN_EFFORT = Effort(0.004, 12.0), Effort(0.002, 20.0)


def keys() -> list[tuple[str, int]]:
    """Kind and number of every setting."""
    first = {"map": 10**6 * SEED, "wide": 10**6 * SEED + WIDE, "he3": 0}
    return [(kind, first[kind] + place) for kind, n in COUNTS.items() for place in range(n)]


def setting_of(kind: str, index: int) -> Setting:
    """The setting of this number."""
    draw = {"map": error_map.random_setting, "wide": wide_setting, "he3": lean_setting}
    return draw[kind](index)


def row(key: tuple[str, int]) -> dict[str, Any]:
    """Means over seeds with their standard errors."""
    kind, index = key
    setting = setting_of(kind, index)
    if kind == "he3":
        first = LEAN_SEED + 1000 * index
        found = error_map.measured(setting, range(first, first + 1000), MANY, LEAN_EFFORT)
    else:
        seeds = error_map.seeds_of(index)
        found = error_map.measured(setting, seeds, error_map.FEWEST, EFFORT)
    return {"kind": kind, "index": index, **error_map.described(setting), **found}


def load() -> pd.DataFrame:
    """The committed rows, judged."""
    return error_map.judged(load_results("fresh_map"))


def by_expected(judged: pd.DataFrame) -> pd.DataFrame:
    """Fifths of all outcomes of a map by their expected error: beside it the root mean square of
    what was missed beyond sampling."""
    squares = [
        {"expected": judged[f"expected_{name}"] ** 2, "missed": error_map.square_miss(judged, name)}
        for name in error_map.QUANTITIES
    ]
    every = pd.concat(map(pd.DataFrame, squares))
    means = every.groupby(pd.qcut(every["expected"], 5, labels=False)).mean()
    return np.sqrt(means.clip(lower=0))


def wide_setting(index: int) -> Setting:
    """Every size log-uniform over the range of the map, every choice as likely as any other."""
    rng = np.random.default_rng([12, index])
    between = partial(log_uniform, rng)
    every = (*error_map.NAMED, *error_map.CALLABLES)
    while True:
        vocab = round(between(24, 1024))
        sizes = {
            "vocab": vocab,
            "seq_len": round(between(1, 1.2 * vocab)),
            "dim": round(between(8, 10 * vocab)),
            "samples": round(between(vocab / 2, 300 * vocab)),
        }
        law = ("gaussian", "sphere", "orthogonal")[rng.integers(3)]
        if law == "orthogonal":
            sizes["dim"] = round(between(vocab + 2, 10 * vocab))
        chosen: dict[str, Any] = {
            **sizes,
            "embeddings": law,
            "trigger_in_values": bool(rng.integers(2)),
        }
        if rng.integers(2):
            chosen["width"] = round(sizes["dim"] * between(0.3, 20))
            name = every[rng.integers(len(every))]
            chosen["activation"] = error_map.CALLABLES.get(name, name)
        if error_map.affordable(chosen):
            return Setting(**chosen)


def lean_setting(index: int) -> Setting:
    """he3 inside the transition of recall: pairs of numbers differ in $\\tau$ alone."""
    rng = np.random.default_rng([23, index // 2])
    between = partial(log_uniform, rng)
    while True:
        vocab, dim = round(between(64, 300)), round(between(24, 100))
        sizes: dict[str, Any] = {
            "vocab": vocab,
            "dim": dim,
            "seq_len": (1, 6)[rng.integers(2)],
            "width": round(dim * between(0.7, 10)),
            "samples": round(vocab * between(2, 60)),
        }
        marked = Setting(**sizes, activation="he3", trigger_in_values=True)
        if 0.15 < predict(marked, warn=False).accuracy < 0.85:
            return Setting(**sizes, activation="he3", trigger_in_values=bool(index % 2))


# Where coverage rules


def covered_keys() -> list[tuple[int, int]]:
    """Setting and seed of every row."""
    return [
        (place, COVERED_SEED + 1000 * place + seed)
        for place in range(COVERED)
        for seed in range(SEEDS)
    ]


@cache
def covered_setting(place: int) -> Setting:
    r"""No MLP, $\tau=0$, N of 1.5 to 3 V, where coverage costs most accuracy and this is between 0.1
    and 0.9; other sizes log-uniform as those of the quantiles."""
    rng = np.random.default_rng([22, place])
    while True:
        size = {name: log_uniform(rng, *ends) for name, ends in RANGES.items()}
        setting = Setting(
            vocab=round(size["vocab"]),
            seq_len=round(size["seq_len"]),
            dim=round(size["dim"]),
            samples=round(size["vocab"] * log_uniform(rng, 1.5, 3)),
            trigger_in_values=False,
        )
        if 0.1 < predict(setting, warn=False).accuracy < 0.9 and phase(setting) == "coverage":
            return setting


def covered_row(key: tuple[int, int]) -> dict[str, Any]:
    """One draw."""
    place, seed = key
    setting = covered_setting(place)
    found = simulate(setting, seed, test_samples=TEST_SAMPLES)
    sizes = {name: getattr(setting, name) for name in ("vocab", "seq_len", "dim", "samples")}
    outcomes = {name: getattr(found, name) for name in error_map.QUANTITIES}
    return {"place": place, **sizes, "seed": seed, **outcomes}
