"""The store: what it refuses and leaves alone, what it keeps, and kills."""

import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sized import marked

import recallbook as rb
from recallbook_studies.running.store import APPLICATION, Result, Store

pytestmark = pytest.mark.essential

POINTS = [rb.Point(marked(16, 4, 8, 50), seed) for seed in range(40)]
KILLS = 20
OUTCOME = {"accuracy": 0.1, "lock_on": 1 / 3, "recall": None}


def made(path: Path) -> bytes:
    with Store(path) as store:
        store.add(Result(point, OUTCOME, None, 0.5) for point in POINTS)
    return path.read_bytes()


def refused(path: Path, match: str) -> None:
    """The error is clear, and the folder is byte for byte as it was."""
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    with pytest.raises(ValueError, match=match):
        Store(path)
    with pytest.raises(ValueError, match=match):
        rb.run_sweep(POINTS[:1], store=path)
    assert {
        file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()
    } == before


def test_results_come_back_exactly(tmp_path):
    results = [Result(POINTS[0], OUTCOME, None, 0.5), Result(POINTS[1], None, "OSError: no", 0.1)]
    with Store(tmp_path / "s.sqlite") as store:
        store.add(results)
    with Store(tmp_path / "s.sqlite") as store:
        assert store.get([POINTS[1], POINTS[2], POINTS[0]]) == [results[1], results[0]]
        assert store.keys() == {POINTS[0].key, POINTS[1].key}
        assert store.keys(failed=True) == {POINTS[1].key} and store.keys(failed=False) == {
            POINTS[0].key
        }
    assert os.listdir(tmp_path) == ["s.sqlite"]


def test_an_outcome_stays_and_a_failure_is_replaced(tmp_path):
    other = {**OUTCOME, "accuracy": 0.9}
    failed, later = (
        [Result(POINTS[0], outcome, None, 0.5), Result(POINTS[1], *second, 0.1)]
        for outcome, second in ((OUTCOME, (None, "OSError: no")), (other, (other, None)))
    )
    with Store(tmp_path / "s.sqlite") as one, Store(tmp_path / "s.sqlite") as two:
        one.add(failed)
        two.add(later)  # of two writers each row is stored once, too
        assert one.keys() == two.keys() == {POINTS[0].key, POINTS[1].key}
        assert [result.outcome for result in one.get(POINTS)] == [OUTCOME, other]
    with Store(tmp_path / "s.sqlite") as store:  # the checksum of the replaced row holds
        assert len(store.keys()) == 2


@pytest.mark.parametrize(
    "content", [b"", b"text\n", b"\x00" * 5000, b"SQLite format 3\x00 and then something else"]
)
def test_foreign_files_are_left_alone(tmp_path, content):
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    refused(path, "store=.*not allowed: a store that recallbook made, without damage")


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
            r"marked \[.*, 2, 'ok'\] in place of",
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
def test_foreign_databases_are_left_alone(tmp_path, commands, says):
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as other:
        for command in commands:
            other.execute(command)
    other.close()
    refused(path, says)


def test_folders_are_left_alone(tmp_path):
    refused(tmp_path, "store=.*a file")
    with pytest.raises(ValueError, match="folder that exists"):
        Store(tmp_path / "no" / "s.sqlite")


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
            refused(
                path, r"a store that recallbook made, without damage \([^\n]+\): it was left as is$"
            )
            seen += 1
        except pytest.fail.Exception:
            with Store(
                path
            ) as store:  # the byte was in a gap, or in the time taken: nothing that is read changed
                assert [r.outcome for r in store.get(POINTS)] == [OUTCOME] * len(POINTS)
    assert seen > 50


KILLING = """
import json, os, random, signal, sys, time
import recallbook as rb
from recallbook_studies.running import run
from recallbook_studies.running.store import Store

folder, kills = sys.argv[1], int(sys.argv[2])
settings = [rb.Setting(vocab=16, seq_len=4, dim=8, samples=20 + n) for n in range(15)]
points = [rb.Point(setting, seed, test_samples=50) for setting in settings for seed in range(4)]
path, log = os.path.join(folder, "s.sqlite"), os.path.join(folder, "log")
add, measure = Store.add, run.measure


def note(what, key):
    with open(log, "a") as file:
        file.write(f"{what} {key}\\n")


def noted_add(store, results):
    add(store, results)
    for result in results:
        note("stored", result.point.key)


def noted_measure(point, problem):
    note("measured", point.key)
    return measure(point, problem)


Store.add, run.measure = noted_add, noted_measure
generator, found, attempts, longest = random.Random(1), [], 0, 0.1
while len(found) < kills and attempts < 20 * kills:
    attempts += 1
    if os.path.exists(path) and len(Store(path).keys()) == len(points):
        os.remove(path)
    before = Store(path).keys() if os.path.exists(path) else set()
    open(log, "w").close()
    child = os.fork()
    if not child:
        rb.run_sweep(points, store=path)
        os._exit(0)
    time.sleep(generator.uniform(0, longest))
    os.kill(child, signal.SIGKILL)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        longest /= 1.5  # it had finished, and does not count: this machine is faster than that
        continue
    lines = [line.split() for line in open(log)]
    stored = {key for what, key in lines if what == "stored"}
    again = before & {key for what, key in lines if what == "measured"}
    after = Store(path).keys() if os.path.exists(path) else set()
    longest *= 1.2 if after == before else 1.0  # it had hardly begun
    found.append(
        {"lost": len((before | stored) - after), "again": len(again), "before": len(before), "after": len(after)}
    )
rows = rb.run_sweep(points, store=path)
print(json.dumps({"kills": found, "same": rows.equals(rb.run_sweep(points)), "rows": len(rows),
                  "files": sorted(os.listdir(folder))}))
"""


@pytest.mark.slow
def test_kills_lose_nothing_and_repeat_nothing(tmp_path):
    # children are forked from a process that has used no threads, so each starts at once
    command = [sys.executable, "-c", KILLING, str(tmp_path), str(KILLS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    kills = report["kills"]
    assert len(kills) == KILLS
    assert [kill for kill in kills if kill["lost"] or kill["again"]] == []
    assert sum(0 < kill["before"] < kill["after"] < 60 for kill in kills) > 2, (
        "kills in the middle of a resumed sweep"
    )
    assert report["same"] and report["rows"] == 60
    assert [name for name in report["files"] if name.endswith("-journal")] == []
