r"""Sizes for a GPU: $V$ from 8192 to 65536, $L$ to 1024, $d$ to 2048, $m$ to 32768, with $N$ where
lock-on or accuracy changes.

``python -m recallbook table largest STORE --device cuda`` makes the rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook.arguments import Device
from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.intervals import over_seeds
from recallbook_studies.running.archive import load_results
from recallbook_theory.prediction import predict

SEEDS, TEST = 4, 4000
HE3 = {"activation": "he3"}
LINES: tuple[tuple[int, int, int, tuple[float, ...], dict[str, Any]], ...] = (  # V, L, d, N/V
    (8192, 64, 256, (1, 4, 16), {}),
    (8192, 64, 256, (1, 4, 16), {"width": 32768, **HE3}),
    (8192, 256, 128, (2, 4, 8), {"width": 8192, **HE3}),
    (16384, 1024, 512, (1, 2, 4, 8), {}),
    (16384, 1024, 1024, (0.5, 1, 2, 4), {}),
    (16384, 256, 1024, (0.25, 1, 4, 16), {}),
    (32768, 1024, 512, (1, 2, 4, 8), {}),
    (65536, 256, 512, (0.125, 0.25, 1, 4), {}),
    (65536, 1024, 1024, (0.25, 0.5, 1, 2, 4), {}),
    (65536, 64, 2048, (0.25, 1, 4, 16), {}),
    (16384, 1024, 512, (0.125, 0.25, 0.5, 1), {"trigger_in_values": True}),
    (16384, 64, 2048, (64, 256), {"trigger_in_values": True}),
)
SETTINGS = [
    Setting(
        vocab=vocab,
        seq_len=seq_len,
        dim=dim,
        samples=round(ratio * vocab),
        **{"trigger_in_values": False, **others},
    )
    for vocab, seq_len, dim, ratios, others in LINES
    for ratio in ratios
]


def keys() -> list[tuple[int, int]]:
    """Number of the setting, and seed."""
    return [(case, seed) for case in range(len(SETTINGS)) for seed in range(SEEDS)]


def row(key: tuple[int, int], device: Device = "cpu") -> dict[str, Any]:
    """Outcomes of one setting and seed."""
    case, seed = key
    found = simulate(SETTINGS[case], seed, test_samples=TEST, device=device)
    outcomes = {name: getattr(found, name) for name in ("lock_on", "accuracy", "recall")}
    return {"case": case, "seed": seed, **outcomes}


def compared() -> pd.DataFrame:
    """Lock-on and accuracy of every setting, ``mean`` and ``predicted``, with its sizes."""
    sizes = pd.DataFrame([vars(setting) for setting in SETTINGS])
    found = [predict(setting, warn=False) for setting in SETTINGS]
    parts = [
        over_seeds(load_results("largest"), ["case"], outcome, within=(0, 1))
        .join(sizes, on="case")
        .assign(outcome=outcome, predicted=[getattr(p, outcome) for p in found])
        for outcome in ("lock_on", "accuracy")
    ]
    return pd.concat(parts, ignore_index=True)
