"""``python -m recallbook`` as a stranger uses it, and what it leaves when it is killed."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from budgets import ROOT
from hypothesis import example, given
from settings import HOUSE, answered, as_words, rarely, settings

import recallbook as rb
from recallbook.__main__ import main
from recallbook.result import OUTCOMES
from recallbook_studies.commands import predicting, sweeping
from recallbook_studies.running import archive, committed
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.running.point import from_values
from recallbook_studies.running.store import Store, StoreFault
from recallbook_studies.sweeps import SWEEPS, TRIAL

pytestmark = pytest.mark.essential

PREDICT = "predict --vocab 64 --seq-len 8 --dim 48 --samples 512"


@pytest.mark.slow
def test_from_sweep_to_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rb.run_sweep([from_values(key.fields) for key in TRIAL.keys()[:6]], store="trial.sqlite")
    assert main(["export", "trial"]) == 2
    early = capsys.readouterr().err
    assert "18 are missing" in early and "Traceback" not in early
    assert os.listdir(tmp_path) == ["trial.sqlite"]
    assert main(["sweep", "trial"]) == 0
    shown, words = capsys.readouterr(), "trial: 24 rows, 18 to do, stored in trial.sqlite"
    assert shown.out.splitlines() == [words, "24 done, 0 failed"]
    assert "row/s" in shown.err and "<" in shown.err, "the rate and the time left"
    assert main(["export", "trial"]) == 0
    assert capsys.readouterr().out.split() == ["trial.parquet", "trial.json"]
    frame = archive.typed(pd.read_parquet(tmp_path / "trial.parquet"))
    points = [from_values(key.fields) for key in SWEEPS["trial"].keys()]
    assert frame.equals(rb.run_sweep(points))
    made = "python -m recallbook sweep trial && python -m recallbook export trial"
    assert json.loads((tmp_path / "trial.json").read_text(encoding="utf-8"))["command"] == made


def test_recompute_prints_what_differs(monkeypatch, capsys):
    chosen = ["recompute", "four_corners", "--count", "2", "--seed", "3"]
    assert main(chosen) == 0
    assert capsys.readouterr().out == "four_corners: 2 rows recomputed, 0 differ\n"
    stored = rb.load_results("four_corners")
    wrong = stored.assign(accuracy=stored["accuracy"] / 2 + 0.4)
    monkeypatch.setattr(committed, "load_results", lambda name: wrong)
    assert main(chosen) == 1
    *_, first, second, last = capsys.readouterr().out.splitlines()
    assert last == "four_corners: 2 rows recomputed, 2 differ"
    for line in (first, second):
        row, before, now, *_ = line.split()
        assert float(before) == pytest.approx(wrong.loc[int(row), "accuracy"], abs=1e-5)
        assert float(now) == pytest.approx(stored.loc[int(row), "accuracy"], abs=1e-5)


DOES = {  # a cheap call of each command, and what it prints or complains about
    f"{PREDICT} --accuracy 1": "accuracy=1.0 is not allowed",
    "examine table.npy --statistics": "8 rows in 8 dimensions",
    "sweep trial": "24 done, 0 failed",
    "table squares squares.sqlite": "1 done, 0 failed",
    "export trial": "trial.parquet",
    "recompute trial": "a sweep with committed results",
}


def test_every_command_does_something_and_a_page_names_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sweeping.TABLES, "squares", SQUARES)
    np.save("table.npy", np.eye(8))
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    commands = re.search(r"\{([a-z,]+)\}", capsys.readouterr().out)[1].split(",")
    assert [call.split()[0] for call in DOES] == commands, "a call of each stands in DOES"
    pages = [*(ROOT / "book").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in commands if f"python -m recallbook {name}" not in text] == []
    for call, said in DOES.items():
        main(call.split())
        assert said in "".join(capsys.readouterr()), call


def one_square(key):
    return {"square": key**2}


SQUARES = RowTable("squares", "", one_square, "key", listed=lambda: [{"key": 3}])


NO_FREQUENCIES = {
    "--zipf 5": "zipf=5.0 is not allowed: a number from 0 to 4",
    "--other-zipf steep": "argument --other-zipf: invalid float value: 'steep'",
    "--loss-weights square": "loss_weights='square' is not allowed: one of 'equal', 'inverse'",
    "--dim many": "argument --dim: invalid int value: 'many'",
    "--width 8 --activation step": "activation='step' is not allowed: one of 'relu'",
    "--accuracy most": "argument --accuracy: invalid float value: 'most'",
    "--accuracy 1": "accuracy=1.0 is not allowed: a number between 0 and 1",
}
COMPLAINTS = {
    **{f"{PREDICT} {option}": said for option, said in NO_FREQUENCIES.items()},
    "": "arguments are required: {",
    "guess": "invalid choice: 'guess'",
    "predict --vocab 64": "arguments are required: --seq-len, --dim, --samples",
    "predict --vcab 64": "the nearest is '--vocab'",
    "predict -vocab 64": "option='-vocab' is not allowed: one of",
    "sweep trail": "the nearest is 'trial'",
    "sweep nothing": "name='nothing' is not allowed: one of 'trial', 'one_step'",
    "export nothing": "name='nothing' is not allowed",
    "sweep trial --workers 0": "workers=0 is not allowed",
    "sweep trial --workers many": "argument --workers: invalid int value: 'many'",
    "sweep trial --workers 2 --scheduler x": "workers=2 is not allowed: left out with --scheduler",
    "export explorer --to .": "to='.' is not allowed: left out",
    "sweep trial --scheduler x": "missing port number in address 'x'",
    "export trial --to no/such": "to='no/such' is not allowed: a folder that is there",
    "export trial none.sqlite": "to export, make it first",
    "table largest none.sqlite --export": "to export, make it first",
    "table largest no/such/folder.sqlite": "a folder that exists",
    "table nothing x": "name='nothing' is not allowed: one of 'trial'",
    "table largest x y": "y",
    "table critical_sizes x --device cuda": "device='cuda' is not allowed: left out",
    "sweep trial text.txt": "a store that recallbook made",
    "recompute trial": "name='trial' is not allowed: a sweep with committed results",
    "recompute lock_on --count 0": "count=0 is not allowed",
    "recompute lock_on --seed -1": "seed=-1 is not allowed",
}


@pytest.mark.parametrize("command", COMPLAINTS)
def test_errors_are_one_line(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("mine", encoding="utf-8")
    try:
        status = main(command.split())
    except SystemExit as parser_ends:
        status = parser_ends.code
    printed = capsys.readouterr().err
    assert status == 2
    assert COMPLAINTS[command] in printed and printed.count("\n") == 1
    assert os.listdir(tmp_path) == ["text.txt"]
    assert (tmp_path / "text.txt").read_text(encoding="utf-8") == "mine"


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("os.close(1); os.dup2(os.pipe()[1], 1)", 141),
        ("main.command_parser = lambda *words: os.kill(os.getpid(), 2)", -2),
    ],
    ids=["nobody reads", "interrupted while it imports"],
)
def test_an_end_without_a_traceback(code, status):
    code = f"import os; from recallbook import __main__ as main; {code}; main.main()"
    command = [sys.executable, "-c", code, *PREDICT.split()]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (status, b"")


def children(process: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return [int(word) for word in listed.stdout.split()]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_a_killed_pool_leaves_no_workers_and_goes_on(tmp_path):
    store = tmp_path / "s.sqlite"
    words = ["sweep", "remedies_many", str(store), "--workers", "2"]
    command = [sys.executable, "-m", "recallbook", *words]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    given = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(command, env=given, **quiet)
    try:
        deadline = time.monotonic() + 60
        kept, keys = [], SWEEPS["remedies_many"].keys()
        while not kept and time.monotonic() < deadline:
            time.sleep(0.3)
            if store.exists():
                with Store(store) as open_store:
                    kept = open_store.get(keys)
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
        assert open_store.get([result.key for result in kept]) == kept
    assert os.listdir(tmp_path) == ["s.sqlite"], "nothing else is left"


# Predict


def strict(text):
    """The object of a text that must be JSON as the standard has it: no NaN, no Infinity."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.slow
