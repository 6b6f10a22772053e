"""What the stages of `make test` and `make quick` took, beside their budgets in pyproject.toml:
printed at the end."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def budgets() -> dict[str, int]:
    """Seconds that a stage may take on two idle cores, by its name."""
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["recallbook"]["budgets"]


def report(taken: dict[str, int]) -> str:
    """A line for each stage and one for all: seconds, budget, and how much they are above it."""
    allowed = {stage: budgets()[stage] for stage in taken}
    rows = [(stage, taken[stage], allowed[stage]) for stage in taken]
    rows.append(("all", sum(taken.values()), sum(allowed.values())))
    lines = [f"{'stage':12}{'seconds':>8}{'budget':>8}"]
    for stage, seconds, budget in rows:
        lines.append(
            f"{stage:12}{seconds:8}{budget:8}"
            + (f"   {seconds - budget} s above" if seconds > budget else "")
        )
    return "\n".join(lines)


if __name__ == "__main__":
    stages = [
        line.split("\t") for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    ]
    print(report({stage: int(seconds) for stage, seconds in stages}))
