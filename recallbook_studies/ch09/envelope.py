r"""Critical N for lock-on and for accuracy along $d$ and along $L$: a wall, a slope and a floor,
and their envelope.

One line of settings along the dimension at $L=128$ and one along the length at $d=128$, both at
$V=256$ without the trigger in the values. They meet at $(L,d)=(128,128)$."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from recallbook_studies import grids, laws, plotting
from recallbook_theory.symbolic.expressions import L, V, d, numeric

VOCAB, LENGTH, DIM, LEVEL = 256, 128, 128, 0.5


class Laws(NamedTuple):
    """Each law alone: what it asks of N, and the dimension below which no N is enough."""

    lock_on: np.ndarray
    coverage: float
    wall: float

    def envelope(self, dim: np.ndarray) -> np.ndarray:
        """The larger of slope and floor; not a number below the wall."""
        return np.where(dim >= self.wall, np.maximum(self.lock_on, self.coverage), np.nan)


def critical(frame: pd.DataFrame, along: str, outcome: str) -> pd.DataFrame:
    """Critical N for an outcome of one half along ``"dim"`` or ``"seq_len"``, measured and
    predicted."""
    line = grids.at(frame, **({"seq_len": LENGTH} if along == "dim" else {"dim": DIM}))
    return grids.critical(line, ["seq_len", "dim"], outcome, LEVEL, vocab=VOCAB)


def alone(seq_len: np.ndarray, dim: np.ndarray) -> Laws:
    r"""The laws of :mod:`recallbook_studies.laws`: the largest of lock-on's, coverage of one half,
    the wall.

    The wall is the dimension at which predicted recall with unlimited data is one half.
    """
    values = {V: VOCAB, L: np.asarray(seq_len, dtype=float), d: np.asarray(dim, dtype=float)}
    lock = np.max(
        [
            np.broadcast_arrays(numeric(law)(values), seq_len, dim)[0]
            for law in laws.lock_on().values()
        ],
        0,
    )
    return Laws(lock, VOCAB * math.log(1 / (1 - LEVEL)), laws.least_dim(VOCAB, LEVEL))


def draw_laws(ax: Axes, grid: np.ndarray, seq_len: np.ndarray, dim: np.ndarray) -> None:
    """Wall, slope and floor along ``grid``, one of the two sizes, and their envelope in grey."""
    law = alone(seq_len, dim)
    floor = np.full_like(grid, law.coverage)
    ax.plot(
        grid,
        law.envelope(dim),
        color="#bbbbbb",
        linewidth=8,
        solid_capstyle="butt",
        label="envelope",
    )
    ax.plot(grid, law.lock_on, "k--", label="slope: lock-on")
    ax.plot(grid, floor, "k:", label="floor: coverage")
    if grid[0] < law.wall < grid[-1] and dim is grid:
        ax.axvline(law.wall, color="black", linestyle="-.", label="wall: interference")


def draw_critical(ax: Axes, tables: dict[str, pd.DataFrame], along: str) -> None:
    """Critical N of each outcome: measured with 95 % intervals as points, predicted as a line."""
    for outcome, table in tables.items():
        table = table[table["low"] > 0].rename(columns={"critical": "mean"})
        name = outcome.replace("_", "-")
        colour = plotting.COLOUR_OF[outcome]
        index = plotting.COLOURS.index(colour)
        plotting.plot_intervals(ax, table, along, name, index, linestyle="none")
        ax.plot(table[along], table["predicted"], color=colour)
