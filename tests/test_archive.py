"""Committed results: they are what their provenance says, and what the simulation gives today."""

import json
import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from sampling import by_night

import recallbook as rb
from recallbook.result import OUTCOMES
from recallbook_studies.running import archive, committed
from recallbook_studies.sweeps import SWEEPS

pytestmark = pytest.mark.essential

NAMES = sorted(archive.sweeps())
FOLDER = Path(str(archive.FOLDER))
SAMPLE = int(os.environ.get("ROWS", "1"))  # of each sweep, simulated again; other kernels do more


def complaints(name: str, frame: pd.DataFrame, record: dict) -> list[str]:
    """How results disagree with their provenance."""
    right = {
        "name": record["name"] == name,
        "rows": record["rows"] == len(frame),
        "data": record["data"] == committed.data_hash(frame),
        "command": f"sweep {name}" in record["command"] and f"export {name}" in record["command"],
    }
    return [what for what, holds in right.items() if not holds]


@pytest.mark.slow
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
    stored, again = committed.recomputed(SWEEPS[name], SAMPLE, seed)
    assert len(again) == SAMPLE and again["same"].all()
    for outcome in {*OUTCOMES} & {*again}:
        assert again[outcome].astype(float).tolist() == pytest.approx(
            stored[outcome].tolist(), abs=1e-9, nan_ok=True
        )


def test_what_the_same_means():
    """Shares 1/k in another order are the same, one sequence more or less is not."""
    stored = rb.load_results("remedies_many")[[*OUTCOMES, "loss_weights"]]
    for change, wanted in {0: True, 1e-12: True, 1 / 2000: False}.items():
        moved = stored.assign(accuracy=stored["accuracy"] + change)
        same = committed.agree(stored, moved, SWEEPS["remedies_many"].near)
        assert same.all() == same.any() == wanted, change
    for wrong in ({"recall": float("nan")}, {"loss_weights": "none"}):
        assert not committed.agree(stored, stored.assign(**wrong), 1.0).any()


def test_every_file_is_of_a_sweep_or_a_table_and_all_are_small():
    files = [path for path in FOLDER.rglob("*") if path.suffix in (".csv", ".parquet")]
    assert {path.stem for path in files} == set(NAMES) | set(archive.tables())
    assert set(NAMES) == set(SWEEPS) - {"trial"}
    assert sum(file.stat().st_size for file in files) < 10e6


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
