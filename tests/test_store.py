"""The store: what it refuses and leaves alone, what it keeps, what comes in its way, and kills."""

import json
import math
import os
import random
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import by_night

from recallbook.__main__ import main
from recallbook_studies.running.point import Key, canonical
from recallbook_studies.running.store import APPLICATION, Result, Store, StoreFault

pytestmark = pytest.mark.essential

KIND = "largest"  # a table's store, by its name
FIELDS = [{"vocab": 256, "ratio": 0.1 * n} for n in range(40)]
KEYS = [Key(canonical(fields), fields) for fields in FIELDS]
OUTCOME = [{"lock_on": 0.3, "size": math.inf, "a name": None}] * 2


def made(path: Path, kind: str = KIND) -> bytes:
    with Store(path, kind) as store:
        store.add(Result(key, OUTCOME, None, 0.5) for key in KEYS)
    return path.read_bytes()


def refused(path: Path, match: str) -> None:
    """The error is clear, and the folder is byte for byte as it was."""
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    with pytest.raises(ValueError, match=match):
        Store(path, KIND)
    assert main(["table", KIND, str(path)]) == 2
    assert {
        file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()
    } == before


def test_results_come_back_exactly(tmp_path):
    (one, two, three), path = KEYS[:3], tmp_path / "s.sqlite"
    path.touch()  # as one that was killed while it was made
    results = [Result(one, OUTCOME, None, 0.5), Result(two, None, "OSError: no", 0.1)]
    with Store(path, KIND) as store:
        store.add(results)
    with Store(path, KIND) as store:
        assert store.get([two, three, one]) == [results[1], results[0]]
        assert store.missing(KEYS[:3]) == [three] and store.missing(KEYS[:3], True) == [two, three]
    assert os.listdir(tmp_path) == ["s.sqlite"]


def test_an_outcome_stays_and_a_failure_is_replaced(tmp_path):
    (one, two, *_), path, other = KEYS, tmp_path / "s.sqlite", [0.9]
    failed, later = (
        [Result(one, outcome, None, 0.5), Result(two, *second, 0.1)]
        for outcome, second in ((OUTCOME, (None, "OSError: no")), (other, (other, None)))
    )
    with Store(path, KIND) as first, Store(path, KIND) as second:
        first.add(failed)
        second.add(later)  # of two writers each row is stored once, too
        assert first.missing(KEYS) == second.missing(KEYS) == KEYS[2:]
        assert [result.outcome for result in first.get(KEYS)] == [OUTCOME, other]
    with Store(path, KIND) as store:  # the checksum of the replaced row holds
        assert len(store.get(KEYS)) == 2


@pytest.mark.parametrize(
    "content", [b"text\n", b"\x00" * 5000, b"SQLite format 3\x00 and then something else"]
)
def test_foreign_files_are_left_alone(tmp_path, content):
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    refused(path, "store=.*not allowed: a store that recallbook made, without damage")


MARKED = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = "


@pytest.mark.parametrize(
    ("commands", "says"),
    [
        (f'CREATE TABLE "{KIND}" (key TEXT PRIMARY KEY)', "a store that recallbook made"),
        (f"CREATE TABLE a (b); {MARKED}2", r"its marks are .*, 2, 'ok'\), and would be"),
        (f"CREATE TABLE a (b); {MARKED}1", r"without damage .*no such table"),
    ],
)
def test_foreign_databases_are_left_alone(tmp_path, commands, says):
    path = tmp_path / "s.sqlite"
    other = sqlite3.connect(path)
    other.executescript(commands)
    other.close()
    refused(path, says)


def test_stores_of_another_kind_are_left_alone(tmp_path):
    made(tmp_path / "s.sqlite", "results")
    refused(tmp_path / "s.sqlite", f"of '{KIND}' .no such table: {KIND}")


def test_what_is_no_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in ("", "fifo", "one\ntwo"):
        refused(tmp_path / path, r"^store=[^\n]* is not allowed: .* on one line")


@pytest.mark.parametrize("seconds", ["many", 1e999])
def test_seconds_are_numbers(tmp_path, seconds):
    made(tmp_path / "s.sqlite")
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        other.execute(f'UPDATE "{KIND}" SET seconds = ?', (seconds,))
    other.close()
    refused(tmp_path / "s.sqlite", "seconds=.* is no number")


