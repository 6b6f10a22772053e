"""Necessary, predicted, simulated and sufficient numbers of sequences for accuracy 0.9, side by
side.

``python -m recallbook table sufficient STORE`` finds the proved N of every case and simulates
there; ``--export`` writes the table that ships with the package. The simulated critical N is a
sweep: ``python -m recallbook sweep sandwich``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies import grids
from recallbook_studies.critical import critical_table
from recallbook_studies.error_map import log_uniform
from recallbook_studies.laws import least_dim
from recallbook_studies.running.archive import load_results
from recallbook_studies.running.point import Point
from recallbook_theory.bounds.coverage import coverage_samples, minimum_samples
from recallbook_theory.bounds.sufficient import sufficient_samples
from recallbook_theory.critical import critical_samples

load = partial(load_results, "sufficient")  # the committed rows
LEVEL = 0.9
BASE = {"vocab": 256, "seq_len": 32, "dim": 192}
# predicted critical N to two digits, where the grids of the sweep are centred; a test compares them
ALONG = {
    "seq_len": {4: 1100, 16: 1100, 64: 1100, 128: 1300, 256: 3800, 512: 15000},
    "dim": {98: 5300, 128: 2000, 192: 1100, 256: 900, 384: 630, 512: 600},
    "vocab": {64: 480, 128: 980, 256: 2000, 512: 4000},
    "marked": {192: 31000, 256: 20000, 512: 12000},  # by d, with the trigger in the values
}
DIMS = {64: 68, 128: 93, 256: 128, 512: 178}  # along V: 1.5 times the critical dimension
STEPS = (-1, -0.5, 0, 0.5, 1)  # octaves
SEEDS = range(10)
RANDOM = 30  # cases at random sizes, accuracies, laws and triggers
FIRST_SEED = 6 * 10**8
TEST = 2000


def sizes(along: str, value: int) -> dict[str, Any]:
    """The sizes of a case but for N."""
    if along == "marked":
        return {**BASE, "dim": value, "trigger_in_values": True}
    dims = {"dim": DIMS[value]} if along == "vocab" else {}
    return {**BASE, **dims, along: value, "trigger_in_values": False}


def points() -> list[Point]:
    """The sweep: every case at five values of N around the predicted one."""
    found = [
        setting
        for along, cases in ALONG.items()
        for value, centre in cases.items()
        for setting in grids.settings(**sizes(along, value), samples=grids.octaves(centre, STEPS))
    ]
    # the base case lies on three lines
    return grids.points(dict.fromkeys(found), SEEDS, TEST)


def random_case(index: int) -> dict[str, Any]:
    """Sizes and accuracy of a case with d at least 1.5 times its critical value for that
    accuracy."""
    generator = np.random.default_rng([19, index])
    vocab = round(log_uniform(generator, 40, 180))
    length = round(log_uniform(generator, 2, vocab))
    accuracy, marked = float(generator.choice([0.5, 0.9, 0.97])), bool(generator.random() < 0.4)
    dim = round(
        least_dim(vocab, accuracy, trigger_in_values=marked) * float(generator.uniform(1.5, 3))
    )
    law = str(generator.choice(["gaussian", "gaussian", "sphere"]))
    sizes = {"vocab": vocab, "seq_len": length, "dim": dim, "trigger_in_values": marked}
    return {**sizes, "embeddings": law, "accuracy": accuracy}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every case of the table, with the line it lies on; the cheap ones first."""
    for index in range(RANDOM):
        yield f"random {index}", random_case(index)
    for along, values in ALONG.items():
        for value in values:
            yield (
                f"{along} {value}",
                {**sizes(along, value), "embeddings": "gaussian", "accuracy": LEVEL},
            )


def keys() -> list[str]:
    """The name of every case."""
    return [name for name, _ in cases()]


def row(name: str) -> dict[str, Any]:
    """Predicted and proved N of a case, and simulated accuracy at the proved N."""
    case = dict(cases())[name]
    proved = sufficient_samples(**case)
    found = {"case": name, **case, "critical": critical_samples(**case, warn=False)}
    found |= {"sufficient": float(proved), "by": proved.by}
    mean = error = math.nan
    if proved < math.inf:
        setting = Setting(**{k: v for k, v in case.items() if k != "accuracy"}, samples=int(proved))
        runs = [simulate(setting, FIRST_SEED + seed, test_samples=TEST).accuracy for seed in SEEDS]
        mean, error = float(np.mean(runs)), float(np.std(runs, ddof=1) / len(runs) ** 0.5)
    return {**found, "simulated": mean, "error": error}


def table(sweep: pd.DataFrame) -> pd.DataFrame:
    """The cases on the lines with ``critical`` (predicted), ``measured`` (``low``, ``high``),
    ``sufficient``.

    Necessary: ``covered`` for every method, ``readers`` for readers of one gradient.
    """
    by = ["vocab", "seq_len", "dim", "trigger_in_values"]
    measured = critical_table(sweep, by, outcome="accuracy", level=LEVEL)
    measured = measured.rename(columns={"critical": "measured"})[[*by, "measured", "low", "high"]]
    proved = load()
    proved = proved[~proved["case"].str.startswith("random")]
    found = proved.merge(measured, on=by, how="left")
    readers = [minimum_samples(r.vocab, r.seq_len, r.dim, LEVEL) for r in found.itertuples()]
    covered = [coverage_samples(vocab, LEVEL) for vocab in found["vocab"]]
    split = found["case"].str.split(" ", expand=True)
    return found.assign(
        covered=covered, readers=readers, along=split[0], value=split[1].astype(int)
    )
