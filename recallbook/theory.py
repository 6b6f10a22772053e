r"""Predictions with no fitted constant: lock-on, recall and accuracy of three steps in the early-phase limit.

The expressions of :mod:`recallbook.symbolic` give signal and noise once the draw's own fluctuations are fixed; what is
left is an average over these, taken on a fixed low-discrepancy set of points.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from recallbook import symbolic
from recallbook.locating import arguments, lock, symbols
from recallbook.recalling import located_counts, overlaps, right
from recallbook.setting import Setting, bad, check_rate, check_size
from recallbook.symbolic import locking, retrieval

LONGEST_SEARCH = 2**31 - 1
WIDEST = 2**24  # wider MLPs are as good as infinite


class Term(NamedTuple):
    """One entry of the ledger: its size, its formula, and where it is derived."""

    size: float
    formula: str
    derived: str


@dataclass(frozen=True)
class Prediction:
    """Averages over embeddings, data and test sequences in the early-phase limit.

    ``ledger`` maps the name of each term to its size, its formula in LaTeX, and where it is derived. Sizes of the
    terms of step 2 are variances in units of the squared trigger score, at a typical draw; sizes of the terms of
    step 3 are mean squares of a wrong logit in units of the squared right one.
    """

    accuracy: float
    lock_on: float
    recall: float
    ledger: Mapping[str, Term]


def predict(setting: Setting, *, without: tuple[str, ...] = ()) -> Prediction:
    r"""Predict lock-on, recall and accuracy from $V,N,d,L$ and the setting's choices alone. Ours; no fitted constant.

    Derived to leading order, with the corrections in $1/L$, $1/d$, $1/N$ that matter. Checked for $V\ge150$,
    $d\ge20$, $N\ge V$, $L\le150$, with the MLP for $0.6\le m/d\le20$; outside $V\ge100$, $d\ge16$, $V\le N$,
    $L\le V$, $m\ge d/2$ it warns. The MLP enters through Gaussian means of its activation, by quadrature.

    Parameters
    ----------
    setting : Setting
        Attention-only or Attention-MLP, with any activation.
    without : tuple of str
        Names of ledger terms to leave out, to see what each costs.

    Raises
    ------
    ValueError
        If ``setting`` is not a Setting, or ``without`` holds an unknown name.
    """
    _check(setting)
    for name in without:
        if name not in term_names(setting):
            raise bad("without", name, "names of ledger terms: " + ", ".join(term_names(setting)))
    locks = lock(setting, without)
    located, wrong = located_counts(setting, locks, without)
    chance = right(setting, located, wrong, locks, without)
    return Prediction(
        accuracy=float(np.mean(locks.token * chance)),
        lock_on=float(np.mean(locks.token)),
        recall=float(np.mean(chance)),
        ledger=_ledger(setting) if not without else {},
    )


def predicted_lock_on(setting: Setting) -> float:
    """Lock-on of :func:`predict` and nothing else: a tenth of the work."""
    _check(setting)
    return float(np.mean(lock(setting).token))


def term_names(setting: Setting) -> tuple[str, ...]:
    """Names of the ledger's terms."""
    mlp = setting.width is not None
    return (*locking.lock_terms(mlp), *retrieval.mean_squares(mlp), "coverage")


def phase(setting: Setting) -> str:
    """The term whose removal would raise predicted accuracy most, by name."""
    base = predict(setting)
    gains = {name: predict(setting, without=(name,)).accuracy - base.accuracy for name in base.ledger}
    return max(gains, key=lambda name: gains[name])


def critical_samples(vocab: int, seq_len: int, dim: int, accuracy: float = 0.9, **setting: Any) -> float:
    """Smallest number of training sequences with at least this predicted accuracy; infinite where there is none.

    By doubling from ``vocab`` and bisection to a relative width of one part in a thousand.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, or a size is bad.
    """
    low = check_size("vocab", vocab, smallest=2)
    return _smallest(lambda samples: Setting(vocab, seq_len, dim, samples, **setting), low, LONGEST_SEARCH, accuracy)


