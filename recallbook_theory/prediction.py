r"""Predictions with no fitted constant: lock-on, recall and accuracy of three steps in the
early-phase limit.

The expressions of :mod:`recallbook_theory.symbolic` give signal and noise once the draw's own
fluctuations are fixed; what is left is an average over these. Which theory takes it is decided once
for a setting, by :func:`theory_of`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recallbook.arguments import (
    check_choices,
    check_flag,
    check_schedule,
    check_share,
    check_size,
    not_allowed,
)
from recallbook.result import OUTCOMES, Outcome, Result
from recallbook.setting import Setting
from recallbook_theory.caveats import doubts, message
from recallbook_theory.equal import EqualFacts
from recallbook_theory.theories import Asked, Averages, DrawLaw, Term, Theory

if TYPE_CHECKING:
    from recallbook.data.embeddings import Embeddings
    from recallbook_theory.sampled.theory import SampledTheory


@dataclass(frozen=True, repr=False)
class Prediction(Result):
    """Averages over embeddings, data and test sequences in the early-phase limit.

    ``ledger`` maps the name of each term to its size, a :class:`Term`; it is empty where terms were
    left out. Sizes of the terms of step 2 are variances in units of the squared trigger score, at a
    typical draw; sizes of the terms of step 3 are mean squares of a wrong logit in units of the
    squared right one. ``error`` is the largest standard error of the three where they are means
    over draws, as with unequal facts; else 0. ``expected_error`` is how far each outcome is
    typically off beyond sampling, as a root mean square; None where that is not known, as with
    unequal facts. It is fitted on the map of errors, whose range chapter 9's appendix states.
    ``rate`` is that of several value steps, None with one."""

    accuracy: float
    lock_on: float
    recall: float
    ledger: Mapping[str, Term]
    error: float = 0.0
    expected_error: Outcome | None = None
    rate: float | tuple[float, ...] | None = None
    _draws: Callable[[], DrawLaw] | None = field(default=None, compare=False)

    @property
    def ratio(self) -> float:
        """The trigger's score over the scatter of all others at a typical draw: $r$ of chapter 5."""
        noises = [term for term in self.ledger.values() if term.outcome == "lock_on"]
        return float(np.sum(noises) ** -0.5)

    def quantile(self, q: float) -> Outcome:
        """Accuracy, lock-on and recall that a share ``q`` of draws of embeddings and data stays
        below, each by its own law.

        A simulation is one draw; test sequences are endless here. The quantile of 64 to 256 draws
        of embeddings, label counts and noise (:mod:`recallbook_theory.sampled.theory`), found at
        the first call: in seconds at V = 256, minutes in the thousands. The share below a quantile
        of 0.1 is known to 0.02 to 0.04. Compared with simulation in chapter 9.

        Raises
        ------
        ValueError
            If ``q`` is not a number between 0 and 1, both excluded; where single draws have no
            theory: with an MLP, above V = 4096, after several value steps, or ``without`` terms of
            equal facts.
        """
        q = check_share("q", q)
        return Outcome(*(float(np.quantile(outcomes, q)) for outcomes in self._law))

    @cached_property
    def _law(self) -> DrawLaw:
        if self._draws is None:
            raise not_allowed("prediction", self, "one that rb.predict made")
        return self._draws()


