"""Where predictions hold when facts are not equal: random settings of all that this allows,
simulated and predicted.

``python -m recallbook table unequal_error_map STORE`` simulates what the file lacks.
``--export`` adds the predictions and writes the table that ships with the package. The last
``UNSEEN`` settings were predicted once, after everything else was fixed.

Lock-on is often all or nothing from draw to draw, so that few seeds may miss what happens rarely.
So where prediction and simulation differ by more than is allowed, the simulation gets ``AGAIN``
more seeds, and all count."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies import error_map
from recallbook_studies.error_map import QUANTITIES, as_setting, excess, predicted
from recallbook_studies.running.archive import load_results

load = partial(load_results, "unequal_error_map")  # the committed rows
COUNT, UNSEEN = 240, 60  # settings, and how many of them, the last, are unseen
FIRST_SEED = 6 * 10**8  # seeds of the map are used nowhere else
MOST = 16  # seeds of a setting; fewer where they take long
AGAIN, SECOND_SEED = 64, 8 * 10**8  # more seeds where a setting is off


def seeds_of(index: int, count: int) -> list[int]:
    """The first seeds of a setting: at most ``MOST`` of its own, then those of :func:`again`."""
    first, second = FIRST_SEED + MOST * index, SECOND_SEED + AGAIN * index
    return [*range(first, first + min(count, MOST)), *range(second, second + max(count - MOST, 0))]


def row(index: int, seeds: int, **fields: Any) -> dict[str, Any]:
    """Means over so many seeds with their standard errors."""
    rows = error_map.outcomes(as_setting(fields), seeds_of(index, seeds))
    return error_map.means_and_errors([*rows])


def again(row: dict[str, Any]) -> dict[str, Any]:
    """A row with all its own seeds and ``AGAIN`` more."""
    seeds = seeds_of(int(row["index"]), MOST + AGAIN)
    rows = list(error_map.outcomes(as_setting(row), seeds))
    return {**row, "seeds": len(rows), **error_map.means_and_errors(rows)}


def judged() -> pd.DataFrame:
    """The committed map with its doubts, whether a setting is ``unseen``, and what is ``off_``."""
    frame = error_map.judged(load())
    return frame.assign(unseen=frame["index"] >= COUNT - UNSEEN)


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with what is predicted for them now, simulated again where they are off."""
    rows = frame.to_dict("records")
    frame = pd.DataFrame([{**row, **predicted(row)} for row in rows])
    off = np.any([excess(frame, name) > 0 for name in QUANTITIES], axis=0)
    few = off & (frame["seeds"] <= MOST)
    rows = frame.to_dict("records")
    rows = [again(row) if more else row for row, more in zip(rows, few, strict=True)]
    return pd.DataFrame(rows).astype(error_map.INTEGERS)
