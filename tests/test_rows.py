"""Tables made row by row: a stopped run goes on where it was, and parts together make the whole."""

import pandas as pd
import pytest

from recallbook.sweeps.rows import command_line, extend, join, keyed_table


def test_a_stopped_run_goes_on(tmp_path):
    store, made = tmp_path / "rows.csv", []

    def make(key):
        if key == 3 and len(made) == 3:
            raise KeyboardInterrupt
        made.append(key)
        return {"index": key, "value": key**2}

    with pytest.raises(KeyboardInterrupt):
        extend(store, "index", range(5), make)
    assert list(pd.read_csv(store)["index"]) == [0, 1, 2]
    made.append("again")
    extend(store, "index", range(5), make)
    assert made == [0, 1, 2, "again", 3, 4]
    assert list(pd.read_csv(store)["value"]) == [0, 1, 4, 9, 16]


def test_a_table_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    store, file = tmp_path / "rows.csv", tmp_path / "table.csv"
    extend(store, "index", [1, 0], lambda key: {"index": key, "value": key / 3})
    join([store], "index", range(2), file, digits=2)
    assert file.read_text() == "index,value\n0,0\n1,0.33\n"

    def no_room(frame, path, **how):
        path.write_text("index")
        raise OSError

    monkeypatch.setattr(pd.DataFrame, "to_csv", no_room)
    with pytest.raises(OSError):
        join([store], "index", range(2), file)
    assert file.read_text().endswith("0.33\n") and {*tmp_path.iterdir()} == {store, file}


def test_parts_make_the_whole():
    seen, written = [], []
    for part in ("0/2", "1/2"):
        fill = lambda store, chosen: seen.extend(range(5)[chosen])  # noqa: E731
        command_line("x", "What it does.", fill, written.extend, ["s", "--part", part])
    command_line("x", None, lambda store, chosen: None, written.extend, ["a", "b", "--export"])
    assert sorted(seen) == list(range(5)) and [str(path) for path in written] == ["a", "b"]


def test_a_device_is_handed_on_where_there_may_be_one():
    seen = []

    def called(device):
        fill = lambda store, part, device: seen.append((store.name, part, str(device)))  # noqa: E731
        command_line(
            "x", None, fill, lambda stores: None, ["s.csv", "--device", device], devices=True
        )

    called("cpu")
    assert seen == [("s.csv", slice(0, None, 1), "cpu")]
    with pytest.raises(ValueError, match="device='gpu' is not allowed"):
        called("gpu")


def test_rows_that_are_made_at_once_stay_in_one_part(tmp_path):
    keys, file = [f"{cell} {seed}" for cell in "abc" for seed in range(2)], tmp_path / "table.csv"
    stores = [str(tmp_path / name) for name in ("one", "two")]
    for store, part in zip(stores, ("0/2", "1/2"), strict=True):
        arguments = [store, "--part", part]
        keyed_table(
            "x", None, keys, lambda key: {"key": key}, file, together=2, arguments=arguments
        )
    assert list(pd.read_csv(stores[1])["key"]) == ["b 0", "b 1"]
    keyed_table("x", None, keys, None, file, arguments=[*reversed(stores), "--export"])
    assert list(pd.read_csv(file)["key"]) == keys
