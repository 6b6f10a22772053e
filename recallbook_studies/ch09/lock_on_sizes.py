r"""Critical number of sequences for lock-on, against $d$ at several $L$, against $L$ at several
$d$, and against $V$.

Sizes are those where the predicted critical $N$ is between $V/4$ and $300V$ without the trigger in
the values: label frequencies along the mean embedding and gradient noise bind there, not coverage.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies import grids, laws
from recallbook_theory.symbolic.expressions import numeric
from recallbook_theory.values import columns

VOCAB = 256  # of the table of d and L
DIM, LENGTH = 32, 128  # of the line in V


def sizes(frame: pd.DataFrame, trigger_in_values: bool) -> pd.DataFrame:
    """Rows of the table of d and L at one vocabulary."""
    return grids.at(frame, vocab=VOCAB, trigger_in_values=trigger_in_values)


def critical(frame: pd.DataFrame, trigger_in_values: bool) -> pd.DataFrame:
    """Critical N for lock-on by L and d, measured and predicted (which takes some seconds)."""
    fixed: dict[str, Any] = {"vocab": VOCAB, "trigger_in_values": trigger_in_values}
    return grids.critical(frame, ["seq_len", "dim"], **fixed)


def critical_by_vocabulary(frame: pd.DataFrame, trigger_in_values: bool) -> pd.DataFrame:
    """The same by V."""
    place: dict[str, Any] = {"seq_len": LENGTH, "dim": DIM}
    return grids.critical(frame, ["vocab"], trigger_in_values=trigger_in_values, **place)


def with_laws(table: pd.DataFrame, **fixed: float) -> pd.DataFrame:
    """The table with each law of lock-on as a column, and the name of the largest as ``binds``."""
    at = columns(table.assign(**fixed))
    found = pd.DataFrame(
        {name: numeric(law)(at) for name, law in laws.lock_on().items()}, index=table.index
    )
    return table.assign(**found, binds=found.idxmax(axis=1))


def interactions(table: pd.DataFrame, column: str = "critical") -> pd.DataFrame:
    """What is left of the logarithm of a column after row and column effects, by L and d: zero
    under a product law."""
    logs = np.log(table.pivot(index="seq_len", columns="dim", values=column))
    return logs.sub(logs.mean(axis=1), axis=0) - logs.mean() + logs.to_numpy().mean()
