r"""Attention-MLP: width, activation and number of sequences, at sizes where attention locks on and
$d^2<V\log V$."""

from __future__ import annotations

import pandas as pd

from recallbook_studies.intervals import over_seeds


def means(frame: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """Mean over seeds with its interval, by ``activation``, ``features`` and N; without an MLP these
    are "none" and the dimension."""
    activation = frame["activation"].mask(frame["width"].isna(), "none")
    count = frame["width"].fillna(frame["dim"]).astype(int)
    frame = frame.assign(activation=activation, features=count)
    return over_seeds(frame, ["activation", "features", "samples"], outcome, within=(0, 1))
