"""Seeded mistakes in the package, each of which the tests must notice: `make mutants` prints the
table.

They are listed in mutants.toml. A mutant is one small change of one file. All files that git does
not ignore are copied to a temporary folder, changed there, and the unit tests named by the mutant
are run in the copy; then, where the change moves a stored number, nbval is run on the chapters
named by the mutant. The unchanged copy is run in the same way as a control, which must pass.
`python tests/mutants.py --quick` counts what the tests of `make quick` notice."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ESSENTIAL, ENOUGH = "essential and not slow and not nightly", 0.9
UNCHANGED = "numbers unchanged by design"


class Mutant(NamedTuple):
    """``old``, found exactly once in ``file``, becomes ``new``. No ``chapters``: no stored number
    depends on it."""

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    chapters: tuple[str, ...] = ()


def load(path: Path = ROOT / "tests" / "mutants.toml") -> list[Mutant]:
    """All mutants of the table."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    several = (
        {key: tuple(entry.get(key, ())) for key in ("tests", "chapters")} for entry in entries
    )
    return [Mutant(**{**entry, **lists}) for entry, lists in zip(entries, several, strict=True)]


MUTANTS = load()


class Run(NamedTuple):
    """Whether pytest found a failure, and how long it took; ``label`` is the chapter's number, or
    empty."""

    label: str
    failed: bool
    seconds: float


class Result(NamedTuple):
    """What the tests said about one mutant, or about the unchanged package if ``mutant`` is
    None."""

    mutant: Mutant | None
    unit: Run
    chapters: list[Run]

    @property
    def as_it_should_be(self) -> bool:
        return all(run.failed == (self.mutant is not None) for run in (self.unit, *self.chapters))


def mutated(mutant: Mutant, root: Path = ROOT) -> str:
    """The changed text of the mutant's file; raises unless the old text occurs exactly once."""
    text = (root / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(
            f"{mutant.name}: {mutant.old!r} occurs {text.count(mutant.old)} times in {mutant.file}"
        )
    return text.replace(mutant.old, mutant.new)


def copy_files(folder: Path, mutant: Mutant | None) -> None:
    """Write what git does not ignore into ``folder``, changed, and with a line that leaves a mark
    when the package is imported."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.check_output(asked, cwd=ROOT, text=True).split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():  # and not removed since
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    if mutant is not None:
        (folder / mutant.file).write_text(mutated(mutant))
    with (folder / "recallbook" / "__init__.py").open("a") as init:
        init.write("\nfrom pathlib import Path\n\n(Path(__file__).parent / 'imported').touch()\n")


def pytest_fails(mutant: Mutant | None, arguments: Iterable[str], label: str = "") -> Run:
    """Run pytest in a copy of the files."""
    # pytest-xdist and pytest tell the processes they start about themselves, which is not meant for
    # this one
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    with tempfile.TemporaryDirectory() as folder:
        copy_files(Path(folder), mutant)
        # no other folder may come first: neither the current one (-P) nor that of the installed
        # package
        environment |= {"PYTHONPATH": folder, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
        output = Path(folder) / "output"
        start = time.perf_counter()
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
        with output.open("w") as file:
            status = subprocess.run(
                command, cwd=folder, env=environment, stdout=file, stderr=file, check=False
            ).returncode
        seconds = time.perf_counter() - start
        # a change that cannot be imported or collected shows nothing about the tests: only 0 and 1
        # are verdicts
        if status not in (0, 1) or "ERROR collecting" in output.read_text():
            raise RuntimeError(f"{mutant}: pytest ended with {status}\n{output.read_text()}")
        if not (Path(folder) / "recallbook" / "imported").exists():
            raise RuntimeError(f"{mutant}: the changed copy was not imported\n{output.read_text()}")
    return Run(label, status == 1, seconds)


def examine(mutant: Mutant | None, tests: Iterable[str], chapters: Iterable[str]) -> Result:
    """Unit tests together; chapters one by one, since each has to notice by itself."""
    unit = pytest_fails(mutant, [f"tests/{name}" for name in tests])
    runs = [
        pytest_fails(mutant, ["--nbval", f"notebooks/{name}.ipynb"], name[:2]) for name in chapters
    ]
    return Result(mutant, unit, runs)


def examine_all(mutants: list[Mutant], workers: int, control: bool = True) -> Iterator[Result]:
    """Results in order, the control first."""
    jobs: list[tuple[Mutant | None, Iterable[str], Iterable[str]]] = [
        (m, m.tests, m.chapters) for m in mutants
    ]
    if control:
        tests = {name for m in mutants for name in m.tests}
        chapters = {name for m in mutants for name in m.chapters}
        jobs.insert(0, (None, sorted(tests), sorted(chapters)))
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda job: examine(*job), jobs)


def line(result: Result) -> str:
    """One line of the table."""
    if result.mutant is None:
        name, kind, file, words = "control: no change", "-", "-", ("passed", "FAILED")
    else:
        name, kind, file, words = *result.mutant[:3], ("SURVIVED", "caught")
    unit, *chapters = (
        f"{run.label} {words[run.failed]} {run.seconds:.0f} s".strip()
        for run in (result.unit, *result.chapters)
    )
    return f"{name:<46} {kind:<13} {file:<15} {unit:<15} {', '.join(chapters) or UNCHANGED}"


def report(mutants: list[Mutant], workers: int = 1, control: bool = True) -> int:
    """Print the table; 0 if every mutant was caught and the control passed, else 1."""
    print(
        f"{'mutant':<46} {'kind':<13} {'file':<15} {'unit tests':<15} nbval, by chapter", flush=True
    )
    wrong = 0
    for result in examine_all(mutants, workers, control):
        print(line(result), flush=True)
        wrong += not result.as_it_should_be
    print(
        f"{len(mutants)} mutants: "
        + (f"{wrong} lines are not as they should be" if wrong else "all were caught")
    )
    return int(wrong > 0)


def report_quick(mutants: list[Mutant], workers: int) -> int:
    """Print which mutants the tests of `make quick` notice; 0 if they are :data:`ENOUGH` of all,
    else 1."""
    tests = sorted((ROOT / "tests").glob("test_*.py"))
    files = [path for path in tests if "mark.essential" in path.read_text(encoding="utf-8")]

    def quick(mutant: Mutant) -> Run:
        # the mutant's own tests first, because the first failure ends the run
        order = sorted(files, key=lambda path: path.name not in mutant.tests)
        return pytest_fails(mutant, [*(f"tests/{path.name}" for path in order), "-m", ESSENTIAL])

    caught = 0
    with ThreadPoolExecutor(workers) as pool:
        runs = pool.map(quick, mutants)
        for mutant, run in zip(mutants, runs, strict=True):
            word = "caught" if run.failed else "SURVIVED"
            print(f"{mutant.name:<60} {word} {run.seconds:.0f} s", flush=True)
            caught += run.failed
    print(f"make quick catches {caught} of {len(mutants)} mutants")
    return int(caught < ENOUGH * len(mutants))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "words", nargs="*", help="only mutants whose name or file holds one of these words"
    )
    parser.add_argument("--workers", type=int, default=2, help="mutants examined at a time")
    parser.add_argument(
        "--quick", action="store_true", help="count what the tests of `make quick` notice"
    )
    options = parser.parse_args()
    chosen = [
        m
        for m in MUTANTS
        if not options.words or any(w in f"{m.name} {m.file}" for w in options.words)
    ]
    return (
        report_quick(chosen, options.workers) if options.quick else report(chosen, options.workers)
    )


if __name__ == "__main__":
    sys.exit(main())
