"""Exercises that take an answer: :func:`check` in a notebook, and what fields in the pages ask.

``answers.toml`` says what each exercise asks and in which form, and has the right values, which a test
compares with what the exercise's cell prints. ``book/_static/answers.js`` reads answers by the same
rules: a test gives both the same ones."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import resources
from typing import Any

import numpy as np

from recallbook.arguments import not_allowed
from recallbook.setting import Setting

TABLE = tomllib.loads((resources.files(__package__) / "answers.toml").read_text("utf-8"))
# what is taken for what, in this order
SAME = {
    r"\s+": " ",
    "[−–]": "-",
    r"[×·]|(?<=\d) x (?=\d)": "*",
    r"\^": "**",
    r"%|\bper ?cent\b": "/100",
    r"[≈~]|\w+ ?=": "",
    r"\b(?:about|a|by|factor|of|bits?|nats?|facts?|sequences|steps?|times|tokens?|dimensions|per)\b": "",
    r"\bln\b": "log",
    r"^ +|[. ]+$": "",
}
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
THOUSANDS = r"(?<![\d.])[1-9]\d{0,2}(?:[,_']\d{3})+(?!\d)"
# at most 99 signs, numbers and names, none of which a page and Python take for different things
FORMULA = r"(?!.*(?:/ *[/*]|--|\+\+|[\d.)] *\())(?!.{99})(?:[\d.()*/+ -]|exp|sqrt|log|pi|e)+"
BREAK = r";|\n|\band\b"
HOW = "Write numbers as 0.5, 50 %, 1/2, 1500 or 1-1/e, and ; between several."


def numbers(text: str) -> set[float]:
    """What a text may say: "50 %" and "1-1/e" a number, "1,513" one of two, "half" none."""
    text = text.lower()
    for old, new in SAME.items():
        text = re.sub(old, new, text)
    joined = re.sub(THOUSANDS, lambda one: re.sub(r"\D", "", one[0]), text)
    found = set()
    for formula in (joined, re.sub(r"(?<=\d),(?=\d)", ".", text)):
        if re.fullmatch(FORMULA, formula):
            # floats, because a power of integers may take all memory
            formula = re.sub(NUMBER, lambda one: repr(float(one[0])), formula)
            try:
                found.add(float(eval(formula, {}, vars(math))))
            except (SyntaxError, NameError, TypeError, ArithmeticError, ValueError):
                pass
    return {*filter(math.isfinite, found)}


def plain(said: str) -> str:
    """A word without its looks: d², d^2 and D2 are one, and so are yes and true."""
    word = re.sub(r"[\^.\s]", "", said.lower()).replace("²", "2")
    return {"true": "yes", "false": "no"}.get(word, word)


def meanings(said: str, form: str) -> set[Any]:
    """What a text may say in a form: numbers, or the one choice that it stands for."""
    if form.startswith("to "):
        return numbers(said)
    choices = form.split(" or ")
    same = [x for x in choices if plain(x) == plain(said)]
    same = same or [x for x in choices if plain(said) in map(plain, x.split())]
    return {*same} if len(same) == 1 else set()


def agrees(said: str, right: Any, form: str) -> bool:
    """Whether a text may say what is right, or one of several such: "to 0.1" or "to 5 %"."""
    if not form.startswith("to "):
        return right in meanings(said, form)
    (near,), percent = numbers(form[3:]), "%" in form
    pairs = ((x, y) for x in numbers(said) for y in np.ravel(right))
    return any(abs(x - y) <= near * abs(y) ** percent + 1e-9 for x, y in pairs)


def ways(answer: Any) -> set[tuple[str, ...]]:
    """The ways to take an answer apart: a comma may end a part, or belong to a number."""
    parts = np.ravel(answer.tolist() if hasattr(answer, "tolist") else answer)[:99]
    text = re.sub(r"[\[\]]|tensor|array", "", "; ".join(map(str, parts.tolist()))[:999])
    text = re.sub(r"^\s*\(([^()]*[,;][^()]*)\)\s*$", r"\1", text)
    breaks = (BREAK,) if re.search(BREAK, text) else (BREAK, r",\s+", r",\s*")
    return {tuple(filter(str.strip, re.split(one, text))) for one in breaks}


def wanted(parts: dict[str, str]) -> str:
    """What is asked, each with its form."""
    return "; ".join(f"{name} ({form})" for name, form in parts.items())


def check(
    label: str | Mapping[str, Any], answer: Any = None, setting: Setting | None = None
) -> None:
    """Print what an exercise asks, or whether an answer to it is right at a setting. An exercise of
    one's own, in place of a label, has what it asks with the form of each answer, and what is right.

    An answer is a number, a text such as "50 %", "1-1/e" or "yes", or a list, array or tensor where
    several are asked for; one of them alone counts, too.

    >>> check("ex-task-bits", [1684, 6.6])
    Right: bits for all facts; bits for each fact.
    >>> check("ex-task-bits")
    Asked: bits for all facts (to 2 %); bits for each fact (to 2 %).
    >>> check({"ask": {"facts": "to 5 %"}, "right": [61]}, "about 60")
    Right: facts.
    >>> moved = Setting(vocab=512, seq_len=128, dim=96, samples=2048)
    >>> check("ex-grad-fresh", "less", moved)  # doctest: +ELLIPSIS
    This answer is known at the default setting alone: {'vocab': 256, ...}.
    """
    if isinstance(label, Mapping):
        asks = label
    elif isinstance(label, str) and label in TABLE:
        asks = TABLE[label]
    else:
        near = (*get_close_matches(str(label), TABLE, 1), *TABLE)[0]
        raise not_allowed("label", label, f"the label of an exercise that asks, such as {near!r}")
    holds = asks.get("holds", {})
    if setting is not None and not isinstance(setting, Setting):
        raise not_allowed("setting", setting, "a recallbook.Setting, or None")
    if setting and not holds.items() <= vars(setting).items():
        print(f"This answer is known at the default setting alone: {holds}.")
    elif answer is None:
        print(f"Asked: {wanted(asks['ask'])}.")
    else:
        print(judged(asks, answer))


def judged(asks: Mapping[str, Any], answer: Any) -> str:
    """Say of an answer that it is right or not so, or that it cannot be read, or in two ways."""
    parts, read = asks["ask"], []
    try:
        found = sorted(ways(answer), key=len, reverse=True)
    except (TypeError, ValueError, RuntimeError, AttributeError):
        found = []
    for way in (way for way in found if len(way) in (1, len(parts))):
        alone = len(way) < len(parts)
        given = dict(zip(parts, way * len(parts) if alone else way, strict=True))
        said = [meanings(text, parts[name]) for name, text in given.items()]
        if any(said) if alone else all(said):
            pairs = zip(given, asks["right"], strict=True)
            hits = [name for name, right in pairs if agrees(given[name], right, parts[name])]
            if len(hits) >= (1 if alone else len(parts)):
                return f"Right: {'; '.join(hits)}."
            read.append((said, alone, hits))
    if len(read) != 1 or max(map(len, read[0][0])) > 1:
        return f"This cannot be read as {wanted(parts)}, or is read in two ways. {HOW}"
    said, alone, hits = read[0]
    told = {name: form for name, form in parts.items() if name not in hits}
    for name, values, right in zip(parts, said, asks["right"], strict=True):
        if "warm" in asks and not alone and name in told:
            told[name] += f", too {'low' if max(values) < np.ravel(right)[0] else 'high'}"
    return f"Not so: {wanted(told)}. Try again, or open the solution."