def predict(
    setting: Setting,
    *,
    value_steps: int = 1,
    rate: float | Sequence[float] | None = None,
    without: Iterable[str] = (),
    warn: bool = True,
    embeddings: Embeddings | Mapping[str, Any] | None = None,
) -> Prediction:
    r"""Predict lock-on, recall and accuracy from $V,N,d,L$ and the setting's choices alone. Ours;
    no fitted constant.

    Step 2 has exact first and second moments (Attention-only), step 3 is derived to leading order
    with corrections; laws between moments are closures. Checked on 2400 random settings over most
    of what a Setting allows, from which it says how far it is typically off: it warns above 0.03. The MLP enters
    step 2 through Gaussian means of its activation, step 3 through draws of neurons. Where
    attention fails one answer in V is right by luck; below 24 tokens nothing was compared but a few settings,
    where accuracy was off by 0.06 with two to four tokens and by 0.03 with eight (root mean square).

    Parameters
    ----------
    setting : Setting
        Attention-only or Attention-MLP, with any activation; with unequal facts, structured or own
        embeddings Attention-only (:mod:`recallbook_theory.sampled.theory`).
    value_steps : int
        Value steps, step 3 included, as :func:`recallbook.three_steps` takes them. Beyond one:
        :mod:`recallbook_theory.steps`, Attention-only with equal facts, by sampling facts.
    rate : float, sequence of float, or None
        $\eta/V$ of these steps, the logit that one writes, or one for each step; with one step it
        moves no answer. ``None``: the best constant one of a quarter to one and a half $\ln V$, given
        back as ``rate``.
    without : iterable of str
        Names of ledger terms to leave out, to see what each costs.
    warn : bool
        Whether to warn where the prediction is in doubt.
    embeddings : Embeddings, mapping or None
        The caller's own tables, as :func:`recallbook.draw` takes them.

    Raises
    ------
    ValueError
        If ``setting`` is not a Setting, ``without`` holds an unknown name, or several value steps
        have no theory there.
    """
    theory = theory_of(setting, embeddings, value_steps=value_steps, rate=rate)
    warn = check_flag("warn", warn)
    without = check_without(theory, setting, without)
    averages = theory.averages(setting, Asked(without, ledger=not without))
    if warn:
        warn_of(theory, setting, averages)
    outcomes = {name: getattr(averages, name) for name in OUTCOMES}
    errors = theory.expected_errors(setting, outcomes)
    return Prediction(
        **outcomes,
        ledger=averages.ledger,
        error=averages.error,
        expected_error=Outcome(**errors) if errors else None,
        rate=averages.rate,
        _draws=partial(_draws, theory, setting, without),
    )


def _draws(theory: Theory, setting: Setting, without: tuple[str, ...]) -> DrawLaw:
    """Draw single outcomes by the setting's theory, or for a theory of averages by sampling."""
    law = theory.draws(setting, without)
    return _sampled(setting).draws(setting, ()) if law is None else law


def theory_of(
    setting: Setting,
    embeddings: Embeddings | Mapping[str, Any] | None = None,
    *,
    value_steps: int = 1,
    rate: float | Sequence[float] | None = None,
) -> Theory:
    """Choose the theory of a setting: of equal facts with isotropic embeddings, of all else, or of
    several value steps.

    Raises
    ------
    ValueError
        If ``setting`` is not a Setting, the caller's own tables are bad, or steps or rate are.
    """
    if not isinstance(setting, Setting):
        raise not_allowed("setting", setting, "a recallbook.Setting")
    value_steps = check_size("value_steps", value_steps)
    rates = None if rate is None else check_schedule("rate", rate, value_steps)
    own = embeddings is not None and (not isinstance(embeddings, Mapping) or len(embeddings) > 0)
    if value_steps > 1:
        if own:
            raise not_allowed("embeddings", "the caller's own", "None with several value steps")
        from recallbook_theory.steps import ManySteps

        return ManySteps(value_steps, rates)
    if setting.equal_facts and setting.law.geometry is not None and not own:
        return EqualFacts()
    return _sampled(setting, embeddings)


def _sampled(
    setting: Setting, embeddings: Embeddings | Mapping[str, Any] | None = None
) -> SampledTheory:
    # with it tensors, which others need not wait for
    from recallbook_theory.sampled.theory import SampledTheory

    return SampledTheory(setting, embeddings)


def check_without(theory: Theory, setting: Setting, without: Iterable[str]) -> tuple[str, ...]:
    """Return ``without`` as a tuple of names of the theory's terms."""
    some = not isinstance(without, tuple) or len(without) > 0
    return check_choices("without", without, theory.names(setting)) if some else ()


def predicted_lock_on(setting: Setting, *, warn: bool = True) -> float:
    """Lock-on of :func:`predict` and nothing else: a tenth of the work, but with unequal facts,
    where it is most."""
    theory = theory_of(setting)
    averages = theory.averages(setting, Asked(recall=False))
    if warn:
        warn_of(theory, setting, averages, ("lock_on",))
    return averages.lock_on


def phase(setting: Setting) -> str:
    """The term whose removal would raise predicted accuracy most, by name."""
    theory = theory_of(setting)
    names = theory.names(setting)
    return max(names, key=lambda name: theory.averages(setting, Asked((name,))).accuracy)


def warn_of(
    theory: Theory,
    setting: Setting,
    averages: Averages,
    names: Iterable[str] = OUTCOMES,
    *,
    level: int = 3,
) -> None:
    """Say which of the outcomes named are expected to be off by much, and what else leaves a
    doubt."""
    expected = theory.expected_errors(setting, {name: getattr(averages, name) for name in names})
    said = message(setting, doubts(theory.doubts, setting), averages.remarks, expected)
    if said:
        warnings.warn(said, stacklevel=level)
