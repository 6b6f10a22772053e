"""The book's plotting style: theory as a line, simulation as points with an interval over seeds."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

# Okabe and Ito's palette, told apart by readers with any colour vision; black first for theory
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
STYLE = {
    "figure.figsize": (6.4, 3.8),
    "figure.dpi": 110,
    "figure.facecolor": "white",  # also in dark mode
    "figure.constrained_layout.use": True,
    "axes.facecolor": "white",
    "axes.prop_cycle": mpl.cycler(color=COLOURS),
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.3,
    "font.size": 11,
    "legend.frameon": False,
    "lines.markersize": 5,
    "savefig.facecolor": "white",
    "svg.hashsalt": "recallbook",
}


def use_style() -> None:
    """Set the book's style for all figures that follow."""
    mpl.rcParams.update(STYLE)


def plot_intervals(ax: Axes, frame: pd.DataFrame, x: str, label: str, index: int = 0, **options: Any) -> None:
    """Points with intervals from :func:`recallbook.intervals.over_seeds`, in the ``index``-th colour and marker."""
    frame = frame.sort_values(x)
    errors = np.array([frame["mean"] - frame["low"], frame["high"] - frame["mean"]])
    style = {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": "-",
        "linewidth": 1,
        "capsize": 2,
        **options,
    }
    ax.errorbar(frame[x], frame["mean"], yerr=errors, label=label, **style)
