"""The pictures of *Laws at a glance* and of the landing page: N against the dimension."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

import recallbook as rb
from recallbook.theory.symbolic.expressions import L, V, d, numeric
from recallbook_studies import laws, plotting
from recallbook_studies.laws import least_dim

CARTOON = {"vocab": 4096, "seq_len": 1024}


def envelope(trigger_in_values: bool, dims: np.ndarray) -> np.ndarray:
    """Predicted N for accuracy 0.9 at each dimension."""
    fixed = {**CARTOON, "trigger_in_values": trigger_in_values, "warn": False}
    return np.array([rb.critical_samples(dim=int(dim), **fixed) for dim in dims])


def dark(name: str) -> tuple[float, ...]:
    """The colour of a law, dark enough for words."""
    return tuple(0.7 * part for part in to_rgb(plotting.COLOUR_OF[name]))


def draw(file: Path, cases: tuple[bool, ...]) -> None:
    """Draw N against d, without and with the trigger in the values: wall, slope, floor, and the
    prediction above them."""
    plotting.use_style()
    size = (6.4, 3.7 * len(cases))
    fig, axes = plt.subplots(len(cases), 1, figsize=size, sharex=True, squeeze=False)
    for ax, marked in zip(axes.flat, cases, strict=True):
        wall = least_dim(CARTOON["vocab"], 0.9, trigger_in_values=marked)
        dims = np.unique(np.geomspace(wall * 1.03, 4 * CARTOON["vocab"], 14).astype(int))
        smooth = np.geomspace(150, dims[-1], 60)
        at = {V: CARTOON["vocab"], L: CARTOON["seq_len"], d: smooth}
        found = laws.samples(marked)
        words = {"mean bias": "slope:\nmean bias", "coverage": "floor: coverage"}
        if marked:
            words["label frequencies"] = "label\nfrequencies"
        for (name, word), dashes in zip(words.items(), ("--", ":", "-."), strict=False):
            law = numeric(found[name])(at) + 0 * smooth
            style = {"color": plotting.COLOUR_OF[name], "linestyle": dashes}
            ax.plot(smooth, law, linewidth=2, **style)
            x, y, right, top = 155, 1.2 * law[0], "left", "bottom"
            if name == "coverage":
                x, y, right, top = dims[-1], 0.8 * law[-1], "right", "top"
            ax.text(x, y, word, color=dark(name), ha=right, va=top, fontsize=11)
        ax.axvspan(smooth[0], wall, color=plotting.COLOUR_OF["interference"], alpha=0.12)
        text = "wall: superposition\n(no N is enough on its left)"
        ax.text(1.12 * wall, 3e7, text, color=dark("interference"), fontsize=11, va="top")
        needed = envelope(marked, dims)
        ax.plot(dims, needed, color="black", marker="o", markersize=3)
        ax.text(1.1 * dims[3], 1.6 * needed[3], "predicted N for accuracy 0.9", fontsize=11)
        title = ("trigger out of the values", "trigger in the values")[marked]
        ax.set(
            xscale="log",
            yscale="log",
            ylabel="training sequences $N$",
            ylim=(2e3, 4e7),
            xlim=(smooth[0], 1.1 * dims[-1]),
        )
        ax.set_title(title if len(cases) > 1 else "", fontsize=11)
    axes[-1, 0].set_xlabel("dimension $d$")
    file.write_text(plotting.svg(fig), encoding="utf-8")
