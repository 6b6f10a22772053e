"""Every formula of the ledger, read back from the LaTeX that is printed, against the number that
`predict` reports."""

import re

import numpy as np
import pytest
import sympy as sp
from sampling import by_night
from sized import marked, sized
from sympy.parsing.latex import parse_latex

import recallbook as rb
from recallbook_theory import lock_on, recall
from recallbook_theory.symbolic import lock_terms as lock_symbols

SETTINGS = {
    "Attention-only": marked(300, 20, 60, 3000),
    "trigger not in the values": sized(400, 50, 40, 6000),
    "Attention-MLP": marked(300, 20, 60, 3000, width=120, activation="relu"),
}


def read(latex):
    """SymPy's parser takes a lone d for a differential and a letter before a bracket for a
    function."""
    latex = latex.replace(r"\left", "").replace(r"\right", "")
    latex = re.sub(r"(?<![A-Za-z\\])d(?![A-Za-z])", "D", latex)
    latex = re.sub(r"([A-Za-z0-9}\)])\s*\(", r"\1 \\cdot (", latex)
    return parse_latex(latex, backend="antlr")


def values(setting):
    """Numbers of all symbols at the typical draw, by how they are printed."""
    names = {**lock_on.values(setting, dict.fromkeys(lock_symbols.SHARED, 1.0))}
    if setting.width is not None:
        names |= {
            symbol: float(np.mean(part))
            for symbol, part in recall.overlaps(setting).overlaps.items()
        }
    return {read(sp.latex(symbol)): value for symbol, value in names.items()}


def evaluated(latex, numbers):
    expression = read(latex)
    assert expression.free_symbols <= set(numbers)
    return float(expression.subs(numbers).evalf())


@pytest.mark.slow
@pytest.mark.parametrize("name", by_night(SETTINGS, day=2))
def test_printed_formulas_give_the_ledgers_sizes(name):
    setting = SETTINGS[name]
    numbers = values(setting)
    for entry, term in rb.predict(setting).ledger.items():
        inserted = {**numbers, sp.Symbol("e"): sp.E} if entry == "coverage" else numbers
        assert evaluated(term.formula, inserted) == pytest.approx(term, rel=1e-9), entry
        assert float(repr(term)) == pytest.approx(term, rel=0.05), entry
