"""Every committed table that is made row by row: whole, in order, and some of its rows made again.

A table is tested by being listed in TABLES. A column compares within its tolerance in ``near``,
``None`` for a column that is not compared (hundreds of steps of training amplify rounding), or else
to the digits that are committed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from recallbook_studies.running.catalogue import RowKey, RowTable
from recallbook_studies.running.store import Result, Store
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
LADDER = ["", "_map", "_order", "_oscillation", "_tuning"]
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
    "quantiles": Again(["equal 9"], QUANTILES, ["MLP 0", "unequal 1"]),
    "unequal_structure": Again(["low_rank(64), L = 16"]),
    "real_tables": Again([]),  # test_real_tables.py: their packages have to be fetched
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
    "capacities": Again(
        [(False, 0, 0, 1000, 16, 64), (True, 1024, 0, 4000, 128, 362)],
        seldom=[(False, 0, 0, 16000, 256, 512), (False, 0, 256, 2000, 64, 32)],
    ),
    "mlp_exponents": Again([], seldom=list(features.EXPONENTS)),
    "mlp_phase": Again(rows_of_plane(38), {"width": 0.01}, rows_of_plane(2, 88)),
    **{f"survives{name}": Again([]) for name in LADDER},
    "between_map": Again(
        [36],
        {"predicted_accuracy": 2e-3, "predicted_recall": 2e-3, "sampled_one": 2e-3},
        [25],
    ),
    "between_sizes": Again(
        [(128, 27, 0.5)], {f"predicted_{k}": 2e-3 for k in (1, 2, 4, 8, 16)}, [(2048, 171, 0.5)]
    ),
    "between_others": Again(
        [("muon", 86, 0, 0.5), ("fresh", 55, 2, 0.5)],
        {"recall_16": 2e-3},
        [("moves", 64, 2.4, 0.5), ("fixed", 48, 0, 0.75)],
    ),
    "survives_capacity": Again(
        ["three steps 16 1000 0"], dict.fromkeys(("recall", "next_recall"), 0.01)
    ),
}
# Tables with tests of their own, and why.
ELSEWHERE = {
    "error_map": "test_error_map.py: a row says how many seeds it took",
    "unequal_error_map": "test_error_map.py: a row says how many seeds it took",
}


def indexed(name):
    return rb.load_results(name).set_index(ROW_TABLES[name].column, drop=False)


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
    found, wanted = [*indexed(name).index], list(table.keys())
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
    frame = indexed(name)
    stored, again = frame.loc[[key]].iloc[0], table.row(key)
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
    return {"index": key, "value": np.float64(key**2 / 3), "even": np.bool_(key % 2 == 0)}


TABLE = RowTable("squares", lambda: range(5), square, "index", together=2, digits=2)
WHOLE = "index,value,even\n0,0,True\n1,0.33,False\n2,1.3,True\n3,3,False\n4,5.3,True\n"


def held(path):
    """What a store holds, by key."""
    with Store(path, "squares") as store:
        return {result.point: result.outcome for result in store.everything()}


def test_a_stopped_run_keeps_what_it_finished_and_goes_on(tmp_path):
    path, made = tmp_path / "rows", []

    def make(key):
        if key == 3 and len(made) == 3:
            raise KeyboardInterrupt
        made.append(key)
        return square(key)

    with Store(path, "squares") as store:
        with pytest.raises(KeyboardInterrupt):
            replace(TABLE, row=make).fill(store)
        assert held(path) == {str(key): square(key) for key in range(3)}, "to the last digit"
        made.append("again")
        replace(TABLE, row=make).fill(store)
    assert made == [0, 1, 2, "again", 3, 4]


def test_parts_make_the_whole_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweeping, "ROW_TABLES", {"squares": TABLE})
    monkeypatch.setattr(sweeping, "FOLDER", tmp_path)
    (tmp_path / "tables").mkdir()
    for part in ("0/2", "1/2"):
        assert main(["table", "squares", part[0], "--part", part]) == 0
    assert [*held("1")] == ["2", "3"], "rows that are made at once stay in one part"
    said = capsys.readouterr().err
    assert "squares: 100%" in said and "row/s" in said
    for stores in ("10", ""):
        assert main(["table", "squares", *stores, "--export"]) == 0
        assert (tmp_path / "tables" / "squares.csv").read_text(encoding="utf-8") == WHOLE


SOUND = {key: square(key) for key in range(5)}
UNSOUND = {  # what is changed in a store, and what is said
    "missing": ({4: ...}, "all 5 rows; 1 are missing or unknown, as 4"),
    "unknown": ({7: square(7)}, "all 5 rows; 1 are missing or unknown, as 7"),
    "twice": ({}, "each row once and none that failed; 0: twice"),
    "failed": ({2: None}, "none that failed; 2: ValueError: no"),
    "more columns": ({3: {**square(3), "more": 1}}, "all with the same columns"),
    "no rows": (dict.fromkeys(SOUND, ...), "rows, all with the same columns"),
    "no key": ({key: {"value": 1.0} for key in SOUND}, "rows of the table: .*index"),
    "other columns": ({k: {"index": k, "value": 1.0} for k in SOUND}, "those of table.csv"),
    **{
        f"value {value}": ({3: {**square(3), "value": value}}, r"columns={'value'}.*finite")
        for value in (None, math.nan, -math.inf)
    },
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_not_whole_and_sound_is_not_exported(tmp_path, name):
    changes, said = UNSOUND[name]
    stores, file = [str(tmp_path / "rows")] * (1 + (name == "twice")), tmp_path / "table.csv"
    file.write_text(WHOLE, encoding="utf-8")
    with Store(stores[0], "squares") as store:
        store.add(
            Result(RowKey(str(key), key), row, None if row else "ValueError: no", 1.0)
            for key, row in {**SOUND, **changes}.items()
            if row is not ...
        )
    with pytest.raises(ValueError, match=f"^(store|columns)=.* is not allowed: .*{said}|{said}"):
        TABLE.export("squares", stores, file)
    assert file.read_text(encoding="utf-8") == WHOLE
    if "finite" in said:
        replace(TABLE, empty="even value").export("squares", stores, file)
        assert file.read_text(encoding="utf-8").splitlines()[4] in ("3,,False", "3,-inf,False")


def test_a_key_may_be_of_many_rows_or_in_many_columns(tmp_path):
    def pairs(key):
        return [{"a": key[0], "b": key[1], "draw": draw} for draw in range(2)]

    keys, file = [("y", 1), ("x", 2)], tmp_path / "table.parquet"
    table = RowTable("", lambda: keys, pairs, ["a", "b"], suffix=".parquet")
    with Store(tmp_path / "one", "pairs") as store:
        for part in (slice(1, 2), slice(None)):
            table.fill(store, part)
    table.export("pairs", [str(tmp_path / "one")], file)
    assert pd.read_parquet(file).equals(pd.DataFrame([*pairs(keys[0]), *pairs(keys[1])]))
