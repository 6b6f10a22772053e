"""A fresh test of predictions, at settings and seeds that nothing was fitted to.

``map``: 400 settings drawn as those of the committed map. ``wide``: 200 with every size log-uniform
over the range of the map.

``python -m recallbook table fresh_map STORE`` makes the rows; ``--export`` adds what is predicted and
writes the table. :func:`error_map.fresh` makes another such test."""

from __future__ import annotations

import numpy as np
import pandas as pd

from recallbook_studies import error_map
from recallbook_studies.running.archive import load_results


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
