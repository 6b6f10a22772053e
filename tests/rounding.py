"""Texts that scripts make anew, compared where arithmetic rounds otherwise."""

import re

import numpy as np

NUMBER = re.compile(r"-?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?\b")


def close(made: str, stored: str) -> bool:
    """Whether two texts have the same words, and numbers that differ by rounding alone.

    Linear algebra sums in another order on another processor: float64 sums of some hundred terms of
    size one move by 1e-14, and more only relative to what is left where they cancel. The tolerance
    is a hundred thousand times that, and less than anything that a reader sees.
    """
    numbers = [np.array(NUMBER.findall(text), dtype=float) for text in (made, stored)]
    words = [NUMBER.sub("#", text) for text in (made, stored)]
    return words[0] == words[1] and np.allclose(*numbers, rtol=1e-9, atol=1e-9)
