"""Where something begins to hold along a size: the one bracketing search of the package."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Bracket(NamedTuple):
    """Two sizes on different sides: it does not hold at ``low`` (0: it does at all) and holds at
    ``high`` (or inf)."""

    low: int
    high: float


def bracket(
    holds: Callable[[int], bool],
    start: int,
    *,
    smallest: int = 1,
    largest: int = 2**31 - 1,
    tolerance: float = 0.0,
    logarithmic: bool = False,
) -> Bracket:
    """From ``start`` doubled, or halved, until two sizes lie on different sides; then bisected.

    ``holds`` should change once, from false to true; where it is noisy this is one of its changes.
    It is asked at most once for each size. The end: neighbours, or ``high / low - 1`` at most
    ``tolerance``. ``logarithmic`` bisects the logarithm of the size. Never beyond ``smallest`` and
    ``largest``: ``Bracket(0, smallest)`` if it holds there, ``Bracket(largest, inf)`` if it does
    not."""
    low = high = start
    if holds(start):
        while low == high or holds(low):
            if low == smallest:
                return Bracket(0, smallest)
            low, high = max(low // 2, smallest), low
    else:
        while low == high or not holds(high):
            if high == largest:
                return Bracket(largest, math.inf)
            low, high = high, min(2 * high, largest)
    while high - low > max(1.0, tolerance * low):
        middle = round(math.sqrt(low * high)) if logarithmic else (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Bracket(low, high)
