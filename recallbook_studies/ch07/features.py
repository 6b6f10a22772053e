"""The MLP as memory: recall by width and activation, and what its features hide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
import torch

from recallbook.data.residuals import centred_labels
from recallbook.data.task import Problem, draw
from recallbook.model.ties import credit, logit_slack
from recallbook.setting import Setting
from recallbook.training.gradients import features
from recallbook.training.simulation import simulate
from recallbook_studies import plotting
from recallbook_studies.intervals import over_seeds
from recallbook_theory.hermite import Phi, hermite_coefficients, moment_table
from recallbook_theory.prediction import predict
from recallbook_theory.symbolic import recall_terms as symbolic
from recallbook_theory.symbolic.expressions import Array, N, V, d, m

SEEDS = range(8)
TEST = 1000  # fresh sequences a seed
ENDLESS = 2**31 - 1  # number of sequences that stands for equal frequencies
ACTIVATIONS = ("linear", "relu", "gelu", "tanh", "he2", "he3")


def wave(x: torch.Tensor) -> torch.Tensor:
    """sin(2x) without its linear Hermite part."""
    return torch.sin(2 * x) - 2 * math.exp(-2) * x


def name(activation: Phi) -> str:
    """How a figure calls an activation."""
    return activation if isinstance(activation, str) else activation.__name__


def look(activation: Phi) -> dict[str, Any]:
    """The colour and marker of an activation, the same in every figure."""
    index = (*ACTIVATIONS, "wave").index(name(activation))
    colours, markers = (*plotting.COLOURS, plotting.GREY), (*plotting.MARKERS, "X")
    return {"color": colours[index], "marker": markers[index]}


# Step 3 alone: perfect attention


def memory(
    problem: Problem, frequency: Array | None = None, *, centred: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Features of all attended tokens ``(V, m)`` and what step 3 stores of them, $\sum_vf_v\tilde
    u_vg_v^\top$.

    ``frequency`` ``(V,)``: $f$, equal if ``None``. ``centred``: features minus their mean over
    tokens."""
    setting = problem.setting
    attended = problem.input_embeddings + setting.trigger_in_values * problem.trigger  # (V, d)
    images = features(problem, attended)
    if centred:
        images = images - images.mean(dim=0)
    labels = centred_labels(problem)[problem.permutation]
    equal = np.full(setting.vocab, 1 / setting.vocab)
    share = torch.from_numpy(equal if frequency is None else frequency).to(labels)
    return images, (share[:, None] * labels).T @ images


def perfect_recall(
    problem: Problem, frequency: Array | None = None, *, centred: bool = False
) -> float:
    """Fraction of facts recalled when attention is perfect in step 3 and in the test."""
    images, stored = memory(problem, frequency, centred=centred)
    slack = logit_slack(problem.output_embeddings, stored, images)
    logits = images @ stored.T @ problem.output_embeddings.T
    return float(credit(logits, problem.permutation, slack).mean())


def counted(problem: Problem) -> Array:
    """Fraction of the batch that is about each token."""
    informative = problem.tokens.gather(1, problem.positions[:, None])[:, 0]
    counts = np.bincount(informative.numpy(), minlength=problem.setting.vocab)
    return counts / problem.setting.samples


def alone(vocab: int, dim: int, width: int | None, activation: Phi, **choices: Any) -> Setting:
    """Attention has nothing to choose from, and there is no end of data: superposition is all that
    is left."""
    choices = {"trigger_in_values": False, "width": width, "activation": activation, **choices}
    return Setting(vocab=vocab, seq_len=1, dim=dim, samples=ENDLESS, **choices)


def drawn(setting: Setting, seed: int) -> Problem:
    """Embeddings and neurons of a setting; of its batch only the first sequence."""
    return draw(replace(setting, samples=1), seed)


