"""The same experiment over many settings and seeds, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pandas as pd
from tqdm import tqdm

from recallbook.evaluation import simulate
from recallbook.setting import Setting


def simulate_many(
    settings: Iterable[Setting], seeds: Iterable[int], *, progress: bool = False, **options: Any
) -> pd.DataFrame:
    """One row for each setting and seed: the setting's fields, ``seed``, and the outcome's three numbers.

    ``options`` go to :func:`recallbook.simulate`.
    """
    points = [(setting, seed) for setting in settings for seed in seeds]
    rows = []
    for setting, seed in tqdm(points, disable=not progress):
        outcome = simulate(setting, seed, **options)
        rows.append({**asdict(setting), "seed": seed, **asdict(outcome)})
    return pd.DataFrame(rows)
