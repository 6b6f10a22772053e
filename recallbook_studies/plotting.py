"""The book's plotting style: theory as a line, simulation as points with an interval over seeds."""

from __future__ import annotations

import hashlib
import importlib
import io
import re
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import rcsetup, ticker
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text

# An outcome, and what binds it, has one colour in figures, drawings and the explorer. The first six
# are Okabe and Ito's palette, told apart by readers with any colour vision; black is for theory.
COLOUR_OF = {
    "lock_on": "#0072B2",
    "recall": "#D55E00",
    "accuracy": "#009E73",
    "label frequencies": "#CC79A7",
    "coverage": "#E69F00",
    "trigger overlap": "#56B4E9",
    "MLP noise": "#F0E442",
    "own fact": "#BBBBBB",
    "frequency noise": "#44AA99",
}
COLOURS = tuple(COLOUR_OF.values())[:6]
COLOUR_OF |= {"mean bias": COLOURS[0], "interference": COLOURS[1]}
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#555555"
STYLE: Any = {
    "figure.figsize": (6.4, 3.8),
    "figure.dpi": 110,
    "figure.facecolor": "none",  # the page's own; in dark mode it inverts what is drawn
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none",
    "axes.prop_cycle": rcsetup.cycler(color=COLOURS),
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.3,
    "font.size": 11,
    "legend.frameon": False,
    "lines.markersize": 5,
    "savefig.facecolor": "none",
    "svg.hashsalt": "recallbook",  # the same ids in every run
}
SMALLEST = 1.2  # points for each inch of width: 11 px where a page's column is 690 px wide
LEAST = STYLE["font.size"]  # 9 px on a phone that is 390 px wide, for figures of the usual width
CROWD = 2000  # coordinates: so many points are drawn as pixels


def use_style() -> None:
    """Set the book's style for all figures that follow; a notebook shows and stores them as SVG.
    For some figures alone: ``with matplotlib.rc_context(STYLE):``."""
    mpl.rcdefaults()  # a reader's own style would change pictures
    mpl.rcParams.update(STYLE)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        # a notebook's backend chooses PNG when it is loaded: before the next lines, not later
        importlib.import_module("matplotlib.pyplot").switch_backend(mpl.get_backend())
        formatters = shell.display_formatter.formatters
        formatters["image/png"].pop(Figure, None)
        formatters["image/svg+xml"].for_type(Figure, svg)


def svg(figure: Figure) -> str:
    """Draw a figure as SVG: no text too small to read, crowds as pixels, and no difference between
    runs, nor where arithmetic rounds otherwise."""
    least = max(LEAST, SMALLEST * figure.get_figwidth())
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_tick_params(labelsize=least)
    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), least))
    for axes in figure.axes:
        for artist in axes.collections:
            if isinstance(artist, QuadMesh) or np.size(artist.get_offsets()) >= CROWD:
                artist.set_rasterized(True)
        for image in axes.images:
            # zero in its last digits may lie on either side of where two colours meet
            finest = 1e-9 * np.ptp(image.get_clim())
            image.set_data(np.round(image.get_array() / finest) * finest)
    drawn = io.StringIO()
    without = {"Date": None, "Creator": None}
    figure.savefig(drawn, format="svg", metadata=without, bbox_inches="tight", dpi=220)
    outline = r'(?<= d=")[^"]*'
    page = re.sub(outline, lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), drawn.getvalue())
    # the library names a clip after digits of its place that it does not write
    for name, clip in re.findall(r'<clipPath id="(\w+)">(.*?)</clipPath>', page, re.DOTALL):
        page = page.replace(name, f"p{hashlib.sha256(clip.encode()).hexdigest()[:10]}")
    return page


def plot_intervals(
    ax: Axes, frame: pd.DataFrame, x: str, label: str, index: int = 0, **options: Any
) -> None:
    """Points with intervals from :func:`~recallbook_studies.intervals.over_seeds`, in the
    ``index``-th colour."""
    frame = frame.sort_values(x)
    errors = np.array([frame["mean"] - frame["low"], frame["high"] - frame["mean"]])
    style = {**style_of(index), "linestyle": "-", "linewidth": 1, "capsize": 2, **options}
    ax.errorbar(frame[x], frame["mean"], yerr=errors, label=label, **style)


def style_of(index: int) -> dict[str, Any]:
    """The ``index``-th colour and marker."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def clouds(ax: Axes, rows: dict[str, tuple[Any, float]]) -> None:
    """A row for each name, of what should win (large and coloured) and all that competes with it
    (grey, at heights that mean nothing)."""
    heights = np.random.default_rng(0)
    for place, (others, right) in enumerate(rows.values()):
        height = place + 0.7 * heights.random(len(others))
        ax.scatter(others, height, s=8, color="gray", alpha=0.6, linewidth=0)
        ax.scatter(right, place + 0.35, s=60, color=COLOURS[1])
    ax.set(yticks=np.arange(len(rows)) + 0.35, yticklabels=list(rows))
    ax.invert_yaxis()


def plain_ticks(ax: Axes, x: Any = None, y: Any = None) -> None:
    """Ticks at these values only, written as plain numbers: readable on short logarithmic axes."""
    for axis, values in ((ax.xaxis, x), (ax.yaxis, y)):
        if values is not None:
            axis.set_major_locator(ticker.FixedLocator(list(values)))
            axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
            axis.set_minor_locator(ticker.NullLocator())
