"""From an expression to a number."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp


def numeric(expression: sp.Expr, *symbols: sp.Symbol) -> Callable:
    """NumPy function of ``symbols``; raises if the expression holds any other symbol."""
    missing = expression.free_symbols - set(symbols)
    if missing:
        raise ValueError(f"symbols={symbols} is not allowed: the expression also holds {missing}")
    return sp.lambdify(symbols, expression, "numpy", cse=True)
