"""A fresh test of predictions, at settings and seeds that nothing was fitted to.

``map``: 400 settings drawn as those of the committed map. ``wide``: 200 with every size log-uniform
over the range of the map.

``python -m recallbook table fresh_map STORE`` makes the rows; ``--export`` adds what is predicted and
writes the table. :func:`error_map.fresh` makes another such test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies import error_map
from recallbook_studies.error_map import Effort
from recallbook_studies.running.archive import load_results

# more precise than the committed map: so little of a miss is sampling
EFFORT = Effort(0.004, 12.0)


def row(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    """Means over seeds with their standard errors."""
    seeds, setting = error_map.seeds_of(index), error_map.as_setting(fields)
    return error_map.measured(setting, seeds, error_map.FEWEST, EFFORT)


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
