r"""Figures and tables of chapter 12: the ladder, training in time, and what fails where."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from recallbook.data.task import draw
from recallbook_studies import grids
from recallbook_studies.ch12 import ladder_laws, runs, sizes
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.trained import load
from recallbook_studies.intervals import over_seeds
from recallbook_studies.plotting import COLOURS, MARKERS, plain_ticks, plot_intervals, style_of
from recallbook_studies.tables import significant

NAMES = list(RUNGS)
SYMBOLS = {"seq_len": "L", "dim": "d", "vocab": "V"}
NEAR = 0.05  # of coverage, at every N


def curves(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy of every rung of the ladder at every N, with its interval over seeds, beside two
    lines: ``covered``, the expected share of the facts that N sequences show, and ``own``, the same
    times lock-on and recall of the facts seen, as each draw has them."""
    covered = ladder_laws.seen(frame["vocab"], frame["samples"])
    keys = frame[["vocab", "seq_len", "samples", "seed"]].itertuples(index=False)
    share = frame["lock_on"] * frame["recall"] / [shown(*key) for key in keys]
    frame = frame.assign(covered=covered, own=share * covered)
    lines = frame.groupby(["rung", "samples"])[["covered", "own"]].mean().reset_index()
    return over_seeds(frame, ["rung", "samples"], "accuracy", within=(0, 1)).merge(lines)


@cache
def shown(vocab: int, seq_len: int, samples: int, seed: int) -> float:
    """Share of the facts that the training sequences of this draw show."""
    problem = draw(sizes.setting(sizes.Shape(vocab, seq_len, 1), samples), seed)
    return len(set(problem.labels.tolist())) / vocab


def draw_curves(ax: Axes, table: pd.DataFrame) -> None:
    """Points: accuracy of every rung at N, with intervals. In black coverage alone; rungs that stay
    near it are grey, the others have their colour and, as a line, coverage times their own lock-on
    and recall."""
    near = (table["mean"] - table["covered"]).abs().groupby(table["rung"]).max() < NEAR
    for index, name in enumerate(NAMES):
        part = table[table["rung"] == name]
        if part.empty:
            continue
        part = part.assign(samples=part["samples"] * 1.012 ** (index - len(NAMES) / 2))
        style: dict[str, Any] = {"color": "0.65", "marker": "o", "markersize": 4, "zorder": 1}
        label = f"within {NEAR:g}: {near.sum()} rungs"
        if not near[name]:
            style, label = {"color": COLOURS[index % 6], "marker": MARKERS[index % 5]}, name
            ax.plot(part["samples"], part["own"], color=style["color"], linewidth=0.8)
        shown_before = label in ax.get_legend_handles_labels()[1]
        plot_intervals(
            ax, part, "samples", "" if shown_before else label, linestyle="none", **style
        )
    ax.plot(table.groupby("samples")["covered"].mean(), color="black", label="coverage")
    ax.set(xscale="log", xlabel="$N$", ylabel="accuracy", ylim=(0, 1.03))
    plain_ticks(ax, sorted(table["samples"].unique()))


def miss_rows(tables: dict[str, pd.DataFrame]) -> list[dict[str, str]]:
    """For each rung and table of :func:`curves` the largest difference of measured accuracy from
    either line, and the N where it is."""
    rows = {name: {"rung": name} for name in NAMES}
    for title, table in tables.items():
        for line in ("covered", "own"):
            miss = table["mean"] - table[line]
            for name, part in miss.groupby(table["rung"]):
                at = part.abs().idxmax()
                count = table.loc[at, "samples"]
                rows[str(name)][f"{title}: {line}"] = f"{round(part[at], 2) + 0:+.2f} at {count}"
    return [row for row in rows.values() if len(row) > 1]


def interval(found: pd.Series) -> str:
    """A critical N with its interval, two digits each; ∞ beyond the grid, 0 below it."""
    ends = (
        f" [{significant(found['low'])}, {significant(found['high'])}]" if found["low"] > 0 else ""
    )
    return significant(found["critical"]) + ends


def price_rows(names: Sequence[str], shape: sizes.Shape = sizes.BASE) -> list[dict[str, Any]]:
    """Accuracy at one shape by weight decay and N, with what coverage leaves: mean over seeds."""
    rows = []
    for name in names:
        frame = grids.at(runs.load(tuned=False), rung=name, **shape._asdict())
        table = frame.pivot_table("accuracy", "decay", "samples")
        rows += [
            {"rung": name, "decay": f"{decay:g}"} | {f"N = {n}": one[n] for n in table}
            for decay, one in table.iterrows()
        ]
    shown = {f"N = {n}": ladder_laws.seen(shape.vocab, n) for n in table}
    return [*rows, {"rung": "coverage", "decay": ""} | shown]


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
