"""Figures as the book stores them."""

import matplotlib.pyplot as plt
import numpy as np

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
