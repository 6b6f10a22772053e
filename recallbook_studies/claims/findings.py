r"""What decides a claim: a measurement, which parts hold of it, and the sentence that says it.

Measurements are committed results, predictions, or simulations of a few seconds; several claims may
rest on one. The rule in words and the sentence stand beside the claims, in ``claims.toml``; its
parts, which have to hold, stand at the measurement. They see nothing but what was measured, so
other data can be put in its place, and a test does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from string import Formatter
from typing import Any, NamedTuple

from recallbook_studies.intervals import Interval

Found = dict[str, Any]  # what was measured, by name
Measure = Callable[[], Found]
Parts = Callable[..., list[bool]]  # of what was measured, by name
CONFIRMED, PARTLY, REFUTED = "confirmed", "true only where", "refuted"


class Check(NamedTuple):
    """What is measured for a claim, and the parts of its rule."""

    measure: Measure
    parts: Parts


CHECKS: dict[str, Check] = {}  # by claim


def measure(**claims: Parts) -> Callable[[Measure], Measure]:
    """Enter a measurement for these claims, each with the parts of its rule; it is made once."""

    def enter(function: Measure) -> Measure:
        found = cache(function)
        for claim, parts in claims.items():
            CHECKS[claim.replace("_", "-")] = Check(found, parts)
        return found

    return enter


def decide(claim: str, found: Found) -> str:
    """The verdict: confirmed if every part of a claim holds in what was found, true only where if
    some do. Raises KeyError where a part asks for what was not measured."""
    parts = CHECKS[claim].parts
    kept = parts(**{name: found[name] for name in signature(parts).parameters})
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
