"""A cause is tested like a number: a sentence that names one at a setting stands in
``recallbook_studies/causes.toml``, and one law after another is left out."""

import math
import tomllib
from functools import cache
from pathlib import Path

import pytest
from sampling import by_night

import recallbook as rb
from recallbook.arguments import LARGEST_SIZE
from recallbook_theory.search import bracket

ROOT = Path(__file__).resolve().parents[1]
TABLE = tomllib.loads((ROOT / "recallbook_studies/causes.toml").read_text("utf-8"))["cause"]
SMALL = {"vocab": 8, "seq_len": 2, "dim": 4, "samples": 8}


def names(width=None):
    return tuple(rb.predict(rb.Setting(**SMALL, width=width), warn=False).ledger)


@cache
def found(quantity, setting, without=()):
    """A quantity at a setting, with some laws left out."""
    sizes = dict(setting)
    if quantity in ("critical_samples", "critical_width", "capacity"):
        return getattr(rb, quantity)(**sizes, without=without, warn=False)
    if quantity == "wall":
        level = sizes.pop("accuracy")

        def reached(dim):
            unlimited = rb.Setting(**sizes, seq_len=1, dim=dim, samples=LARGEST_SIZE)
            return rb.predict(unlimited, without=without, warn=False).recall >= level

        return bracket(reached, 16, smallest=2).high
    return getattr(rb.predict(rb.Setting(**sizes), without=without, warn=False), quantity)


def change(entry, name):
    """The factor by which the quantity changes without this law."""
    asked = entry["quantity"], tuple(entry["setting"].items())
    return found(*asked, (name,)) / found(*asked)


def moves_as_much(entry, name, least):
    """Whether leaving out this law changes the quantity by as much as this factor."""
    if entry["quantity"] != "critical_samples":
        return abs(math.log(change(entry, name))) >= abs(math.log(least))
    # one prediction in place of thirty
    sizes = dict(entry["setting"])
    level = sizes.pop("accuracy")
    sizes["samples"] = round(least * found("critical_samples", tuple(entry["setting"].items())))
    return found("accuracy", tuple(sizes.items()), (name,)) >= level


def factors(entry):
    """What leaving out each law that the entry names changes."""
    named = {entry["law"]: entry["factor"], **entry.get("shared_with", {})}
    return named, {name: change(entry, name) for name in named}


def told(entry):
    return entry["says"][:60]


# a search takes thirty predictions: some of them by day
QUICK_FIRST = sorted(TABLE, key=lambda entry: entry["quantity"] in ("critical_samples", "capacity"))


@pytest.mark.slow
@pytest.mark.parametrize("entry", by_night(QUICK_FIRST, day=24), ids=told)
def test_the_named_law_moves_the_quantity(entry):
    named, moved = factors(entry)
    assert [name for name, (low, high) in named.items() if not low <= moved[name] <= high] == [], (
        moved
    )


@pytest.mark.nightly
@pytest.mark.parametrize("entry", TABLE, ids=told)
def test_no_other_law_moves_it_as_much(entry):
    named, moved = factors(entry)
    least = min(moved.values(), key=lambda factor: abs(math.log(factor)))
    others = set(names(8 if "activation" in entry["setting"] else None)) - set(named)
    assert [name for name in others if moves_as_much(entry, name, least)] == [], moved
