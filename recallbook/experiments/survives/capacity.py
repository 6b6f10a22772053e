r"""How many facts a rung holds at its number of weights, when all facts are shown often (chapter 12).

Facts held: $V$ times the recall on sequences of one token only. In bits per weight,
$V\cdot\text{recall}\cdot\log_2V/P$, with $P$ the weights that training moves; guessing is not taken off.

``python -m recallbook.experiments.survives.capacity STORE`` makes the runs, ``--export STORE...`` writes the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from recallbook.experiments.survives import rates
from recallbook.practice.models import LadderModel
from recallbook.practice.rungs import RUNGS, rung_named
from recallbook.practice.training import problem_for, train
from recallbook.setting import Setting
from recallbook.sweeps.archive import FOLDER
from recallbook.sweeps.rows import command_line, extend, join

FILE = FOLDER / "tables" / "survives_capacity.csv"
NAMES = ("three steps", "AdamW", "learned embeddings", "MLP")
VOCABS, DIMS, LENGTH = (64, 128, 256, 512, 1024), (8, 16, 32), 4
PER_FACT = 8  # sequences; a fact that none of them asks about has probability e^-8
STEPS, BATCH = 1000, 128
SEEDS = range(5)


def setting(vocab: int, dim: int) -> Setting:
    """V facts in d dimensions, each asked about eight times on average."""
    return Setting(vocab=vocab, seq_len=LENGTH, dim=dim, samples=PER_FACT * vocab)


def keys() -> list[str]:
    """Every cell, "rung V d"."""
    return [f"{name} {vocab} {dim}" for name in NAMES for dim in DIMS for vocab in VOCABS]


def weights(name: str, vocab: int, dim: int) -> int:
    """Number of weights that training moves."""
    rung = rung_named(name)
    model = LadderModel(rung, problem_for(rung, setting(vocab, dim), 0))
    return sum(one.numel() for one in model.parameters() if one.requires_grad)


def bits_per_weight(vocab: int, recall: float, count: int) -> float:
    r"""$V\cdot\text{recall}\cdot\log_2V/P$."""
    return vocab * recall * math.log2(vocab) / count


def row(key: str) -> dict[str, Any]:
    """One rung at one V and d: mean over seeds, and its standard error."""
    name, *numbers = key.rsplit(" ", 2)
    vocab, dim = map(int, numbers)
    rung = RUNGS[name]
    rate = rates.rate_of(rung)
    found = train(rung, setting(vocab, dim), SEEDS, rate=rate, steps=STEPS, batch=BATCH, looks=1).outcomes["recall"]
    sizes = {"rung": name, "vocab": vocab, "dim": dim, "weights": weights(name, vocab, dim), "rate": rate}
    return {"key": key, **sizes, "recall": found.mean(), "standard_error": found.sem()}


def load() -> pd.DataFrame:
    """The committed runs, with ``facts`` held and ``bits`` per weight."""
    with FILE.open(encoding="utf-8") as file:
        frame = pd.read_csv(file)
    held = [
        bits_per_weight(vocab, recall, count)
        for vocab, recall, count in zip(frame["vocab"], frame["recall"], frame["weights"], strict=True)
    ]
    return frame.assign(facts=frame["vocab"] * frame["recall"], bits=held)


def fill(store: Path, part: slice) -> None:
    """Make what the store lacks."""
    extend(store, "key", keys()[part], row)


def export(stores: Iterable[Path]) -> None:
    """Write the table that ships with the package."""
    join(stores, "key", keys(), FILE)


if __name__ == "__main__":
    command_line(__spec__.name, __doc__, fill, export)
