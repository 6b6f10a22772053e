"""Exercises that take an answer: :func:`check` in a notebook, and what fields in the pages ask.

``answers.toml`` says what each exercise asks and in which form, and has the right values, which a test
compares with what the exercise's cell prints."""

from __future__ import annotations

import math
import re
import tomllib
from fractions import Fraction
from importlib import resources
from typing import Any

import numpy as np

from recallbook.setting import Setting

TABLE = tomllib.loads((resources.files(__package__) / "answers.toml").read_text("utf-8"))


def number(said: Any) -> float:
    """Read a number as people write it: 0.5, "50 %", "1/2", "1,500"; else not a number."""
    text = re.sub(r",(?=\d{3}\b)|\s", "", str(said)).replace(",", ".")
    try:
        return float(Fraction(text.strip("%")) / 100 ** ("%" in text))
    except (ValueError, ZeroDivisionError):
        return math.nan


def plain(said: Any) -> str:
    """A word without its looks: d², d^2 and D2 are one."""
    return re.sub(r"[\^. ]", "", str(said).casefold()).replace("²", "2")


def agrees(said: Any, value: Any, form: str) -> bool:
    """Whether a number is right, "to 0.1" or "to 5 %", or a word stands for the choice alone."""
    if form.startswith("to "):
        scale = abs(value) ** ("%" in form)
        return bool(abs(number(said) - value) <= number(form[3:]) * scale + 1e-9)
    choices = form.split(" or ")
    same = [x for x in choices if plain(x) == plain(said)]
    return [value] == (same or [x for x in choices if plain(said) in map(plain, x.split())])


def wanted(parts: dict[str, str]) -> str:
    """What is asked, each with its form."""
    return "; ".join(f"{name} ({form})" for name, form in parts.items())


def check(label: str, answer: Any = None, setting: Setting | None = None) -> None:
    """Print what an exercise asks, or whether an answer to it is right at a setting.

    An answer is a number, a text such as "50 %", "1/2" or "yes", or a list where several are asked
    for; one of them alone counts, too.

    >>> check("ex-task-bits", [1684, 6.6])
    Right: bits for all facts; bits for each fact.
    >>> check("ex-task-bits")
    Asked: bits for all facts (to 2 %); bits for each fact (to 2 %).
    >>> moved = Setting(vocab=512, seq_len=128, dim=96, samples=2048)
    >>> check("ex-grad-fresh", "less", moved)  # doctest: +ELLIPSIS
    This answer is known at the default setting alone: {'vocab': 256, ...}.
    """
    asks = TABLE[label]
    parts, holds = asks["ask"], asks.get("holds", {})
    if setting and not holds.items() <= vars(setting).items():
        print(f"This answer is known at the default setting alone: {holds}.")
    elif answer is None:
        print(f"Asked: {wanted(parts)}.")
    else:
        misses, alone = {}, np.size(answer) < len(parts)
        given = zip(parts, np.resize(answer, len(parts)), asks["right"], strict=True)
        for name, said, value in given:
            if not agrees(said, value, parts[name]):
                misses[name] = parts[name]
                if "warm" in asks and not alone:
                    misses[name] += f", too {'low' if number(said) < value else 'high'}"
        if len(misses) < (len(parts) if alone else 1):
            print(f"Right: {'; '.join(name for name in parts if name not in misses)}.")
        else:
            print(f"Not so: {wanted(misses)}. Try again, or open the solution.")
