"""What any theory of the three steps gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float64

from recallbook.memory_needs import Need
from recallbook.setting import Setting
from recallbook_theory.caveats import Doubt

SILENT = 1  # seconds before a bar of progress


class Term(float):
    """One entry of the ledger: its size, a number, with the ``outcome`` that it costs (``"lock_on"``
    or ``"recall"``), the ``formula`` that gives it, and the chapter where it is ``derived``.

    With unequal facts sizes are means over draws, and a formula is what leads one token's score,
    not yet in their unit."""

    outcome: str
    formula: str
    derived: str

    def __new__(cls, size: float, outcome: str = "", formula: str = "", derived: str = "") -> Term:
        term = super().__new__(cls, size)
        term.outcome, term.formula, term.derived = outcome, formula, derived
        return term

    def __repr__(self) -> str:
        return f"{float(self):.2g}"


class Averages(NamedTuple):
    """Means over embeddings, data and test sequences, and the ledger if it was asked for.

    ``error`` is the largest of their standard errors where they are means over draws; ``remarks``
    say what these draws leave in doubt. ``rate`` is that of several value steps, or each of theirs."""

    accuracy: float
    lock_on: float
    recall: float
    error: float = 0.0
    ledger: Mapping[str, Term] = {}
    remarks: tuple[str, ...] = ()
    rate: float | tuple[float, ...] | None = None


class DrawLaw(NamedTuple):
    """Outcomes of equally likely draws, each in ascending order: one law each, not a joint one."""

    accuracy: Float64[np.ndarray, " n"]
    lock_on: Float64[np.ndarray, " n"]
    recall: Float64[np.ndarray, " n"]


class Asked(NamedTuple):
    """What averages are asked for: terms ``without`` left out by name; without ``recall`` lock-on
    alone; the ``ledger``, too; with a ``level`` no more precise than says on which side of it
    accuracy is."""

    without: tuple[str, ...] = ()
    recall: bool = True
    ledger: bool = False
    level: float | None = None


OUTCOMES = Asked()  # the three of them, with all terms


class Theory(Protocol):
    """Lock-on, recall and accuracy of the settings of one kind."""

    sampled: ClassVar[bool]  # whether averages are over draws, each with a standard error: slow
    doubts: ClassVar[tuple[Doubt, ...]]  # how far the map of its errors goes

    def names(self, setting: Setting) -> tuple[str, ...]:
        """Names of the ledger's terms; none where they act together."""
        return ()

    def needs(self, setting: Setting) -> list[Need]:
        """Memory for one prediction.

        Raises
        ------
        ValueError
            Where there is no theory yet.
        """

    def averages(self, setting: Setting, asked: Asked = OUTCOMES) -> Averages:
        """Average what is asked for.

        Raises
        ------
        ValueError
            Where there is no theory yet, or no memory for it.
        """

    def draws(self, setting: Setting, without: tuple[str, ...]) -> DrawLaw | None:
        """Draw single outcomes, terms ``without`` left out; None where the theory has averages
        alone, and those of :class:`recallbook_theory.sampled.theory.SampledTheory` stand for it.

        Raises
        ------
        ValueError
            Where nothing stands for it.
        """

    def expected_errors(
        self, setting: Setting, outcomes: Mapping[str, float]
    ) -> Mapping[str, float] | None:
        """How far each of these outcomes is typically off, lock-on among them; None where that is
        not known."""
        return None
