"""The picture of *Laws at a glance*, of the landing page and of README: N against the dimension, for
three lengths."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import recallbook as rb
from recallbook_studies import plotting
from recallbook_studies.ch09 import capacities
from recallbook_studies.laws import least_dim

CARTOON, LENGTHS = {"vocab": 4096}, (64, 1024, 4096)
SHADES = ("#6baed6", "#2171b5", "#08306b")  # a curve for each length
LONGEST_DIM = 4 * CARTOON["vocab"]
# by the flag of the trigger: what stands at which d and N, right of the wall and at its curve
WORDS = {
    False: (
        ("shoulder", 352, 1.15e4),
        ("slope", 1300, 3.2e5),
        ("floor", 4500, 6e3),
    ),
    True: (("label frequencies", 2200, 7e5),),
}


def critical(seq_len: int, trigger_in_values: bool, dims: np.ndarray) -> np.ndarray:
    """Predicted N for accuracy 0.9 at each dimension."""
    fixed = {**CARTOON, "seq_len": seq_len, "trigger_in_values": trigger_in_values, "warn": False}
    return np.array([rb.critical_samples(dim=int(dim), **fixed) for dim in dims])


def draw(file: Path, cases: tuple[bool, ...]) -> None:
    """Draw the predicted N against d, without and with the trigger in the values, and name its
    parts."""
    plotting.use_style()
    size = (4.8, 3.6 * len(cases))
    fig, axes = plt.subplots(len(cases), 1, figsize=size, sharex=True, squeeze=False)
    for ax, marked in zip(axes.flat, cases, strict=True):
        wall = least_dim(CARTOON["vocab"], 0.9, trigger_in_values=marked)
        near = wall * np.array([1.02, 1.04, 1.08, 1.15])
        dims = np.unique(
            [*near.astype(int), *np.geomspace(1.25 * wall, LONGEST_DIM, 18).astype(int)]
        )
        for seq_len, colour in zip(LENGTHS, SHADES, strict=True):
            needed = critical(seq_len, marked, dims)
            style = {"color": colour, "linewidth": 3.5 - LENGTHS.index(seq_len)}
            ax.plot(dims, needed, label=f"$L={seq_len}$", **style)
        ax.axvspan(150, wall, color=plotting.COLOUR_OF["interference"], alpha=0.15)
        middle = {"va": "center", "ha": "center"}
        ax.text((150 * wall) ** 0.5, 2e5, "wall:\nno $N$ is\nenough", **middle)
        for word, dim, samples in WORDS[marked]:
            ax.text(dim, samples, word, va="center")
        ax.set(
            xscale="log",
            yscale="log",
            ylabel="training sequences $N$",
            ylim=(4e3, 6e6),
            xlim=(150, LONGEST_DIM),
        )
        title = ("trigger out of the values", "trigger in the values")[marked]
        ax.set_title(title if len(cases) > 1 else "")
        ax.legend(loc="upper right", frameon=False)
    axes[-1, 0].set_xlabel("dimension $d$")
    file.write_text(plotting.svg(fig), encoding="utf-8")


def draw_capacity(file: Path) -> None:
    """Draw the capacity against N and against L, as chapter 9 does."""
    plotting.use_style()
    found = capacities.simulated(rb.load_results("capacity"))
    figure = capacities.draw(found[found["width"] == 0])
    file.write_text(plotting.svg(figure), encoding="utf-8")
