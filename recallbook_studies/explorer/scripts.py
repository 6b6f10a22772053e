r"""The formulas of the page, in JavaScript, from the expressions that the package evaluates.

SymPy prints them; nothing is typed twice. How far a prediction is typically off comes from
:mod:`recallbook_theory.expected_errors`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from recallbook_studies import laws
from recallbook_studies.ch06 import sandwich
from recallbook_studies.explorer import cases
from recallbook_theory import expected_errors, trained
from recallbook_theory.bounds import information_terms
from recallbook_theory.symbolic import lock_terms as lock_symbols, recall_terms as recall_symbols
from recallbook_theory.symbolic.expressions import N, V

KINDS = {"plain": False, "MLP": True}


def function(expression: sp.Expr) -> str:
    """An arrow function of an object that holds a number for each symbol."""
    renamed = expression.xreplace({information_terms.unseen: sp.Symbol("unseen")})
    arguments = ", ".join(sorted(map(str, renamed.free_symbols)))
    return f"({{{arguments}}}) => {sp.jscode(renamed)}"


def ledger() -> dict[str, sp.Expr]:
    """The size of every term without the MLP at the typical draw, by name."""
    typical, score = dict.fromkeys(lock_symbols.SHARED, 1), lock_symbols.trigger_score()
    of_lock = {
        name: (term.token / score**2).subs(typical)
        for name, term in lock_symbols.lock_terms().items()
    }
    sizes = {**of_lock, **recall_symbols.mean_squares(), "coverage": sp.exp(-N / V)}
    return {name: sp.factor(size) for name, size in sizes.items()}


def needs() -> dict[str, sp.Expr]:
    """What is necessary, see :func:`recallbook.minimum_samples`, and what attention asks for at the
    best vocabulary."""
    return {"coverage": information_terms.coverage(), "attention": laws.cliff()}


def shape(activation: str) -> dict[str, float]:
    """What expected errors know of an activation, in few digits."""
    known = expected_errors.shape(activation)._asdict()
    return {name: float(f"{value:.6g}") for name, value in known.items()}


def facts() -> dict[str, Any]:
    """Constants of the package that the page shows or compares with."""
    proved = sandwich.load()
    proved = proved[(proved["accuracy"] == sandwich.LEVEL) & (proved["embeddings"] == "gaussian")]
    proved = proved[np.isfinite(proved["sufficient"])]
    return {
        "accuracy": sandwich.LEVEL,
        "range": {
            "vocab": [cases.VOCABS[0], cases.VOCABS[-1]],
            "seq_len": [cases.LENGTHS[0], cases.LENGTHS[-1]],
            "dim": [cases.DIMS[0], cases.DIMS[-1]],
            "fewest": cases.FEWEST,
            "share": [cases.SHARES[0], 1000],
            "width": [cases.RATIOS[0], cases.RATIOS[-1]],
        },
        "recall_terms": list(recall_symbols.mean_squares()),
        "expected": {
            "weights": {
                **{kind: expected_errors.weights(mlp) for kind, mlp in KINDS.items()},
                "trained": expected_errors.weights(False, trained.TABLE),
            },
            "shapes": {kind: shape(kind) for kind in cases.ACTIVATIONS},
            "vocabs": expected_errors.VOCABS,
            "dims": expected_errors.DIMS,
            "ratios": expected_errors.RATIOS,
            "few": [expected_errors.FEWEST_TOKENS, expected_errors.FEWEST_DIMS],
            "large": expected_errors.LARGE,
        },
        "trained": {"large": trained.LARGE, "most": trained.MOST},
        "sufficient": proved[
            ["vocab", "seq_len", "dim", "trigger_in_values", "sufficient"]
        ].to_dict("records"),
    }


def formulas() -> str:
    """The script: functions by name."""
    lines = [
        "// Printed by SymPy from the package's expressions; python -m recallbook table explorer --export."
    ]
    lines.append("(function (explorer) {")
    for group, entries in (("ledger", ledger()), ("needs", needs())):
        lines.append(f"  explorer.{group} = {{")
        lines += [f'    "{name}": {function(expression)},' for name, expression in entries.items()]
        lines.append("  };")
    lines.append("})((window.explorer = window.explorer || {}));")
    return "\n".join(lines) + "\n"
