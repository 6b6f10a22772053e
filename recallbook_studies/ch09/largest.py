r"""Sizes for a GPU: $V$ from 8192 to 65536, $L$ to 1024, $d$ to 2048, $m$ to 32768, with $N$ where
lock-on or accuracy changes.

``python -m recallbook table largest STORE --device cuda`` makes the rows."""

from __future__ import annotations

from typing import Any

from recallbook.arguments import Device
from recallbook.training.simulation import simulate
from recallbook_studies.error_map import as_setting
from recallbook_studies.running.point import OUTCOMES

TEST = 4000


def row(case: int, seed: int, device: Device = "cpu", **fields: Any) -> dict[str, Any]:
    """Outcomes of the setting of a number with one seed."""
    found = simulate(as_setting(fields), seed, test_samples=TEST, device=device)
    return {name: getattr(found, name) for name in OUTCOMES}
