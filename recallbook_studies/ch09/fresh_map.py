"""A fresh test of predictions, at settings and seeds that nothing was fitted to.

``map``: 400 settings drawn as those of the committed map. ``wide``: 200 with every size log-uniform
over the range of the map.

``python -m recallbook table fresh_map STORE`` makes the rows; ``--export`` adds what is predicted and
writes the table. :func:`error_map.fresh` makes another such test."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook_studies import error_map
from recallbook_studies.error_map import Effort, log_uniform
from recallbook_studies.running.archive import load_results

SEED = 1024  # of error_map.fresh
WIDE = 10**5  # numbers of the log-uniform settings are larger by this
COUNTS = {"map": 400, "wide": 200}
# more precise than the committed map: so little of a miss is sampling
EFFORT = Effort(0.004, 12.0)


def keys() -> list[tuple[str, int]]:
    """Kind and number of every setting."""
    first = {"map": 10**6 * SEED, "wide": 10**6 * SEED + WIDE}
    return [(kind, first[kind] + place) for kind, n in COUNTS.items() for place in range(n)]


def setting_of(kind: str, index: int) -> Setting:
    """The setting of this number."""
    draw = {"map": error_map.random_setting, "wide": wide_setting}
    return draw[kind](index)


def row(key: tuple[str, int]) -> dict[str, Any]:
    """Means over seeds with their standard errors."""
    kind, index = key
    setting = setting_of(kind, index)
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
