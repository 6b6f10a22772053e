"""What the project may weigh, beside what it weighs.

The limits stand in pyproject.toml, ``[tool.recallbook.budgets]``. ``python tests/budgets.py``
prints the weights; with a file of stages, also what `make test` or `make quick` took.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# every package of the distribution: what walks packages walks these
PACKAGES = sorted(path.parent.name for path in ROOT.glob("recallbook*/__init__.py"))
PROJECT = ROOT / "pyproject.toml"
LAYOUT = {getattr(tokenize, name) for name in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()}
FIRST_FLOOR = ("setting.py", "activations.py", "embedding_laws.py", "data", "model", "training")


def budgets() -> dict[str, dict[str, int]]:
    """The limits: ``seconds`` of each stage on two idle cores, and the other ``weights``."""
    project: dict[str, Any] = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    limits: dict[str, dict[str, int]] = project["tool"]["recallbook"]["budgets"]
    return limits


def files(*places: str) -> list[Path]:
    """Python files in these places but those ``__init__.py`` that hold one line."""
    found = [path for place in places for path in (ROOT / place).rglob("*.py")]
    found += [ROOT / place for place in places if (ROOT / place).is_file()]
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


def imported(path: Path) -> set[str]:
    """Modules of the helper that a file of it imports, as dotted names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recallbook"):
            found |= {node.module or ""} | {f"{node.module}.{name.name}" for name in node.names}
    return found


def chain() -> list[str]:
    """The longest chain of modules of the helper of which each imports the next."""
    graph = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): imported(path)
        for path in files("recallbook")
        if path.name != "__init__.py"
    }

    @cache
    def longest(name: str) -> tuple[str, ...]:
        below = [longest(other) for other in sorted(graph[name] & set(graph) - {name})]
        return (name, *max(below, key=len, default=()))

    return list(max((longest(name) for name in graph), key=len))


def weights() -> dict[str, int]:
    """What there is of each weight that has a limit."""
    helper, both = files("recallbook"), files("recallbook", "recallbook_studies")
    floor = files(
        *(f"recallbook/{name}" for name in FIRST_FLOOR if (ROOT / "recallbook" / name).exists())
    )
    return {
        "helper_tokens": sum(map(tokens, helper)),
        "package_tokens": sum(map(tokens, both)),
        "test_tokens": sum(map(tokens, files("tests"))),
        "helper_modules": len(helper),
        "first_floor_modules": len(floor),
        "first_floor_lines": sum(path.read_text(encoding="utf-8").count("\n") for path in floor),
        "import_chain": len(chain()),
    }


def report(taken: Mapping[str, int], allowed: Mapping[str, int], unit: str) -> str:
    """A line for each: its name, what it is, its budget, and how much it is above it."""
    lines = [f"{'':20}{unit:>10}{'budget':>10}"]
    for name, amount in taken.items():
        over = f"   {amount - allowed[name]} above" if amount > allowed[name] else ""
        lines.append(f"{name:20}{amount:10}{allowed[name]:10}{over}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(weights(), budgets()["weights"], "weight"))
    if len(sys.argv) > 1:
        rows = [
            line.split("\t") for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
        ]
        seconds = {stage: int(value) for stage, value in rows}
        limits = budgets()["seconds"]
        total = {"all": sum(seconds.values())}, {"all": sum(limits[stage] for stage in seconds)}
        print(report({**seconds, **total[0]}, {**limits, **total[1]}, "seconds"))
