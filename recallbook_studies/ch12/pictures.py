r"""Figures and tables of chapter 12: the ladder, training in time, and what fails where."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook_studies import grids
from recallbook_studies.ch12 import ladder, ladder_laws
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.intervals import over_seeds
from recallbook_studies.plotting import COLOURS, MARKERS, plain_ticks, plot_intervals, style_of
from recallbook_theory.trained import load

NAMES = list(RUNGS)
SYMBOLS = {"seq_len": "L", "dim": "d", "vocab": "V"}
OFF = 0.03  # a miss above this, beyond sampling


def curves(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs with ``share``, the share of the facts that the training sequences of each draw show,
    and the ``short``fall from it and from lock-on times ``recall`` (``product``)."""
    keys = frame[["vocab", "seq_len", "samples", "seed"]].itertuples(index=False)
    share = np.array([shown(*key) for key in keys])
    product = frame["lock_on"] * frame["recall"]
    return frame.assign(
        share=share, short=share - frame["accuracy"], product=product - frame["accuracy"]
    )


@cache
def shown(vocab: int, seq_len: int, samples: int, seed: int) -> float:
    """Share of the facts that the training sequences of this draw show."""
    problem = draw(Setting(vocab=vocab, seq_len=seq_len, dim=1, samples=samples), seed)
    return len(set(problem.labels.tolist())) / vocab


def draw_curves(ax: Axes, frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Accuracy of some rungs at N, with intervals, and in black coverage."""
    frame = frame[frame["rung"].isin(names)]
    table = over_seeds(frame, ["rung", "samples"], "accuracy", within=(0, 1))
    for index, name in enumerate(names):
        part = table[table["rung"] == name]
        part = part.assign(samples=part["samples"] * 1.015 ** (index - len(names) / 2))
        style: dict[str, Any] = {
            "color": COLOURS[index % 6],
            "marker": MARKERS[index % 5],
            "linewidth": 0.8,
        }
        plot_intervals(ax, part, "samples", name, **style)
    counts = np.geomspace(table["samples"].min(), table["samples"].max())
    ax.plot(counts, ladder_laws.seen(ladder.BASE["vocab"], counts), color="black", label="coverage")
    ax.set(xscale="log", xlabel="$N$", ylabel="accuracy", ylim=(0, 1.03))
    plain_ticks(ax, sorted(table["samples"].unique()))


def miss(short: pd.Series) -> str:
    """Minus the mean shortfall over draws; *off* if it is above 0.03 by more than two standard
    errors."""
    off = abs(short.mean()) - 2 * short.sem() > OFF
    return f"{0 - round(short.mean(), 2) + 0:+.2f}" + " off" * bool(off)


def draw_capacity(ax: Axes, table: pd.DataFrame, outer: Sequence[tuple[int, float]]) -> None:
    """Facts held at recall 0.9 against d: trained matrices, with the largest load that fits as a
    line, and outer products."""
    part = grids.at(table, rung="AdamW", steps=table["steps"].min(), decay=0).sort_values("dim")
    middle = np.sqrt(part["facts"] * part["next"])
    style = style_of(0)
    ax.plot(part["dim"], middle, **style, linestyle="none", label="trained")
    each = zip(middle, part["dim"], strict=True)
    largest = [1 / load(round(vocab), dim, 1) for vocab, dim in each]
    ax.plot(part["dim"], largest, color=style["color"], label="load 1")
    label = "outer products (chapter 2)"
    ax.plot(*zip(*outer, strict=True), color="black", marker=MARKERS[2], label=label)
    ax.set(xscale="log", yscale="log", xlabel="$d$", ylabel="facts held")
    plain_ticks(ax, [dim for dim, _ in outer])
    ax.legend(fontsize=8)
