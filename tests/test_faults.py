"""Disk, store, scheduler and memory in the way: one line that says what happened, what was kept and
how to go on."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest
from kinds import KINDS, OUTCOME, POINTS

from recallbook.__main__ import main
from recallbook_studies.commands import predicting
from recallbook_studies.running import committed, run
from recallbook_studies.running.store import Result, Store, StoreFault


def full(store, path):
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")


def deleted(store, path):
    path.unlink()


def replaced(store, path):
    path.rename(path.with_suffix(".old"))
    path.write_bytes(b"something else")


def locked(store, path):
    store._connection.execute("PRAGMA busy_timeout = 1")
    store.other = sqlite3.connect(path)
    store.other.execute("BEGIN EXCLUSIVE")


@KINDS
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (full, "the disk is full: make room"),
        (deleted, "it was deleted, moved or replaced"),
        (replaced, "it was deleted, moved or replaced"),
        (locked, "another process holds it: wait"),
    ],
)
def test_what_comes_in_the_way_of_a_store_is_said_and_nothing_stored_is_lost(
    fault, says, tmp_path, kind
):
    path = tmp_path / "s.sqlite"
    with Store(path, kind.name) as store:
        store.add([Result(kind.points[0], kind.outcome, None, 0.5)])
        fault(store, path)
        many = [Result(point, None, "E" * 10**5, 0.5) for point in kind.points]
        with pytest.raises(
            StoreFault,
            match=rf"^store .*: {says}.*(; rows stored before are kept|its rows with it: run it again.*)$",
        ):
            store.add(many)
        if hasattr(store, "other"):
            store.other.close()
    if fault in (full, locked):
        with Store(path, kind.name) as store:
            assert store.get(kind.points) == [Result(kind.points[0], kind.outcome, None, 0.5)]


def test_damage_that_quotes_a_lock_is_damage(tmp_path):
    """SQLite's complaint about text that is none quotes the row, "lock_on" included."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add([Result(POINTS[0], OUTCOME, None, 0.5)])
    content = path.read_bytes()
    assert content.count(b'"lock_on": 0.3') == 1
    path.write_bytes(content.replace(b'"lock_on": 0.3', b'"lock_on": 0.\xff'))
    with pytest.raises(ValueError, match="a store that recallbook made, without damage"):
        Store(path)


def test_an_export_is_whole_or_nothing(tmp_path, monkeypatch):
    run.run_sweep(POINTS, store=tmp_path / "s.sqlite")
    names = ("x.parquet", "x.json")
    for name in names:
        (tmp_path / name).write_text("before", encoding="utf-8")

    def no_room(path, text, **how):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", no_room)
        with pytest.raises(OSError, match="No space left on device"):
            committed.export("x", POINTS, tmp_path / "s.sqlite", tmp_path, "none")
    assert {p.name for p in tmp_path.iterdir()} == {"s.sqlite", *names}
    assert {(tmp_path / name).read_text(encoding="utf-8") for name in names} == {"before"}
    paths = committed.export("x", POINTS, tmp_path / "s.sqlite", tmp_path, "none")
    assert [path for path in paths if path.stat().st_size <= 100] == []


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (ValueError("a=1 is not allowed: b"), 2),
        (StoreFault("store s: the disk is full"), 2),
        (OSError(errno.EROFS, "Read-only file system"), 2),
        (RuntimeError("2 of 3 tasks were lost"), 1),
        (MemoryError(), 1),
        (ArithmeticError("weights are not finite"), 1),
    ],
    ids=str,
)
def test_the_exit_status_says_who_can_mend_it(problem, status, monkeypatch, capsys):
    def fails(*anything, **else_):
        raise problem

    monkeypatch.setattr(predicting, "predicted", fails)
    assert main("predict --vocab 8 --seq-len 3 --dim 8 --samples 64".split()) == status
    said = capsys.readouterr().err
    assert said.startswith("recallbook: ") and said.count("\n") == 1 and len(said) > 20
