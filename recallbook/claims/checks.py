"""The list of all checks of claims, and the measured exponents beside the claimed ones."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook.claims import (
    checks_bounds,
    checks_capacity,
    checks_geometry,
    checks_mlp,
    checks_products,
    checks_scaling,
    checks_task,
    checks_training,
)
from recallbook.claims.findings import LABELS, LOCKS, LONG, ONE, SHORT, Check, fitted

CHECKS = {
    name: value
    for module in (
        checks_task,
        checks_capacity,
        checks_training,
        checks_products,
        checks_scaling,
        checks_geometry,
        checks_mlp,
        checks_bounds,
    )
    for name, value in vars(module).items()
    if isinstance(value, Check)
}


def exponent_table() -> pd.DataFrame:
    """Measured exponents of critical N by law and size, with intervals, beside those of N ~ d L."""
    rows: list[dict[str, Any]] = []
    for law in (LOCKS, LABELS, ONE, SHORT, LONG):
        for size, found in fitted(law).items():
            rows.append({"law": law, "size": size, **found._asdict(), "claimed": {"dim": 1, "seq_len": 1}.get(size)})
    return pd.DataFrame(rows)
