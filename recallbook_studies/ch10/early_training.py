r"""What the first three steps of gradient descent know of what 300 steps reach, and when the loss
rises on the way.

Both matrices move at once from zero on one batch, so that the early and the late measurement belong
to one run of one algorithm. Hundreds of steps amplify rounding, so the runs are committed: ``python
-m recallbook table early_training STORE`` makes them, ``--export`` writes the table."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import pandas as pd
import torch

from recallbook.data.task import Problem, draw
from recallbook.model.transformer import RecallTransformer
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.training.evaluation import evaluate
from recallbook.training.longer import descend
from recallbook_studies.ch09.longer_training import rates

load = partial(load_results, "early_training")  # the committed rows
VOCAB, FEW, MANY = 64, 3, 300
DIMS, LENGTHS, SAMPLES = (16, 32, 64), (16, 32, 64), (32, 64, 128, 256, 512, 1024)
LAWS = (("gaussian", 16), ("gaussian", 66), ("sphere", 66), ("orthogonal", 66))
FACTORS = (1, 3, 10, 30, 100, 300)  # of the rates
SEEDS, SEEDS_OF_LAWS, TEST = range(6), range(12), 1000
NO_RISE = 1e-6  # of the loss in one step: far above rounding, far below any oscillation


class Run(NamedTuple):
    """One run: its setting, seed, and by how much its rates exceed the usual ones."""

    setting: Setting
    seed: int
    factor: int = 1

    @property
    def key(self) -> str:
        s = self.setting
        return f"{s.embeddings} {s.seq_len} {s.dim} {s.samples} {self.factor} {self.seed}"


def runs() -> list[Run]:
    """Random embeddings over sizes at the usual rates; then four laws at one size, at six rates."""
    fixed: dict[str, Any] = {"vocab": VOCAB, "trigger_in_values": False}
    found = [
        Run(Setting(**fixed, seq_len=length, dim=dim, samples=samples), seed)
        for length in LENGTHS
        for dim in DIMS
        for samples in SAMPLES
        for seed in SEEDS
    ]
    found += [
        Run(Setting(**fixed, seq_len=32, dim=dim, samples=256, embeddings=law), seed, factor)
        for law, dim in LAWS
        for factor in FACTORS
        for seed in SEEDS_OF_LAWS
    ]
    return list(dict.fromkeys(found))


def _state(model: RecallTransformer, problem: Problem) -> dict[str, float]:
    vector = model.key_query.detach() @ problem.query
    cosine = torch.cosine_similarity(vector, problem.trigger, dim=0)
    outcome = evaluate(problem, model, TEST)
    return {"cosine": float(cosine), "length": float(vector.norm()), "lock_on": outcome.lock_on}


def keys() -> list[str]:
    """Every run."""
    return [run.key for run in runs()]


def row(key: str) -> dict[str, Any]:
    """Direction, length and lock-on after few and after many steps, and the largest rise of the
    loss in a step."""
    run = next(run for run in runs() if run.key == key)
    problem = draw(run.setting, run.seed)
    model = RecallTransformer(problem)
    rate = {name: value * run.factor for name, value in rates(run.setting).items()}
    first = descend(model, problem, FEW, **rate)
    early = _state(model, problem)
    last = descend(model, problem, MANY - FEW, **rate)
    late = _state(model, problem)
    sizes = {
        name: getattr(run.setting, name) for name in ("embeddings", "seq_len", "dim", "samples")
    }
    states = {
        f"{name}_{when}": x
        for when, state in (("early", early), ("late", late))
        for name, x in state.items()
    }
    loss = pd.concat([first["loss"], last["loss"]], ignore_index=True)
    rise = max(0.0, float(loss.diff().max()))
    return {"key": run.key, **sizes, "factor": run.factor, "seed": run.seed, **states, "rise": rise}


def over_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """Runs with random embeddings at the usual rates, with the same seeds at every size."""
    chosen = (table["factor"] == 1) & (table["embeddings"] == "gaussian") & table["dim"].isin(DIMS)
    return table[chosen & table["seed"].isin(SEEDS)]


def by_law(table: pd.DataFrame) -> pd.DataFrame:
    """Runs at the size where embeddings are compared, with ``law`` and whether the loss ``rises``
    in any step."""
    index = pd.MultiIndex.from_frame(table[["embeddings", "dim"]])
    chosen = table[index.isin(LAWS) & (table["seq_len"] == 32) & (table["samples"] == 256)]
    law = chosen["embeddings"] + ", d = " + chosen["dim"].astype(str)
    return chosen.assign(law=law, rises=chosen["rise"] > NO_RISE)
