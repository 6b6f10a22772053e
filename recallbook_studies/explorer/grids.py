"""Values on a grid of settings, packed for the page, which interpolates between nodes linearly in
the logarithms of the sizes: whole multiples of a unit, 16 bit each, compressed, as text."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recallbook_theory.symbolic.expressions import Array

UNIT = 0.002  # far below what a reader sees
LARGEST = 32767  # of a 16-bit integer


def packed(axes: Mapping[str, Sequence[float]], fields: Mapping[str, Array]) -> dict[str, Any]:
    """A table as the page's script holds it: sizes at the nodes of each axis, names of the fields,
    and their values ``(fields, nodes)``."""
    whole = np.round(np.array([np.ravel(values) for values in fields.values()]) / UNIT)
    low, high = np.clip(whole, -LARGEST, LARGEST).astype("<i2").view("u1").reshape(-1, 2).T
    data = gzip.compress(low.tobytes() + high.tobytes(), 9, mtime=0)  # apart they compress better
    return {
        "axes": {name: list(nodes) for name, nodes in axes.items()},
        "fields": list(fields),
        "unit": UNIT,
        "data": base64.b64encode(data).decode("ascii"),
    }
