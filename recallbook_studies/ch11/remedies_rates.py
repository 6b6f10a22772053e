r"""Which rates each way of descending takes when remedies are compared: one rule for all, tuned on
seeds of their own.

A way's grid is its unit of $(\eta,\gamma)$ times powers of 4, tried at one setting: Zipf's law,
Gaussian embeddings, no trigger in the values. Its rates are the smallest, by $\eta\gamma$ and then
by $\eta$, whose mean accuracy is within
:data:`MARGIN` of the grid's best. A seed that failed counts as accuracy 0. So a tuned rate is good at that setting and
nowhere by construction; it stays what it is at all others.
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from recallbook.setting import Setting
from recallbook.sweeps.point import Point

SEEDS = (100, 101, 102)  # never those of the comparison
STEPS, TEST_SAMPLES, MARGIN = 30, 5000, 0.005
SETTING = Setting(vocab=256, seq_len=16, dim=128, samples=2048, trigger_in_values=False, zipf=1)
LENGTH, BOTH = SETTING.seq_len, SETTING.seq_len * SETTING.vocab


class Grid(NamedTuple):
    """Units of the two rates, and the powers of 4 that multiply them."""

    eta_unit: float
    gamma_unit: float
    eta_powers: range
    gamma_powers: range

    def rates(self) -> list[Rates]:
        """Every pair of the grid."""
        return [
            Rates(self.eta_unit * 4.0**a, self.gamma_unit * 4.0**b)
            for a in self.eta_powers
            for b in self.gamma_powers
        ]


class Rates(NamedTuple):
    """The two rates of a way."""

    eta: float
    gamma: float


THREE_STEPS = "three_steps"
# gradient: a token's share of it is 1/V, a position's 1/L. The other three move by a size of their
# own.
GRIDS = {
    THREE_STEPS: Grid(BOTH, LENGTH, range(-3, 2), range(-2, 5)),
    "gd": Grid(BOTH, LENGTH, range(-2, 1), range(-3, 0)),
    "sign": Grid(0.016, 0.016, range(0, 3), range(-2, 2)),
    "adam": Grid(0.04, 0.04, range(0, 4), range(-2, 1)),
    "muon": Grid(2.0, 0.4, range(-1, 2), range(-1, 2)),
}


def point(setting: Setting, seed: int, way: str, rates: Rates, steps: int = STEPS) -> Point:
    """One run of a way at these rates: three steps, or an optimiser of :func:`recallbook.descend`
    on one batch."""
    if way == THREE_STEPS:
        return Point(setting, seed, *rates, test_samples=TEST_SAMPLES)
    return Point(setting, seed, *rates, "descend", steps, test_samples=TEST_SAMPLES, optimizer=way)


def points() -> list[Point]:
    """Every way at every pair of its grid."""
    return [
        point(SETTING, seed, way, rates)
        for way, grid in GRIDS.items()
        for rates in grid.rates()
        for seed in SEEDS
    ]


def tuning(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean outcomes by way and rates, with the number of ``failed`` seeds, whose accuracy counts as
    0."""
    ways = frame["optimizer"].where(frame["method"] == "descend", THREE_STEPS)
    counted = frame.assign(
        way=ways, failed=frame["error"].notna(), accuracy=frame["accuracy"].fillna(0.0)
    )
    names = {"accuracy": "mean", "lock_on": "mean", "recall": "mean", "failed": "sum"}
    return counted.groupby(["way", "eta", "gamma"]).agg(names).reset_index()


def chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """By way: the rates of the rule with their accuracy, the grid's ``best`` accuracy, and where
    that edges the grid.

    ``edge`` names the rates that are the smallest or largest of their grid, where a wider one might
    find others."""
    rows = {}
    for way, tried in tuning(frame).groupby("way"):
        best = tried["accuracy"].max()
        good = tried[tried["accuracy"] >= best - MARGIN]
        good = good.assign(product=good["eta"] * good["gamma"]).sort_values(["product", "eta"])
        taken = good.iloc[0]
        edges = [
            name for name in Rates._fields if taken[name] in (tried[name].min(), tried[name].max())
        ]
        rows[way] = {
            **taken[["eta", "gamma", "accuracy"]],
            "best": best,
            "edge": " and ".join(edges),
            "failed": int(tried["failed"].sum()),
        }
    found = pd.DataFrame.from_dict(rows, orient="index").rename_axis("way")
    return found.loc[[way for way in GRIDS if way in rows]]
