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
LONG = (*LAWS[:3], "gaussian in 64")  # these in long sequences, too
SEEDS = {16: 10, 64: 20}  # by length


def row(law: str, seq_len: int) -> dict[str, Any]:
    """Means over seeds with half of a 95 % interval, predictions, and the effective dimension of
    seed 0; an isotropic law has its dimension. The trigger is out of the values."""
    name, _, dim = law.partition(" in ")
    here = Setting(
        vocab=VOCAB, seq_len=seq_len, dim=int(dim or DIM), samples=SAMPLES, embeddings=name
    )
    draws = pd.DataFrame([simulate(here, seed) for seed in range(SEEDS[here.seq_len])])[
        list(OUTCOMES)
    ]
    found, pair_dim = predict(here, warn=False), examine(draw(here, 0).input_embeddings).pair_dim
    made: dict[str, Any] = {"pair_dim": pair_dim}
    for name in OUTCOMES:
        interval = seed_interval(draws[name])
        made |= {name: interval.mean, f"{name}_half": interval.high - interval.mean}
        made[f"{name}_predicted"] = getattr(found, name)
    return made
