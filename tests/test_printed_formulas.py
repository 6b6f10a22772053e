"""Every formula of the ledger, read back from the LaTeX that is printed, against the number that `predict` reports."""

import re

import numpy as np
import pytest
import sympy as sp
from sympy.parsing.latex import parse_latex

import recallbook as rb
from recallbook import locating, recalling
from recallbook.symbolic import locking, retrieval

SETTINGS = {
    "Attention-only": rb.Setting(300, 20, 60, 3000),
    "trigger not in the values": rb.Setting(400, 50, 40, 6000, trigger_in_values=False),
    "Attention-MLP": rb.Setting(300, 20, 60, 3000, width=120, activation="relu"),
}


def read(latex):
    """SymPy's parser takes a lone d for a differential and a letter before a bracket for a function."""
    latex = latex.replace(r"\left", "").replace(r"\right", "")
    latex = re.sub(r"(?<![A-Za-z\\])d(?![A-Za-z])", "D", latex)
    latex = re.sub(r"([A-Za-z0-9}\)])\s*\(", r"\1 \\cdot (", latex)
    return parse_latex(latex, backend="antlr")


def values(setting):
    """Numbers of all symbols at the typical draw, by how they are printed."""
    mlp = setting.width is not None
    sizes = (setting.vocab, setting.samples, setting.seq_len, setting.dim, int(setting.trigger_in_values))
    names = dict(zip((*locking.SIZES, *locking.SEED), (*sizes, 1, 1, 1), strict=True))
    if mlp:
        near = (1 / setting.width, *locating.features_near_zero(setting))
        names |= dict(zip(locking.FEATURES, near, strict=True))
        means = (float(np.mean(part)) for part in recalling.overlaps(setting))
        names |= dict(zip(retrieval.OVERLAPS, means, strict=True))
    return {read(sp.latex(symbol)): value for symbol, value in names.items()}


def evaluated(latex, numbers):
    expression = read(latex)
    assert expression.free_symbols <= set(numbers)
    return float(expression.subs(numbers).evalf())


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_printed_formulas_give_the_ledgers_sizes(name):
    setting = SETTINGS[name]
    numbers, mlp = values(setting), setting.width is not None
    score = evaluated(sp.latex(locking.trigger_score(mlp)), numbers)
    for entry, term in rb.predict(setting).ledger.items():
        inserted = {**numbers, sp.Symbol("e"): sp.E} if entry == "coverage" else numbers
        unit = score**2 if entry in locking.lock_terms(mlp) else 1
        assert evaluated(term.formula, inserted) / unit == pytest.approx(term.size, rel=1e-9), entry


def test_a_changed_formula_would_be_noticed():
    setting = SETTINGS["Attention-only"]
    formula = rb.predict(setting).ledger["mean bias"].formula
    changed = formula.replace("d^{3}", "d^{2}")
    assert changed != formula
    ratio = evaluated(changed, values(setting)) / evaluated(formula, values(setting))
    assert ratio == pytest.approx(setting.dim)
