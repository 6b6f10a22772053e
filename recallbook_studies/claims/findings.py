r"""What decides a claim: a measurement, which parts hold of it, and the sentence that says it.

Measurements are committed results, predictions, or simulations of a few seconds; several claims may
rest on one. The parts of a claim, the rule in words and the sentence stand beside the claims, in
``claims.toml``. Parts see nothing but what was measured, so other data can be put in its place, and
a test does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from string import Formatter
from typing import Any

from recallbook_studies.intervals import Interval

Found = dict[str, Any]  # what was measured, by name
Measure = Callable[[], Found]
CHECKS: dict[str, Measure] = {}
CONFIRMED, PARTLY, REFUTED = "confirmed", "true only where", "refuted"


def measure(function: Measure) -> Measure:
    """Enter a measurement as the check of its name; it is made once."""
    found = CHECKS[function.__name__] = cache(function)
    return found


def decide(parts: str, found: Found) -> str:
    """The verdict: confirmed if every part of a claim holds in what was found, true only where if
    some do."""
    kept = eval(parts, {"holds": holds, **found})
    return CONFIRMED if all(kept) else PARTLY if any(kept) else REFUTED


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


def holds(interval: Interval, value: float = 0) -> bool:
    """Whether an interval holds a value."""
    return interval.low <= value <= interval.high
