"""Cubic splines through a grid of settings, packed for the page: 16-bit integers, compressed, as
text.

What the page evaluates is evaluated here by SciPy: the reference of its tests.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import NdBSpline, make_interp_spline

from recallbook.theory.symbolic.expressions import Array

LARGEST = 32767  # of a 16-bit integer
FINEST = 0.002  # unit of tables that turn little: far below what a reader sees


@dataclass(frozen=True)
class Spline:
    """Knots of every axis, and by field the coefficients of products of cubic B-splines."""

    axes: Mapping[str, Array]
    fields: Mapping[str, Array]

    def at(self, points: Array) -> dict[str, Array]:
        """Every field at points ``(points, axes)``; one beyond the grid counts as on its edge."""
        knots = tuple(self.axes.values())
        inside = np.clip(points, [k[3] for k in knots], [k[-4] for k in knots])
        return {name: NdBSpline(knots, c, 3)(inside) for name, c in self.fields.items()}


def through(axes: Mapping[str, Array], fields: Mapping[str, Array]) -> Spline:
    """The spline through values on the grid of all combinations, rounded as it is packed."""
    knots, found = {}, {name: np.asarray(values) for name, values in fields.items()}
    for i, (axis, nodes) in enumerate(axes.items()):
        for name, values in found.items():
            spline = make_interp_spline(nodes, values, k=3, axis=i)
            knots[axis], found[name] = np.round(spline.t, 12), np.moveaxis(spline.c, 0, i)
    return Spline(
        knots,
        {name: np.round(values / scale(values)) * scale(values) for name, values in found.items()},
    )


def scale(values: Array) -> float:
    """What one unit of the packed integers stands for."""
    return max(float(np.abs(values).max()) / LARGEST, FINEST)


def packed(spline: Spline) -> dict[str, Any]:
    """As the page's script holds it."""
    scales = {name: scale(values) for name, values in spline.fields.items()}
    whole = [
        np.round(values / scales[name]).astype("<i2").ravel()
        for name, values in spline.fields.items()
    ]
    low, high = np.concatenate(whole).view("u1").reshape(-1, 2).T  # apart they compress better
    return {
        "axes": [{"name": name, "knots": knots.tolist()} for name, knots in spline.axes.items()],
        "fields": [{"name": name, "scale": size} for name, size in scales.items()],
        "data": base64.b64encode(gzip.compress(low.tobytes() + high.tobytes(), 9, mtime=0)).decode(
            "ascii"
        ),
    }
