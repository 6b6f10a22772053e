"""Exercises that take an answer, in a notebook."""

from __future__ import annotations


def check(answer: float | str | None, right: float | str, within: float = 0.0) -> None:
    """Say whether an answer is right, a number to ``within``; say nothing where none is given."""
    if answer is None:
        return
    if isinstance(right, str) or isinstance(answer, str):
        found = answer == right
    else:
        found = abs(answer - right) <= within * (1 + 1e-9)
    print("Right." if found else "Not so. Try again, or open the solution.")
