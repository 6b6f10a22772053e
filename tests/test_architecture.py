"""The house: layers, a core that stands alone and stays small, one version, and what runs in an
import."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jaxtyping
import pytest
import torch
import yaml
from budgets import ADVICE, PACKAGES, ROOT, above, budgets, files, sums, tokens

import recallbook as rb
from recallbook.model.ties import logit_slack

pytestmark = pytest.mark.essential

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS, THEORY_LAYERS = (
    contract["layers"] for contract in PROJECT["tool"]["importlinter"]["contracts"][:2]
)


@pytest.fixture
def copied(tmp_path):
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def test_every_package_and_module_has_a_layer():
    for package, layers, higher in (
        ("recallbook", LAYERS, {name for name in PACKAGES if name != "recallbook"}),
        ("recallbook_theory", THEORY_LAYERS, set()),
    ):
        listed = {name.strip() for layer in layers for name in layer.split("|")}
        found = {
            f"{package}.{path.stem}"
            for path in (ROOT / package).iterdir()
            if path.suffix == ".py" or path.is_dir()
        }
        assert found - {f"{package}.__init__", f"{package}.__pycache__"} | higher == listed
    mypy, linter = PROJECT["tool"]["mypy"]["packages"], PROJECT["tool"]["importlinter"]
    assert sorted(mypy) == sorted(linter["root_packages"]) == PACKAGES


def run_in(folder, *command):
    """A command that finds packages in this folder before all others."""
    first = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **first},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


SETTING = "recallbook.Setting(vocab=8, seq_len=4, dim=8, samples=64{})"
FLOORS = {
    "recallbook": (
        ("oracle", "task", "evaluation", "ties"),
        f"print(recallbook.__file__, recallbook.simulate({SETTING.format(', zipf=1.0, width=6')}, 0))",
        "recallbook.predict",
    ),
    "recallbook_theory": (
        ("printed_formulas", "hermite", "between", "enclosed"),
        f"print(recallbook.__file__, recallbook.predict({SETTING.format(', zipf=1.0')}))",
        "recallbook.Point",
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_works_where_those_above_cannot_be_imported(copied, floor):
    """Every package above replaced by one that stops: what it does is as it was."""
    stops = "raise ModuleNotFoundError(f'{__name__} is not here')\n"
    core, code, missing = FLOORS[floor]
    for name in set(PACKAGES) - {"recallbook", floor}:
        shutil.rmtree(copied / name)
        (copied / name).mkdir()
        (copied / name / "__init__.py").write_text(stops, encoding="utf-8")
    files = [f"tests/test_{name}.py" for name in core]
    quick = ["-q", "-x", "-m", "not slow and not nightly", "-p", "no:cacheprovider"]
    done = run_in(copied, "-m", "pytest", *quick, *files)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-3000:]
    done = run_in(copied, "-c", f"import recallbook; {code}")
    assert str(copied) in done.stdout and "lock_on=" in done.stdout
    done = run_in(copied, "-c", f"import recallbook; {missing}")
    assert " is not here" in done.stderr


def loaded_after(*steps):
    """Modules that are loaded after each of these pieces of code, run one after another."""
    shown = "\nprint('loaded:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(["import sys", *(step + shown for step in steps)])],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    lines = done.stdout.splitlines()
    return [set(line.split()[1:]) for line in lines if line.startswith("loaded: ")]


@pytest.mark.slow
def test_what_is_slow_to_load_comes_with_the_name_that_needs_it():
    """A prediction without an MLP waits for no tensors, nor does its command; whatever is simulated,
    for no expressions; and neither for tables, pictures or what is above its floor."""
    slow = {"torch", "sympy", "pandas", "matplotlib", "beartype", "scipy.stats"}
    words = "predict --vocab 8 --seq-len 4 --dim 8 --samples 64".split()
    at_once, predicted, asked = loaded_after(
        "import recallbook\ndir(recallbook)",
        f"recallbook.predict({SETTING.format('')})",
        f"from recallbook.__main__ import main\nmain({words})",
    )
    assert at_once & (slow | {"recallbook.data", "recallbook_theory"}) == set()
    assert predicted & slow == asked & slow == {"sympy"}
    kinds = ("", ", zipf=1.0, output_bias='trained'", ", embeddings='low_rank(4)'")
    runs = [f"recallbook.simulate({SETTING.format(kind)}, 0)" for kind in kinds]
    runs += [f"recallbook.simulate({SETTING.format('')}, 0, value_steps=2, rate=1.0)"]
    with_mlp = f"recallbook.simulate({SETTING.format(', width=6')}, 0)"
    plain, simulated = loaded_after("\n".join(["import recallbook", *runs]), with_mlp)
    assert plain & slow == {"torch"}
    # PyTorch loads SymPy itself where it is handed a gradient
    assert simulated & slow <= {"torch", "sympy"}
    assert {name.split(".")[0] for name in simulated} & {*PACKAGES} == {"recallbook"}


def test_what_is_imported_is_declared():
    """The packages import what installs with them, or with the extra for a cluster."""
    names = set()
    for path in files(*PACKAGES):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=found):
                    names |= {alias.name for alias in found}
                case (
                    ast.ImportFrom(module=str(name), level=0)
                    | ast.Call(
                        func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=name)]
                    )
                ):
                    names.add(name)
    imported = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {*PACKAGES}
    project = PROJECT["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["cluster"]
    assert imported == {re.match(r"[\w-]+", one)[0] for one in asked}


def test_every_public_name_is_there():
    assert [name for name in rb.__all__ if getattr(rb, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'sweeps_of'"):
        _ = rb.sweeps_of


@pytest.mark.slow  # `make quick` ends with what this asks
def test_no_room_is_above_its_budget():
    """The limits stand in pyproject.toml; `python tests/budgets.py` prints all of them."""
    assert set(budgets()["sums"]) == set(sums())
    assert above() == {}, ADVICE


def test_tokens_are_counted_without_comments_and_docstrings(tmp_path):
    file = tmp_path / "counted.py"
    file.write_text(
        '"""Not counted."""\n\nx = [1]  # nor this\n\n\ndef f():\n    """Nor this."""\n    return "b"\n',
        encoding="utf-8",
    )
    assert tokens(file) == len("x = [ 1 ] def f ( ) : return b".split())


def test_stages_with_a_budget_are_those_that_are_timed():
    """Quick is a fifth of all."""
    allowed = budgets()["stages"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(allowed) == set(re.findall(r"\$\(call TIMED,(\w+)\)", makefile))
    quick = allowed["lint"] + allowed["essential"]
    assert 5 * quick <= sum(allowed.values()) - allowed["essential"]


@pytest.mark.skipif(sys.platform == "win32", reason="no make")
@pytest.mark.parametrize("fails", ["ruff", "lint-imports", "nothing"])
def test_a_stage_that_fails_fails_with_every_make(tmp_path, fails):
    """Make 3.81, which macOS ships, runs every line with ``bash -c``, without ``-e``."""
    tools, stages = tmp_path / "bin", tmp_path / "stages.tsv"
    tools.mkdir()
    for tool in ("python", "ruff", "codespell", "mypy", "lint-imports"):
        (tools / tool).symlink_to(shutil.which("false" if tool == fails else "true"))
    (tmp_path / ".installed").touch()
    command = ["make", "quick", ".SHELLFLAGS=-c", f"VENV={tmp_path}", f"STAGES={stages}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    timed = stages.read_text(encoding="utf-8") if stages.exists() else ""
    assert (done.returncode == 0) == (fails == "nothing") == bool(re.search(r"lint\t\d", timed))


def test_there_is_one_version():
    version = PROJECT["project"]["version"]
    assert rb.__version__ == version
    assert PROJECT["tool"]["recallbook"]["tag"] == f"v{version}"
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_shapes_are_checked_here():
    with pytest.raises(
        jaxtyping.TypeCheckError, match="d m"
    ):  # five features asked of a matrix that has four
        logit_slack(torch.ones(8, 3), torch.ones(3, 4), torch.ones(2, 5))


# Workflows


TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github").rglob("*.yml")}
WORKFLOWS = {name: yaml.safe_load(text) for name, text in TEXTS.items() if name != "dependabot"}
JOBS = {
    f"{name}.{job}": {"permissions": found["permissions"], **body}
    for name, found in WORKFLOWS.items()
    for job, body in found["jobs"].items()
}
READS = {"contents": "read"}
WRITES = {
    "pages.deploy": {"pages": "write", "id-token": "write"},
    "pages.notebooks": {"contents": "write"},
    "release.publish": {"id-token": "write"},
}


def test_pages_are_those_of_a_commit_whose_tests_passed():
    # YAML takes the word "on" for True
    assert WORKFLOWS["pages"][True] == {"push": {"branches": ["main"]}}
    assert JOBS["pages.test"]["uses"] == JOBS["release.test"]["uses"]
    needed = [JOBS[f"pages.{job}"]["needs"] for job in ("notebooks", "deploy", "build")]
    assert needed == ["build", "build", "test"] and not re.search(
        "actions/deploy|ref:", TEXTS["test"]
    )


def test_workflows_pass_the_strictest_judge():
    command = [
        Path(sys.executable).with_name("zizmor"),
        "--offline",
        "--persona=auditor",
        ".github",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_release_waits_for_its_tests_and_for_an_address():
    """The line that reads the address finds what `make stamp` does."""
    needed = [JOBS[f"release.{job}"]["needs"] for job in ("publish", "wheel", "test")]
    assert needed == ["wheel", "test", "address"]
    assert JOBS["release.test"]["if"] == "needs.address.outputs.here == 'true'"
    line = shlex.split(JOBS["release.address"]["steps"][1]["run"].partition(" |")[0])
    found = subprocess.check_output(line, cwd=ROOT, encoding="utf-8")
    assert found == f"repository={PROJECT['tool']['recallbook']['repository']}\n"


def test_what_may_write_runs_no_code_of_the_repository():
    """All other jobs read, and keep no rights in what they have checked out."""
    assert {n: j["permissions"] for n, j in JOBS.items() if j["permissions"] != READS} == WRITES
    for name, text in ((name, str(job)) for name, job in JOBS.items()):
        runs, kept = re.search("make |python", text), "'persist-credentials': False" not in text
        assert not runs if name in WRITES else kept != ("checkout" in text), name


def test_actions_are_pinned_no_secret_is_read_and_failures_show():
    """One commit for each action, where dependabot sees them."""
    text = "".join(TEXTS.values())
    used = set(re.findall(r"uses: (\S+)@(.*)", text))
    assert len(used) == len(dict(used)) > 0
    assert {"github-actions", "pip"} <= set(re.findall(r"ecosystem: (.*)", TEXTS["dependabot"]))
    assert not re.search("secrets\\.|continue-on-error", text)
