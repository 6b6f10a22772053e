r"""What learning the embeddings does: descent with $Z$ and $U$ as drawn, or learned too, at equal
rates and steps.

Every way below starts from the same draw and sees the same batch. Two controls tell what learned
tables are good for: kept tables with four times the steps, and the three steps of the early-phase
limit taken anew, from zero weights, with the tables as drawn and as learned. Learned tables were
shaped by the same facts and the same batch.

``python -m recallbook table unequal_learned STORE`` makes the rows, ``--export`` writes the
table."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from recallbook.analysis.critical import critical_table
from recallbook.analysis.examination import examine
from recallbook.data.task import Problem, draw
from recallbook.model.transformer import RecallTransformer
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.sweeps.point import OUTCOMES
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook.training.longer import MATRICES, TABLES, descend
from recallbook_studies.ch09.longer_training import rates

load = partial(load_results, "unequal_learned")  # the committed rows
SEQ_LEN, SEEDS, TEST_SAMPLES = 16, range(10), 2000
STEPS, LONGER = 200, 800
MULTIPLES = {
    (64, 16): (1, 2, 3, 4, 6, 10),
    (64, 32): (1, 2, 3, 4, 6, 10),
    (128, 32): (1, 2, 3),
}  # N/V by (V, d)
WAYS = ("kept", "kept longer", "learned", "limit", "limit, learned")
SHAPES = ("length", "coherence", "ratio")
TABLE_NAMES = {"input": TABLES[0], "output": TABLES[1]}


class Case(NamedTuple):
    """One draw: its sizes and its seed."""

    vocab: int
    dim: int
    samples: int
    seed: int

    @property
    def key(self) -> str:
        """The case as text, for the table."""
        return " ".join(map(str, self))

    @property
    def setting(self) -> Setting:
        """The trigger is out of the values, as in the book's other runs of many steps."""
        return Setting(
            vocab=self.vocab,
            seq_len=SEQ_LEN,
            dim=self.dim,
            samples=self.samples,
            trigger_in_values=False,
        )


def cases() -> list[Case]:
    """Every case, sizes first."""
    return [
        Case(vocab, dim, vocab * multiple, seed)
        for (vocab, dim), multiples in MULTIPLES.items()
        for multiple in multiples
        for seed in SEEDS
    ]


def embedding_rate(setting: Setting) -> float:
    r"""$V/100$: a token's share of the gradient is $1/V$. Mean square lengths then about double in
    :data:`STEPS`."""
    return setting.vocab / 100


def trained(problem: Problem, steps: int, learn: tuple[str, ...] = MATRICES) -> RecallTransformer:
    """A model after so many steps on the problem's batch, from zero weights and the drawn
    embeddings."""
    model = RecallTransformer(problem)
    rate = embedding_rate(problem.setting) if set(TABLES) & set(learn) else None
    descend(model, problem, steps, **rates(problem.setting), learn=learn, embedding_rate=rate)
    return model


def shapes(problem: Problem) -> dict[str, float]:
    """Mean square length, coherence and participation ratio (mean included) of both tables."""
    found = {}
    for side, name in TABLE_NAMES.items():
        report = examine(getattr(problem, name))
        found[f"{side} length"] = report.mean_square_length
        found[f"{side} coherence"] = report.coherence
        found[f"{side} ratio"] = report.uncentred_dim
    return found


def row(key: str) -> dict[str, Any]:
    """All ways of one case, by its key "V d N seed"."""
    case = Case(*map(int, key.split()))
    problem = draw(case.setting, case.seed)
    learned = trained(problem, STEPS, (*MATRICES, *TABLES))
    own = learned.problem_as_held(problem)
    ends = {
        "kept": evaluate(problem, trained(problem, STEPS), TEST_SAMPLES),
        "kept longer": evaluate(problem, trained(problem, LONGER), TEST_SAMPLES),
        "learned": evaluate(problem, learned, TEST_SAMPLES),
        "limit": evaluate(problem, three_steps(problem), TEST_SAMPLES),
        "limit, learned": evaluate(own, three_steps(own), TEST_SAMPLES),
    }
    found: dict[str, Any] = {"key": key, **case._asdict()}
    for way, outcome in ends.items():
        found.update({f"{way}: {name}": value for name, value in asdict(outcome).items()})
    for when, tables in (("drawn", shapes(problem)), ("learned", shapes(own))):
        found.update({f"{when}: {name}": value for name, value in tables.items()})
    return found


def by_way(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each case and way, with ``accuracy``, ``lock_on`` and ``recall``."""
    sizes = list(Case._fields)
    parts = [
        frame[sizes].assign(way=way, **{name: frame[f"{way}: {name}"] for name in OUTCOMES})
        for way in WAYS
    ]
    return pd.concat(parts, ignore_index=True)


def critical(frame: pd.DataFrame, outcome: str = "accuracy", level: float = 0.5) -> pd.DataFrame:
    """Critical N of every way at every V and d, with intervals over seeds; infinite beyond the
    grid, 0 below it."""
    parts = [
        critical_table(part, ["vocab", "dim"], outcome=outcome, level=level).assign(way=way)
        for way, part in by_way(frame).groupby("way", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def shape_changes(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean length, coherence and participation ratio at every V, d and N: a row as drawn and one as
    learned."""
    sizes = ["vocab", "dim", "samples"]
    parts = []
    for when in ("drawn", "learned"):
        names = {
            f"{when}: {side} {shape}": f"{side} {shape}" for side in TABLE_NAMES for shape in SHAPES
        }
        parts.append(frame[[*sizes, *names]].rename(columns=names).assign(tables=when))
    return pd.concat(parts).groupby([*sizes, "tables"]).mean().reset_index()