def test_predict_says_what_the_package_says(capsys):
    command = [*PREDICT.split(), "--trigger-in-values", "--search"]
    assert main([*command, "--json"]) == 0
    found = strict(capsys.readouterr().out)
    setting = rb.Setting(vocab=64, seq_len=8, dim=48, samples=512, trigger_in_values=True)
    expected = rb.predict(setting)
    assert found.pop("ledger") == {
        name: {"size": float(term), **vars(term)} for name, term in expected.ledger.items()
    }
    assert rb.Setting(**found.pop("setting")) == setting
    assert found == {
        **vars(rb.Outcome(*(getattr(expected, name) for name in OUTCOMES))),
        "quantiles": {str(q): expected.quantile(q).to_dict() for q in (0.1, 0.5, 0.9)},
        "expected_error": expected.expected_error.to_dict(),
        "doubts": found["doubts"],
        "binds": rb.phase(setting),
        "wanted": 0.9,
        "critical_samples": None,  # no N is enough for 0.9 here
        "critical_dim": None,
        "critical_width": None,
        "capacity": rb.capacity(512, 8, 48, trigger_in_values=True, warn=False),
        "why": found["why"],
    }
    assert found["why"]["critical_samples"].endswith("d = 67 would do")
    assert found["why"]["critical_dim"].endswith("no d would do")
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, start, part in zip(
        lines,
        ("", "typically off by: ", "one draw in ten below: "),
        (expected, expected.expected_error, expected.quantile(0.1)),
        strict=False,
    ):
        words = (
            f"accuracy {part.accuracy:.2f}, lock-on {part.lock_on:.2f}, recall {part.recall:.2f}"
        )
        assert line == start + words.replace("0.00", "< 0.005")
    for name, term in expected.ledger.items():
        assert [*name.split(), f"{term:.2g}"] in [line.split() for line in lines], name


