"""Exercises that take an answer: :func:`check` in a notebook, and what fields in the pages ask.

``answers.toml`` says what each exercise asks and in which form, and has the right values; where they
depend on the setting, :data:`FORMULAS` has them."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from importlib import resources
from typing import Any

import numpy as np

from recallbook.setting import Setting, fact_frequencies
from recallbook_studies.ch02.associative import predicted_recall
from recallbook_studies.ch06.origins import predicted_squares
from recallbook_theory.prediction import predict

TABLE = tomllib.loads((resources.files(__package__) / "answers.toml").read_text("utf-8"))
RUNNING = TABLE.pop("running")


def half_length(setting: Setting) -> list[float]:
    """By which factors four noises of lock-on fall at half the length, and r there
    (eq-inverse-squares)."""
    ledger = predict(replace(setting, seq_len=setting.seq_len // 2), warn=False).ledger
    noises = ("trigger overlap", "mean bias", "gradient noise", "frequency noise")
    return [1, 16, 4, 8, sum(ledger[name].size for name in noises) ** -0.5]


def double_dim(setting: Setting) -> list[float]:
    """Three noises of recall at twice the dimension, and signal over noise."""
    found = predicted_squares(replace(setting, dim=2 * setting.dim))
    kinds = ("interference", "label overlap", "own fact")
    return [*(found[kind] for kind in kinds), sum(found.values()) ** -0.5]


FORMULAS: dict[str, Callable[[Setting], list[Any]]] = {
    "ex-task-one-pass": lambda s: [1 - (1 - 1 / s.vocab) ** (s.vocab + 1)],
    "ex-task-two-tokens": lambda s: [0.5 + 0.5 / s.vocab, 0.625],
    "ex-task-coverage": lambda s: [
        math.log(0.1) / math.log1p(-1 / s.vocab),
        s.vocab * math.log(s.vocab / math.log(2)),
    ],
    "ex-task-bits": lambda s: [x := math.lgamma(s.vocab + 1) / math.log(2), x / s.vocab],
    "ex-interfere-half": lambda s: ["no" if predicted_recall(s.vocab, s.dim // 2) < 0.5 else "yes"],
    "ex-steps-zero": lambda s: [math.log(s.vocab)],
    "ex-grad-running": lambda s: [1 / (1 + (s.vocab + 1) / k / s.dim) for k in (1, 2)],
    "ex-lock-half": half_length,
    "ex-recall-hand": double_dim,
    "ex-multiply-cross": lambda s: [s.vocab**0.5],
    "ex-unequal-calibrated": lambda s: [
        (s.seq_len * (p := fact_frequencies(s))[0]) ** 2 / sum(p**2)
    ],
}


def right(label: str, setting: Setting | None = None) -> list[Any]:
    """The right values of an exercise, one for each thing that it asks, at a setting."""
    asks = TABLE[label]
    setting = setting or Setting(**RUNNING | asks.get("at", {}))
    return asks.get("right") or FORMULAS[label](setting)


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
    >>> check("ex-task-bits", 3875, moved)
    Right: bits for all facts.
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
        given = zip(parts, np.resize(answer, len(parts)), right(label, setting), strict=True)
        for name, said, value in given:
            if not agrees(said, value, parts[name]):
                misses[name] = parts[name]
                if "warm" in asks and not alone:
                    misses[name] += f", too {'low' if number(said) < value else 'high'}"
        if len(misses) < (len(parts) if alone else 1):
            print(f"Right: {'; '.join(name for name in parts if name not in misses)}.")
        else:
            print(f"Not so: {wanted(misses)}. Try again, or open the solution.")
