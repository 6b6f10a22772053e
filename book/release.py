"""Try the release as its readers will, in fresh environments: `make test-release`, `make
test-latest`, `make test-lowest`.

    python book/release.py archive [NAME ...]
                                        unpack the archive of the built book, install its wheel with
                                        the pinned versions, run every plain notebook (or those
                                        whose names begin so), numbers compared, and leave the
                                        wheel in dist/
    python book/release.py latest      the newest versions of everything, on $PYTHON or this Python;
                                        numbers compared
    python book/release.py lowest      the lowest version of everything that pyproject.toml allows,
                                        on this Python; the essential tests, and numbers compared

Slow (each makes an environment of its own), so no part of `make test`.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import stamp

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "_build" / "html" / "run"  # what `make book` puts beside the pages
RUNNER = ["nbval", "pytest", "nbclient", "ipykernel"]


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def notebooks(folder=ROOT / "notebooks", names=("",)):
    found = [path for path in sorted(folder.glob("*.ipynb")) if path.name.startswith(tuple(names))]
    if not found:
        sys.exit("No notebooks found")
    return found


def new_environment(folder, python=sys.executable):
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def install(python, *what):
    run(python, "-m", "pip", "install", "--quiet", *what)


def committed_copy(folder):
    """A clone of what is committed: a release cannot contain more."""
    run("git", "clone", "--quiet", ROOT, folder)
    return folder


def run_alone(python, folder, chosen):
    """Recompute each notebook in an empty folder of its own and compare every stored number."""
    for notebook in chosen:
        alone = folder / f"alone-{notebook.stem}"
        alone.mkdir()
        shutil.copy(notebook, alone)
        settings = ROOT / "tests" / "nbval_sanitize.cfg"
        # No pyproject.toml above, no PYTHONPATH: only what is installed can be imported.
        run(
            python,
            *("-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-q"),
            f"--nbval-sanitize-with={settings}",
            notebook.name,
            cwd=alone,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )


def archive(folder, *names):
    shutil.unpack_archive(RUN / f"{stamp.ARCHIVE}.zip", folder)
    unpacked = folder / stamp.ARCHIVE
    for path in unpacked.glob("*.ipynb"):  # a kernel draws in SVG, which the settings sanitize so
        drawn = re.sub('"image/png": ".*?"', '"image/svg+xml": "FIGURE"', path.read_text("utf-8"))
        path.write_text(drawn, "utf-8")
    python = new_environment(folder / "environment")
    install(python, unpacked / stamp.wheel(), *RUNNER, "-c", ROOT / "constraints.txt")
    run_alone(python, folder, notebooks(unpacked, names or ("",)))
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    (ROOT / "dist").mkdir()
    shutil.copy(unpacked / stamp.wheel(), ROOT / "dist")


def latest(folder):
    python = new_environment(folder / "environment", os.environ.get("PYTHON") or sys.executable)
    newest = ("--upgrade", "--upgrade-strategy", "eager")
    install(python, *newest, committed_copy(folder / "source"), *RUNNER)
    run(python, "-m", "pip", "list")
    run_alone(python, folder, notebooks())


def lowest_versions(root=ROOT):
    """What package, book and tests ask for, each at its lower bound; what those need is free."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = project["dependencies"] + extras["book"] + extras["test"]
    return [re.sub(r">=([^,]+).*", r"==\1", one) for one in asked]


def lowest(folder):
    source, bounds = committed_copy(folder / "source"), folder / "lowest.txt"
    bounds.write_text("\n".join(lowest_versions()), encoding="utf-8")
    python = new_environment(folder / "environment")
    install(python, "--editable", f"{source}[book,test]", "-c", bounds)
    essential = "essential and not slow and not nightly"
    run(python, "-m", "pytest", "tests", "-q", "-n", "2", "-m", essential, cwd=source)
    run_alone(python, folder, notebooks())


def main(task, *names):
    tasks = {"archive": archive, "latest": latest, "lowest": lowest}
    with tempfile.TemporaryDirectory() as folder:
        tasks[task](Path(folder), *names)
    print(f"release {task}: passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
