"""Seeded mistakes in the package, each of which the tests must notice: `make mutants` prints the
table.

They are listed in mutants.toml. A mutant is one small change of one file. All files that git does
not ignore are copied to a temporary folder, changed there, and the unit tests named by the mutant
are run in the copy; then, where the change moves a stored number, nbval is run on the chapters
named by the mutant, each of which has to notice it. The unchanged copy is run in the same way as a
control, which must pass. `python tests/mutants.py --quick` counts what `make quick` notices."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ESSENTIAL, ENOUGH = "essential and not slow and not nightly", 0.9


class Mutant(NamedTuple):
    """``old``, found exactly once in ``file``, becomes ``new``. No ``chapters``: no stored number
    depends on it."""

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: list[str]
    chapters: list[str] = []  # noqa: RUF012


MUTANTS = [
    Mutant(**entry)
    for entry in tomllib.loads((ROOT / "tests/mutants.toml").read_text("utf-8"))["mutant"]
]


def mutated(mutant: Mutant) -> str:
    """The changed text of the mutant's file; raises unless the old text occurs exactly once."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {text.count(mutant.old)} times in {mutant.file}")
    return text.replace(mutant.old, mutant.new)


def copy_files(folder: Path, mutant: Mutant | None) -> None:
    """Write what git does not ignore into ``folder``, changed, and with a line that leaves a mark
    when the package is imported."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(asked, cwd=ROOT, text=True).split("\0"):
        if (ROOT / name).is_file():  # and not removed since
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    if mutant is not None:
        (folder / mutant.file).write_text(mutated(mutant), encoding="utf-8")
    with (folder / "recallbook" / "__init__.py").open("a", encoding="utf-8") as init:
        init.write("\nfrom pathlib import Path\n\n(Path(__file__).parent / 'imported').touch()\n")


def notices(mutant: Mutant | None, arguments: list[str]) -> bool:
    """Whether pytest finds a failure in a copy of the files."""
    with tempfile.TemporaryDirectory() as folder:
        copy_files(Path(folder), mutant)
        # no other folder may come first: neither the current one (-P) nor that of the installed
        # package
        environment = {"PYTHONPATH": folder, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        imported = (Path(folder) / "recallbook" / "imported").exists()
    # a change that cannot be imported or collected shows nothing about the tests: only 0 and 1
    # are verdicts
    if done.returncode not in (0, 1) or "ERROR collecting" in done.stdout or not imported:
        raise RuntimeError(f"{mutant}: pytest ended with {done.returncode}\n{done.stdout}")
    return done.returncode == 1


def runs(mutants: list[Mutant], quick: bool) -> list[list[str]]:
    """What pytest is asked to run, time after time: unit tests, then one chapter after another."""
    named = {name for mutant in mutants for name in mutant.tests}
    if quick:
        tests = sorted((ROOT / "tests").glob("test_*.py"))
        files = [path.name for path in tests if "mark.essential" in path.read_text("utf-8")]
        files.sort(key=lambda name: name not in named)  # the first failure ends the run
        return [[*(f"tests/{name}" for name in files), "-m", ESSENTIAL]]
    chapters = sorted({name for mutant in mutants for name in mutant.chapters})
    unit = [f"tests/{name}" for name in sorted(named)]
    return [unit, *(["--nbval", f"notebooks/{name}.ipynb"] for name in chapters)]


def main() -> int:
    """Print what is noticed; 0 if each mutant is, with --quick most of them, and no control is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose name or file holds one")
    parser.add_argument("--workers", type=int, default=2, help="mutants examined at a time")
    parser.add_argument("--quick", action="store_true", help="by the tests of `make quick`")
    options = parser.parse_args()
    words = options.words or [""]
    chosen = [m for m in MUTANTS if any(word in f"{m.name} {m.file}" for word in words)]
    if not chosen:
        parser.error(f"no mutant's name or file holds one of {words}")
    jobs: list[tuple[Mutant | None, list[str]]]
    jobs = [(None, run) for run in runs(chosen, options.quick)]
    jobs += [(mutant, run) for mutant in chosen for run in runs([mutant], options.quick)]
    broken = missed = 0
    with ThreadPoolExecutor(options.workers) as pool:
        found = pool.map(lambda job: notices(*job), jobs)
        for (mutant, run), noticed in zip(jobs, found, strict=True):
            broken += noticed and mutant is None
            missed += not noticed and mutant is not None
            word = "noticed" if noticed else "not noticed"
            name = mutant.name if mutant else "control: no change"
            print(f"{name:<60} {word} by {' '.join(run)[:60]}", flush=True)
    print(f"{missed} of {len(chosen)} mutants were missed, {broken} controls failed")
    return int(broken > 0 or missed > (1 - ENOUGH) * len(chosen) * options.quick)


if __name__ == "__main__":
    sys.exit(main())