@pytest.mark.slow
def test_predict_passes_doubts_on_and_has_no_numbers_that_are_none(capsys):
    assert (
        main(
            [
                "predict",
                *"--vocab 40 --seq-len 1 --dim 96 --samples 900 --json --accuracy 0.5".split(),
            ]
        )
        == 0
    )
    found = strict(capsys.readouterr().out)
    assert found["doubts"] is None and found["expected_error"]["recall"] < 0.03
    assert found["ledger"]["mean bias"]["size"] is None, "there is no attention to lock at L = 1"
    sizes = {"vocab": 40, "seq_len": 1, "dim": 96, "trigger_in_values": False}
    assert found["critical_samples"] == rb.critical_samples(**sizes, accuracy=0.5)
    assert found["wanted"] == 0.5


@pytest.mark.slow
@rarely
@given(settings())
@example(rb.Setting(vocab=8, seq_len=3, dim=6, samples=40, zipf=1.0, other_zipf=0.5))
def test_predict_says_what_the_package_says_of_any_setting(few_draws, capsys, setting):
    """Every option reaches the setting; nothing is printed that is proved for equal facts alone."""
    expected = answered(lambda: rb.predict(setting, warn=False))
    status = main(["predict", *as_words(setting), "--json", "--accuracy", "0.5"])
    printed = capsys.readouterr()
    if expected is None:
        assert status == 2 and HOUSE.match(printed.err.removeprefix("recallbook: ")), printed
        return
    found = strict(printed.out)
    assert found["setting"] == {
        **vars(setting),
        "activation": setting.activation if setting.width else "relu",
    }
    assert [found[name] for name in OUTCOMES] == [getattr(expected, name) for name in OUTCOMES]
    assert list(found["ledger"]) == list(expected.ledger)
    if expected.ledger.keys() & {"frequent tokens"}:
        assert {
            found[name] for name in ("binds", "capacity", "critical_samples", "critical_dim")
        } == {None}


@pytest.mark.slow
def test_predict_searches_among_unequal_facts_when_asked(capsys, monkeypatch, few_draws):
    asked = []
    setting, sure = rb.Setting(vocab=8, seq_len=3, dim=8, samples=96), rb.predict
    critical = rb.CriticalSize(96, setting, 0.3, sure)
    for name, found in {"phase": "coverage", "critical_samples": critical}.items():
        monkeypatch.setattr(
            predicting, name, lambda *one, found=found, **rest: asked.append(one or rest) or found
        )
    command = "predict --vocab 8 --seq-len 3 --dim 8 --samples 64 --zipf 0.5 --accuracy 0.3".split()
    assert main(command) == 0 and not asked, "not asked for, not found"
    assert main([*command, "--search"]) == 0
    words = capsys.readouterr().out
    assert "costs most accuracy: coverage" in words and "facts at this" not in words
    assert "N at this d for accuracy 0.3: 96 predicted (accuracy " in words
    sought, (setting,) = asked
    assert setting == rb.Setting(vocab=8, seq_len=3, dim=8, samples=64, zipf=0.5)
    assert sought | {"samples": 64} == vars(setting) | {"accuracy": 0.3, "warn": False}


BLOCKS = re.findall(r"(?s)```(python)?\n(.*?)```", (ROOT / "book/terminal.md").read_text("utf-8"))
LINES = [line for kind, text in BLOCKS if not kind for line in text.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_runs(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("table.npy", np.random.default_rng(0).standard_normal((40, 24)))
    command = line.split("#")[0].replace("path/to/model", "table.npy").split()[3:]
    if command[0] == "export":
        assert main(["sweep", "trial"]) == 0
    if "--help" in command:
        with pytest.raises(SystemExit, match="0"):
            main(command)
    else:
        assert main(command) == 0
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_python_of_the_page_runs(tmp_path, monkeypatch, capsys):
    """With fewer draws and seeds than the page has."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for text in [text for kind, text in BLOCKS if kind]:
        exec(text.replace("range(20)", "range(2)").replace("range(32)", "range(3)"), names)
    said = capsys.readouterr().out
    (off, error, expected), *_ = re.findall(r"(?m)^(\S+), (\S+), (\S+) \{", said)
    assert abs(float(off)) < 3 * (float(error) + float(expected))
    proved, simulated = re.search(r"(?m)^([\d.]+) ([\d.]+)$", said).groups()
    assert float(proved) <= float(simulated) + 0.02
