r"""Facts that are not clean, and other batches: rate and decay searched for again, N = 2V.

``noise``: a tenth of the training labels random. ``pair``: two informative tokens, one of V/4 and one
of 4, decide the label together. ``many``: four facts to a label. ``trigger 3``, ``tables 0.3``: that
vector, or both tables, times a number. ``batch 8``: sequences in a step.

``python -m recallbook table survives_unclean STORE`` makes the rows (``--device cuda``, as the
committed ones were), ``--export`` writes the table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch

from recallbook.arguments import Device
from recallbook.data.task import Problem, Sequences
from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.rungs import RUNGS, Rung
from recallbook_studies.ch12.training import BATCH, TEST, Exam, exam, problem_for, train
from recallbook_studies.ch12.writing import Written, end_token
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_unclean")  # the committed rows
NAMES = ("AdamW", "learned embeddings", "four heads", "MLP")
KINDS = ("noise", "pair", "many", "trigger 0.3", "trigger 3", "tables 0.3", "tables 3")
BATCHES = ("batch 8", "batch 128")
STEPS = sizes.BUDGETS[:2]
SAMPLES = 2 * sizes.VOCAB
# without those that are never chosen
FIXED = ((0.03, 0.1, 0.3, 1.0), (0.0, 0.01, 0.1, 0.3))
LEARNED = ((0.001, 0.003, 0.01, 0.03, 0.1), (0.01, 0.1, 0.3, 1.0, 3.0))


def examined(kind: str, rung: Rung, problem: Problem, test_samples: int) -> Exam:
    """The problem with facts of this kind."""
    vocab, rng = problem.setting.vocab, np.random.default_rng([12, problem.seed])
    of, _, number = kind.partition(" ")
    if of == "trigger":
        problem = replace(problem, trigger=float(number) * problem.trigger)
    if of == "tables":
        tables = {f"{side}_embeddings": float(number) for side in ("input", "output")}
        scaled = {name: c * getattr(problem, name) for name, c in tables.items()}
        problem = replace(problem, **scaled)
    plain = exam(rung, problem, test_samples)
    if of == "noise":
        labels, count = plain.shown.labels, len(plain.shown.labels)
        random = torch.from_numpy(rng.integers(vocab, size=4096)[:count]).to(labels)
        struck = torch.from_numpy(rng.random(4096)[:count] < 0.1).to(labels.device)
        return plain._replace(shown=plain.shown._replace(labels=labels.where(~struck, random)))
    if of == "many":
        parts = (one._replace(labels=one.labels % (vocab // 4)) for one in plain[1:])
        return Exam(problem, *parts)
    if of == "pair":
        return _paired(problem, test_samples)
    return plain


def _paired(problem: Problem, test_samples: int) -> Exam:
    """Fact v is told by token v // 4 and by token V/4 + v % 4, both with the trigger."""
    vocab, length = problem.setting.vocab, problem.setting.seq_len

    def written(tokens: Any, first: Any, second: Any, fact: Any) -> Written:
        ends = torch.full_like(tokens[:, :1], end_token(vocab))
        marked = torch.stack([first, second], dim=1)
        return Written(torch.cat([tokens, ends], 1), marked, first, problem.permutation[fact])

    def drawn(sequences: Sequences, part: int) -> Written:
        rng, count = np.random.default_rng([12, problem.seed, part]), len(sequences.labels)
        fact = torch.from_numpy(rng.integers(vocab, size=count))
        tokens, first = sequences.tokens.long().clone(), sequences.positions
        second = (first + 1 + torch.from_numpy(rng.integers(length - 1, size=count))) % length
        tokens[torch.arange(count), first] = fact // 4
        tokens[torch.arange(count), second] = vocab // 4 + fact % 4
        return written(tokens, first, second, fact)

    fact = torch.arange(vocab)
    tokens = torch.stack([fact // 4, vocab // 4 + fact % 4], dim=1).repeat(1, length // 2)
    where = 2 * (fact % (length // 2))
    shown, fresh = drawn(problem.sequences, 1), drawn(problem.fresh(test_samples), 2)
    return Exam(problem, shown, fresh, written(tokens, where, where + 1, fact))


def best(kind: str, rung: Rung, seed: int) -> float:
    """Expected accuracy, in this draw, of whoever knows which fact each sequence shows and answers
    with its commonest label, or guesses."""
    problem = problem_for(rung, sizes.setting(sizes.BASE, SAMPLES), seed, dtype=torch.float32)
    told = examined(kind, rung, problem, 1)
    facts = told.shown.labels if kind == "pair" else problem.labels
    labels = len(set(told.facts.labels.tolist()))
    counts = np.zeros((problem.setting.vocab, problem.setting.vocab))
    np.add.at(counts, (facts, told.shown.labels), 1)
    common = (counts == counts.max(axis=1, keepdims=True)) & (np.arange(len(counts)) < labels)
    right = problem.permutation.sort().values % labels
    return float((common[np.arange(len(counts)), right] / common.sum(axis=1)).mean())


def runs(
    kind: str, rung: Rung, steps: int, seeds: Iterable[int], device: Device = "cpu", **pair: Any
) -> pd.DataFrame:
    """The outcomes of training with a rate and a decay, or one for each seed."""
    batch = int(kind.split()[1]) if kind in BATCHES else BATCH
    options: dict[str, Any] = {"steps": steps, "looks": 1, "batch": batch, "device": device}
    setting, change = sizes.setting(sizes.BASE, SAMPLES), partial(examined, kind)
    return train(
        rung, setting, seeds, **options, **pair, test_samples=TEST, examine=change
    ).outcomes


def keys() -> list[str]:
    """Every case, "kind/rung/steps"."""
    every = product((*KINDS, *BATCHES), NAMES, STEPS)
    return [f"{kind}/{name}/{steps}" for kind, name, steps in every]


def row(key: str, device: Device = "cpu") -> dict[str, Any]:
    """One case at the pair that its search keeps: the mean over seeds, what the best method has on
    the same draws, and the standard error of the difference."""
    kind, name, steps = key.split("/")
    rung, grid = RUNGS[name], LEARNED if RUNGS[name].learned else FIXED
    tried = [(tuning.Pair(*pair), seed) for pair in product(*grid) for seed in tuning.SEEDS]
    rates, decays = zip(*(pair for pair, _ in tried), strict=True)
    seeds = [seed for _, seed in tried]
    found = runs(kind, rung, int(steps), seeds, device, rate=rates, decay=decays)
    pair = tuning.middle(found.assign(rate=rates, decay=decays), *grid)
    made = runs(kind, rung, int(steps), sizes.FRESH, device, **pair._asdict())
    most = np.array([best(kind, rung, seed) for seed in sizes.FRESH])
    short = most - made["accuracy"]
    return {
        "key": key, "kind": kind, "rung": name, "steps": int(steps), **pair._asdict(),
        "accuracy": made["accuracy"].mean(), "best": most.mean(), "error": short.sem(),
        "lock_on": made["lock_on"].mean(),
    }  # fmt: skip
