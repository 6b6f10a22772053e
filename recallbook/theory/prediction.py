r"""Predictions with no fitted constant: lock-on, recall and accuracy of three steps in the
early-phase limit.

The expressions of :mod:`recallbook.theory.symbolic` give signal and noise once the draw's own
fluctuations are fixed; what is left is an average over these, taken on a fixed low-discrepancy set
of points."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from tqdm import tqdm

from recallbook.arguments import LARGEST_SIZE, check_share, check_size, not_allowed
from recallbook.memory_needs import predict_needs, require_memory
from recallbook.setting import Setting
from recallbook.theory import unequal
from recallbook.theory.caveats import doubts, message
from recallbook.theory.drawn_facts import Embeddings, OwnTables, own_tables
from recallbook.theory.draws import DrawLaw, draw_law
from recallbook.theory.lock_on import NODES, lock, values
from recallbook.theory.recall import chance_of_recall, overlaps
from recallbook.theory.search import bracket
from recallbook.theory.symbolic import lock_terms as lock_symbols, recall_terms as recall_symbols
from recallbook.theory.symbolic.expressions import Array, N, V, numeric

WIDEST = 2**24  # wider MLPs are as good as infinite


class Term(NamedTuple):
    """One entry of the ledger: its size, the formula that gives it, and where it is derived.

    With unequal facts sizes are means over draws, and a formula is what leads one token's score,
    not yet in their unit. Printed, it is its size."""

    size: float
    formula: str
    derived: str

    def __repr__(self) -> str:
        return f"{self.size:.2g}"


class Quantiles(NamedTuple):
    """What a share of all draws of embeddings and data stays below: a value for each outcome, from
    its own law."""

    accuracy: float
    lock_on: float
    recall: float


@dataclass(frozen=True)
class Prediction:
    """Averages over embeddings, data and test sequences in the early-phase limit.

    ``ledger`` maps the name of each term to its size, its formula in LaTeX, and where it is
    derived. Sizes of the terms of step 2 are variances in units of the squared trigger score, at a
    typical draw; sizes of the terms of step 3 are mean squares of a wrong logit in units of the
    squared right one. ``error`` is the largest standard error of the three where they are means
    over draws, as with unequal facts; else 0."""

    accuracy: float
    lock_on: float
    recall: float
    ledger: Mapping[str, Term]
    error: float = field(default=0.0, repr=False)
    _draws: Callable[[], Iterable[Array]] | None = field(default=None, repr=False, compare=False)

    def quantile(self, q: float) -> Quantiles:
        """Accuracy, lock-on and recall that a share ``q`` of draws of embeddings and data stays
        below.

        A simulation is one draw; test sequences are endless here. From the fluctuations that the
        averages are over (:mod:`recallbook.theory.draws`), found at the first call, in a second;
        with unequal facts or structured embeddings the quantile of 64 to 256 draws, in up to four
        times the time of the averages, where the share below a quantile of 0.1 is known to 0.02 to
        0.04. Compared with simulation in chapter 9.

        Raises
        ------
        ValueError
            If ``q`` is not a number between 0 and 1, both excluded.
        """
        q = check_share("q", q)
        return Quantiles(*(float(np.quantile(outcomes, q)) for outcomes in self._law))

    @cached_property
    def _law(self) -> DrawLaw:
        if self._draws is None:
            raise not_allowed("prediction", self, "one that rb.predict made")
        return DrawLaw(*self._draws())


def predict(
    setting: Setting,
    *,
    without: tuple[str, ...] = (),
    warn: bool = True,
    embeddings: Embeddings | Mapping[str, Any] | None = None,
) -> Prediction:
    r"""Predict lock-on, recall and accuracy from $V,N,d,L$ and the setting's choices alone. Ours;
    no fitted constant.

    Step 2 has exact first and second moments (Attention-only), step 3 is derived to leading order
    with corrections; laws between moments are closures. Checked on 2400 random settings over most
    of what a Setting allows, from which
    :mod:`recallbook.theory.caveats` is drawn: it warns where it is in doubt, and says by about how much. The MLP enters
    step 2 through Gaussian means of its activation, step 3 through draws of neurons. With equal facts
    a wrong place that answers right gets no credit: with two tokens accuracy is some 0.3 too low, with eight 0.1.

    Parameters
    ----------
    setting : Setting
        Attention-only or Attention-MLP, with any activation; with unequal facts, structured or own
        embeddings Attention-only (:mod:`recallbook.theory.unequal`).
    without : tuple of str
        Names of ledger terms to leave out, to see what each costs.
    warn : bool
        Whether to warn where the prediction is in doubt.
    embeddings : Embeddings, mapping or None
        The caller's own tables, as :func:`recallbook.draw` takes them.

    Raises
    ------
    ValueError
        If ``setting`` is not a Setting, or ``without`` holds an unknown name.
    """
    _check(setting)
    own = own_tables(embeddings, setting)
    names = unequal.NAMES if unequal.needs_sampled_theory(setting, own) else term_names(setting)
    for name in without:
        if name not in names:
            raise not_allowed("without", name, "names of ledger terms: " + ", ".join(names))
    _check_size(setting, unequal.needs_sampled_theory(setting, own))
    if unequal.needs_sampled_theory(setting, own):
        return _predict_unequal(setting, own, without, warn)
    locks = lock(setting, without)
    if warn:
        _warn(setting, float(np.mean(locks.token)))
    chance = chance_of_recall(setting, locks, without)
    return Prediction(
        accuracy=float(np.mean(locks.token * chance)),
        lock_on=float(np.mean(locks.token)),
        recall=float(np.mean(chance)),
        ledger=_ledger(setting) if not without else {},
        _draws=partial(draw_law, setting, without),
    )


def _predict_unequal(
    setting: Setting, own: OwnTables, without: tuple[str, ...], warn: bool
) -> Prediction:
    found = unequal.averages(setting, own, without, ledger=not without)
    if warn:
        _warn(setting, found.lock_on, level=4, own=bool(own), error=found.error, frail=found.frail)
    ledger = unequal.ledger(setting, found.sizes) if not without else {}
    terms = {name: Term(*entry) for name, entry in ledger.items()}
    draws = partial(unequal.draw_law, setting, own, without)
    return Prediction(found.accuracy, found.lock_on, found.recall, terms, found.error, draws)


def predicted_lock_on(setting: Setting, *, warn: bool = True) -> float:
    """Lock-on of :func:`predict` and nothing else: a tenth of the work, but with unequal facts,
    where it is most."""
    _check(setting)
    _check_size(setting, unequal.needs_sampled_theory(setting, {}))
    if unequal.needs_sampled_theory(setting, {}):
        means = unequal.averages(setting, {}, recall=False)
        if warn:
            _warn(setting, means.lock_on, error=means.error, frail=means.frail)
        return means.lock_on
    found = float(np.mean(lock(setting, nodes=NODES[:0]).token))
    if warn:
        _warn(setting, found)
    return found


def reaches(setting: Setting, accuracy: float) -> bool:
    """Whether predicted accuracy is at least this; where it is an average, over no more draws than
    that takes."""
    if not unequal.needs_sampled_theory(setting, {}):
        return predict(setting, warn=False).accuracy >= accuracy
    _check_size(setting, True)
    return unequal.averages(setting, {}, level=accuracy).accuracy >= accuracy


def term_names(setting: Setting) -> tuple[str, ...]:
    """Names of the ledger's terms."""
    if unequal.needs_sampled_theory(setting, {}):
        return unequal.NAMES
    mlp = setting.width is not None
    return (*lock_symbols.lock_terms(mlp), *recall_symbols.mean_squares(mlp), "coverage")


