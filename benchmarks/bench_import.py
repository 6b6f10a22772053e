"""`import recallbook` beside `import torch`: CPU seconds of fresh interpreters, taken in turn; the
best counts."""

from __future__ import annotations

import resource
import subprocess
import sys

ROUNDS = 7


def seconds(line: str) -> float:
    """CPU time of an interpreter that runs this line."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", line], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    lines = ("import torch", "import recallbook", "import recallbook as rb; rb.predict")
    best = dict.fromkeys(lines, float("inf"))
    for _ in range(ROUNDS):
        best = {line: min(best[line], seconds(line)) for line in lines}
    for line, cost in best.items():
        print(f"{line:40}{cost:8.2f} s{cost / best['import torch']:8.2f}")


if __name__ == "__main__":
    main()
