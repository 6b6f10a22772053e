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
from typing import Any, NamedTuple

import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.ch12 import ladder
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_studies.running.archive import load_results
from recallbook_theory.search import bracket

load = partial(load_results, "survives_capacity")  # the committed rows
DIMS = (8, 16, 24, 32, 48, 64)
LENGTH = 1  # nothing to locate: the memory alone
LARGEST = 1024  # the largest V that is tried
PER_FACT = 8  # sequences; a fact that none of them asks about has probability e^-8
STEPS, BATCH = 1000, 128
LEVEL, TOLERANCE = 0.9, 0.04


class Trial(NamedTuple):
    """One rung and dimension; for how many steps, with which weight decay and rate."""

    rung: str
    dim: int
    steps: int = STEPS
    decay: float = 0.0
    rate: float = 1.0


def setting(case: Trial, facts: int) -> Setting:
    """The sizes with this many facts."""
    return Setting(vocab=facts, seq_len=LENGTH, dim=case.dim, samples=PER_FACT * facts)


@lru_cache(maxsize=64)
def held(case: Trial, facts: int) -> pd.Series:
    """Share of the facts that is recalled, for each seed."""
    rung, at = RUNGS[case.rung], setting(case, facts)
    found = train(
        rung, at, ladder.SEEDS, rate=case.rate, decay=case.decay,
        steps=case.steps, batch=BATCH, looks=1,
    ).outcomes  # fmt: skip
    return found["recall"]


def row(**key: Any) -> dict[str, Any]:
    r"""One case: the largest number of facts held and the next one tried, with recall at both over
    ten seeds."""
    case = Trial(**key)
    rung = RUNGS[case.rung]
    found = bracket(
        lambda facts: held(case, facts).mean() < LEVEL,
        LARGEST if rung.learned else max(8, case.dim**2 // 8),
        smallest=4,
        largest=LARGEST,
        tolerance=TOLERANCE,
        logarithmic=True,
    )
    none = pd.Series([math.nan])
    low = held(case, found.low) if found.low else none
    high = held(case, int(found.high)) if math.isfinite(found.high) else none
    return {
        "facts": found.low, "next": found.high, "recall": low.mean(), "error": low.sem(),
        "next_recall": high.mean(), "next_error": high.sem(),
    }  # fmt: skip
