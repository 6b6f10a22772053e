"""Committed results: they are what their provenance says, and what the simulation gives today."""

import json
import os
import re
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from sampling import by_night

import recallbook as rb
from recallbook_studies.running import archive, committed
from recallbook_studies.running.point import OUTCOMES, from_frame
from recallbook_studies.running.store import Result, Store
from recallbook_studies.sweeps import SWEEPS

pytestmark = pytest.mark.essential

NAMES = archive.names()
FOLDER = Path(str(archive.FOLDER))
SAMPLE = int(os.environ.get("ROWS", "1"))  # of each sweep, simulated again; other kernels do more


@cache
def points_of(name):
    return SWEEPS[name].points()


def complaints(name: str, frame: pd.DataFrame, record: dict) -> list[str]:
    """How results disagree with their provenance, or with the sweep of their name."""
    points, found = points_of(name), from_frame(frame)
    right = {
        "name": record["name"] == name,
        "rows": record["rows"] == len(frame) == len(points),
        "failed": record["failed"] == frame["error"].notna().sum(),
        "points": {*found} == {*points},
        "data": record["data"] == committed.data_hash(frame),
        "order": frame.equals(committed.in_order(frame)),
        "command": f"sweep {name}" in record["command"] and f"export {name}" in record["command"],
    }
    return [what for what, holds in right.items() if not holds]


@pytest.mark.parametrize("name", NAMES)
def test_committed_results_match_their_provenance(name):
    frame = rb.load_results(name)
    record = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    assert complaints(name, frame, record) == []
    assert frame["error"].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", by_night((5, 6), day=1))
def test_a_sample_is_what_the_simulation_gives(name, seed):
    sample = committed.recomputed(name, SAMPLE, seed)
    assert len(sample) == SAMPLE and sample["same"].all()
    frame = rb.load_results(name).loc[sample.index]
    assert from_frame(sample) == from_frame(frame)
    for outcome in OUTCOMES:
        assert sample[outcome].tolist() == pytest.approx(
            frame[outcome].tolist(), abs=1e-9, nan_ok=True
        )


def test_what_the_same_means():
    """Shares 1/k in another order are the same, one sequence more or less is not."""
    stored = rb.load_results("remedies_many")
    for change, wanted in {0: True, 1e-12: True, 1 / 2000: False}.items():
        same = committed.agree(stored, stored.assign(accuracy=stored["accuracy"] + change))
        assert same.all() == same.any() == wanted, change
    for wrong in ({"recall": float("nan")}, {"error": "ValueError: no"}):
        assert not committed.agree(stored, stored.assign(**wrong)).any()


def test_a_sample_notices_what_was_changed(monkeypatch):
    frame = rb.load_results("geometry")
    frame["lock_on"] = (frame["lock_on"] + 1 / 4000).where(frame["lock_on"] < 1, 0.5)
    monkeypatch.setattr(committed, "load_results", lambda name: frame)
    assert not committed.recomputed("geometry", 2)["same"].any()
    with pytest.raises(ValueError, match="count=9999 is not allowed"):
        committed.recomputed("geometry", 9999)


def test_every_file_is_of_a_sweep_or_a_table_and_all_are_small():
    files = [path for path in FOLDER.rglob("*") if path.suffix in (".csv", ".parquet")]
    assert {path.stem for path in files} == set(NAMES) | set(archive.tables())
    assert set(NAMES) == set(SWEEPS) - {"trial"}
    assert sum(file.stat().st_size for file in files) < 10e6


@pytest.mark.parametrize("name", SWEEPS)
def test_no_point_is_there_twice_and_every_setting_has_all_seeds(name):
    points = points_of(name)
    assert len({*points}) == len(points)
    seeds = Counter(replace(point, seed=0) for point in points)
    # fewer at the larger vocabulary; more where draws scatter
    assert len(set(seeds.values())) == (2 if name in ("accuracy", "capacity") else 1)
    expected = {"lock_on": 30, "trial": 1, "accuracy": 6, "zipf_threshold": 8, "zipf_error": 8}
    assert min(seeds.values()) >= expected.get(name, 10)


def test_provenance_says_when_code_is_not_that_of_its_commit(tmp_path):
    """Whatever folder it is in, and also where it was never committed; results alone are no
    code."""

    def git(*arguments):
        identity = ["-c", "user.name=x", "-c", "user.email=x@y.z", "-c", "commit.gpgsign=false"]
        subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True
        )

    assert (committed.ROOT / committed.__name__.replace(".", "/")).with_suffix(".py").is_file()
    package, studies = tmp_path / "recallbook", tmp_path / "recallbook_studies"
    for folder in (package / "model", studies / "running/results", studies / "ch09"):
        folder.mkdir(parents=True)
        (folder / "one.py").write_text("1\n", encoding="utf-8")
    git("init")
    assert committed.commit(tmp_path) == {}, "no commit yet"
    git("add", ".")
    git("commit", "-m", "x")
    assert committed.commit(tmp_path)["changed"] is False
    (studies / "running" / "results" / "new.csv").write_text("1\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("1\n", encoding="utf-8")
    assert committed.commit(tmp_path)["changed"] is False, (
        "results and what is no part of the package"
    )
    (package / "model" / "two.py").write_text("2\n", encoding="utf-8")
    assert committed.commit(tmp_path)["changed"] is True, "a file that was never committed"
    (package / "model" / "two.py").unlink()
    (studies / "ch09" / "one.py").write_text("2\n", encoding="utf-8")
    assert committed.commit(tmp_path)["changed"] is True, (
        "a changed file in another folder than the sweeps'"
    )


@pytest.mark.parametrize("name", ["nothing", "../setting", [], None], ids=str)
def test_unknown_names_list_the_known_ones(name):
    said = rf"name={re.escape(repr(name))} is not allowed: .*lock_on.*survives"
    with pytest.raises(ValueError, match=said):
        rb.load_results(name)


def test_export_does_not_depend_on_the_order_of_work(tmp_path):
    points = SWEEPS["trial"].points()[:6]
    results = [
        Result(p, {"accuracy": i / 7, "lock_on": 0.5, "recall": None}, None, 0.1)
        for i, p in enumerate(points)
    ]
    results[3] = Result(points[3], None, "ValueError: no", 0.1)
    written = []
    for folder, order in (("a", results), ("b", results[::-1])):
        (tmp_path / folder).mkdir()
        with Store(tmp_path / folder / "s.sqlite") as store:
            store.add(order)
        given = points if folder == "a" else points[::-1]
        paths = committed.export(
            "trial", given, tmp_path / folder / "s.sqlite", tmp_path / folder, "command"
        )
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    record = json.loads(written[0][1])
    assert record["rows"] == 6 and record["failed"] == 1 and record["seconds"] == 1
    frame = archive.typed(pd.read_parquet(tmp_path / "a" / "trial.parquet"))
    assert frame["error"].dropna().tolist() == ["ValueError: no"] and frame["recall"].isna().all()
