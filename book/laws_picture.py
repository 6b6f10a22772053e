"""The pictures of *Laws at a glance*, of the landing page and of README: N against the dimension, for
three lengths, how often facts are shown, the wall, and where the capacity ends."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from laws_numbers import RUNNING, constants, critical, recall_of_counts, wall
from matplotlib.axes import Axes

import recallbook as rb
from recallbook_studies import grids, plotting
from recallbook_studies.ch09 import capacities

VOCAB = 4096  # of the landing page
SHADES = ("#6baed6", "#2171b5", "#08306b")  # a curve for each length
# by V: lengths, and by the flag of the trigger, which law sets N, and at which d and N it says so
LENGTHS = {256: (16, 128, 512), 4096: (64, 1024, 4096)}
WORDS = {
    (256, False): (
        ("uneven counts", 118, 4.5e3),
        ("mean bias", 300, 1.6e4),
        ("coverage", 330, 400),
    ),
    (256, True): (("label frequencies", 205, 3.6e4),),
    (4096, False): (
        ("uneven counts", 600, 6e4),
        ("mean bias", 1300, 3.2e5),
        ("coverage", 4500, 6e3),
    ),
}


def draw_laws(file: Path) -> None:
    """Draw the predicted N against d around the running setting, without and with the trigger in
    the values."""
    plotting.use_style()
    fig, axes = plt.subplots(2, 1, figsize=(4.8, 7.2), sharex=True)
    for ax, marked in zip(axes, (False, True), strict=True):
        _draw_samples(ax, RUNNING.vocab, marked)
        ax.set_title(("trigger out of the values", "trigger in the values")[marked])
    at = RUNNING.dim, RUNNING.samples
    needed = critical(RUNNING.vocab, RUNNING.seq_len, RUNNING.dim)
    axes[0].plot((at[0], at[0]), (at[1], needed), ":", color="black")
    axes[0].plot(*at, "o", color="black", markersize=8)
    axes[0].text(0.95 * at[0], at[1], "running\nsetting", va="center", ha="right")
    axes[-1].set_xlabel("dimension $d$")
    file.write_text(plotting.svg(fig), encoding="utf-8")


def draw_counts(file: Path) -> None:
    """Draw how often facts of the running setting are shown with attention on them, and which of
    them are recalled."""
    plotting.use_style()
    fig, ax = plt.subplots(figsize=(4.8, 3))
    found = recall_of_counts()
    recalled = found["share"] * found["recalled"]
    ax.bar(found.index, recalled, color=plotting.COLOUR_OF["recall"], label="recalled")
    lost = found["share"] - recalled
    style = {"color": "lightgray", "edgecolor": "gray", "hatch": "//"}
    ax.bar(found.index, lost, bottom=recalled, label="lost", **style)
    ax.set(xlim=(-0.7, 20), xlabel="times shown with attention on it", ylabel="share of facts")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend()
    file.write_text(plotting.svg(fig), encoding="utf-8")


def draw_idea(file: Path) -> None:
    """Draw the predicted N against d without the trigger in the values, and below it the wall
    against V, after one value step and after many."""
    plotting.use_style()
    fig, (ax, below) = plt.subplots(2, 1, figsize=(4.8, 6.4), height_ratios=(3.6, 2.6))
    _draw_samples(ax, VOCAB, False)
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


def _draw_samples(ax: Axes, vocab: int, marked: bool) -> None:
    """Draw N against d for three lengths, the wall, and which law sets N."""
    least, most = wall(vocab, marked=marked), 4 * vocab
    left = 0.44 * wall(vocab)
    near = least * np.array([1.02, 1.04, 1.08, 1.15])
    dims = np.unique([*near.astype(int), *np.geomspace(1.25 * least, most, 18).astype(int)])
    for width, seq_len, colour in zip((3.5, 2.5, 1.5), LENGTHS[vocab], SHADES, strict=True):
        needed = [critical(vocab, seq_len, int(dim), marked=marked) for dim in dims]
        ax.plot(dims, needed, label=f"$L={seq_len}$", color=colour, linewidth=width)
    ax.axvspan(left, least, color=plotting.COLOUR_OF["interference"], alpha=0.15)
    middle = {"va": "center", "ha": "center"}
    ax.text((left * least) ** 0.5, 50 * vocab, "wall:\nno $N$ is\nenough", **middle)
    for word, dim, samples in WORDS[vocab, marked]:
        ax.text(dim, samples, word, va="center")
    ax.set(xscale="log", yscale="log", ylabel="training sequences $N$")
    ax.set(xlim=(left, most), ylim=(vocab, 1500 * vocab))
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
