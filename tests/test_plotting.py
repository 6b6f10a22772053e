"""Figures as the book stores them."""

import subprocess
import sys

import kernels
import matplotlib.pyplot as plt
import numpy as np
import pytest
from pandas import DataFrame

from recallbook_studies import plotting


def test_figures_can_be_read_follow_the_page_and_are_the_same_in_every_run():
    plotting.use_style()
    drawn = []
    for _ in range(2):
        fig, ax = plt.subplots(figsize=(12, 3))
        ax.scatter(*np.arange(2.0 * plotting.CROWD).reshape(2, -1))
        label = ax.set_xlabel("$N$", fontsize=6)
        drawn.append(plotting.svg(fig))
    assert drawn[0] == drawn[1]
    assert label.get_fontsize() == 12 * plotting.SMALLEST > 14
    # pixels for a crowd, no ground, no date
    assert drawn[0].count("<use") < plotting.CROWD and "<image" in drawn[0]
    assert not any(word in drawn[0] for word in ("#ffffff", "dc:date"))
    ax.clear()
    plotting.plot_intervals(ax, DataFrame({"mean": [0.5], "low": 0.25, "high": 1}), "mean", "")
    assert ax.dataLim.intervaly.tolist() == [0.25, 1]  # bars end where intervals do


DRAW = """
import matplotlib.pyplot as plt, numpy as np
from recallbook_studies import plotting
plotting.use_style()
axes, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(32, 32)))
fig, ax = plt.subplots(figsize=(6 * (axes @ axes.T)[0, 0], 4))
image = ax.imshow(axes.T @ axes, cmap="RdBu_r", vmin=-1, vmax=1)
image.set_clip_path(ax.add_patch(plt.Circle((16, 16), 12)))
print(plotting.svg(fig))"""


@pytest.mark.nightly
def test_a_figure_has_the_same_bytes_where_arithmetic_rounds_otherwise():
    sets = [kernels.SETS[name] for name in kernels.usable()]
    drawn = {
        kernels.run(chosen, sys.executable, "-c", DRAW, stdout=subprocess.PIPE).stdout
        for chosen in (sets[0], *sets[:2])
    }
    assert len(drawn) == 1 and "<image" in min(drawn) and "<clipPath" in min(drawn)
