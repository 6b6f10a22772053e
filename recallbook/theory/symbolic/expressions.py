"""The sizes as symbols, and from an expression to a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import sympy as sp

from recallbook.arguments import not_allowed

V, N, L, d, m = sp.symbols("V N L d m", positive=True)
tau = sp.Symbol("tau", nonnegative=True)  # 1 with the trigger in the values, else 0
Values = Mapping[sp.Symbol, Any]  # a number, or an array over points, for each symbol


@cache
def numeric(expression: sp.Expr) -> Callable[[Values], Any]:
    """The expression as a NumPy function of ``{symbol: value}``; symbols that it does not hold may
    be there.

    Raises
    ------
    ValueError
        When called without a value for one of its symbols.
    """
    symbols = sorted(expression.free_symbols, key=str)
    function = sp.lambdify(symbols, expression, ["scipy", "numpy"], cse=True)

    def at(values: Values) -> Any:
        missing = [symbol for symbol in symbols if symbol not in values]
        if missing:
            raise not_allowed(
                "values", sorted(map(str, values)), f"a value for every symbol; missing: {missing}"
            )
        return function(*(values[symbol] for symbol in symbols))

    return at
