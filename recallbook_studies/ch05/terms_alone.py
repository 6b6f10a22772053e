r"""Each term of step 2 where it is much of the variance of token scores, with hundreds of seeds:
exact and leading.

``python -m recallbook table terms_alone STORE`` makes the draws, ``--export`` writes the table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.polynomial import Polynomial

from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook_studies.ch05 import scores
from recallbook_studies.intervals import seed_interval
from recallbook_studies.running.archive import load_results
from recallbook_theory import moments
from recallbook_theory.values import length_variance

load = partial(load_results, "terms_alone")  # the committed rows
KINDS = {
    **dict.fromkeys(("case", "seed"), "int16"),
    **dict.fromkeys(("score", "variance", "T"), "float32"),
}
TERMS = (
    "trigger overlap",
    "mean bias",
    "gradient noise",
    "frequency noise",
    "fact interference",
    "uneven facts",
    "cross terms",
)


CASE = ["term", "V", "L", "d", "N", "tau"]


def setting_of(V: int, L: int, d: float, N: int, tau: int) -> Setting:
    """The setting of a case: chosen by a search over sizes, N >= V, for the largest share of its
    term; an infinite d stands for orthogonal embeddings."""
    chosen: dict[str, Any] = {
        "vocab": V,
        "seq_len": L,
        "samples": N,
        "trigger_in_values": bool(tau),
    }
    if d == math.inf:
        return Setting(**chosen, embeddings="orthogonal", dim=V + 2)
    return Setting(**chosen, dim=int(d))


def row(case: int, term: str, seed: Iterable[int], **sizes: Any) -> list[dict[str, Any]]:
    r"""The mark's score, the variance of token scores and $T=|t|^2$ of every draw; in single
    precision."""
    rows = []
    for one in seed:
        problem = draw(setting_of(**sizes), one)
        found, t = scores.attention_vector(problem), problem.trigger
        variance = (problem.input_embeddings @ found).var()
        values = {"score": t @ found, "variance": variance, "T": t @ t}
        rows.append({name: float(np.float32(value)) for name, value in values.items()})
    return rows


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """The types of the committed table."""
    return frame.astype(KINDS)


def exact_parts(setting: Setting) -> dict[str, float]:
    """Exact variance of token scores by term, mean over draws."""
    distinct = setting.vocab / (setting.vocab - 1)
    parts = {term: moments.polynomial(setting, "scatter", term=term) for term in TERMS}
    return {term: distinct * over_triggers(setting, part) for term, part in parts.items()}


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Measured variance of token scores over the exact one, with its 95 % interval over seeds, for
    every case.

    ``share`` is that of the named term in the exact variance, ``leading`` the ratio to the sum of
    the ledger's leading terms."""
    rows = []
    for key, draws in frame.groupby(CASE, sort=False):
        case = dict(zip(CASE, key, strict=True))
        setting = setting_of(**{name: case[name] for name in CASE[1:]})
        parts = exact_parts(setting)
        exact = sum(parts.values())
        row = {**case, "share": parts[case["term"]] / exact}
        row |= seed_interval(draws["variance"] / exact)._asdict()
        leading = row["mean"] * exact / scores.variance(setting)
        rows.append({**row, "leading": leading})
    return pd.DataFrame(rows).rename(columns={"mean": "ratio"})


def over_triggers(setting: Setting, given: Polynomial) -> float:
    r"""Mean of a polynomial over $|t|^2$, a gamma variable of mean 1: $\mathbb
    E\,T^k=\prod_{j<k}(1+js)$."""
    spread = length_variance(setting)
    means = np.cumprod([1.0, *(1 + j * spread for j in range(len(given.coef) - 1))])
    return float(np.dot(np.asarray(given.coef, dtype=float), means))
