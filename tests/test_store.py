"""The store of either kind: what it refuses and leaves alone, what it keeps, and kills."""

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from kinds import KINDS, Kind

from recallbook.__main__ import main
from recallbook_studies.running.store import APPLICATION, Result, Store

pytestmark = pytest.mark.essential

KILLS = 20


def made(path: Path, kind: Kind) -> bytes:
    with Store(path, kind.name) as store:
        store.add(Result(point, kind.outcome, None, 0.5) for point in kind.points)
    return path.read_bytes()


def refused(path: Path, kind: Kind, match: str) -> None:
    """The error is clear, and the folder is byte for byte as it was."""
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    with pytest.raises(ValueError, match=match):
        Store(path, kind.name)
    assert main([*kind.command.split(), str(path)]) == 2
    assert {
        file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()
    } == before


@KINDS
def test_results_come_back_exactly(tmp_path, kind):
    (one, two, three), path = kind.points[:3], tmp_path / "s.sqlite"
    results = [Result(one, kind.outcome, None, 0.5), Result(two, None, "OSError: no", 0.1)]
    with Store(path, kind.name) as store:
        store.add(results)
    with Store(path, kind.name) as store:
        assert store.get([two, three, one]) == [results[1], results[0]]
        assert len(store.keys()) == 2 and len(store.keys(retry=True)) == 1
    assert os.listdir(tmp_path) == ["s.sqlite"]


@KINDS
def test_an_outcome_stays_and_a_failure_is_replaced(tmp_path, kind):
    (one, two, *_), path, other = kind.points, tmp_path / "s.sqlite", [0.9]
    failed, later = (
        [Result(one, outcome, None, 0.5), Result(two, *second, 0.1)]
        for outcome, second in ((kind.outcome, (None, "OSError: no")), (other, (other, None)))
    )
    with Store(path, kind.name) as first, Store(path, kind.name) as second:
        first.add(failed)
        second.add(later)  # of two writers each row is stored once, too
        assert first.keys() == second.keys() and len(first.keys()) == 2
        assert [result.outcome for result in first.get(kind.points)] == [kind.outcome, other]
    with Store(path, kind.name) as store:  # the checksum of the replaced row holds
        assert len(store.keys()) == 2


@KINDS
@pytest.mark.parametrize(
    "content", [b"", b"text\n", b"\x00" * 5000, b"SQLite format 3\x00 and then something else"]
)
def test_foreign_files_are_left_alone(tmp_path, content, kind):
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    refused(path, kind, "store=.*not allowed: a store that recallbook made, without damage")


@KINDS
@pytest.mark.parametrize(
    ("commands", "says"),
    [
        (["CREATE TABLE results (key TEXT PRIMARY KEY)"], "a store that recallbook made"),
        (
            [
                "CREATE TABLE a (b)",
                f"PRAGMA application_id = {APPLICATION}",
                "PRAGMA user_version = 2",
            ],
            r"its marks are .*, 2, 'ok'\), and would be",
        ),
        (
            [
                "CREATE TABLE a (b)",
                f"PRAGMA application_id = {APPLICATION}",
                "PRAGMA user_version = 1",
            ],
            r"without damage .*no such table",
        ),
    ],
)
def test_foreign_databases_are_left_alone(tmp_path, commands, says, kind):
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as other:
        for command in commands:
            other.execute(command)
    other.close()
    refused(path, kind, says)


@KINDS
@pytest.mark.parametrize("other", ["results", "lengths", "largest"])
def test_stores_of_another_kind_are_left_alone(tmp_path, other, kind):
    made(tmp_path / "s.sqlite", kind._replace(name=other))
    if other != kind.name:
        refused(tmp_path / "s.sqlite", kind, f"of '{kind.name}' .no such table: {kind.name}")


