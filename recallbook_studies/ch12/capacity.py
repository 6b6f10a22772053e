r"""How many facts a rung can hold: the largest number of which nine tenths are recalled, by
bisection (chapter 12).

Every one of the V facts is asked about, eight times on average; V is searched for. Sequences are
one token long, so that nothing has to be located. Weight decay is zero but
where it is varied, because the question is what the weights can hold.

``python -m recallbook table survives_capacity STORE`` makes the runs, ``--export`` writes the
table."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.ch12 import ladder
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_theory.search import bracket

DIMS = (8, 16, 24, 32, 48, 64)
LARGEST = 1024  # the largest V that is tried
PER_FACT = 8  # sequences; a fact that none of them asks about has probability e^-8
STEPS, BATCH = 1000, 128
LEVEL, TOLERANCE = 0.9, 0.04


@lru_cache(maxsize=64)
def held(
    facts: int, *, rung: str, dim: int, steps: int = STEPS, decay: float = 0.0, rate: float = 1.0
) -> pd.Series:
    """Share of so many facts that is recalled, for each seed."""
    setting = Setting(vocab=facts, seq_len=1, dim=dim, samples=PER_FACT * facts)
    found = train(
        RUNGS[rung], setting, ladder.SEEDS, rate=rate, decay=decay, steps=steps, batch=BATCH
    )
    return found.outcomes["recall"]


def row(rung: str, dim: int, steps: int, decay: float, rate: float) -> dict[str, Any]:
    r"""One case: the largest number of facts held and the next one tried, with recall at both over
    ten seeds."""
    recall = partial(held, rung=rung, dim=dim, steps=steps, decay=decay, rate=rate)
    found = bracket(
        lambda facts: recall(facts).mean() < LEVEL,
        LARGEST if RUNGS[rung].learned else max(8, dim**2 // 8),
        smallest=4,
        largest=LARGEST,
        tolerance=TOLERANCE,
        logarithmic=True,
    )
    none = pd.Series([math.nan])
    low = recall(found.low) if found.low else none
    high = recall(int(found.high)) if math.isfinite(found.high) else none
    return {
        "facts": found.low, "next": found.high, "recall": low.mean(), "error": low.sem(),
        "next_recall": high.mean(), "next_error": high.sem(),
    }  # fmt: skip
