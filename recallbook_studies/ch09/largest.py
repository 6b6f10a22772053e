r"""Sizes for a GPU: $V$ from 8192 to 65536, $L$ to 1024, $d$ to 2048, $m$ to 32768, with $N$ where
lock-on or accuracy changes.

``python -m recallbook table largest STORE --device cuda`` makes the rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook.arguments import Device
from recallbook.training.simulation import simulate
from recallbook_studies.error_map import as_setting
from recallbook_studies.intervals import over_seeds
from recallbook_studies.running.archive import load_results
from recallbook_studies.running.point import OUTCOMES
from recallbook_theory.prediction import predict

TEST = 4000


def row(case: int, seed: int, device: Device = "cpu", **fields: Any) -> dict[str, Any]:
    """Outcomes of the setting of a number with one seed."""
    found = simulate(as_setting(fields), seed, test_samples=TEST, device=device)
    return {name: getattr(found, name) for name in OUTCOMES}


def compared() -> pd.DataFrame:
    """Lock-on and accuracy of every setting, ``mean`` and ``predicted``, with its sizes."""
    rows = load_results("largest")
    sizes = rows.drop_duplicates("case").set_index("case").drop(columns=["seed", *OUTCOMES])
    found = [predict(as_setting(line), warn=False) for line in sizes.to_dict("records")]
    parts = [
        over_seeds(rows, ["case"], outcome, within=(0, 1))
        .join(sizes, on="case")
        .assign(outcome=outcome, predicted=[getattr(p, outcome) for p in found])
        for outcome in ("lock_on", "accuracy")
    ]
    return pd.concat(parts, ignore_index=True)
