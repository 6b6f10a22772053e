"""Where predictions hold when facts are not equal: random settings of all that this allows,
simulated and predicted.

``python -m recallbook table unequal_error_map STORE`` simulates what the file lacks.
``--export`` adds the predictions and writes the table that ships with the package. The last
``UNSEEN`` settings were predicted once, after everything else was fixed.

Lock-on is often all or nothing from draw to draw, so that few seeds may miss what happens rarely.
So where prediction and simulation differed by more than ``error_map.OFF`` and two standard errors,
64 more seeds were simulated, and all count: the rows say how many there are."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook_studies import error_map
from recallbook_studies.error_map import as_setting, predicted
from recallbook_studies.running.archive import load_results

COUNT, UNSEEN = 240, 60  # settings, and how many of them, the last, are unseen
FIRST_SEED = 6 * 10**8  # seeds of the map are used nowhere else
MOST = 16  # seeds of a setting; fewer where they take long
MORE, SECOND_SEED = 64, 8 * 10**8  # seeds beyond MOST, where a setting was off


def seeds_of(index: int, count: int) -> list[int]:
    """The first seeds of a setting: at most ``MOST``, then of the ``MORE``."""
    first, second = FIRST_SEED + MOST * index, SECOND_SEED + MORE * index
    return [*range(first, first + min(count, MOST)), *range(second, second + max(count - MOST, 0))]


def row(index: int, seeds: int, **fields: Any) -> dict[str, Any]:
    """Means over so many seeds with their standard errors."""
    rows = error_map.outcomes(as_setting(fields), seeds_of(index, seeds))
    return error_map.means_and_errors([*rows])


def judged() -> pd.DataFrame:
    """The committed map with its doubts, whether a setting is ``unseen``, and what is ``off_``."""
    frame = error_map.judged(load_results("unequal_error_map"))
    return frame.assign(unseen=frame["index"] >= COUNT - UNSEEN)


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with what is predicted for them now."""
    rows = [{**row, **predicted(row)} for row in frame.to_dict("records")]
    return pd.DataFrame(rows).astype(error_map.INTEGERS)
