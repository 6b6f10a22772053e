r"""Which comes first, lock-on or recall: a look at every step, at the base, for every N (chapter
12).

``step_lock_on``, ``step_recall``, ``step_accuracy``: the first step after which each is half of the
way from chance ($1/L$ for lock-on, $1/V$ for the others) to 1. ``python -m recallbook table
survives_order STORE`` makes the runs, ``--export`` writes the table."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pandas as pd

from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.rungs import LADDER, RUNGS
from recallbook_studies.ch12.training import STEPS, TIMES, by_seed
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_order")  # the committed rows


def keys() -> list[str]:
    """Every run, "rung N seed"."""
    return [
        f"{rung.name} {count} {seed}"
        for rung in LADDER
        if rung.steps == "many" and rung.name != "marker token"  # one layer cannot use it
        for count in sizes.samples(rung, sizes.VOCAB)
        for seed in sizes.SEEDS
    ]


def row(key: str) -> dict[str, Any]:
    """One run. All seeds of its rung and N are trained; the others are kept for the next keys."""
    name, *rest = key.rsplit(" ", 2)
    (samples, seed), rung = map(int, rest), RUNGS[name]
    setting, pair = sizes.setting(sizes.BASE, samples), tuning.coarse(name)
    found = by_seed(rung, setting, sizes.SEEDS, **pair._asdict(), looks=STEPS).loc[seed]
    named = {"key": key, "rung": name, "samples": samples, "seed": seed}
    return {**named, **found[["accuracy", *TIMES]].to_dict()}


def attends(vocab: int, seq_len: int, rates: tuple[float, float]) -> int:
    r"""Predict the step of full-batch descent at which the marked token has half of attention.

    $s$ is what the trigger adds to a score, $m$ what $W_V$ adds to the right logit of a located
    token, $a=e^s/(e^s+L-1)$ and $p$ the chance of the right label: $m$ grows by $\eta a(1-p)/V$ and
    $s$ by $\gamma m\,a(1-a)(1-p)$ a step, from zero. Without noise; $L^{-2}V^{-1}$ of chapter 5
    is its second step. ``rates``: $\eta$ and $\gamma$."""
    score, fact, step = 0.0, 0.0, 0
    while (odds := math.exp(score) / (seq_len - 1)) < 1:
        held = odds / (1 + odds)
        wrong = 1 - 1 / (1 + (vocab - 1) * math.exp(-fact * held))
        score, fact = (
            score + rates[1] * fact * held * (1 - held) * wrong,
            fact + rates[0] * held * wrong / vocab,
        )
        step += 1
    return step


def phases(frame: pd.DataFrame) -> pd.DataFrame:
    """When each rung got there, over the runs that ended above 1/2 in accuracy: median steps, and
    the shares of runs in which lock-on, or recall, came strictly earlier than the other. ``runs``:
    how many there are."""
    late = frame[frame["accuracy"] > 0.5]
    lead = late["step_recall"] - late["step_lock_on"]
    late = late.assign(lock_on_first=lead > 0, recall_first=lead < 0)
    of_rung = late.groupby("rung", sort=False)
    table = of_rung[list(TIMES)].median().join(of_rung[["lock_on_first", "recall_first"]].mean())
    return table.assign(runs=of_rung.size()).reset_index()
