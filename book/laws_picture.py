"""The pictures of *Laws at a glance*, of the landing page and of README: N against the dimension, for
three lengths, the wall, and where the capacity ends."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from laws_numbers import constants, critical, wall
from matplotlib.axes import Axes

import recallbook as rb
from recallbook_studies import grids, plotting
from recallbook_studies.ch09 import capacities

VOCAB, LENGTHS = 4096, (64, 1024, 4096)
SHADES = ("#6baed6", "#2171b5", "#08306b")  # a curve for each length
LONGEST_DIM = 4 * VOCAB
# by the flag of the trigger: what stands at which d and N, right of the wall and at its curve
WORDS = {
    False: (("shoulder", 352, 1.15e4), ("slope", 1300, 3.2e5), ("floor", 4500, 6e3)),
    True: (("label frequencies", 2200, 7e5),),
}


def draw_laws(file: Path) -> None:
    """Draw the predicted N against d, without and with the trigger in the values."""
    plotting.use_style()
    fig, axes = plt.subplots(2, 1, figsize=(4.8, 7.2), sharex=True)
    for ax, marked in zip(axes, (False, True), strict=True):
        _draw_samples(ax, marked)
        ax.set_title(("trigger out of the values", "trigger in the values")[marked])
    axes[-1].set_xlabel("dimension $d$")
    file.write_text(plotting.svg(fig), encoding="utf-8")


def draw_idea(file: Path) -> None:
    """Draw the predicted N against d without the trigger in the values, and below it the wall
    against V, after one value step and after many."""
    plotting.use_style()
    fig, (ax, below) = plt.subplots(2, 1, figsize=(4.8, 6.4), height_ratios=(3.6, 2.6))
    _draw_samples(ax, False)
    moved = wall(VOCAB, value_steps=16)
    ax.axvline(moved, ymax=0.45, color=plotting.COLOUR_OF["interference"], linestyle="--")
    ax.text(1.04 * moved, 5e3, "sixteen steps", rotation=90, va="bottom")
    ax.set_xlabel("dimension $d$")
    known = constants().unstack()
    unit = known.index * np.log(known.index)
    for count, colour, name in ((1, SHADES[2], "one step"), (16, SHADES[0], "sixteen")):
        below.plot(known.index, (known["predicted", count] * unit) ** 0.5, color=colour, label=name)
        below.plot(known.index, (known["simulated", count] * unit) ** 0.5, "o", color=colour)
    below.set(xscale="log", yscale="log", xlabel="facts $V$", ylabel="wall: least $d$")
    ticks = known.index[known.index.isin([2**k for k in range(7, 15, 2)])]
    below.set_xticks(ticks, [f"{vocab:,}" for vocab in ticks])
    below.set_yticks((30, 100, 300), ("30", "100", "300"))
    below.minorticks_off()
    below.legend(loc="upper left", frameon=False)
    file.write_text(plotting.svg(fig), encoding="utf-8")


def _draw_samples(ax: Axes, marked: bool) -> None:
    """Draw N against d for three lengths, the wall and the names of the parts."""
    least = wall(VOCAB, marked=marked)
    near = least * np.array([1.02, 1.04, 1.08, 1.15])
    dims = np.unique([*near.astype(int), *np.geomspace(1.25 * least, LONGEST_DIM, 18).astype(int)])
    for seq_len, colour in zip(LENGTHS, SHADES, strict=True):
        needed = [critical(VOCAB, seq_len, int(dim), marked=marked) for dim in dims]
        style = {"color": colour, "linewidth": 3.5 - LENGTHS.index(seq_len)}
        ax.plot(dims, needed, label=f"$L={seq_len}$", **style)
    ax.axvspan(150, least, color=plotting.COLOUR_OF["interference"], alpha=0.15)
    middle = {"va": "center", "ha": "center"}
    ax.text((150 * least) ** 0.5, 2e5, "wall:\nno $N$ is\nenough", **middle)
    for word, dim, samples in WORDS[marked]:
        ax.text(dim, samples, word, va="center")
    ax.set(xscale="log", yscale="log", ylabel="training sequences $N$")
    ax.set(xlim=(150, LONGEST_DIM), ylim=(4e3, 6e6))
    ax.legend(loc="upper right", frameon=False)


def draw_capacity(file: Path) -> None:
    """Draw what is left of the capacity at L = 8 against N d / (L^2 sqrt(ln L)), both variants,
    predicted and simulated."""
    plotting.use_style()
    fig, ax = plt.subplots(figsize=(4.8, 3.4))
    known = capacities.simulated(rb.load_results("capacity"))
    for index, marked in enumerate((False, True)):
        kind = {"out_of": 0, "trigger_in_values": marked}
        lines, points = (
            grids.at(capacities.collapsed(table), **kind)
            for table in (capacities.predicted(), known)
        )
        colour, name = plotting.COLOURS[index], ("not read", "read")[marked]
        ax.plot(lines["reach"], lines["share"], "_", ms=12, color=colour, label=f"trigger {name}")
        ax.plot(points["reach"], points["simulated"] / points["flat"], "o", ms=4, color=colour)
    ax.set(xscale="log", xlim=(0.3, 300), xlabel=r"$N\,d\,/\,(L^2\sqrt{\ln L})$")
    ax.set_ylabel("capacity over that at $L=8$")
    ax.legend(loc="center right", frameon=False)
    file.write_text(plotting.svg(fig), encoding="utf-8")
