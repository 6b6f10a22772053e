r"""Each term of step 2 where it is most of the variance, with hundreds of seeds: tokens and mark,
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
from recallbook.sweeps.archive import load_results
from recallbook.theory import moments
from recallbook.theory.symbolic import lock_terms as symbolic
from recallbook.theory.symbolic.expressions import numeric
from recallbook.theory.values import length_variance, sizes
from recallbook_studies.ch05 import scores
from recallbook_studies.intervals import seed_interval

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


class Case(NamedTuple):
    """A setting, and the term that it was chosen for: the largest share of it found in a search
    over sizes, N >= V."""

    term: str
    vocab: int
    seq_len: int
    dim: float  # infinite: orthogonal embeddings
    samples: int
    tau: int = 0

    def setting(self) -> Setting:
        """The setting of the case."""
        chosen: dict[str, Any] = {"dim": self.dim}
        if self.dim == math.inf:
            chosen = {"embeddings": "orthogonal", "dim": self.vocab + 2}
        chosen |= {"vocab": self.vocab, "seq_len": self.seq_len, "samples": self.samples}
        return Setting(**chosen, trigger_in_values=bool(self.tau))


CASES = (
    Case("trigger overlap", 64, 8, 64, 2048),
    Case("trigger overlap", 64, 8, 64, 2048, 1),
    Case("mean bias", 200, 256, 128, 800),
    Case("mean bias", 200, 256, 128, 800, 1),
    Case("gradient noise", 200, 128, math.inf, 1600),
    Case("gradient noise", 200, 128, math.inf, 1600, 1),
    Case("gradient noise", 800, 16, 12, 800),
    Case("gradient noise", 800, 8, 64, 1000),
    Case("frequency noise", 1600, 64, 8, 1600),
    Case("frequency noise", 1600, 64, 8, 1600, 1),
    Case("frequency noise", 64, 256, math.inf, 800),
    Case("fact interference", 64, 128, math.inf, 3200),
    Case("fact interference", 64, 32, math.inf, 12800, 1),
    Case("fact interference", 800, 8, 8, 800),
    Case("uneven facts", 200, 2, math.inf, 12800),
    Case("uneven facts", 64, 4, math.inf, 800, 1),
    Case("uneven facts", 128, 4, 96, 400),
    Case("cross terms", 64, 64, math.inf, 3200),
    Case("cross terms", 400, 2, 400, 400, 1),
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
    rows: list[dict[str, Any]] = measure(case).to_dict("records")
    return rows


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """The types of the committed table."""
    return frame.astype(KINDS)


def token_parts(setting: Setting) -> tuple[dict[str, float], float]:
    """Exact variance of token scores by term, mean over draws; and the ledger's, together."""
    distinct = setting.vocab / (setting.vocab - 1)
    parts = {term: distinct * _mean(setting, "scatter", term) for term in TERMS}
    return parts, scores.variance(setting)


def mark_parts(setting: Setting) -> tuple[dict[str, float], float]:
    r"""The same of the variance of $t^\top w$ over draws at given $|t|^2$; the pull of the trigger is
    in "trigger overlap"."""
    parts = {term: _mean(setting, "square", term) for term in TERMS}
    parts["trigger overlap"] -= over_triggers(setting, moments.polynomial(setting, "score") ** 2)
    equal, at = not length_variance(setting), sizes(setting)
    leading = [scores.averaged(term.trigger, equal) for term in symbolic.lock_terms().values()]
    return parts, sum(float(numeric(part)(at)) for part in leading)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Measured over exact, with its 95 % interval over seeds, for tokens and mark of every case.

    ``share`` is that of the named term in the exact variance, ``without`` the ratio if it were left
    out, ``leading`` the ratio to the sum of the ledger's leading terms."""
    rows = []
    for number, draws in frame.groupby("case"):
        case = CASES[int(number)]
        setting = case.setting()
        mean = moments.polynomial(setting, "score")(draws["T"].to_numpy())
        for of, values, parts_of in (
            ("tokens", draws["variance"], token_parts),
            ("mark", (draws["score"] - mean) ** 2, mark_parts),
        ):
            parts, leading = parts_of(setting)
            exact = sum(parts.values())
            share = parts[case.term] / exact
            ratio, low, high = seed_interval(values / exact)
            row = {"term": case.term, "of": of, "V": case.vocab, "L": case.seq_len}
            row |= {"d": f"{case.dim:g}", "N": case.samples, "tau": case.tau, "share": share}
            row |= {"ratio": ratio, "low": low, "high": high, "leading": ratio * exact / leading}
            rows.append({**row, "without": ratio / (1 - share) if share < 0.99 else math.nan})
    return pd.DataFrame(rows)


def _mean(setting: Setting, quantity: str, term: str) -> float:
    return over_triggers(setting, moments.polynomial(setting, quantity, term=term))


def over_triggers(setting: Setting, given: Polynomial) -> float:
    r"""Mean of a polynomial over $|t|^2$, a gamma variable of mean 1: $\mathbb
    E\,T^k=\prod_{j<k}(1+js)$."""
    spread = length_variance(setting)
    means = np.cumprod([1.0, *(1 + j * spread for j in range(len(given.coef) - 1))])
    return float(np.dot(np.asarray(given.coef, dtype=float), means))
