"""Both kinds of store, with what they hold: results of points, and rows of a table."""

import math
from typing import Any, NamedTuple

import pytest
from sized import marked

import recallbook as rb
from recallbook_studies.running.catalogue import RowKey
from recallbook_studies.running.store import as_text


class Kind(NamedTuple):
    """What a store is of, what it has results of, an outcome of it, and its command."""

    name: str
    points: list[Any]
    outcome: Any
    command: str


POINTS = [rb.Point(marked(16, 4, 8, 50), seed) for seed in range(40)]
ROW_KEYS = [RowKey(as_text(key), key) for key in (("a", 0.1 * n) for n in range(40))]
OUTCOME = {"accuracy": 0.1, "lock_on": 1 / 3, "recall": None}
ROWS = [{"value": 1 / 3, "size": math.inf, "a name": None}] * 2
KINDS = pytest.mark.parametrize(
    "kind",
    [
        Kind("results", POINTS, OUTCOME, "sweep trial --store"),
        Kind("lengths", ROW_KEYS, ROWS, "table lengths"),
    ],
    ids=lambda kind: kind.name,
)
