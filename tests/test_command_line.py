"""``python -m recallbook`` as a stranger uses it, and what it leaves when it is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import recallbook as rb
from recallbook.__main__ import main
from recallbook.commands import sweeps as sweep_commands
from recallbook.experiments.catalogue import SWEEPS
from recallbook.sweeps import archive
from recallbook.sweeps.store import Store

COMMAND = [sys.executable, "-m", "recallbook"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}


def run(*arguments, folder: Path) -> subprocess.CompletedProcess:
    done = [*COMMAND, *map(str, arguments)]
    return subprocess.run(done, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.slow
def test_from_sweep_to_files(tmp_path, monkeypatch, capsys):
    """One command in an interpreter of its own: the one with workers, which are started by its main module."""
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "trial", "--limit", "5"]) == 0
    part = capsys.readouterr()
    assert part.out.splitlines() == ["trial: 24 points, 5 to do, stored in trial.sqlite", "5 done, 0 failed"]
    assert "point/s" in part.err and "<" in part.err, "the rate and the time left"
    assert main(["export", "trial"]) == 2
    early = capsys.readouterr().err
    assert "19 are missing" in early and "Traceback" not in early
    assert os.listdir(tmp_path) == ["trial.sqlite"]
    rest = run("sweep", "trial", "--workers", 2, folder=tmp_path)
    assert rest.returncode == 0, rest.stderr
    assert rest.stdout.splitlines() == ["trial: 24 points, 19 to do, stored in trial.sqlite", "19 done, 0 failed"]
    assert "point/s" in rest.stderr and "Traceback" not in rest.stderr
    assert main(["export", "trial"]) == 0
    assert capsys.readouterr().out.split() == ["trial.parquet", "trial.csv", "trial.json"]
    frame = archive.typed(pd.read_parquet(tmp_path / "trial.parquet"))
    assert frame.equals(archive.in_order(rb.run_sweep(SWEEPS["trial"].points())))
    record = json.loads((tmp_path / "trial.json").read_text())
    assert record["rows"] == 24 and record["failed"] == 0 and record["data"] == archive.data_hash(frame)
    assert record["command"] == "python -m recallbook sweep trial && python -m recallbook export trial"


def test_recompute_prints_what_differs(monkeypatch, capsys):
    chosen = ["recompute", "four_corners", "--count", "2", "--seed", "3", "--seconds", "0.1"]
    assert main(chosen) == 0
    assert capsys.readouterr().out == "four_corners: 2 rows recomputed, 0 differ\n"
    stored = rb.load_results("four_corners")
    wrong = stored.assign(accuracy=stored["accuracy"] / 2 + 0.4)
    for module in (archive, sweep_commands):
        monkeypatch.setattr(module, "load_results", lambda name: wrong)
    assert main(chosen) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "four_corners: 2 rows recomputed, 2 differ"
    row = int(printed[0].split(":")[0].removeprefix("row "))
    assert printed[1] == f"  accuracy: stored {wrong.loc[row, 'accuracy']}, now {stored.loc[row, 'accuracy']}"


def test_help_says_what_there_is(capsys):
    options = {"sweep": "--retry", "export": "--to", "recompute": "--seconds"}
    for arguments in (["--help"], ["sweep", "--help"], ["export", "--help"], ["recompute", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            main(arguments)
        text = capsys.readouterr().out
        for name, sweep in SWEEPS.items():
            assert name in text and sweep.shows in text
        assert arguments[0] not in options or (options[arguments[0]] in text and "default" in text)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["sweep", "nothing"], "name='nothing' is not allowed: one of trial, one_step"),
        (["export", "nothing"], "name='nothing' is not allowed"),
        (["sweep", "trial", "--workers", "0"], "workers=0 is not allowed"),
        (["sweep", "trial", "--workers", "many"], "workers='many' is not allowed"),
        (["sweep", "trial", "--limit", "-3"], "limit=-3 is not allowed"),
        (["sweep", "trial", "--store", "no/such/folder.sqlite"], "a folder that exists"),
        (["export", "trial", "--store", "none.sqlite"], "run the sweep first"),
        (["export", "trial", "--to", "nowhere"], "folder='nowhere' is not allowed"),
        (["sweep", "trial", "--store", "text.txt"], "a store that recallbook made"),
        (["recompute", "trial"], "name='trial' is not allowed: a sweep with committed results"),
        (["recompute", "lock_on", "--count", "0"], "count=0 is not allowed"),
        (["recompute", "lock_on", "--seed", "-1"], "seed=-1 is not allowed"),
        (["recompute", "lock_on", "--seconds", "none"], "seconds='none' is not allowed: a number above 0"),
    ],
)
def test_errors_are_one_line(arguments, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("mine")
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert complaint in printed and printed.count("\n") == 1
    assert os.listdir(tmp_path) == ["text.txt"] and (tmp_path / "text.txt").read_text() == "mine"


def test_failures_are_counted_and_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def broken(point, problem):
        raise ArithmeticError("too much") if point.seed == 1 else LookupError("too little")

    monkeypatch.setattr("recallbook.sweeps.run.measure", broken)
    assert main(["sweep", "trial"]) == 1
    printed = capsys.readouterr().out
    assert "0 done, 24 failed" in printed
    assert "6 x ArithmeticError: too much" in printed and "18 x LookupError: too little" in printed
    assert main(["sweep", "trial"]) == 0 and "0 to do" in capsys.readouterr().out
    assert main(["sweep", "trial", "--retry", "--limit", "2"]) == 1 and "2 to do" in capsys.readouterr().out


def children(process: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_a_killed_pool_leaves_no_workers_and_goes_on(tmp_path):
    store = tmp_path / "s.sqlite"
    code = "from recallbook import __main__; from recallbook.sweeps import run; "
    code += "run.LONGEST = run.SHORTEST = 0.05; __main__.main()"
    command = [sys.executable, "-c", code, "sweep", "longer_training", "--workers", "2", "--store", str(store)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(command, env=ENVIRONMENT, **quiet)
    try:
        deadline = time.monotonic() + 60
        kept: set[str] = set()
        while not kept and time.monotonic() < deadline:
            time.sleep(0.3)
            if store.exists():
                with Store(store) as open_store:
                    kept = open_store.keys()
        workers = children(running.pid)
        assert kept and workers
        running.send_signal(signal.SIGKILL)
        running.wait()
    finally:
        running.kill()
        running.wait()
    deadline = time.monotonic() + 30
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, workers)), "workers outlive their parent"
    with Store(store) as open_store:
        assert kept <= open_store.keys()
    points = SWEEPS["longer_training"].points()
    frame = rb.run_sweep([point for point in points if point.key in kept][:8], store=store)
    assert frame.equals(rb.run_sweep(archive.from_frame(frame)))
