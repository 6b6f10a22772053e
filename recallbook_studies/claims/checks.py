"""The list of all checks of claims, and the measured exponents beside the claimed ones."""

from __future__ import annotations

import pandas as pd

from recallbook_studies.claims import (
    checks_bounds,
    checks_memory,
    checks_model,
    checks_products,
    checks_scaling,
)
from recallbook_studies.claims.findings import LABELS, LOCKS, LONG, ONE, SHORT, Check, fitted

CHECKS = {
    name: value
    for module in (checks_model, checks_memory, checks_products, checks_scaling, checks_bounds)
    for name, value in vars(module).items()
    if isinstance(value, Check)
}


def exponent_table() -> pd.DataFrame:
    """Measured exponents of critical N by law and size, with intervals, beside those of N ~ d L."""
    claimed = {"dim": 1, "seq_len": 1}
    return pd.DataFrame(
        {"law": law, "size": size, **found._asdict(), "claimed": claimed.get(size)}
        for law in (LOCKS, LABELS, ONE, SHORT, LONG)
        for size, found in fitted(law).items()
    )
