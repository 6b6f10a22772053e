"""The pages of laws and the landing page: ``python book/laws.py`` writes them and their pictures.

The words are in book/*.md.in. What stands there between double angle brackets is an expression,
which may name whatever laws_numbers.py has: a formula of SymPy is typeset, rows become a table, and
a number may have a format, as in ``<<wall(256):.1f>>``. A test says that the pages are what this
script gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import laws_numbers
import laws_picture
import sympy as sp

HERE = Path(__file__).parent
PAGES = tuple(HERE / f"{name}.md" for name in ("index", "laws", "further_laws"))  # from .md.in
PICTURES = ("laws", "counts", "idea", "capacity")  # by laws_picture.draw_<name>
EXPRESSION = re.compile(r"<<(.+?)(?::(,?(?:\.\d)?[dfg]))?>>")


def inline(formula: sp.Expr) -> str:
    """A formula as a line of text holds it."""
    text: str = sp.latex(formula, ln_notation=True, fold_frac_powers=True)
    return text.replace(r"{\left(L \right)}", " L").replace(r"{\left(V \right)}", " V")


def table(header: list[str], *rows: list[str]) -> str:
    """A table in Markdown; numbers to the right."""
    lines = [header, [":--"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


NAMES = {**vars(laws_numbers), "inline": inline}


def written(expression: re.Match[str]) -> str:
    """An expression of a page as the page has it."""
    value: Any = eval(expression[1], NAMES)
    if isinstance(value, sp.Basic):
        return inline(value).replace(r"\frac", r"\dfrac")
    return table(*value) if isinstance(value, list) else format(value, expression[2] or "")


def template(page: Path) -> str:
    """The words of a page, with expressions in double angle brackets."""
    return page.with_suffix(".md.in").read_text(encoding="utf-8")


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(EXPRESSION.sub(written, template(page)), encoding="utf-8")
    for name in PICTURES:
        getattr(laws_picture, f"draw_{name}")(HERE / "images" / f"{name}.svg")