def phase(setting: Setting) -> str:
    """The term whose removal would raise predicted accuracy most, by name."""
    accuracies = {
        name: predict(setting, without=(name,), warn=False).accuracy for name in term_names(setting)
    }
    return max(accuracies, key=lambda name: accuracies[name])


def critical_samples(
    vocab: int, seq_len: int, dim: int, accuracy: float = 0.9, *, warn: bool = True, **setting: Any
) -> float:
    """Smallest number of training sequences with at least this predicted accuracy; infinite where
    there is none.

    By doubling from ``vocab`` and bisection to one part in a thousand: some 30 predictions, of
    milliseconds each. With unequal facts or structured embeddings to one part in a hundred, counted
    on a terminal: some ten seconds at V = 16, half a minute at 256, six minutes at 1024. Warns as
    :func:`predict` does at the number found, unless ``warn`` is false.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, or a size is bad.
    """
    low = check_size("vocab", vocab, smallest=2)
    fixed = {"vocab": vocab, "seq_len": seq_len, "dim": dim, **setting}
    at = partial(Setting, **fixed)
    return smallest_size(lambda n: at(samples=n), low, LARGEST_SIZE, accuracy, warn=warn)


def critical_width(
    vocab: int,
    seq_len: int,
    dim: int,
    samples: int,
    accuracy: float = 0.9,
    *,
    warn: bool = True,
    **setting: Any,
) -> float:
    """Smallest width of the MLP with at least this predicted accuracy; infinite where there is
    none.

    By doubling from half of ``dim`` and bisection to one part in a thousand. Warns as
    :func:`predict` does at the width found, unless ``warn`` is false.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, or a size is bad.
    """
    low = max(1, check_size("dim", dim) // 2)
    fixed = {"vocab": vocab, "seq_len": seq_len, "dim": dim, "samples": samples, **setting}
    at = partial(Setting, **fixed)
    return smallest_size(lambda m: at(width=m), low, WIDEST, accuracy, warn=warn)


def smallest_size(
    at: Callable[[int], Setting], low: int, largest: int, accuracy: float, *, warn: bool = False
) -> float:
    """Smallest size from ``low`` to ``largest`` whose setting has this predicted accuracy; infinite
    where there is none."""
    accuracy = check_share("accuracy", accuracy)
    slow = unequal.needs_sampled_theory(
        at(low), {}
    )  # an average over draws each, so that a terminal shows them
    said = "critical size, some 30 predictions"
    with tqdm(desc=said, unit="", leave=False, disable=None if slow else True) as bar:

        def reached(size: int) -> bool:
            bar.update()
            return reaches(at(size), accuracy)

        if not reached(largest):
            return math.inf
        near = 1e-2 if slow else 1e-3
        found = bracket(reached, low, smallest=low, largest=largest, tolerance=near).high
    if warn:
        _warn(at(int(found)), predicted_lock_on(at(int(found)), warn=False), level=4)
    return float(found)


# The ledger


def _ledger(setting: Setting) -> dict[str, Term]:
    """Every term at the typical draw, |t|^2 = Q = M = 1; not a number where there is no attention
    to lock (L = 1)."""
    mlp, terms = setting.width is not None, {}
    typical = values(setting, dict.fromkeys(lock_symbols.SHARED, 1.0))
    if mlp:
        typical = {
            **typical,
            **{name: float(np.mean(part)) for name, part in overlaps(setting).overlaps.items()},
        }
    for name, (expression, printed, chapter) in _ledger_entries(mlp).items():
        alone = setting.seq_len == 1 and name in lock_symbols.lock_terms(mlp)
        terms[name] = Term(
            math.nan if alone else float(numeric(expression)(typical)), printed, chapter
        )
    return terms


@cache
def _ledger_entries(mlp: bool) -> dict[str, tuple[sp.Expr, str, str]]:
    """Size, formula in LaTeX, and chapter of every term, by name."""
    score, missing, of_lock = (
        lock_symbols.trigger_score(mlp),
        sp.exp(-N / V),
        lock_symbols.lock_terms(mlp),
    )
    entries = {
        **{
            k: (t.token / score**2, t.token / score**2, "When attention locks on")
            for k, t in of_lock.items()
        },
        **{k: (t, t, "Upper bounds") for k, t in recall_symbols.mean_squares(mlp).items()},
        "coverage": (missing, missing, "The task"),
    }
    of_mlp = dict.fromkeys(("neuron bias", "neuron noise", "MLP noise"), "The MLP as memory")
    return {
        k: (size, sp.latex(shown), of_mlp.get(k, chapter))
        for k, (size, shown, chapter) in entries.items()
    }


def _check(setting: object) -> None:
    if not isinstance(setting, Setting):
        raise not_allowed("setting", setting, "a recallbook.Setting")


def _check_size(setting: Setting, drawn: bool) -> None:
    """Refuse what has no theory with drawn tables, and what does not fit."""
    if drawn:
        unequal.check(setting)
    require_memory(predict_needs(setting, drawn), "a prediction")


def _warn(
    setting: Setting,
    lock_on: float,
    level: int = 3,
    *,
    own: bool = False,
    error: float = 0.0,
    frail: float = 0.0,
) -> None:
    """Say what is off, and by about how much, where the map of errors or the draws leave a
    doubt."""
    found = doubts(setting, lock_on, own=own)
    uncertain = error if error > unequal.UNCERTAIN else 0.0
    rare = frail if frail > unequal.FRAIL and not uncertain else 0.0
    if found or uncertain or rare:
        warnings.warn(message(setting, found, uncertain, rare), stacklevel=level)
