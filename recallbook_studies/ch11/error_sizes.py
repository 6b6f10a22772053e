r"""Error under Zipf's law against $N$ and $d$ where attention cannot miss ($L=1$): exponents,
measured and derived."""

from __future__ import annotations

import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.ch11.rare_facts import error_with_perfect_attention, uncovered_mass
from recallbook_studies.intervals import Interval, fitted_slope, over_seeds

VOCAB = 2048
DIMS = (32, 64, 128, 256)
SAMPLES = tuple(2**k for k in (6, 8, 10, 12, 14))
WEIGHTS = ("equal", "inverse")


def setting_at(exponent: float, dim: int, samples: int, weights: str) -> Setting:
    """One token a sequence, which is the marked one; values without the trigger, no bias."""
    return Setting(
        vocab=VOCAB,
        seq_len=1,
        dim=dim,
        samples=samples,
        zipf=exponent,
        loss_weights=weights,
    )


def errors(frame: pd.DataFrame) -> pd.DataFrame:
    """``mean`` error of each case with its interval over seeds, predicted error, and the mass of
    facts never seen."""
    by = ["zipf", "loss_weights", "dim", "samples"]
    table = over_seeds(frame.assign(error=1 - frame["accuracy"]), by, "error", within=(1e-3, 1))
    settings = [
        setting_at(row.zipf, int(row.dim), int(row.samples), row.loss_weights)
        for row in table.itertuples(index=False)
    ]
    return table.assign(
        predicted=[error_with_perfect_attention(setting) for setting in settings],
        uncovered=[uncovered_mass(setting) for setting in settings],
    )


def slope(frame: pd.DataFrame, along: str) -> Interval:
    """Exponent of the error along a size, fitted seed by seed."""
    table = 1 - frame.pivot(index="seed", columns=along, values="accuracy")
    return fitted_slope(table.columns, table)
