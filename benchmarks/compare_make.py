"""Stages of `make test` and `make quick` here, beside those of an older commit, in one run on one
machine.

`python benchmarks/compare_make.py [COMMIT]` clones both into temporary folders, sets both up, and
runs the stages in turn. An hour on two cores; the numbers mean something only while nothing else
runs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "4d25661"
STAGES = ("lint", "book", "unit", "nbval", "quick")


def clone(commit: str, folder: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "checkout", "--quiet", commit], cwd=folder, check=True)
    subprocess.run(["make", "setup"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def seconds(folder: Path, stage: str) -> float:
    """Wall time of one stage; what it printed, if it failed."""
    start = time.monotonic()
    done = subprocess.run(
        ["make", stage], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        print(done.stdout[-2000:] + done.stderr[-2000:])
    return time.monotonic() - start


def main() -> None:
    commit = sys.argv[1] if len(sys.argv) > 1 else BEFORE
    with tempfile.TemporaryDirectory() as folder:
        before, now = (clone(one, Path(folder) / one) for one in (commit, "HEAD"))
        print(f"{'stage':8}{commit:>12}{'now':>12}{'ratio':>8}")
        for stage in STAGES:
            old, new = seconds(before, stage), seconds(now, stage)
            print(f"{stage:8}{old:10.0f} s{new:10.0f} s{new / old:8.2f}", flush=True)


if __name__ == "__main__":
    main()
