"""Drawing and each of the three steps, in nanoseconds a token, beside the same at an older commit.
One thread, float64.

`python benchmarks/bench_stages.py [COMMIT]`: both are measured in turn in one run, so that the
ratio belongs to the code and not to the machine. The older code comes from git; default: the last
commit with 64-bit tokens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "99ab948"
SIZES = {
    "V=1024 L=64 d=256 N=65536": (1024, 64, 256, 65536),
    "V=256 L=32 d=128 N=131072": (256, 32, 128, 131072),
}
ROUNDS = 3  # the two versions take turns; the best time of each counts
MEASURE = """
import json, sys, time
import torch
import recallbook as rb
try:
    from recallbook.training import early_phase
except ImportError:  # before the packages had folders
    from recallbook import early_phase
torch.set_num_threads(1)
setting = rb.Setting(**json.loads(sys.argv[1]), trigger_in_values=False)
def best(work):
    times = []
    for _ in range(4):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result
seconds = {}
seconds["draw"], problem = best(lambda: rb.draw(setting, 0))
seconds["step 1"], value = best(lambda: early_phase.value_step(problem))
seconds["step 2"], direction = best(lambda: early_phase.key_query_step(problem, value))
seconds["step 3"], _ = best(lambda: early_phase.located_value_step(problem, direction))
token = problem.tokens.element_size()
print(json.dumps({name: 1e9 * s / problem.tokens.numel() for name, s in seconds.items()} | {"bytes a token": token}))
"""


def measured(folder: Path, sizes: tuple[int, ...]) -> dict[str, float]:
    """One run of :data:`MEASURE` with the package of this folder."""
    setting = json.dumps(dict(zip(("vocab", "seq_len", "dim", "samples"), sizes, strict=True)))
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE, setting]
    # in an empty folder, so that the package comes from PYTHONPATH alone
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            command, cwd=empty, env=environment, capture_output=True, encoding="utf-8", check=True
        )
    return json.loads(done.stdout)


def main() -> None:
    commit = sys.argv[1] if len(sys.argv) > 1 else BEFORE
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", commit, "recallbook"], cwd=ROOT, capture_output=True, check=False
        )
        if archive.returncode != 0:
            sys.exit(
                f"no commit {commit} here (a shallow clone?): git fetch --unshallow, or name another commit"
            )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for title, sizes in SIZES.items():
            runs: dict[str, list[dict[str, float]]] = {"before": [], "now": []}
            for _ in range(ROUNDS):
                runs["before"].append(measured(Path(folder), sizes))
                runs["now"].append(measured(ROOT, sizes))
            print(f"\n{title}: nanoseconds a token\n{'':16}{'before':>10}{'now':>10}{'ratio':>10}")
            before, now = (
                {key: min(run[key] for run in part) for key in part[0]} for part in runs.values()
            )
            for part in (before, now):
                part["three steps"] = sum(part[f"step {k}"] for k in (1, 2, 3))
            for key in before:
                print(f"{key:16}{before[key]:10.2f}{now[key]:10.2f}{now[key] / before[key]:10.2f}")


if __name__ == "__main__":
    main()
