"""The house: layers, a core that stands alone and stays small, one version, and what runs in an
import."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jaxtyping
import pytest
import torch
import yaml
from budgets import budgets, tokens, weights

import recallbook as rb
from recallbook.model.ties import logit_slack

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "recallbook"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
UPPER = ("sweeps", "analysis", "commands")


def imports_are_in_order(folder):
    """Whether import-linter keeps all contracts on the package in this folder."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


@pytest.fixture
def copied(tmp_path):
    for package in ("recallbook", "recallbook_studies"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


@pytest.mark.nightly
def test_the_copy_itself_is_in_order(copied):
    assert imports_are_in_order(copied)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("model/attention.py", "from recallbook.training import weights"),
        ("theory/values.py", "from recallbook.training import evaluation"),
        ("theory/recall.py", "from recallbook.data import task"),
        ("training/weights.py", "from recallbook_studies.running.point import Point"),
        ("analysis/examination.py", "import recallbook_studies.claims.register"),
        ("setting.py", "from recallbook.data.streams import stream"),
        ("bounds/lock_law.py", "def late():\n    from recallbook_studies.running import run"),
    ],
)
def test_a_planted_violation_breaks_a_contract(copied, module, line):
    with (copied / "recallbook" / module).open("a") as file:
        file.write(f"\n{line}\n")
    assert not imports_are_in_order(copied)


def test_every_package_and_module_has_a_layer():
    listed = {name.strip() for layer in LAYERS for name in layer.split("|")}
    found = {
        f"recallbook.{path.stem}"
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or path.is_dir()
    }
    assert found - {"recallbook.__init__", "recallbook.__pycache__"} == listed - {
        "recallbook_studies"
    }


@pytest.mark.nightly
def test_the_core_works_without_what_is_built_on_it(copied):
    """Sweeps, analysis, commands and studies deleted: all below them is as it was."""
    shutil.rmtree(copied / "recallbook_studies")
    for name in UPPER:
        shutil.rmtree(copied / "recallbook" / name)
        # an installed copy must not stand in for what was deleted
        (copied / "recallbook" / f"{name}.py").write_text(
            f"raise ModuleNotFoundError('No module {name}')\n"
        )
    files = [f"test_{name}.py" for name in ("oracle", "task", "evaluation", "setting", "ties")]
    arguments = ["pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
    environment = {"PYTHONPATH": str(copied), "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *arguments, *(f"tests/{name}" for name in files)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    code = "import recallbook as rb; print(rb.__file__, rb.predict(rb.Setting(vocab=200, seq_len=4, dim=60, samples=900)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=copied, capture_output=True, text=True, check=True
    )
    assert str(copied) in done.stdout and "lock_on=" in done.stdout
    code = "import recallbook as rb; rb.Point"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=copied, capture_output=True, text=True, check=False
    )
    assert "No module sweeps" in done.stderr


LATER = "sympy scipy.stats pandas matplotlib beartype recallbook.theory.prediction recallbook_studies.running"


def test_an_import_loads_little_more_than_torch():
    """What is slow to load, the predictor and the sweeps come with the name that needs them."""
    lines = (
        "import sys, recallbook",
        "dir(recallbook)",
        "print(*sys.modules)",
        "recallbook.predict",
        "print(*sys.modules)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    at_once, with_predict = (set(line.split()) for line in done.stdout.splitlines())
    assert at_once & set(LATER.split()) == set(), "import them where they are used"
    assert {"sympy", "recallbook.theory.prediction"} <= with_predict


def test_every_public_name_is_there():
    assert set(rb.__all__) <= set(dir(rb))
    assert [name for name in rb.__all__ if getattr(rb, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'sweeps_of'"):
        _ = rb.sweeps_of


def test_no_assertion_hides_what_failed():
    """`assert all(... for ...)` says that something is False; a list of the offenders says what."""
    hidden = []
    for path in (ROOT / "tests").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for call in ast.walk(node.test) if isinstance(node, ast.Assert) else ():
                match call:
                    case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp()]):
                        hidden.append(f"{path.name}:{node.lineno}")
    assert hidden == []


def test_no_weight_is_above_its_budget():
    """The limits stand in pyproject.toml; `python tests/budgets.py` prints all of them."""
    limits, found = budgets()["weights"], weights()
    assert set(limits) == set(found)
    assert {
        name: (amount, limits[name]) for name, amount in found.items() if amount > limits[name]
    } == {}


def test_tokens_are_counted_without_comments_and_docstrings(tmp_path):
    file = tmp_path / "counted.py"
    file.write_text(
        '"""Not counted."""\n\nx = [1]  # nor this\n\n\ndef f():\n    """Nor this."""\n    return "b"\n'
    )
    assert tokens(file) == len("x = [ 1 ] def f ( ) : return b".split())


def test_stages_with_a_budget_are_those_that_are_timed():
    """Eight minutes and one."""
    allowed = budgets()["seconds"]
    timed = set(
        re.findall(r"\$\(call TIMED,(\w+)\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    )
    assert set(allowed) == timed
    assert sum(seconds for stage, seconds in allowed.items() if stage != "essential") <= 8 * 60
    assert allowed["lint"] + allowed["essential"] <= 60


def test_there_is_one_version():
    version = PROJECT["project"]["version"]
    assert rb.__version__ == version
    assert PROJECT["tool"]["recallbook"]["tag"] == f"v{version}"


def test_shapes_are_checked_here():
    with pytest.raises(
        jaxtyping.TypeCheckError, match="d m"
    ):  # five features asked of a matrix that has four
        logit_slack(torch.ones(8, 3), torch.ones(3, 4), torch.ones(2, 5))


# Workflows


FOLDER = Path(__file__).resolve().parents[1] / ".github" / "workflows"


def test_pages_are_those_of_a_commit_whose_tests_passed():
    found = yaml.safe_load((FOLDER / "pages.yml").read_text(encoding="utf-8"))
    started = found[True]  # YAML takes the word "on" for it
    assert set(started) == {"workflow_run"}, "nothing else publishes"
    assert started["workflow_run"]["workflows"] == ["test"]
    (job,) = found["jobs"].values()
    assert "workflow_run.conclusion == 'success'" in job["if"]
    checkout = next(step for step in job["steps"] if "checkout" in step.get("uses", ""))
    assert checkout["with"]["ref"] == "${{ github.event.workflow_run.head_sha }}"