def test_every_kind_of_damage_is_seen(tmp_path):
    path = tmp_path / "s.sqlite"
    whole = made(path)
    generator = random.Random(0)
    damaged = [whole[: len(whole) // 2], whole[:-1], whole[:200], whole[: len(whole) - 4096]]
    seen = 0
    for _ in range(60):  # one byte of one row: SQLite's own check does not look there
        at = generator.choice(
            [i for i in (generator.randrange(4096, len(whole)) for _ in range(50)) if whole[i]]
        )
        damaged.append(
            whole[:at] + bytes([whole[at] ^ 1 << generator.randrange(8)]) + whole[at + 1 :]
        )
    for content in damaged:
        path.write_bytes(content)
        try:
            with Store(path, KIND) as store:
                # the byte was in a gap, or in the time taken: nothing that is read changed
                assert [r.outcome for r in store.get(KEYS)] == [OUTCOME] * 40
        except ValueError as problem:
            seen += bool(re.search(r"without damage.*\([^\n]+\): it was left as is$", str(problem)))
            assert path.read_bytes() == content
    assert seen > 50


def test_damage_that_quotes_a_lock_is_damage(tmp_path):
    """SQLite's complaint about text that is none quotes the row, "lock_on" included."""
    path = tmp_path / "s.sqlite"
    with Store(path, KIND) as store:
        store.add([Result(KEYS[0], OUTCOME[0], None, 0.5)])
    content = path.read_bytes()
    assert content.count(b'"lock_on": 0.3') == 1
    path.write_bytes(content.replace(b'"lock_on": 0.3', b'"lock_on": 0.\xff'))
    with pytest.raises(ValueError, match="a store that recallbook made, without damage"):
        Store(path, KIND)


# What comes in the way


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


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (full, r"database or disk is full \(SQLITE_FULL\)"),
        (deleted, r".* \(SQLITE_READONLY_DBMOVED\)"),
        (replaced, r".* \(SQLITE_READONLY_DBMOVED\)"),
        (locked, r"database is locked \(SQLITE_BUSY\)"),
    ],
)
def test_what_comes_in_the_way_is_said_and_nothing_stored_is_lost(fault, says, tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path, KIND) as store:
        store.add([Result(KEYS[0], OUTCOME, None, 0.5)])
        fault(store, path)
        many = [Result(key, None, "E" * 10**5, 0.5) for key in KEYS]
        with pytest.raises(StoreFault, match=rf"^store .*: {says}: mend that.* is kept$"):
            store.add(many)
        if hasattr(store, "other"):
            store.other.close()
    if fault in (full, locked):
        with Store(path, KIND) as store:
            assert store.get(KEYS) == [Result(KEYS[0], OUTCOME, None, 0.5)]


KILLING = """
import json, os, random, signal, sys, tempfile, time
from recallbook_studies.running import run
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.running.store import Store

folder, kills = sys.argv[1], int(sys.argv[2])
path, log = os.path.join(folder, "s.sqlite"), os.path.join(folder, "log")
add = Store.add


def row(cell, seed):
    time.sleep(0.002 * len(seed))
    for one in seed:
        note("measured", f"{cell} {one}")
    return [{"value": (cell + one) / 3} for one in seed]


def listed():
    return [{"cell": n // 4, "seed": n % 4} for n in range(60)]


table = RowTable("squares", "", row, "cell seed", together="seed", listed=listed)


def work(path):
    with Store(path, "squares") as store:
        run.fill(table, store.missing(table.keys()), store)


def exported(path):
    from recallbook_studies.running.committed import export  # starts threads, so after all forks

    work(path)
    with tempfile.TemporaryDirectory() as apart:
        return export(table, path, apart)[0].read_bytes()


def note(what, key):
    with open(log, "a") as file:
        file.write(f"{what} {key}\\n")


def noted_add(store, results):
    results = list(results)
    add(store, results)
    for result in results:
        note("stored", "{cell} {seed}".format(**result.key.fields))


def held():
    if not os.path.exists(path):
        return set()
    with Store(path, "squares") as store:
        return {"{cell} {seed}".format(**result.key.fields) for result in store.get(table.keys())}


Store.add = noted_add
generator, found, attempts, longest = random.Random(1), [], 0, 0.1
while len(found) < kills and attempts < 20 * kills:
    attempts += 1
    if len(held()) == 60:
        os.remove(path)
    before = held()
    open(log, "w").close()
    child = os.fork()
    if not child:
        work(path)
        os._exit(0)
    time.sleep(generator.uniform(0, longest))
    os.kill(child, signal.SIGKILL)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        longest /= 1.5  # it had finished, and does not count: this machine is faster than that
        continue
    lines = [line.strip().split(" ", 1) for line in open(log)]
    stored = {key for what, key in lines if what == "stored"}
    again = before & {key for what, key in lines if what == "measured"}
    after = held()
    longest *= 1.2 if after == before else 1.0  # it had hardly begun
    found.append(
        {"lost": len((before | stored) - after), "again": len(again), "before": len(before), "after": len(after)}
    )
same = exported(path) == exported(path + "2")
print(json.dumps({"kills": found, "same": same, "files": sorted(os.listdir(folder))}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", by_night((3, 60), day=1))
def test_kills_lose_nothing_and_repeat_nothing(tmp_path, number):
    """And what is resumed after the last one exports the bytes of a run that nobody killed."""
    # children are forked from a process that has used no threads, so each starts at once
    command = [sys.executable, "-c", KILLING, str(tmp_path), str(number)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=900, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    kills = report["kills"]
    assert len(kills) == number
    assert [kill for kill in kills if kill["lost"] or kill["again"] or kill["after"] % 4] == []
    assert sum(0 < kill["before"] < kill["after"] < 60 for kill in kills) >= number // 10, (
        "kills in the middle of a resumed run"
    )
    assert report["same"] and report["files"] == ["log", "s.sqlite", "s.sqlite2"]
