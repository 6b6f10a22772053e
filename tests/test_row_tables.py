"""Every committed table that is made row by row: whole, in order, and some of its rows made again.

A table is tested by being listed in TABLES. A column compares within its tolerance in ``near``,
``None`` for a column that is not compared (hundreds of steps of training amplify rounding), or else
to the digits that are committed."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import recallbook as rb
from recallbook.sweeps import archive, catalogue
from recallbook_studies.ch06 import sandwich
from recallbook_studies.ch07 import features, phase

ROW_TABLES = catalogue.row_tables()
DIGITS = 2e-5  # relative: five digits are written, or six


class Again(NamedTuple):
    """Which rows of a table the tests make again, and how near they come."""

    again: list[Any]
    near: Mapping[str, float | None] = MappingProxyType({})
    seldom: Sequence[Any] = ()  # made again by `make everything`: seconds each


def rows_of_plane(*numbers):
    return [tuple(phase.plane().iloc[number][["panel", "ratio", "seq_len"]]) for number in numbers]


# training amplifies rounding: rows of the ladder are made again as means over seeds, in
# test_survives.py
LADDER = ["", "_heads", "_histories", "_order", "_oscillation", "_tuning"]
TABLES = {
    "unequal_structure": Again(["low_rank(64), L = 16"]),
    "certificates": Again([3, 17, 34]),
    "sufficient": Again(
        [],
        # few draws settle it
        seldom=sandwich.load()
        .query("accuracy == 0.5 and sufficient < 1000")
        .nsmallest(1, "vocab")["case"]
        .tolist(),
    ),
    "critical_sizes": Again([(False, 256, 16, 96), (True, 256, 256, 512)]),
    "mlp_budget": Again([("wave", 4, 8192)], seldom=[("he3", 16, 32768), ("relu", 0, 32768)]),
    "mlp_exponents": Again([], seldom=list(features.EXPONENTS)),
    "mlp_phase": Again(rows_of_plane(38), {"width": 0.01}, rows_of_plane(2, 88)),
    **{f"survives{name}": Again([]) for name in LADDER},
    "survives_capacity": Again(
        ["three steps 16 all 1000 0"], dict.fromkeys(("recall", "next_recall", "bits"), 0.01)
    ),
}
# Tables with tests of their own, and why.
ELSEWHERE = {
    "error_map": "test_error_map.py: a row says how many seeds it took",
    "unequal_error_map": "test_unequal_error_map.py: a row says how many seeds it took",
    "quantiles": "test_quantiles.py: laws are compared, too",
    "terms_alone": "test_moments.py: a case is many rows",
}


def test_every_committed_table_is_tested():
    missing = set(archive.tables()) - set(TABLES) - set(ELSEWHERE)
    assert missing == set(), "list them in TABLES of test_row_tables.py"
    assert (set(TABLES) | set(ELSEWHERE)) - set(archive.tables()) == set(), "no such tables"
    assert set(archive.tables()) - set(ROW_TABLES) == set(), "no command makes them"


@pytest.mark.parametrize("name", TABLES)
def test_a_committed_table_is_whole(name):
    table = ROW_TABLES[name]
    found, wanted = table.keys_in(rb.load_results(name)), list(table.keys())
    assert (set(wanted) - set(found), set(found) - set(wanted)) == (set(), set()), (
        "rows missing, and rows too many"
    )
    assert len(found) == len(set(found)), "rows twice"


ROWS_MADE_AGAIN = [
    pytest.param(name, key, marks=mark)
    for name, table in TABLES.items()
    for mark, keys in ((pytest.mark.slow, table.again), (pytest.mark.nightly, table.seldom))
    for key in keys
]


@pytest.mark.parametrize(("name", "key"), ROWS_MADE_AGAIN, ids=str)
def test_a_committed_row_is_made_again(name, key):
    table = ROW_TABLES[name]
    frame = rb.load_results(name)
    stored, again = frame.iloc[table.keys_in(frame).index(key)], table.row(key)
    assert set(again) <= set(frame.columns) | {"seconds"}
    wrong = {}
    for column in set(again) & set(frame.columns):
        near, old, new = TABLES[name].near.get(column, DIGITS), stored[column], again[column]
        if near is None:
            continue
        if pd.isna(old) or pd.isna(new):
            same = pd.isna(old) and pd.isna(new)
        elif isinstance(old, (float, np.floating)):
            same = np.isclose(new, old, rtol=near, atol=near)
        else:
            same = new == old
        if not same:
            wrong[column] = (old, new)
    assert wrong == {}, "committed, and made again"
