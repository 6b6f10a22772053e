"""The sizes as symbols, and from an expression to a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from recallbook.arguments import not_allowed

V, N, L, d, m = sp.symbols("V N L d m", positive=True)
tau = sp.Symbol("tau", nonnegative=True)  # 1 with the trigger in the values, else 0
q = sp.Symbol("q", nonnegative=True)  # frequency of token v where no mark stands
Array = NDArray[np.float64]
Values = Mapping[sp.Symbol, Any]  # a number, or an array over points, for each symbol


def power(degree: int, others: int = 0) -> sp.Expr:
    r"""$P_i=\sum_vp_v^i$ of the facts, $P'_j$ of the other tokens, or $P_{i,j}=\sum_vp_v^ip_v'^j$;
    1 where $i+j=1$."""
    if degree + others == 1 and min(degree, others) == 0:
        return sp.Integer(1)
    mixed = f"P_{{{degree},{others}}}"
    name = f"P'_{others}" if degree == 0 else mixed if others else f"P_{{{degree}}}"
    return sp.Symbol(name, positive=True)


def trace(degree: int) -> sp.Expr:
    r"""$s_j=\mathrm{tr}\,S^j$, which is $d^{1-j}$ for isotropic embeddings."""
    return sp.Integer(1) if degree == 1 else sp.Symbol(f"s_{degree}", positive=True)


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
    # no docstring: printing the expression takes as long as compiling it
    function = sp.lambdify(symbols, expression, ["scipy", "numpy"], cse=True, docstring_limit=0)

    def at(values: Values) -> Any:
        missing = [symbol for symbol in symbols if symbol not in values]
        if missing:
            raise not_allowed(
                "values", sorted(map(str, values)), f"a value for every symbol; missing: {missing}"
            )
        return function(*(values[symbol] for symbol in symbols))

    return at
