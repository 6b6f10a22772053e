r"""Each term of step 2 where it is much of the variance of token scores, with hundreds of seeds:
exact and leading.

``python -m recallbook table terms_alone STORE`` makes the draws, ``--export`` writes the table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

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

SEEDS = range(1000)
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


class Extreme(NamedTuple):
    """A setting, and the term that it was chosen for: the largest share of it found in a search
    over sizes, N >= V."""

    term: str
    V: int
    L: int
    d: float  # infinite: orthogonal embeddings
    N: int
    tau: int = 0

    def setting(self) -> Setting:
        """The setting of the case."""
        chosen: dict[str, Any] = {"dim": self.d}
        if self.d == math.inf:
            chosen = {"embeddings": "orthogonal", "dim": self.V + 2}
        chosen |= {"vocab": self.V, "seq_len": self.L, "samples": self.N}
        return Setting(**chosen, trigger_in_values=bool(self.tau))


CASES = (
    Extreme("trigger overlap", 64, 8, 64, 2048),
    Extreme("trigger overlap", 64, 8, 64, 2048, 1),
    Extreme("mean bias", 200, 256, 128, 800),
    Extreme("mean bias", 200, 256, 128, 800, 1),
    Extreme("gradient noise", 200, 128, math.inf, 1600),
    Extreme("gradient noise", 200, 128, math.inf, 1600, 1),
    Extreme("gradient noise", 800, 16, 12, 800),
    Extreme("gradient noise", 800, 8, 64, 1000),
    Extreme("frequency noise", 1600, 64, 8, 1600),
    Extreme("frequency noise", 1600, 64, 8, 1600, 1),
    Extreme("frequency noise", 64, 256, math.inf, 800),
    Extreme("fact interference", 64, 128, math.inf, 3200),
    Extreme("fact interference", 64, 32, math.inf, 12800, 1),
    Extreme("fact interference", 800, 8, 8, 800),
    Extreme("uneven facts", 200, 2, math.inf, 12800),
    Extreme("uneven facts", 64, 4, math.inf, 800, 1),
    Extreme("uneven facts", 128, 4, 96, 400),
    Extreme("cross terms", 64, 64, math.inf, 3200),
    Extreme("cross terms", 400, 2, 400, 400, 1),
)


def measure(case: int, seeds: Iterable[int] = SEEDS) -> pd.DataFrame:
    r"""The mark's score, the variance of token scores and $T=|t|^2$ of every draw; in single
    precision."""
    setting, rows = CASES[case].setting(), []
    for seed in seeds:
        problem = draw(setting, seed)
        found, t = scores.attention_vector(problem), problem.trigger
        variance = float((problem.input_embeddings @ found).var())
        rows.append((case, seed, float(t @ found), variance, float(t @ t)))
    return finish(pd.DataFrame(rows, columns=list(KINDS)))


def row(case: int) -> list[dict[str, Any]]:
    """The rows of a case, one for each draw."""
    return list(measure(case).drop(columns="case").to_dict("records"))


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
    for number, draws in frame.groupby("case"):
        case = CASES[int(number)]
        parts = exact_parts(case.setting())
        exact = sum(parts.values())
        row = {**case._asdict(), "share": parts[case.term] / exact}
        row |= seed_interval(draws["variance"] / exact)._asdict()
        leading = row["mean"] * exact / scores.variance(case.setting())
        rows.append({**row, "leading": leading})
    return pd.DataFrame(rows).rename(columns={"mean": "ratio"})


def over_triggers(setting: Setting, given: Polynomial) -> float:
    r"""Mean of a polynomial over $|t|^2$, a gamma variable of mean 1: $\mathbb
    E\,T^k=\prod_{j<k}(1+js)$."""
    spread = length_variance(setting)
    means = np.cumprod([1.0, *(1 + j * spread for j in range(len(given.coef) - 1))])
    return float(np.dot(np.asarray(given.coef, dtype=float), means))
