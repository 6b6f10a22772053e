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
from sampling import OUTCOMES

import recallbook as rb
from recallbook.__main__ import main
from recallbook_studies.ch06 import sandwich
from recallbook_studies.ch07 import features, phase
from recallbook_studies.ch09 import quantiles
from recallbook_studies.commands import sweeping
from recallbook_studies.running import archive
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.sweeps import ROW_TABLES

pytestmark = pytest.mark.essential

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
LADDER = ["", "_map", "_order", "_oscillation", "_prices", "_tuning"]
# two of 60 draws may cross a quantile on another processor, or with another order of sums
QUANTILES = {
    column: 2.1 / quantiles.SEEDS if "below" in column else 2e-3
    for column in rb.load_results("quantiles")
    if column.startswith(tuple(OUTCOMES))
}
TABLES = {
    # how many seeds a row takes depends on the machine only where they take long; predictions move
    # in the last digits
    "fresh_map": Again(
        [("map", 1024 * 10**6 + 120), ("wide", 1024 * 10**6 + 10**5 + 148)],
        {f"predicted_{name}": 1e-6 for name in OUTCOMES},
    ),
    "fresh_coverage": Again([(8, 9 * 10**8 + 8003)]),
    "quantiles": Again(["equal 9"], QUANTILES, ["MLP 0", "unequal 1"]),
    "unequal_structure": Again(["low_rank(64), L = 16"]),
    "certificates": Again([17, 82, 190], seldom=[3, 34]),
    "sufficient": Again(
        [],
        # few draws settle it
        seldom=sandwich.load()
        .query("accuracy == 0.5 and sufficient < 1000")
        .nsmallest(1, "vocab")["case"]
        .tolist(),
    ),
    "largest": Again([(0, 0)], seldom=[(9, 3), (17, 2)]),
    "critical_sizes": Again([(False, 256, 16, 96), (True, 256, 256, 512)]),
    "lengths": Again([(256, 2), (4096, 1.15)], seldom=[(65536, 1.15)]),
    "capacities": Again([(0, 16000, 256, 512), (0, 1000, 16, 64)], seldom=[(256, 2000, 64, 32)]),
    "mlp_exponents": Again([], seldom=list(features.EXPONENTS)),
    "mlp_phase": Again(rows_of_plane(38), {"width": 0.01}, rows_of_plane(2, 88)),
    **{f"survives{name}": Again([]) for name in LADDER},
    "survives_minima": Again(["64 11 2.0"], {"margin": None, "predicted": 1e-3}),
    "survives_capacity": Again(
        ["three steps 16 1000 0"], dict.fromkeys(("recall", "next_recall", "bits"), 0.01)
    ),
}
# Tables with tests of their own, and why.
ELSEWHERE = {
    "error_map": "test_error_map.py: a row says how many seeds it took",
    "unequal_error_map": "test_error_map.py: a row says how many seeds it took",
    "terms_alone": "test_moments.py: a case is many rows",
}


def test_every_committed_table_is_tested():
    missing = set(archive.tables()) - set(TABLES) - set(ELSEWHERE)
    assert missing == set(), "list them in TABLES of test_row_tables.py"
    assert (set(TABLES) | set(ELSEWHERE)) - set(archive.tables()) == set(), "no such tables"
    assert set(archive.tables()) - set(ROW_TABLES) == set(), "no command makes them"


# keys of `sufficient` are found by search
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "sufficient")) for name in TABLES],
)
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


# Tables made row by row


def square(key):
    return {"index": key, "value": key**2 / 3}


TABLE = RowTable("squares", lambda: range(5), square, "index", digits=2)


@pytest.fixture
def told(monkeypatch, tmp_path):
    """The command on a table named squares."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweeping, "ROW_TABLES", {"squares": TABLE})
    monkeypatch.setattr(sweeping, "FOLDER", tmp_path)
    (tmp_path / "tables").mkdir()
    return lambda words: main(["table", *words.split()])


def test_a_stopped_run_goes_on(tmp_path):
    store, made = tmp_path / "rows.csv", []

    def make(key):
        if key == 3 and len(made) == 3:
            raise KeyboardInterrupt
        made.append(key)
        return square(key)

    table = RowTable("", lambda: range(5), make, "index")
    with pytest.raises(KeyboardInterrupt):
        table.fill(store)
    assert list(pd.read_csv(store)["index"]) == [0, 1, 2]
    made.append("again")
    table.fill(store)
    assert made == [0, 1, 2, "again", 3, 4]


def test_a_table_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    store, file = tmp_path / "rows.csv", tmp_path / "table.csv"
    TABLE.fill(store, slice(0, 4))
    with pytest.raises(ValueError, match=r"store=.*all 5 rows; 1 are missing"):
        TABLE.export([store], file)
    TABLE.fill(store)
    TABLE.export([store], file)
    whole = "index,value\n0,0\n1,0.33\n2,1.3\n3,3\n4,5.3\n"
    assert file.read_text() == whole

    def no_room(frame, path, **how):
        path.write_text("index")
        raise OSError

    monkeypatch.setattr(pd.DataFrame, "to_csv", no_room)
    with pytest.raises(OSError):
        TABLE.export([store], file)
    assert file.read_text() == whole and {*tmp_path.iterdir()} == {store, file}


def test_parts_make_the_whole_by_the_command(told, tmp_path):
    for part in ("0/2", "1/2"):
        assert told(f"squares {part[0]}.csv --part {part}") == 0
    assert list(pd.read_csv("1.csv")["index"]) == [1, 3]
    assert told("squares 1.csv 0.csv --export") == 0
    assert list(pd.read_csv(tmp_path / "tables" / "squares.csv")["index"]) == [*range(5)]


def test_what_is_wrong_is_said_in_one_line(told, capsys):
    for words, said in {
        "cubes x.csv": "name='cubes' is not allowed: one of 'squares'",
        "squares": "store=[] is not allowed: one file to fill",
        "squares x.csv --device cuda": "device='cuda' is not allowed: left out",
    }.items():
        assert told(words) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        told("squares x.csv --part 2/2")
    assert (
        "argument --part: invalid I/N, with I from 0 to below N, value" in capsys.readouterr().err
    )


def test_rows_that_are_made_at_once_stay_in_one_part(tmp_path):
    keys = [f"{cell} {seed}" for cell in "abc" for seed in range(2)]
    table = RowTable("", lambda: keys, lambda key: {"key": key}, together=2)
    table.fill(tmp_path / "two", slice(1, None, 2))
    assert list(pd.read_csv(tmp_path / "two")["key"]) == ["b 0", "b 1"]


def test_a_key_may_be_of_many_rows_or_in_many_columns(tmp_path):
    def pairs(key):
        return [{"a": key[0], "b": key[1], "draw": draw} for draw in range(2)]

    keys, file = [("y", 1), ("x", 2)], tmp_path / "table.parquet"
    table = RowTable("", lambda: keys, pairs, ["a", "b"], suffix=".parquet")
    table.fill(tmp_path / "one")
    table.fill(tmp_path / "one")
    table.export([tmp_path / "one"], file)
    assert pd.read_parquet(file).to_numpy().tolist() == [
        ["y", 1, 0],
        ["y", 1, 1],
        ["x", 2, 0],
        ["x", 2, 1],
    ]
