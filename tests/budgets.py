"""What the project may weigh, room by room, beside what it weighs.

The limits stand in pyproject.toml, ``[tool.recallbook.budgets]``. ``python tests/budgets.py``
prints the weights and exits with 1 if one is above its limit; with a file of stages, also what
`make test` or `make quick` took, as multiples of a fixed piece of work (``--piece FILE`` times
it)."""

from __future__ import annotations

import ast
import io
import sys
import time
import tokenize
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

ROOT = Path(__file__).resolve().parents[1]
# every package of the distribution: what walks packages walks these
PACKAGES = sorted(path.parent.name for path in ROOT.glob("recallbook*/__init__.py"))
PROJECT = ROOT / "pyproject.toml"
LAYOUT = {getattr(tokenize, name) for name in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()}


def budgets() -> dict[str, dict[str, int]]:
    """The limits: tokens of ``rooms`` and ``sums``, and ``stages`` in pieces of work."""
    project: dict[str, Any] = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    limits: dict[str, dict[str, int]] = project["tool"]["recallbook"]["budgets"]
    return limits


def files(*places: str) -> list[Path]:
    """Python files in these places but those ``__init__.py`` that hold one line."""
    found = [path for place in places for path in (ROOT / place).rglob("*.py")]
    return [path for path in sorted(found) if path.read_text(encoding="utf-8").count("\n") > 1]


@cache
def tokens(path: Path) -> int:
    """Count the tokens of a Python file without comments, docstrings and layout."""
    source = path.read_text(encoding="utf-8")
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documented = [n for n in ast.walk(ast.parse(source)) if isinstance(n, owners)]
    docstrings = {n.body[0].lineno for n in documented if ast.get_docstring(n, clean=False)}
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    counted = [token for token in found if token.type not in LAYOUT]
    return sum(not (t.type == tokenize.STRING and t.start[0] in docstrings) for t in counted)


def rooms(limits: Iterable[str]) -> dict[str, int]:
    """Tokens of each room, a folder: of all files in it but those of rooms inside it."""
    weights = dict.fromkeys(limits, 0)
    for path in files(*{name.split("/")[0] for name in weights}):
        folders = (folder.relative_to(ROOT).as_posix() for folder in path.parents if folder != ROOT)
        weights[next(folder for folder in folders if folder in weights)] += tokens(path)
    return weights


def sums() -> dict[str, int]:
    """Tokens and modules of the helper, and tokens of all packages."""
    helper = files("recallbook")
    return {
        "helper": sum(map(tokens, helper)),
        "helper modules": len(helper),
        "packages": sum(map(tokens, files(*PACKAGES))),
    }


ADVICE = """\
above its budget: look first for what your change makes unnecessary, in that room and in its tests.
If nothing is, raise the limit in pyproject.toml by what you add less what you delete, in a commit
whose message names the room, the amount and the reason."""


def report(taken: Mapping[str, float], allowed: Mapping[str, float], unit: str) -> str:
    """A line for each: its name, what it is, its budget, and how much it is above it."""
    lines = [f"{'':28}{unit:>10}{'budget':>10}"]
    for name, amount in taken.items():
        over = f"   {amount - allowed[name]:,.0f} above" if amount > allowed[name] else ""
        lines.append(f"{name:28}{amount:10,.0f}{allowed[name]:10,.0f}{over}")
    return "\n".join(lines)


def above() -> dict[str, int]:
    """By how much rooms and sums are above their limits."""
    limits = budgets()
    found = {**rooms(limits["rooms"]), **sums()}
    allowed = {**limits["rooms"], **limits["sums"]}
    return {name: n - allowed[name] for name, n in found.items() if n > allowed[name]}


def piece() -> float:
    """Seconds of a fixed piece of work on one core, much like that of the tests: Python, small
    arrays, a larger matrix and expressions."""
    start = time.perf_counter()
    rng, x = np.random.default_rng(0), sp.Symbol("x")
    for _ in range(20):
        table = rng.standard_normal((400, 400))
        np.linalg.svd(table)
        sum(float(np.sort(row)[0]) for row in table for _ in range(20))
        sp.expand((1 + x) ** 60 * (1 - x) ** 60)
    return time.perf_counter() - start


def main(*arguments: str) -> int:
    """Print the weights, or time the piece of work into a file."""
    if arguments[:1] == ("--piece",):
        Path(arguments[1]).write_text(f"piece\t{piece():.2f}\n", encoding="utf-8")
        return 0
    limits = budgets()
    print(report(rooms(limits["rooms"]), limits["rooms"], "tokens"))
    print(report(sums(), limits["sums"], ""))
    if arguments:
        lines = Path(arguments[0]).read_text(encoding="utf-8").splitlines()
        seconds = {name: float(value) for name, value in (line.split("\t") for line in lines)}
        unit = seconds.pop("piece")
        taken = {stage: value / unit for stage, value in seconds.items()}
        allowed = {stage: limits["stages"][stage] for stage in taken}
        taken["all"], allowed["all"] = sum(taken.values()), sum(allowed.values())
        said = f"{sum(seconds.values()):.0f} s; one piece of work takes {unit:.1f} s here"
        print(report(taken, allowed, "pieces"), said, sep="\n")
    if found := above():
        print(*found, ADVICE)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
