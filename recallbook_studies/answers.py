"""Exercises that take an answer: in a notebook, and what their checking cells print as an answer.

A function of what is printed gives a number or, where the page offers choices, the place of one.
``book/answers.toml`` says which exercise takes which."""

from __future__ import annotations

import math

SAME = 0.05  # accuracies closer than this are


def check(answer: float | str | None, right: float | str, within: float = 0.0) -> None:
    """Say whether an answer is right, a number to ``within``; say nothing where none is given."""
    if answer is None:
        return
    if isinstance(right, str) or isinstance(answer, str):
        found = answer == right
    else:
        found = abs(answer - right) <= within * (1 + 1e-9)
    print("Right." if found else "Not so. Try again, or open the solution.")


def smallest(*printed: float) -> int:
    """The place of the smallest number."""
    return printed.index(min(printed))


def largest(*printed: float) -> int:
    """The place of the largest number."""
    return printed.index(max(printed))


def half(recall: float) -> int:
    """More than half, or not."""
    return recall <= 0.5


def rises(first: float, _: float, last: float) -> int:
    """No rise, or one."""
    return last >= first + SAME


def which_changed(*unchanged: str) -> int:
    """The first, the second, both or neither."""
    return ["FalseTrue", "TrueFalse", "FalseFalse", "TrueTrue"].index("".join(unchanged))


def how_many_changed(*unchanged: str) -> int:
    """How many."""
    return unchanged.count("False")


def ratio(first: float, second: float) -> float:
    """The first over the second."""
    return first / second


def zeros(*printed: float) -> int:
    """How many numbers are zero."""
    return printed.count(0)


def width(wide: float, at_dim: float, *_: float) -> int:
    """Fewer neurons than d are enough, about d, or more."""
    return 2 if at_dim < wide - SAME else 0 if at_dim > wide + SAME else 1


def over_the_text(noise: float) -> float:
    """Label frequencies over those that the chapter prints."""
    return noise / 0.031


def four(factor: float) -> int:
    """Less than 4, 4, or more."""
    return (factor >= 4) + (factor > 4)


def farthest(*factors: float) -> int:
    """V, L or d: whose factor is farthest from that of its law."""
    laws = (2**0.5, 4.3, 0.35)
    return largest(*(abs(math.log(x / law)) for x, law in zip(factors, laws, strict=True)))


def ordered(low: float, high: float, small: float, moderate: float) -> int:
    """The table's order of the four corners, or not."""
    return not max(low, small) <= moderate < high


def effect(before: float, after: float) -> int:
    """Help, harm, or neither."""
    return 0 if after > before + SAME else 1 if after < before - SAME else 2
