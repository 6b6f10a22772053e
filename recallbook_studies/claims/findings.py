r"""What decides a claim: a measurement, what holds of it, and the sentence that says it.

A :class:`Check` measures, then decides. The decision sees nothing but what was measured, so other
data can be put in its place, and a test does. Measurements are committed results, predictions, or
simulations of a few seconds. A check that can only illustrate a claim gives no verdict (``None``).
Sentences and rules stand beside the claims, in ``claims.toml``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter
from types import SimpleNamespace
from typing import Any

import pandas as pd

from recallbook.analysis.intervals import Interval, seed_interval

CONFIRMED, PARTLY, REFUTED = "confirmed", "true only where", "refuted"


@dataclass(frozen=True)
class Check:
    """A measurement, and the parts of a claim that hold in it, if it decides the claim."""

    measure: Callable[[], SimpleNamespace]
    holds: Callable[[SimpleNamespace], list[bool]] | None = None

    def decide(self, found: SimpleNamespace) -> str | None:
        """The verdict: confirmed if every part holds, true only where if some do."""
        if self.holds is None:
            return None
        parts = self.holds(found)
        return CONFIRMED if all(parts) else PARTLY if any(parts) else REFUTED


CHECKS: dict[str, Check] = {}


def decided_by(measure: Callable[[], SimpleNamespace]) -> Callable[[Any], None]:
    """Enter a function that decides as the check of its name."""

    def enter(holds: Any) -> None:
        CHECKS[holds.__name__] = Check(measure, holds)

    return enter


def illustrates(measure: Callable[[], SimpleNamespace]) -> None:
    """Enter a measurement that decides nothing as the check of its name."""
    CHECKS[measure.__name__] = Check(measure)


class Sentence(Formatter):
    """Text in the notation of :meth:`str.format`, where intervals have their ends, minus signs are
    proper, and zero has none.

    Of an interval the format is its digits (two unless given), ``+`` for a sign, or ``rough`` for
    two leading digits; the items of a dictionary follow each other with their names."""

    def format_field(self, value: Any, form: str) -> str:
        """One number, interval, or dictionary of them."""
        if isinstance(value, dict):
            items = value.items()
            return ", ".join(
                f"{key}{':' * key[-1].isdigit()} {self.format_field(x, form)}" for key, x in items
            )
        if isinstance(value, Interval):
            digits = form if form == "rough" else f".{form.strip('+') or 2}f"
            mean, low, high = (self.format_field(x, digits) for x in value)
            return f"{'+' * ('+' in form and value.mean > 0)}{mean} [{low}, {high}]"
        if form == "rough":
            return f"{float(f'{value:.2g}'):,.0f}".replace("inf", "infinite")
        text = format(value, form)
        if isinstance(value, str):
            return text
        return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", "\u2212")


def by_size(rows: pd.DataFrame, size: str, column: str) -> dict[int, Interval]:
    """Means over seeds with intervals of a column, by the values of a size."""
    return {int(value): seed_interval(part[column]) for value, part in rows.groupby(size)}


def holds(interval: Interval, value: float = 0) -> bool:
    """Whether an interval holds a value."""
    return interval.low <= value <= interval.high
