r"""What decides a claim: a rule about quantities, and the sentence that says what they are.

Both stand with the claim in ``claims.toml``. They see nothing but the quantities that they name, so
other numbers can be put in their place, and a test does."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from recallbook_studies.intervals import Interval

CONFIRMED, PARTLY, REFUTED = "confirmed", "true only where", "refuted"
Number = float | Interval

# What a rule may say: of a number, an interval, or all values of a list or dictionary of them


def low(number: Number) -> float:
    """The lower end of an interval; a number is its own."""
    return number.low if isinstance(number, Interval) else number


def high(number: Number) -> float:
    """The upper end."""
    return number.high if isinstance(number, Interval) else number


def middle(number: Number) -> float:
    """The mean."""
    return number.mean if isinstance(number, Interval) else number


def _each(numbers: Any) -> list[Number]:
    if isinstance(numbers, (int, float, Interval)):
        return [numbers]
    return [*(numbers.values() if isinstance(numbers, Mapping) else numbers)]


def above(numbers: Any, bound: float) -> bool:
    """Whether all lie above a bound, whole intervals."""
    return all(low(number) > bound for number in _each(numbers))


def below(numbers: Any, bound: float) -> bool:
    """Whether all lie below a bound, whole intervals."""
    return all(high(number) < bound for number in _each(numbers))


def holds(numbers: Any, value: Number) -> bool:
    """Whether all intervals hold a value, or the mean of an interval."""
    return all(low(number) <= middle(value) <= high(number) for number in _each(numbers))


def in_turn(first: bool, second: bool) -> list[bool]:
    """Two parts, of which the second counts only where the first holds."""
    return [first, first and second]


WORDS = {word.__name__: word for word in (low, high, middle, above, below, holds, in_turn)}


def decide(parts: str, numbers: Mapping[str, Any]) -> str:
    """The verdict: confirmed if every part of a rule holds of these numbers, true only where if some
    do. Raises NameError where a part asks for a number that is not given."""
    kept = eval(parts, {**WORDS, **numbers})
    return CONFIRMED if all(kept) else PARTLY if any(kept) else REFUTED


class Sentence(Formatter):
    """Text in the notation of :meth:`str.format`, where intervals have their ends, minus signs are
    proper, and zero has none.

    Of an interval the format is its digits (two unless given), ``+`` for a sign, or ``rough`` for
    two leading digits."""

    def format_field(self, value: Any, form: str) -> str:
        """One number, interval, or text."""
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