def critical_width(vocab: int, seq_len: int, dim: int, samples: int, accuracy: float = 0.9, **setting: Any) -> float:
    """Smallest width of the MLP with at least this predicted accuracy; infinite where there is none.

    By doubling from half of ``dim``, where predictions begin, and bisection to one part in a thousand.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, or a size is bad.
    """
    low = max(1, check_size("dim", dim) // 2)
    return _smallest(lambda m: Setting(vocab, seq_len, dim, samples, width=m, **setting), low, WIDEST, accuracy)


def _smallest(at: Callable[[int], Setting], low: int, largest: int, accuracy: float) -> float:
    """Smallest size from ``low`` to ``largest`` whose setting has this predicted accuracy."""
    accuracy = check_rate("accuracy", accuracy, "a number between 0 and 1")
    if accuracy >= 1:
        raise bad("accuracy", accuracy, "a number between 0 and 1")

    def reached(size: int) -> bool:
        return predict(at(size)).accuracy >= accuracy

    if not reached(largest):
        return math.inf
    if reached(low):
        return float(low)
    high = 2 * low
    while not reached(high):
        low, high = high, min(2 * high, largest)
    while high > low + max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return float(high)


# The ledger


@cache
def _ledger_formulas(mlp: bool) -> dict[str, tuple[str, str, Callable]]:
    """Formula, where it is derived, and its size, by name."""
    score = locking.trigger_score(mlp)
    names = symbols(mlp)
    formulas = {}
    for name, term in locking.lock_terms(mlp).items():
        size = symbolic.numeric(term.token / score**2, *names)
        formulas[name] = (sp.latex(term.token), "When attention locks on", size)
    names = (*names, *retrieval.OVERLAPS)
    for name, expression in retrieval.mean_squares(mlp).items():
        size = symbolic.numeric(expression, *names)
        formulas[name] = (sp.latex(expression), "When facts can be recalled", size)
    missing = sp.exp(-locking.N / locking.V)
    formulas["coverage"] = (sp.latex(missing), "The task", symbolic.numeric(missing, *names))
    if mlp:
        for name in ("neuron bias", "neuron noise", "MLP noise"):
            formulas[name] = (formulas[name][0], "The MLP as memory", formulas[name][2])
    return formulas


def _ledger(setting: Setting) -> dict[str, Term]:
    """Every term at the typical draw, |t|^2 = Q = M = 1; not a number where there is no attention to lock (L = 1)."""
    mlp, terms = setting.width is not None, {}
    typical = arguments(setting, shared=(1.0, 1.0, 1.0))
    means = (float(np.mean(part)) for part in overlaps(setting)) if mlp else (0.0,) * len(retrieval.OVERLAPS)
    all_values = (*typical, *means)
    for name, (formula, derived, size) in _ledger_formulas(mlp).items():
        alone = setting.seq_len == 1 and name in locking.lock_terms(mlp)
        values = typical if name in locking.lock_terms(mlp) else all_values
        terms[name] = Term(math.nan if alone else float(size(*values)), formula, derived)
    return terms


def _check(setting: Any) -> None:
    if not isinstance(setting, Setting):
        raise bad("setting", setting, "a recallbook.Setting")
    outside = [
        text
        for text, wrong in (
            (f"vocab={setting.vocab} below 100", setting.vocab < 100),
            (f"dim={setting.dim} below 16", setting.dim < 16),
            (f"samples={setting.samples} below vocab={setting.vocab}", setting.samples < setting.vocab),
            (f"seq_len={setting.seq_len} above vocab={setting.vocab}", setting.seq_len > setting.vocab),
            (
                f"width={setting.width} below half of dim={setting.dim}",
                2 * (setting.width or setting.dim) < setting.dim,
            ),
        )
        if wrong
    ]
    if outside:
        warnings.warn("outside the range where predictions were checked: " + ", ".join(outside), stacklevel=3)
