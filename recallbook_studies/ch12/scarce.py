"""Fewer than two sequences for each fact: do more steps help or harm, and by what? 100 draws.

A pair tuned at N = 2V, and at this N. ``python -m recallbook table survives_scarce STORE`` makes the
rows (``--device cuda``, as the committed ones were), ``--export`` writes the table."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import torch

from recallbook.arguments import Device
from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.measures import share_right
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import problem_for, train
from recallbook_studies.ch12.writing import write
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_scarce")  # the committed rows
SEEDS = range(2000, 2100)
NAMES = ("AdamW", "learned embeddings", *sizes.FEW)
COUNTS = (32, 64)


def keys() -> list[str]:
    """Every case, "rung N N-of-the-tuning steps"."""
    return [
        f"{name} {count} {tuned_at} {steps}"
        for name in NAMES
        for count in COUNTS
        for tuned_at in (128, count)
        if tuned_at == 128 or count in sizes.FEW.get(name, ())
        for steps in sizes.BUDGETS
    ]


def runs(key: str, count: int = len(SEEDS), device: Device = "cpu") -> pd.DataFrame:
    """The first draws of a case, with the training set's loss and accuracy, and the norm of all
    weights that move."""
    name, *rest = key.rsplit(" ", 3)
    (samples, tuned_at, steps), rung = map(int, rest), RUNGS[name]
    setting, pair = (
        sizes.setting(sizes.BASE, samples),
        tuning.pair_of(rung, sizes.BASE, steps, tuned_at),
    )
    options: dict[str, Any] = {**pair._asdict(), "steps": steps, "looks": 1, "device": device}
    found = train(rung, setting, SEEDS[:count], **options)
    rows = []
    for seed, model in zip(SEEDS, found.models, strict=False):
        problem = problem_for(rung, setting, seed, dtype=torch.float32, device=device)
        shown = write(problem.sequences, rung.trigger, setting.vocab)
        with torch.no_grad():
            logits = model(shown.tokens, shown.marked)[0]
            moving = [one.norm() for one in model.parameters() if one.requires_grad]
        loss = torch.nn.functional.cross_entropy(logits, shown.labels)
        right = share_right(logits, shown.labels)
        rows.append((float(loss), right, float(torch.stack(moving).norm())))
    added = pd.DataFrame(rows, columns=["train_loss", "train_accuracy", "norm"])
    return found.outcomes.join(added).assign(**pair._asdict())


def row(key: str, device: Device = "cpu") -> dict[str, Any]:
    """Means of one case; ``tenth``: one draw in ten has no more."""
    found = runs(key, device=device)
    name, samples, tuned_at, steps = key.rsplit(" ", 3)
    means = found[["rate", "decay", "train_loss", "train_accuracy", "norm", "lock_on"]].mean()
    accuracy = found["accuracy"]
    return {
        "key": key, "rung": name, "samples": int(samples), "tuned_at": int(tuned_at),
        "steps": int(steps), **means, "accuracy": accuracy.mean(), "error": accuracy.sem(),
        "tenth": accuracy.quantile(0.1),
    }  # fmt: skip
