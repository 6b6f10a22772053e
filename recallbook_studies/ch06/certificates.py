"""Certificates of random problems against simulation over fresh output embeddings.

``python -m recallbook table certificates STORE`` makes what the file lacks, and ``--export``
writes the table that ships with the package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from recallbook.data.embeddings import draw_embeddings
from recallbook.data.task import Problem, draw
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.error_map import QUANTITIES, as_setting, means_and_errors
from recallbook_theory.bounds.certificate import certify

FIRST_SEED = 5 * 10**8  # of problems and of fresh output embeddings: used nowhere else
FRESH = 48  # output embeddings for each problem
TEST = 2000
OUTCOMES = ("lock_on", "recall", "accuracy")


def fresh_outputs(problem: Problem, count: int = FRESH) -> Iterator[Problem]:
    """The same problem with other output embeddings of its law."""
    small = replace(problem.setting, samples=1)
    for seed in range(problem.seed + 1, problem.seed + 1 + count):
        table = torch.from_numpy(draw_embeddings(small, seed).output.copy())
        yield replace(problem, output_embeddings=table)


def row(index: int, multiple: float, **fields: Any) -> dict[str, Any]:
    """The certificate of one problem, and means with standard errors over fresh output
    embeddings; N is this multiple of the predicted N for half lock-on."""
    problem = draw(as_setting(fields), FIRST_SEED + (FRESH + 1) * index)
    return proved(problem) | simulated(problem)


def proved(problem: Problem) -> dict[str, Any]:
    """What a certificate proves, under names of their own."""
    found = certify(problem)
    least = {f"proved_{name}": getattr(found, name) for name in (*OUTCOMES, "all_lock", "stored")}
    return least | {f"{name}_at_most": getattr(found.at_most, name) for name in OUTCOMES}


def simulated(problem: Problem, count: int = FRESH) -> dict[str, float]:
    """Means with standard errors over fresh output embeddings."""
    runs = [
        evaluate(p, three_steps(p), TEST, seed=p.seed + 1 + i)
        for i, p in enumerate(fresh_outputs(problem, count))
    ]
    return means_and_errors([[getattr(run, name) for name in QUANTITIES] for run in runs])


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """The types of the committed table."""
    return frame.astype({"width": "Int32"})


def excess(table: pd.DataFrame, name: str) -> pd.Series:
    """By how many standard errors what is simulated lies outside what is proved.

    Where every draw agrees, the sample's own error is zero: then that of one fact in one draw more.
    """
    error = table[f"{name}_error"].clip(lower=1 / (FRESH * table["vocab"]))
    found, least, most = (table[key] for key in (name, f"proved_{name}", f"{name}_at_most"))
    return np.maximum(least - found, found - most) / error
