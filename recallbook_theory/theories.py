"""What any theory of the three steps gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol

from recallbook.memory_needs import Need
from recallbook.setting import Setting
from recallbook_theory.caveats import Doubt


class Term(NamedTuple):
    """One entry of the ledger: its size, the formula that gives it, and where it is derived.

    With unequal facts sizes are means over draws, and a formula is what leads one token's score,
    not yet in their unit. Printed, it is its size."""

    size: float
    formula: str
    derived: str

    def __repr__(self) -> str:
        return f"{self.size:.2g}"


class Averages(NamedTuple):
    """Means over embeddings, data and test sequences, and the ledger if it was asked for.

    ``error`` is the largest of their standard errors where they are means over draws; ``remarks``
    say what these draws leave in doubt. ``rate`` is that of several value steps."""

    accuracy: float
    lock_on: float
    recall: float
    error: float = 0.0
    ledger: Mapping[str, Term] = {}
    remarks: tuple[str, ...] = ()
    rate: float | None = None


class Theory(Protocol):
    """Lock-on, recall and accuracy of the settings of one kind."""

    sampled: ClassVar[bool]  # whether averages are over draws, each with a standard error: slow
    doubts: ClassVar[tuple[Doubt, ...]]  # how far the map of its errors goes

    def names(self, setting: Setting) -> tuple[str, ...]:
        """Names of the ledger's terms."""

    def needs(self, setting: Setting) -> list[Need]:
        """Memory for one prediction.

        Raises
        ------
        ValueError
            Where there is no theory yet.
        """

    def averages(
        self,
        setting: Setting,
        without: tuple[str, ...] = (),
        *,
        recall: bool = True,
        ledger: bool = False,
        level: float | None = None,
    ) -> Averages:
        """Averages, terms ``without`` left out by name; without ``recall`` of lock-on alone.

        With a ``level`` no more precise than says on which side of it accuracy is.

        Raises
        ------
        ValueError
            Where there is no theory yet, or no memory for it.
        """

    def expected_errors(
        self, setting: Setting, outcomes: Mapping[str, float]
    ) -> Mapping[str, float] | None:
        """How far each of these outcomes is typically off, if that is known; lock-on is among
        them."""
