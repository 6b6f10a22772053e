"""The theory of equal facts with isotropic embeddings: averages over what fluctuates from draw to
draw, on fixed points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import sympy as sp

from recallbook.arguments import NUMPY, not_allowed
from recallbook.memory_needs import NUMBER, Need, require_memory
from recallbook.setting import Setting
from recallbook_theory.caveats import FEW_SEQUENCES
from recallbook_theory.expected_errors import expected_errors
from recallbook_theory.feature_kernels import ASKED, STORED
from recallbook_theory.lock_on import NODES, lock, values
from recallbook_theory.recall import chance_of_recall, overlaps
from recallbook_theory.symbolic import lock_terms as lock_symbols, recall_terms as recall_symbols
from recallbook_theory.symbolic.expressions import N, V, numeric
from recallbook_theory.theories import OUTCOMES, Asked, Averages, Term, Theory


class EqualFacts(Theory):
    """Exact first and second moments of step 2, step 3 to leading order with corrections."""

    sampled = False
    doubts = (FEW_SEQUENCES,)

    def names(self, setting: Setting) -> tuple[str, ...]:
        """Names of the ledger's terms."""
        return tuple(_entries(setting.width is not None))

    def needs(self, setting: Setting) -> list[Need]:
        """Drawn neurons and tokens, with an MLP."""
        if setting.width is None or setting.law.geometry == "orthonormal":
            return []
        tokens = 1 + ASKED + STORED  # the trigger is one
        return [Need(3.0 * NUMBER * tokens * setting.dim, {"dim": setting.dim})]

    @np.errstate(**NUMPY)
    def averages(self, setting: Setting, asked: Asked = OUTCOMES) -> Averages:
        """Means over the points, without an error of their own.

        Where attention fails one answer in V is right by luck."""
        require_memory(self.needs(setting), "a prediction")
        locks = lock(setting, asked.without, NODES if asked.recall else NODES[:0])
        lock_on = float(np.mean(locks.token))
        if not asked.recall:
            return Averages(0.0, lock_on, 0.0)
        chance = chance_of_recall(setting, locks, asked.without)
        answered = locks.token * chance + (1 - locks.token) / setting.vocab
        terms = typical(setting) if asked.ledger else {}
        return Averages(float(np.mean(answered)), lock_on, float(np.mean(chance)), ledger=terms)

    def draws(self, setting: Setting, without: tuple[str, ...]) -> None:
        """None: draws are integrated out. Terms of single draws have other names."""
        if without:
            allowed = "empty with equal facts: quantiles hold all terms"
            raise not_allowed("without", without, allowed)

    def expected_errors(self, setting: Setting, outcomes: Mapping[str, float]) -> dict[str, float]:
        """Those of :mod:`recallbook_theory.expected_errors`."""
        return expected_errors(setting, outcomes)


def typical(setting: Setting) -> dict[str, Term]:
    """Every term at the typical draw, |t|^2 = Q = M = 1; not a number where there is no attention
    to lock (L = 1)."""
    mlp, terms = setting.width is not None, {}
    known = dict(values(setting, dict.fromkeys(lock_symbols.SHARED, 1.0)))
    if mlp:
        drawn = overlaps(setting).overlaps
        known |= {symbol: float(np.mean(part)) for symbol, part in drawn.items()}
    for name, (expression, outcome, printed, chapter) in _entries(mlp).items():
        alone = setting.seq_len == 1 and outcome == "lock_on"
        size = math.nan if alone else float(numeric(expression)(known))
        terms[name] = Term(size, outcome, printed, chapter)
    return terms


@cache
def _entries(mlp: bool) -> dict[str, tuple[sp.Expr, str, str, str]]:
    """Size, outcome, formula in LaTeX, and chapter of every term, by name."""
    square, missing = lock_symbols.trigger_score(mlp) ** 2, sp.exp(-N / V)
    of_lock, of_recall = lock_symbols.lock_terms(mlp), recall_symbols.mean_squares(mlp)
    locks = "lock_on", "When attention locks on"
    entries = {
        **{k: (term.token / square, *locks) for k, term in of_lock.items()},
        **{k: (term, "recall", "Upper bounds") for k, term in of_recall.items()},
        "coverage": (missing, "recall", "The task"),
    }
    of_mlp = dict.fromkeys(("neuron bias", "neuron noise", "MLP noise"), "The MLP as memory")
    return {
        k: (size, outcome, sp.latex(size), of_mlp.get(k, chapter))
        for k, (size, outcome, chapter) in entries.items()
    }
