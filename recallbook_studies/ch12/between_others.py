r"""Several value steps under other conditions: few sequences and fresh ones, the trigger in the
values, Muon, attention that goes on learning, and many more steps.

Each of 256 facts is one token long, but for "held" and "moves": L is 64 there, and from the third
step on attention stays or takes a step before each value step. Rates are in units of $\ln V$, the
logit that one step writes; Muon, whose step has every singular value alike, writes the same at
first where $V\gg d$. ``python -m recallbook table between_others STORE`` makes the rows, ``--export``
writes the table."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.data.task import Problem, draw
from recallbook.model.transformer import RecallTransformer
from recallbook.setting import Setting
from recallbook.training.evaluation import evaluate
from recallbook.training.gradients import descent_directions
from recallbook_studies.running.archive import load_results
from recallbook_theory.steps import outcomes

load = partial(load_results, "between_others")  # the committed rows
VOCAB, SEEDS, FIRST_SEED = 256, 16, 99 * 10**7
STEPS, LAST, END = (1, 2, 4, 8, 16), 32, 2048
AT = {1: 86, 4: 55, 16: 48}  # d at which so many steps recall most facts
LENGTH, SHARPNESS = 64, 20  # L, and the trigger's score after step 2
SOME = "least predicted recall_64 predicted_64 end".split()  # columns of some kinds alone
COLUMNS = [*(f"{name}_{k}" for name in ("recall", "lock_on") for k in STEPS), *SOME]
EMPTY = dict.fromkeys(COLUMNS, math.nan)


def row(kind: str, dim: int, share: float, unit: float) -> dict[str, Any]:
    """Recall after each number of steps, lock-on where it moves, and the least number for nine tenths.

    ``share`` is that of sequences for each fact (0: all are shown alike), the rate is in units of
    ln V."""
    rate, named = unit * math.log(VOCAB), dict[str, Any](EMPTY)
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
    if kind in ("held", "moves"):
        found = np.mean(
            [attended(kind == "moves", dim, share, rate, seed) for seed in seeds], axis=0
        )
        for column, name in enumerate(("recall", "lock_on")):
            named |= {f"{name}_{k}": found[k - 1, column] for k in STEPS}
        return named
    seen = np.mean([recalls(kind, dim, share, unit, seed) for seed in seeds], axis=0)
    named |= {f"recall_{k}": seen[k - 1] for k in STEPS}
    setting = Setting(vocab=VOCAB, seq_len=1, dim=dim, samples=10**6 * VOCAB)
    if kind == "long":
        guess = outcomes(setting, rate, 2 * LAST)[-1, 2]
        named |= {"recall_64": seen[2 * LAST - 1], "predicted_64": guess, "end": seen[-1]}
    elif kind == "fixed" and not share:
        named |= {"least": first(seen), "predicted": first(outcomes(setting, rate, LAST)[:, 2])}
    return named


def first(recall: Any) -> float:
    """The first step after which nine tenths are recalled; infinite if there is none."""
    above = np.flatnonzero(np.asarray(recall) >= 0.9)
    return float(above[0] + 1) if len(above) else math.inf


def recalls(kind: str, dim: int, share: float, unit: float, seed: int) -> list[float]:
    """Recall of all facts after each step of one draw."""
    setting = Setting(vocab=VOCAB, seq_len=1, dim=dim, samples=max(1, round(share * VOCAB)))
    problem = draw(setting, seed)
    inputs, u = problem.input_embeddings, problem.output_embeddings[problem.permutation]
    z = inputs + problem.trigger if kind == "trigger" else inputs
    value, own, found = torch.zeros_like(z.T @ z), torch.eye(VOCAB), []
    for step in range(END if kind == "long" else LAST if not share else max(STEPS)):
        batch = problem.sequences
        if kind == "fresh":
            batch = problem.fresh(setting.samples, role="batch", block=step)
        shown = torch.bincount(batch.tokens[:, 0], minlength=VOCAB) / share if share else own.sum(0)
        residuals = shown[:, None] * (own - torch.softmax(z @ value.T @ u.T, dim=1))
        value = value + unit * math.log(VOCAB) * direction((residuals @ u).T @ z, kind)
        answers = (z @ value.T @ u.T).argmax(dim=1)
        found.append(float((answers == torch.arange(VOCAB)).double().mean()))
    return found


def direction(gradient: Float[Tensor, "d d"], kind: str) -> Float[Tensor, "d d"]:
    """Minus the gradient; of Muon its singular vectors with all singular values 1."""
    if kind != "muon":
        return gradient
    left, _, right = torch.linalg.svd(gradient)
    return torch.mm(left, right)


def attended(moves: bool, dim: int, share: float, rate: float, seed: int) -> list[list[float]]:
    """Recall and lock-on after each value step, where attention moves on or stays."""
    samples = round(share * VOCAB)
    problem = draw(Setting(vocab=VOCAB, seq_len=LENGTH, dim=dim, samples=samples), seed)
    model, found = RecallTransformer(problem), []
    eta, gamma = rate * VOCAB, SHARPNESS * LENGTH**2 / rate
    for step in range(max(STEPS) + 1):
        if step == 1 or (moves and step > 1):
            _move(model, problem, "key_query", gamma)
        _move(model, problem, "value", eta)
        if step:
            outcome = evaluate(problem, model, 1000)
            found.append([outcome.recall, outcome.lock_on])
    return found


def _move(model: RecallTransformer, problem: Problem, name: str, rate: float) -> None:
    """One step of one of the two matrices."""
    attention = model.key_query.data @ problem.query
    batch, value = problem.sequences, model.value.data
    descent = descent_directions(problem, batch, value, attention, wrt=[name])
    getattr(model, name).data += rate * getattr(descent, name)


def best(frame: pd.DataFrame, kind: str, share: float, steps: int) -> pd.Series:
    """The row of the best rate after so many steps, at the d for them."""
    part = frame.query("kind == @kind and share == @share").query(f"dim == {AT[steps]}")
    return part.loc[part[f"recall_{steps}"].idxmax()]
