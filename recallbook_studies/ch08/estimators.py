"""Readers of the initial gradient against the information bound, and against three steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.intervals import fitted_slope
from recallbook_theory.bounds import information
from recallbook_theory.bounds.decoding import METHODS, decoded

LEVEL = 0.9  # of the facts, whose number of sequences is looked for
# where V << N << LV, as far as small sizes go
BASE = {"vocab": 96, "seq_len": 128, "dim": 64}
# values of a size, and the leading exponent of the bound's N in it
ALONG = {
    "dim": ((48, 58, 70, 84), -2.0),
    "seq_len": ((48, 96, 192, 384), 1.0),
    "vocab": ((72, 90, 112, 140), 2.0),
}
STEPS, FACTOR = 12, 2**0.5


def threshold(sizes: dict[str, Any], seed: int) -> float:
    r"""The number of sequences at which the refined reader first finds ``LEVEL`` of the facts, for
    one seed.

    Upwards from the bound's value in steps of ``FACTOR``; between two steps interpolated in the
    logarithm. Infinite if the last of ``STEPS`` is not enough."""
    start = information.information_samples(**sizes, accuracy=LEVEL)
    before, last = math.nan, 0.0
    for step in range(STEPS):
        samples = max(1, round(start * FACTOR**step))
        setting = Setting(**sizes, samples=samples, trigger_in_values=False)
        now = decoded(draw(setting, seed), "refined")
        if now >= LEVEL:
            part = (LEVEL - last) / (now - last)
            return samples if step == 0 else before ** (1 - part) * samples**part
        before, last = samples, now
    return math.inf


def exponents(seeds: range) -> pd.DataFrame:
    """Exponents of thresholds with intervals over seeds, those of the bound over the same sizes,
    and leading ones."""
    rows = []
    for size, (values, leading) in ALONG.items():
        grid = [{**BASE, size: value} for value in values]
        least = [[threshold(sizes, seed) for sizes in grid] for seed in seeds]
        bound = [information.information_samples(**sizes, accuracy=LEVEL) for sizes in grid]
        slope = np.polyfit(np.log(values), np.log(bound), 1)[0]
        measured = fitted_slope(values, least)._asdict()
        rows.append({"size": size, **measured, "bound": slope, "leading": leading})
    return pd.DataFrame(rows)


def against_three_steps(
    settings: Iterable[Setting], seeds: Iterable[int], methods: Iterable[str] = METHODS
) -> pd.DataFrame:
    """Facts recalled by three steps, and by these readers of the initial gradient, on the same
    draws."""
    rows = []
    for setting, seed in itertools.product(settings, seeds):
        problem = draw(setting, seed)
        outcome = evaluate(problem, three_steps(problem), 1000)
        row = {"seq_len": setting.seq_len, "samples": setting.samples, "seed": seed}
        steps = {"three steps": outcome.recall, "lock_on": outcome.lock_on}
        rows.append(row | steps | {method: decoded(problem, method) for method in methods})
    return pd.DataFrame(rows)
