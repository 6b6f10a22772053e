"""Tables made row by row: a stopped run goes on where it was, and parts together make the whole."""

import pandas as pd
import pytest

from recallbook.__main__ import main
from recallbook.sweeps import catalogue
from recallbook.sweeps.catalogue import RowTable


def square(key):
    return {"index": key, "value": key**2 / 3}


TABLE = RowTable("squares", lambda: range(5), square, "index", digits=2)


@pytest.fixture
def told(monkeypatch, tmp_path):
    """The command on a table named squares."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "row_tables", lambda: {"squares": TABLE})
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
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
