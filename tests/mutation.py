"""Seed mistakes by rule into six modules of the engine, and print those that no test notices.

``python tests/mutation.py --count 40 --seed 0`` draws mutants of cosmic-ray, changes a clone of the
last commit by each, and runs the tests named in mutation.toml on it. Exit status 1 if fewer than
``ENOUGH`` of them are noticed: some change nothing that can be seen, as a larger block does.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

ROOT = Path(__file__).resolve().parents[1]
CONFIG = "tests/mutation.toml"
ENOUGH = 0.8


def thin(session: Path, count: int, seed: int) -> None:
    """Skip all mutants of a session but ``count``, drawn with a seed from their sorted places."""
    with use_db(session) as work:
        pending = {
            (str(m.module_path), m.start_pos, m.operator_name, m.occurrence): item.job_id
            for item in work.pending_work_items
            for m in item.mutations
        }
        places = sorted(pending)
        kept = set(random.Random(seed).sample(places, min(count, len(places))))
        for place in places:
            if place not in kept:
                work.set_result(pending[place], WorkResult(WorkerOutcome.SKIPPED))
        print(f"{len(kept)} of {len(places)} mutants", flush=True)


def survivors(session: Path) -> tuple[list[str], int]:
    """Differences that no test noticed, and how many mutants were tried."""
    with use_db(session) as work:
        tried = [r for _, r in work.results if r.worker_outcome is not WorkerOutcome.SKIPPED]
    return [r.diff for r in tried if r.test_outcome is TestOutcome.SURVIVED], len(tried)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="mutants to try (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn (default: 0)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone, session = Path(folder) / "clone", Path(folder) / "session.sqlite"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(clone), "OMP_NUM_THREADS": "1"}

        def cosmic_ray(program: str, *arguments: str) -> None:
            subprocess.run([program, *arguments], cwd=clone, env=environment, check=True)

        cosmic_ray("cosmic-ray", "baseline", CONFIG)  # the unchanged modules must pass
        cosmic_ray("cosmic-ray", "init", CONFIG, str(session))
        cosmic_ray("cr-filter-operators", str(session), CONFIG)
        thin(session, options.count, options.seed)
        cosmic_ray("cosmic-ray", "exec", CONFIG, str(session))
        missed, tried = survivors(session)
    for difference in missed:
        print(difference)
    print(f"{tried - len(missed)} of {tried} mutants were noticed")
    return int(tried - len(missed) < ENOUGH * tried)


if __name__ == "__main__":
    sys.exit(main())
