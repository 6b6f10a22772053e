r"""Learning rates of the ladder's rungs by one rule, the same for all of them.

Every rung with tuned rates is trained at one base size at each rate of its optimiser's grid, on seeds that are used
nowhere else. Kept is the middle one of the rates whose mean accuracy is within 0.01 of the best, which is about what
the test sequences can tell; of two in the middle the larger. The rate that is kept serves all sizes: as it is for
AdamW, Muon and gradient descent on the library's layers, as a factor on the book's rates $\eta=LV/200$,
$\gamma=L/20$ for gradient descent on the book's attention.

``python -m recallbook.experiments.survives.rates STORE`` makes the runs, ``--export STORE...`` writes the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from recallbook.experiments.survives import sizes
from recallbook.practice.rungs import RUNGS, Rung
from recallbook.practice.training import train
from recallbook.sweeps.archive import FOLDER
from recallbook.sweeps.rows import command_line, extend, join

FILE = FOLDER / "tables" / "survives_rates.csv"
SEEDS = range(1000, 1004)  # the sweep's are 0 to 9
EQUAL = 0.01  # the standard error of 4 times 256 test sequences is about that
GRIDS = {
    "book": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),  # factors on the book's rates
    "sgd": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "adamw": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    "muon": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
}


def grid(rung: Rung) -> tuple[float, ...]:
    """The rates that are tried."""
    return GRIDS["book" if rung.optimiser == "sgd" and rung.heads is None else rung.optimiser]


def tuned_rungs() -> list[Rung]:
    """Those whose rates are searched for."""
    return [rung for rung in RUNGS.values() if rung.rates == "tuned"]


def keys() -> list[str]:
    """Every run, "rung rate"."""
    return [f"{rung.name} {rate:g}" for rung in tuned_rungs() for rate in grid(rung)]


def row(key: str) -> dict[str, Any]:
    """One rung at one rate: means over the seeds."""
    name, rate = key.rsplit(" ", 1)
    rung = RUNGS[name]
    found = train(rung, sizes.base(rung), SEEDS, rate=float(rate)).outcomes
    means = {name: float(found[name].mean()) for name in ("accuracy", "loss", "lock_on")}
    return {"key": key, "rung": name, "rate": float(rate), **means, "diverged": int(found["diverged"].sum())}


def choose(frame: pd.DataFrame) -> pd.Series:
    """The rate of each rung: the middle one of those that are as accurate as the best, within ``EQUAL``."""
    kept = {}
    for name, part in frame.groupby("rung", sort=False):
        good = part.loc[part["accuracy"] >= part["accuracy"].max() - EQUAL, "rate"].sort_values()
        kept[name] = float(good.iloc[len(good) // 2])
    return pd.Series(kept, name="rate")


def load() -> pd.DataFrame:
    """The committed search: one row for each rung and rate."""
    with FILE.open(encoding="utf-8") as file:
        return pd.read_csv(file)


@lru_cache(maxsize=1)
def _chosen() -> pd.Series:
    return choose(load())


def rate_of(rung: Rung) -> float:
    """The rate of this rung in the sweep: 1 at the book's rates, else what the committed search chose."""
    return 1.0 if rung.rates == "book" else float(_chosen()[rung.name])


def at_an_end(frame: pd.DataFrame) -> list[str]:
    """Rungs whose best rate is the smallest or the largest that was tried."""
    return [name for name, rate in choose(frame).items() if rate in (grid(RUNGS[name])[0], grid(RUNGS[name])[-1])]


def fill(store: Path, part: slice) -> None:
    """Make what the store lacks."""
    extend(store, "key", keys()[part], row)


def export(stores: Iterable[Path]) -> None:
    """Write the table that ships with the package."""
    join(stores, "key", keys(), FILE)


if __name__ == "__main__":
    command_line(__spec__.name, __doc__, fill, export)
