"""*Laws at a glance* and the landing page, after several value steps: where the wall is."""

from __future__ import annotations

import math
from functools import cache

import pandas as pd
from laws_text import table

from recallbook_studies.ch12 import between_map, between_sizes
from recallbook_studies.laws import least_dim

MANY = 16  # value steps of the second wall
SHOWN = 256, 8192  # V of the numbers in the words


@cache
def wall(vocab: int, value_steps: int = 1) -> int:
    """The least d for nine tenths of the facts, predicted; several steps at a rate of half ln V."""
    rate = math.log(vocab) / 2 if value_steps > 1 else None
    return least_dim(vocab, 0.9, value_steps=value_steps, rate=rate, trigger_in_values=False)


@cache
def constants() -> pd.DataFrame:
    """The wall's d²/(V ln V) of the committed table, ``simulated`` and ``predicted``, by V and
    number of steps."""
    rows = []
    for vocab, part in between_sizes.load().groupby("vocab"):
        for steps in between_sizes.STEPS:
            found = between_sizes.least_dims(part, steps)
            unit = vocab * math.log(vocab)
            rows.append((vocab, steps, found.simulated**2 / unit, found.predicted**2 / unit))
    return pd.DataFrame(rows, columns=["V", "steps", "simulated", "predicted"]).set_index(
        ["V", "steps"]
    )


def several() -> dict[str, str]:
    """The card of several value steps: the wall's constant, what steps buy, and how far predictions
    are off."""
    known, steps = constants(), between_sizes.STEPS
    rows = [
        (
            f"$V={vocab}$",
            *(f"{at.simulated:.2f} ({at.predicted:.2f})" for at in part.itertuples()),
        )
        for vocab, part in known.groupby("V")
    ]
    few, more = SHOWN
    gain = known.loc[(few, 1), "simulated"] / known.loc[(few, MANY), "simulated"]
    found = between_map.load().query("value_steps > 1 and lock_on > 0.9")
    off = between_map.misses(found).abs()
    return {
        **{f"steps {k}": f"{known.loc[(more, k), 'simulated']:.1f}" for k in steps},
        "steps": table(("$c$ after", *map(str, steps)), rows),
        "steps gain": f"{gain:.1f}",
        "steps settings": str(len(found)),
        "steps off": f"{off.quantile(0.9):.2f}",
        "steps most": f"{off.max():.2f}",
    }