def by_width(
    vocab: int, dim: int, activations: Iterable[Phi], widths: Iterable[int]
) -> pd.DataFrame:
    """Recall by activation and width at unlimited data and perfect attention: predicted, and
    simulated by seed."""
    rows, activations = [], list(activations)
    for width in widths:
        problems = [drawn(alone(vocab, dim, width, "linear"), seed) for seed in SEEDS]
        for activation in activations:
            setting = alone(vocab, dim, width, activation)
            guess = predict(setting, warn=False).recall
            row = {"activation": name(activation), "width": width, "predicted": guess}
            for problem in problems:
                recall = perfect_recall(replace(problem, setting=setting))
                rows.append({**row, "seed": problem.seed, "recall": recall})
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame, by: list[str], column: str, **within: Any) -> pd.DataFrame:
    """Mean and interval of ``column`` over seeds, beside what was predicted."""
    means = over_seeds(frame, by, column, **within)
    return means.assign(predicted=frame.groupby(by)["predicted"].first().to_numpy())


# The cap, from the ledger's expressions

phi0, phi1 = sp.symbols("phi_0 phi_1", positive=True)
square = symbolic.H  # E phi^2


def superposition() -> sp.Expr:
    r"""Interference and MLP noise at $N\to\infty$, $\tau=0$, to leading order in $1/d$ and $1/V$,
    times $2\log V$.

    $J\approx\phi_1^4/d$; $\theta=\phi_0^2$ is what all features share. In one neuron two facts meet
    with the mean square $H^2$, of which $H\phi_0^2$ is the same for all: $F\approx
    H(H-\phi_0^2)/m$. 1 where about half is lost."""
    parts = symbolic.mean_squares(mlp=True)
    inserted = {
        symbolic.J: phi1**4 / d,
        symbolic.F: square * (square - phi0**2) / m,
        symbolic.theta: phi0**2,
    }
    total = (parts["interference"] + parts["MLP noise"]).subs(inserted)
    many = sp.limit(sp.expand(total), N, sp.oo)
    return sp.factor(2 * sp.log(V) * V * sp.limit(sp.expand(many / V), V, sp.oo))


def coefficients(activation: Phi) -> dict[str, float]:
    r"""$\phi_0,\phi_1,H$ at variance 1, and the cap over that of the identity (infinite without
    $\phi_1$)."""
    first = hermite_coefficients(activation, 1.0, 3)
    total = float(moment_table(activation, np.ones(1)).square[0])
    linear = abs(first[1]) > 1e-9
    factor = ((total - first[0] ** 2) / first[1] ** 2) ** 2 if linear else math.inf
    return {"phi_0": float(first[0]), "phi_1": float(first[1]), "H": total, "cap": factor}


def slope(activation: Phi, variance: float) -> float:
    r"""$\phi_1/\sqrt a$ at a variance $a$ of the pre-activation."""
    return float(hermite_coefficients(activation, variance, 1)[1] / math.sqrt(variance))


# Three steps with attention


def outcomes(
    settings: Iterable[Setting], guess: Callable[[Setting], float] | None = None
) -> pd.DataFrame:
    """Simulated lock-on, recall and accuracy, and what is ``predicted`` of one of them by ``guess``;
    one row for each setting and seed."""
    rows = []
    for setting in settings:
        row: dict[str, Any] = {"samples": setting.samples, "tau": int(setting.trigger_in_values)}
        row["activation"] = "none" if setting.width is None else name(setting.activation)
        row["predicted"] = guess(setting) if guess else math.nan
        for seed in SEEDS:
            outcome = simulate(setting, seed, test_samples=TEST)
            rows.append({**row, "seed": seed, **vars(outcome)})
    return pd.DataFrame(rows)


def remedies(setting: Setting, activations: Iterable[Phi]) -> pd.DataFrame:
    """Mean recall over seeds with perfect attention, by activation, with the trigger in the values
    or out, and features as they are or centred."""
    rows = []
    for trigger in (True, False):
        task = replace(setting, seq_len=1, trigger_in_values=trigger)
        problems = [draw(task, seed) for seed in SEEDS]
        for centred in (False, True):
            row: dict[str, Any] = {"trigger": "in" if trigger else "out"}
            row["features"] = "centred" if centred else "as they are"
            for activation in activations:
                changed = replace(task, activation=activation)
                recalls = [
                    perfect_recall(replace(p, setting=changed), counted(p), centred=centred)
                    for p in problems
                ]
                row[name(activation)] = float(np.mean(recalls))
            rows.append(row)
    return pd.DataFrame(rows)
