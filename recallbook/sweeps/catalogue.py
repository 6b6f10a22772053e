"""The sweeps that the command line knows: those that installed packages offer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple

from recallbook.arguments import not_allowed
from recallbook.sweeps.point import Point

GROUP = "recallbook.sweeps"  # of entry points; each names a dictionary from names to sweeps


class Sweep(NamedTuple):
    """What a sweep shows, and its points."""

    shows: str
    points: Callable[[], list[Point]]


@cache
def sweeps() -> dict[str, Sweep]:
    """Load all sweeps that installed packages offer under :data:`GROUP`, by name."""
    return {
        name: sweep for entry in entry_points(group=GROUP) for name, sweep in entry.load().items()
    }


def find_sweep(name: str) -> Sweep:
    """Find the sweep of this name, or raise ``ValueError`` with the names there are."""
    if name not in sweeps():
        raise not_allowed("name", name, "one of " + ", ".join(sweeps()))
    return sweeps()[name]
