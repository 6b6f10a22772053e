"""What a structure of the embeddings does to recall, and in longer sequences to lock-on, beside
isotropic tables.

Isotropic tables have the effective dimension of a structured one, so that recall is alike where
that alone counts.

``python -m recallbook table unequal_structure STORE`` makes the rows, ``--export`` writes the
table."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.examining.report import examine
from recallbook_studies.intervals import seed_interval
from recallbook_studies.running.archive import load_results
from recallbook_studies.running.point import OUTCOMES
from recallbook_theory.prediction import predict

load = partial(load_results, "unequal_structure")  # the committed rows
VOCAB, DIM, SAMPLES = 256, 256, 2048
LAWS = (
    "low_rank(64)",
    "power_law(0.75)",
    "clustered(16, 0.44)",
    "power_law(1)",
    "clustered(4, 0.7)",
)
ISOTROPIC = (64, 66, 23, 8)  # effective dimensions of seed 0 of the laws
LONG = (*LAWS[:3], f"gaussian in {ISOTROPIC[0]}")  # these in long sequences, too
SEEDS = {16: 10, 64: 20}  # by length


def keys() -> list[str]:
    """Every case, "law, L = length"; an isotropic law has its dimension."""
    short = (*LAWS, *(f"gaussian in {dim}" for dim in ISOTROPIC))
    return [
        f"{law}, L = {length}"
        for length, laws in zip(SEEDS, (short, LONG), strict=True)
        for law in laws
    ]


def setting(key: str) -> Setting:
    """The setting of a key; the trigger is out of the values."""
    name, length = key.split(", L = ")
    law, _, dim = name.partition(" in ")
    return Setting(
        vocab=VOCAB,
        seq_len=int(length),
        dim=int(dim or DIM),
        samples=SAMPLES,
        embeddings=law,
    )


def row(key: str) -> dict[str, Any]:
    """Means over seeds with half of a 95 % interval, predictions, and the effective dimension of
    seed 0."""
    here = setting(key)
    draws = pd.DataFrame([simulate(here, seed) for seed in range(SEEDS[here.seq_len])])[
        list(OUTCOMES)
    ]
    found, pair_dim = predict(here, warn=False), examine(draw(here, 0).input_embeddings).pair_dim
    made: dict[str, Any] = {
        "key": key,
        "law": key.split(", L = ")[0],
        "seq_len": here.seq_len,
        "pair_dim": pair_dim,
    }
    for name in OUTCOMES:
        interval = seed_interval(draws[name])
        made |= {name: interval.mean, f"{name}_half": interval.high - interval.mean}
        made[f"{name}_predicted"] = getattr(found, name)
    return made
