"""Every committed table that is made row by row: whole, in order, and some of its rows made again.

A table is tested by being listed in TABLES. A column compares within its tolerance in ``near``,
``None`` for a column that is not compared (hundreds of steps of training amplify rounding), or else
to the digits that are committed."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import recallbook as rb
from recallbook.sweeps import archive
from recallbook_studies.ch06 import certificates, sandwich
from recallbook_studies.ch07 import phase
from recallbook_studies.ch11 import structure
from recallbook_studies.ch12 import (
    capacity,
    heads,
    histories,
    order,
    oscillation,
    runs,
    sizes,
    tuning,
)

DIGITS = 2e-5  # relative: five digits are written, or six


class RowTable(NamedTuple):
    """``keys`` are all rows in order, ``make(key)`` is one of them, ``again`` are those that the
    tests make."""

    key: str | list[str]
    keys: Callable[[], list[Any]]
    make: Callable[[Any], dict[str, Any]]
    again: list[Any]
    near: Mapping[str, float | None] = MappingProxyType({})
    seldom: Sequence[Any] = ()  # made again by `make everything`: seconds each


def plane_keys():
    return [
        (panel, ratio, length)
        for panel in phase.PANELS
        for length in phase.LENGTHS
        for ratio in phase.RATIOS
    ]


def rows_of_plane(*numbers):
    return [tuple(phase.plane().iloc[number][["panel", "ratio", "seq_len"]]) for number in numbers]


def case_of_sandwich(name):
    return sandwich.row(name, dict(sandwich.cases())[name])


TABLES = {
    "unequal_structure": RowTable("key", structure.keys, structure.row, ["low_rank(64), L = 16"]),
    "certificates": RowTable(
        "index", lambda: list(range(certificates.COUNT)), certificates.row, [3, 17, 34]
    ),
    "sufficient": RowTable(
        "case",
        lambda: [name for name, _ in sandwich.cases()],
        case_of_sandwich,
        [],
        # few draws settle it
        seldom=sandwich.load()
        .query("accuracy == 0.5 and sufficient < 1000")
        .nsmallest(1, "vocab")["case"]
        .tolist(),
    ),
    "mlp_phase": RowTable(
        ["panel", "ratio", "seq_len"],
        plane_keys,
        lambda key: phase.cell(key[0], key[1], key[2]),
        rows_of_plane(38),
        {"width": 0.01},
        rows_of_plane(2, 88),
    ),
}
SURVIVES = {"heads": heads, "histories": histories, "order": order, "oscillation": oscillation}
TABLES |= {
    # training amplifies rounding: rows of these are made again as means over seeds, in
    # test_survives.py
    **{
        f"survives_{name}": RowTable("key", module.keys, module.row, [])
        for name, module in SURVIVES.items()
    },
    "survives_tuning": RowTable("key", lambda: tuning.keys(tuning.searched()), tuning.row, []),
    "survives": RowTable(
        "key",
        lambda: [cell.key(seed) for cell in runs.cells() for seed in sizes.SEEDS],
        runs.row,
        [],
    ),
    "survives_capacity": RowTable(
        "key",
        lambda: [case.key for case in capacity.cases()],
        capacity.row,
        ["three steps 16 all 1000 0"],
        dict.fromkeys(("recall", "next_recall", "bits"), 0.01),
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


def keys_of(table, frame):
    return (
        frame[table.key].tolist()
        if isinstance(table.key, str)
        else list(map(tuple, frame[table.key].to_numpy()))
    )


@pytest.mark.parametrize("name", TABLES)
def test_a_committed_table_is_whole(name):
    table = TABLES[name]
    found, wanted = keys_of(table, rb.load_results(name)), table.keys()
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
    table = TABLES[name]
    frame = rb.load_results(name)
    stored, again = frame.iloc[keys_of(table, frame).index(key)], table.make(key)
    assert set(again) <= set(frame.columns) | {"seconds"}
    wrong = {}
    for column in set(again) & set(frame.columns):
        near, old, new = table.near.get(column, DIGITS), stored[column], again[column]
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
