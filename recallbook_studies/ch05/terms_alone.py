r"""Each term of step 2 where it is most of the variance, with hundreds of seeds: tokens and mark,
exact and leading.

``python -m recallbook table terms_alone STORE`` makes the draws, ``--export`` writes the table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.stats import bootstrap

from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory import moments
from recallbook.theory.symbolic import lock_terms as symbolic
from recallbook.theory.symbolic.expressions import L, N, V, Values, d, numeric, tau
from recallbook.theory.values import length_variance, sizes
from recallbook_studies.ch05 import scores

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
NO_END = "orthogonal"


class Case(NamedTuple):
    """A setting, and the term that it was chosen for: the largest share of it found in a search
    over sizes, N >= V."""

    term: str
    vocab: int
    seq_len: int
    dim: int | str  # or NO_END: orthogonal embeddings
    samples: int
    tau: int = 0

    def setting(self) -> Setting:
        """The setting of the case."""
        chosen: dict[str, Any] = {"dim": self.dim}
        if self.dim == NO_END:
            chosen = {"embeddings": NO_END, "dim": self.vocab + 2}
        sizes: dict[str, Any] = {"vocab": self.vocab, "seq_len": self.seq_len}
        tau = bool(self.tau)
        return Setting(**sizes, **chosen, samples=self.samples, trigger_in_values=tau)


CASES = (
    Case("trigger overlap", 64, 8, 64, 2048),
    Case("trigger overlap", 64, 8, 64, 2048, 1),
    Case("mean bias", 200, 256, 128, 800),
    Case("mean bias", 200, 256, 128, 800, 1),
    Case("gradient noise", 200, 128, NO_END, 1600),
    Case("gradient noise", 200, 128, NO_END, 1600, 1),
    Case("gradient noise", 800, 16, 12, 800),
    Case("gradient noise", 800, 8, 64, 1000),
    Case("frequency noise", 1600, 64, 8, 1600),
    Case("frequency noise", 1600, 64, 8, 1600, 1),
    Case("frequency noise", 64, 256, NO_END, 800),
    Case("fact interference", 64, 128, NO_END, 3200),
    Case("fact interference", 64, 32, NO_END, 12800, 1),
    Case("fact interference", 800, 8, 8, 800),
    Case("uneven facts", 200, 2, NO_END, 12800),
    Case("uneven facts", 64, 4, NO_END, 800, 1),
    Case("uneven facts", 128, 4, 96, 400),
    Case("cross terms", 64, 64, NO_END, 3200),
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


class Parts(NamedTuple):
    """Exact mean square by term, for the tokens' scatter or for the mark about its mean; and the
    ledger's, together."""

    by_term: dict[str, float]
    leading: float

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.by_term.values())


def token_parts(setting: Setting) -> Parts:
    """Variance of token scores, mean over draws."""
    distinct = setting.vocab / (setting.vocab - 1)
    parts = {term: distinct * _mean(setting, "scatter", term) for term in TERMS}
    return Parts(parts, float(scores.variance(setting)))


def mark_parts(setting: Setting) -> Parts:
    r"""Variance of $t^\top w$ over draws at given $|t|^2$; the pull of the trigger is in "trigger
    overlap"."""
    score = moments.polynomial(setting, "score")
    parts = {term: _mean(setting, "square", term) for term in TERMS}
    parts["trigger overlap"] -= over_triggers(setting, score**2)
    equal, at = not length_variance(setting), sizes(setting)
    left = [
        term.trigger
        for name, term in symbolic.lock_terms().items()
        if not (equal and name == "unequal lengths")
    ]
    return Parts(parts, sum(float(numeric(scores.averaged(part, equal))(at)) for part in left))


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Measured over exact, with the bootstrap's 95 % interval over seeds, for tokens and mark of
    every case.

    ``share`` is that of the named term in the exact variance, ``without`` the ratio if it were left
    out, ``leading`` the ratio to the sum of the ledger's leading terms."""
    rows = []
    for number, draws in frame.groupby("case"):
        case = CASES[int(number)]
        setting = case.setting()
        mean = moments.exact(setting).score(draws["T"].to_numpy())
        for what, values, parts in (
            ("tokens", draws["variance"].to_numpy(), token_parts(setting)),
            ("mark", ((draws["score"] - mean) ** 2).to_numpy(), mark_parts(setting)),
        ):
            low, high = _interval(values / parts.total)
            share = parts.by_term[case.term] / parts.total
            row = {"term": case.term, "of": what, "V": case.vocab, "L": case.seq_len}
            row |= {"d": "inf" if case.dim == NO_END else str(case.dim), "N": case.samples}
            row |= {"tau": case.tau, "share": share, "ratio": values.mean() / parts.total}
            without = values.mean() / (parts.total * (1 - share)) if share < 0.99 else np.nan
            row |= {"low": low, "high": high, "without": without}
            rows.append({**row, "leading": values.mean() / parts.leading})
    return pd.DataFrame(rows)


def exact_at(values: Values, quantity: str = "scatter") -> pd.Series:
    """Exact variance of token scores by term at these sizes, Gaussian embeddings, averaged over the
    trigger's length.

    ``values`` are sizes and tau by symbol, as large as one likes; with ``quantity="square"`` the
    mark's mean square."""
    found = moments.rows(quantity)
    powers = found[list(moments.POWERS)].to_numpy(float)
    sizes = np.prod([float(values[s]) ** -powers[:, i] for i, s in enumerate((N, L, V, d))], axis=0)
    lengths = np.array(
        [np.prod([1 + 2 * j / values[d] for j in range(int(k))]) for k in powers[:, 4]]
    )
    inside = (powers[:, 5] == 0) | (values[tau] == 1)
    return (found["coefficient"] * sizes * lengths * inside).groupby(found["term"]).sum()


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    found = bootstrap(
        (values,), np.mean, n_resamples=2000, method="percentile", rng=np.random.default_rng(0)
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _mean(setting: Setting, quantity: str, term: str) -> float:
    return over_triggers(setting, moments.polynomial(setting, quantity, term=term))


def over_triggers(setting: Setting, given: Polynomial) -> float:
    r"""Mean of a polynomial over $|t|^2$, a gamma variable of mean 1: $\mathbb
    E\,T^k=\prod_{j<k}(1+js)$."""
    spread = length_variance(setting)
    means = np.cumprod([1.0, *(1 + j * spread for j in range(len(given.coef) - 1))])
    return float(np.dot(np.asarray(given.coef, dtype=float), means))
