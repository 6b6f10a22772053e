"""Committed tables: some rows of each made again; and the engine that makes, resumes and exports
them, on a small one.

A table is tested by being listed in TABLES; how near its rows come, it says itself."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import recallbook as rb
from recallbook.__main__ import main
from recallbook_studies.commands import sweeping
from recallbook_studies.running import archive, committed
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.running.run import fill
from recallbook_studies.running.store import Result, Store
from recallbook_studies.sweeps import ROW_TABLES

pytestmark = pytest.mark.essential


class Again(NamedTuple):
    """Which rows of a table the tests make again, as queries."""

    again: Sequence[str] = ()
    seldom: Sequence[str] = ()  # made again by `make everything`: seconds each


# training amplifies rounding: rows of the ladder are made again as means over seeds, in
# test_survives.py
LADDER = ["", "_long", "_map", "_tuning"]
TABLES = {
    "error_map": Again(["index in (19, 78)"]),
    "unequal_error_map": Again(["index == 5"]),
    "fresh_map": Again(["index == 1024000120", "index == 1024100148"]),
    "quantiles": Again(["key == 'equal 9'"], ["key == 'unequal 1'"]),
    "real_tables": Again(),  # test_real_tables.py: their packages have to be fetched
    "certificates": Again(["index in (17, 82, 190)"], ["index in (3, 34)"]),
    # few draws settle it
    "sufficient": Again((), ["accuracy == 0.5 and sufficient < 1000 and vocab < 60"]),
    "largest": Again(["case == 0 and seed == 0"], ["case == 9 and seed == 3"]),
    "critical_sizes": Again(["vocab == 256 and seq_len == 16 and dim == 96"]),
    "cures": Again(
        ["cure == 'none' and samples == 512"],
        ["cure == 'halves' and vocab == 512 and samples == 1024"],
    ),
    "capacities": Again(
        [
            "samples == 1000 and dim == 16 and seq_len == 64",
            "seq_len == 362 and out_of > 0 and trigger_in_values",
        ],
        ["samples == 16000 and dim == 256 and seq_len == 512 and out_of == 0 and width == 0"],
    ),
    "mlp_phase": Again(["index == 38"], ["index in (2, 88)"]),
    **{f"survives{name}": Again() for name in LADDER},
    "between_map": Again(["index == 36"], ["index == 25"]),
    "between_sizes": Again(
        ["vocab == 128 and dim == 27 and unit == 0.5"],
        ["vocab == 2048 and dim == 171 and unit == 0.5"],
    ),
    "survives_capacity": Again(["rung == 'three steps' and dim == 16"]),
}


def test_every_committed_table_is_tested():
    assert {*TABLES} == {*archive.tables()}, "list them in TABLES of test_row_tables.py"
    assert {*archive.tables()} == {*ROW_TABLES} - {"explorer"}, (
        "_TABLES of sweeps.py lists each (CHECKLISTS.md, A committed table, steps 1 and 2)"
    )


@pytest.mark.parametrize("name", [*archive.sweeps(), *archive.tables()])
def test_every_committed_table_is_filled(name):
    made = rb.load_results(name).drop(columns=sweeping.TABLES[name].key_columns.split())
    assert made.notna().any(axis=None), (
        f"{name} has nothing but its key (CHECKLISTS.md, A committed table, step 3)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", sweeping.TABLES)
def test_no_key_is_there_twice(name):
    keys = [key.canonical for key in sweeping.TABLES[name].keys()]
    assert keys and len(set(keys)) == len(keys)


ROWS_MADE_AGAIN = [
    pytest.param(name, query, marks=mark)
    for name, table in TABLES.items()
    for mark, queries in ((pytest.mark.slow, table.again), (pytest.mark.nightly, table.seldom))
    for query in queries
]


@pytest.mark.parametrize(("name", "query"), ROWS_MADE_AGAIN)
def test_a_committed_row_is_made_again(name, query):
    table = ROW_TABLES[name]
    rows = rb.load_results(name).query(query).to_dict("records")
    old, new = committed.again(table, [table.key_of(row) for row in rows])
    made = new.drop(columns="same")
    assert len(new) == len(rows) > 0 and new["same"].all(), old[[*made]].compare(made)


# The engine


def square(index):
    return {"value": np.float64(index**2 / 3), "even": np.bool_(index % 2 == 0)}


def five():
    return [{"index": index} for index in range(5)]


TABLE = RowTable("squares", "", square, "index", digits=2, listed=five)
WHOLE = "index,value,even\n0,0,True\n1,0.33,False\n2,1.3,True\n3,3,False\n4,5.3,True\n"


@pytest.fixture
def committed_table(tmp_path, monkeypatch):
    """The table of squares among the committed ones, and its file."""
    file = tmp_path / "squares.csv"
    file.write_text(WHOLE, encoding="utf-8")
    for module in (archive, committed):
        monkeypatch.setattr(module, "tables", lambda: {"squares": file})
    monkeypatch.setattr(sweeping, "TABLES", {"squares": replace(TABLE, listed=None)})
    monkeypatch.chdir(tmp_path)
    return file


def held(path, table=TABLE):
    """What a store holds, by key."""
    with Store(path, table.name) as store:
        return {result.key.fields["index"]: result for result in store.get(table.keys())}


def filled(table, store, retry=False):
    """All that the store has of a table, once what it lacked is made."""
    fill(table, store.missing(table.keys(), retry), store)
    return store.get(table.keys())


def test_a_stopped_run_keeps_what_it_finished_and_goes_on(tmp_path):
    made = []

    def make(index):
        if index == 3 and len(made) == 3:
            raise KeyboardInterrupt
        made.append(index)
        return square(index)

    table, path = replace(TABLE, row=make), tmp_path / "rows"
    with Store(path, "squares") as store:
        with pytest.raises(KeyboardInterrupt):
            filled(table, store)
        kept = {index: result.outcome for index, result in held(path).items()}
        assert kept == {index: square(index) for index in range(3)}, "to the last digit"
        made.append("again")
        filled(table, store)
    assert made == [0, 1, 2, "again", 3, 4]


def test_what_is_missing_or_not_finite_is_a_failure_and_made_again_on_request(tmp_path):
    values = [math.nan, None, -math.inf, 1.0, 2.0]
    with Store(tmp_path / "rows", "squares") as store:
        table = replace(TABLE, row=lambda index: {"value": values[index]})
        for retry, failed in ((False, 3), (True, 2)):
            results = filled(table, store, retry)
            assert (
                sum(r.error == "ArithmeticError: missing or not finite: value" for r in results)
                == failed
            )
            values[0] = 0.0
        table = replace(table, empty="value")
        assert [r.outcome for r in filled(table, store, True)][2:3] == [{"value": -math.inf}]


def test_rows_made_at_once_stay_together_and_fail_alone():
    asked = []

    def make(cell, seed, rate):
        asked.append((cell, seed, rate))
        return [{"value": math.nan if one == 2 else cell + one} for one in seed]

    keys = [{"cell": cell, "seed": seed, "rate": 0.1} for cell in (0, 1) for seed in (1, 2)]
    table = RowTable("cells", "", make, "cell seed rate", together="seed rate", listed=lambda: keys)
    with Store(None, "cells") as store:
        results = filled(table, store)
    assert asked == [(cell, [1, 2], [0.1, 0.1]) for cell in (0, 1)]
    assert [bool(result.error) for result in results] == [False, True] * 2


def test_rows_of_two_versions_never_mix(tmp_path):
    with Store(tmp_path / "rows", "squares") as store:
        filled(TABLE, store)
    for later in (replace(TABLE, scheme="3"), replace(TABLE, listed=lambda: [{"index": 5}])):
        with pytest.raises(ValueError, match=r"one with all \d rows.*; \d are missing"):
            committed.export(later, tmp_path / "rows", tmp_path)


def test_a_table_is_made_by_the_command(committed_table, capsys):
    assert main(["table", "squares", "rows"]) == 0
    said = capsys.readouterr().err
    assert "squares: 100%" in said and "row/s" in said
    for store in (["rows"], []):
        committed_table.write_text(WHOLE.replace("0.33", "0.330000"), encoding="utf-8")
        assert main(["table", "squares", *store, "--export"]) == 0
        assert committed_table.read_text(encoding="utf-8") == WHOLE
    committed_table.write_text("index\n0\n1\n", encoding="utf-8")
    assert main(["table", "squares", "--export"]) == 2
    assert "the committed file has only its key" in capsys.readouterr().err
    committed_table.write_text(WHOLE, encoding="utf-8")
    record = json.loads(committed_table.with_suffix(".json").read_text(encoding="utf-8"))
    assert record["data"] == committed.data_hash(rb.load_results("squares"))
    for option in ("--retry", "--workers 2", "--device cpu"):
        assert main(["table", "squares", "rows", "--export", *option.split()]) == 2
        assert "is not allowed: left out with --export" in capsys.readouterr().err


def test_failures_of_another_run_count(committed_table, monkeypatch, capsys):
    broken = replace(sweeping.TABLES["squares"], row=lambda index: {"value": 1 / (index - 3)})
    monkeypatch.setitem(sweeping.TABLES, "squares", broken)
    for _ in range(2):
        assert main(["table", "squares"]) == 1
        assert ", 1 failed\n  1 x ZeroDivisionError: division by zero" in capsys.readouterr().out
    monkeypatch.setitem(sweeping.TABLES, "squares", replace(broken, row=square))
    assert main(["sweep", "squares", "--retry"]) == 0


SOUND = {index: square(index) for index in range(5)}
UNSOUND = {  # what is changed in a store, and what is said
    "missing": ({4: ...}, "all 5 rows.*; 1 are missing"),
    "failed": ({2: None}, "none that failed; .*: ValueError: no"),
    "more columns": ({3: {**square(3), "more": 1}}, "all with the same columns"),
    "other columns": ({key: {"value": 1.0} for key in SOUND}, "those of the committed table"),
    **{
        f"value {value}": ({3: {**square(3), "value": value}}, r"columns={'value'}.*finite")
        for value in (None, math.nan, -math.inf)
    },
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_not_whole_and_sound_is_not_exported(committed_table, name):
    changes, said = UNSOUND[name]
    with Store("rows", "squares") as store:
        store.add(
            Result(TABLE.key_of({"index": index}), row, None if row else "ValueError: no", 1.0)
            for index, row in {**SOUND, **changes}.items()
            if row is not ...
        )
    with pytest.raises(ValueError, match=f"^(store|columns)=.* is not allowed: .*{said}|{said}"):
        committed.export(TABLE, "rows")
    assert committed_table.read_text(encoding="utf-8") == WHOLE
    if "finite" in said:
        committed.export(replace(TABLE, empty="value"), "rows")
        written = committed_table.read_text(encoding="utf-8")
        assert written.splitlines()[4] in ("3,,False", "3,-inf,False")