@KINDS
def test_what_is_no_file_is_left_alone(tmp_path, kind):
    os.mkfifo(tmp_path / "fifo")
    for path, said in {"": "a file;", "fifo": "a file;", "one\ntwo": ".* on one line"}.items():
        refused(tmp_path / path, kind, rf"^store=[^\n]* is not allowed: {said}")


@KINDS
@pytest.mark.parametrize("seconds", ["many", 1e999])
def test_seconds_are_numbers(tmp_path, kind, seconds):
    made(tmp_path / "s.sqlite", kind)
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        other.execute(f'UPDATE "{kind.name}" SET seconds = ?', (seconds,))
    other.close()
    refused(tmp_path / "s.sqlite", kind, "seconds=.* is no number")


@KINDS
def test_every_kind_of_damage_is_seen(tmp_path, kind):
    path = tmp_path / "s.sqlite"
    whole = made(path, kind)
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
            with Store(path, kind.name) as store:
                # the byte was in a gap, or in the time taken: nothing that is read changed
                assert [r.outcome for r in store.get(kind.points)] == [kind.outcome] * 40
        except ValueError as problem:
            seen += bool(re.search(r"without damage.*\([^\n]+\): it was left as is$", str(problem)))
            assert path.read_bytes() == content
    assert seen > 50


KILLING = """
import json, os, random, signal, sys, time
import recallbook as rb
from recallbook_studies.running import catalogue, run
from recallbook_studies.running.store import Store, as_text

folder, kills, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
path, log = os.path.join(folder, "s.sqlite"), os.path.join(folder, "log")
add, measure = Store.add, run.measure
settings = [rb.Setting(vocab=16, seq_len=4, dim=8, samples=20 + n) for n in range(15)]
points = [rb.Point(setting, seed, test_samples=50) for setting in settings for seed in range(4)]
work = lambda path: rb.run_sweep(points, store=path)
if kind != "results":
    points = [catalogue.RowKey(as_text(key), key) for key in range(60)]
    row = lambda key: run.measure(points[key], None)
    measure = lambda key, _: time.sleep(0.002) or [{"index": key.value, "value": key.value / 3}] * 2
    table = catalogue.RowTable("", lambda: range(60), row, "index", together=4)

    def work(path):
        with Store(path, kind) as store:
            table.fill(store)
            return table.whole(catalogue.pd.DataFrame(row for r in store.everything() for row in r.outcome), [])


def note(what, key):
    with open(log, "a") as file:
        file.write(f"{what} {key}\\n")


def noted_add(store, results):
    results = list(results)
    add(store, results)
    for result in results:
        note("stored", result.point.canonical)


def noted_measure(point, problem):
    note("measured", point.canonical)
    return measure(point, problem)


def held():
    return {r.point for r in Store(path, kind).everything()} if os.path.exists(path) else set()


Store.add, run.measure = noted_add, noted_measure
generator, found, attempts, longest = random.Random(1), [], 0, 0.1
while len(found) < kills and attempts < 20 * kills:
    attempts += 1
    if len(held()) == len(points):
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
rows = work(path)
print(json.dumps({"kills": found, "same": rows.equals(work(None)), "rows": len(held()),
                  "files": sorted(os.listdir(folder))}))
"""


@pytest.mark.slow
@KINDS
def test_kills_lose_nothing_and_repeat_nothing(tmp_path, kind):
    # children are forked from a process that has used no threads, so each starts at once
    command = [sys.executable, "-c", KILLING, str(tmp_path), str(KILLS), kind.name]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=900, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    kills = report["kills"]
    assert len(kills) == KILLS
    assert [kill for kill in kills if kill["lost"] or kill["again"]] == []
    together = 4 if kind.name == "lengths" else 1
    assert [kill for kill in kills if kill["after"] % together] == []
    assert sum(0 < kill["before"] < kill["after"] < 60 for kill in kills) > 2, (
        "kills in the middle of a resumed sweep"
    )
    assert report["same"] and report["rows"] == 60
    assert [name for name in report["files"] if name.endswith("-journal")] == []
