"""How *Laws at a glance* writes formulas, tables and numbers, and the setting that all its parts
share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache

import sympy as sp

import recallbook as rb

RUNNING = rb.Setting(vocab=256, seq_len=128, dim=96, samples=2048, trigger_in_values=False)


def latex(expression: sp.Expr) -> str:
    """An expression as the page prints it."""
    text = sp.latex(expression, ln_notation=True, fold_frac_powers=True).replace(
        r"\frac", r"\dfrac"
    )
    return text.replace(r"{\left(L \right)}", " L").replace(r"{\left(V \right)}", " V")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; numbers to the right."""
    lines = [header, [":--"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rounded(number: float, digits: int = 2) -> str:
    """A number to so many significant digits, with thousands apart."""
    if not math.isfinite(number):
        return r"$\infty$"
    kept = float(f"{number:.{digits}g}")
    return f"{kept:,.0f}" if abs(kept) >= 10 ** (digits - 1) else f"{kept:.{digits}g}"


@cache
def predicted(setting: rb.Setting) -> rb.Prediction:
    """Accuracy and its parts."""
    return rb.predict(setting, warn=False)
