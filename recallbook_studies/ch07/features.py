r"""The MLP as memory: recall by width and activation, what its features hide, and the price of
parameters.

``python -m recallbook table mlp_exponents STORE`` measures the exponents of what fits; ``--export``
writes the table that ships with the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
import torch
from numpy.typing import NDArray

from recallbook.arguments import not_allowed
from recallbook.data.task import Problem, draw
from recallbook.model.ties import credit, logit_slack
from recallbook.setting import Setting
from recallbook.theory.hermite import Phi, hermite_coefficients, moment_table
from recallbook.theory.prediction import predict
from recallbook.theory.search import bracket
from recallbook.theory.symbolic import recall_terms as symbolic
from recallbook.theory.symbolic.expressions import N, V, d, m
from recallbook.training.simulation import simulate
from recallbook_studies.intervals import Interval, fitted_slope, over_seeds

SEEDS = range(8)
TEST = 1000  # fresh sequences a seed
ENDLESS = 2**31 - 1  # number of sequences that stands for equal frequencies
ACTIVATIONS = ("linear", "relu", "gelu", "tanh", "he2", "he3")
WIDTHS = (32, 128, 512, 2048)
LARGEST = (
    1600,
    64,
    2048,
)  # facts, dimension and width of the largest problem whose capacity is simulated

Array = NDArray[np.float64]


# Step 3 alone: perfect attention


def memory(
    problem: Problem,
    frequency: Array | None = None,
    *,
    centred: bool = False,
    normalised: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Features of all located tokens ``(V, m)`` and what step 3 stores of them, $\sum_vf_v\tilde
    u_vg_v^\top$.

    ``frequency`` ``(V,)``: $f$, equal if ``None``. ``normalised``: the located vector is divided by
    its length and multiplied by $s$ first. ``centred``: features minus their mean over tokens."""
    setting = problem.setting
    located = problem.input_embeddings + setting.trigger_in_values * problem.trigger  # (V, d)
    if normalised:
        located = located / located.norm(dim=1, keepdim=True) * setting.mlp_input_scale**0.5
    features = located
    if problem.mlp_weights is not None and setting.width is not None:
        features = setting.phi(located @ problem.mlp_weights.T) / setting.width**0.5
    if centred:
        features = features - features.mean(dim=0)
    share = (
        torch.full((setting.vocab,), 1 / setting.vocab)
        if frequency is None
        else torch.from_numpy(frequency)
    )
    labels = (problem.output_embeddings - problem.output_embeddings.mean(dim=0))[
        problem.permutation
    ]
    return features, (share.to(labels)[:, None] * labels).T @ features


def perfect_recall(problem: Problem, frequency: Array | None = None, **remedies: bool) -> float:
    """Fraction of facts recalled when attention is perfect in step 3 and in the test."""
    features, stored = memory(problem, frequency, **remedies)
    logits = features @ stored.T @ problem.output_embeddings.T
    return float(
        credit(
            logits, problem.permutation, logit_slack(problem.output_embeddings, stored, features)
        ).mean()
    )


def counted(problem: Problem) -> Array:
    """Fraction of the batch that is about each token."""
    found = problem.tokens.gather(1, problem.positions[:, None])[:, 0]
    return np.bincount(found.numpy(), minlength=problem.setting.vocab) / problem.setting.samples


def alone(vocab: int, dim: int, width: int | None, activation: Phi, **choices: Any) -> Setting:
    """Attention has nothing to choose from, and there is no end of data: superposition is all that
    is left."""
    choices = {"trigger_in_values": False, "width": width, "activation": activation, **choices}
    return Setting(vocab=vocab, seq_len=1, dim=dim, samples=ENDLESS, **choices)


def drawn(setting: Setting, seed: int) -> Problem:
    """Embeddings and neurons of a setting; of its batch only the first sequence."""
    return draw(replace(setting, samples=1), seed)


def by_width(
    vocab: int,
    dim: int,
    activations: Iterable[Phi] = ACTIVATIONS,
    widths: Iterable[int] = WIDTHS,
    **choices: Any,
) -> pd.DataFrame:
    """Recall by activation and width at unlimited data and perfect attention: predicted, and
    simulated by seed."""
    rows, activations = [], list(activations)
    for width in widths:
        problems = [drawn(alone(vocab, dim, width, "linear", **choices), seed) for seed in SEEDS]
        for activation in activations:
            setting = alone(vocab, dim, width, activation, **choices)
            guess = predict(setting, warn=False).recall
            for problem in problems:
                shape = {
                    "activation": name(activation),
                    "width": width,
                    "seed": problem.seed,
                    "predicted": guess,
                }
                rows.append({**shape, "recall": perfect_recall(replace(problem, setting=setting))})
    return pd.DataFrame(rows)


def name(activation: Phi) -> str:
    """How a figure calls an activation."""
    return activation if isinstance(activation, str) else activation.__name__


def summary(
    frame: pd.DataFrame, by: list[str], column: str, predicted: str = "predicted", **within: Any
) -> pd.DataFrame:
    """Mean and interval of ``column`` over seeds, beside what was predicted."""
    means = over_seeds(frame, by, column, **within)
    return means.assign(predicted=frame.groupby(by)[predicted].first().to_numpy())


# How many facts fit: exponents


def capacity(recall: Callable[[int], float]) -> float:
    """Number of facts at which recall falls below one half: doubling, then
    bisection to 3 %."""
    low, high = bracket(lambda facts: recall(facts) < 0.5, 100, tolerance=0.03, logarithmic=True)
    return math.sqrt(low * high)


def capacities(shapes: Iterable[tuple[int, int]], activation: Phi, seed: int | None) -> list[float]:
    """Facts that fit at each ``(dim, width)``: predicted for ``seed=None``, else simulated; perfect
    attention."""
    return [capacity(_recall_at(dim, width, activation, seed)) for dim, width in shapes]


def _recall_at(dim: int, width: int, activation: Phi, seed: int | None) -> Callable[[int], float]:
    if seed is None:
        return lambda facts: predict(alone(facts, dim, width, activation), warn=False).recall
    largest = _largest(seed)
    if dim > LARGEST[1] or width > LARGEST[2]:
        raise not_allowed("shapes", (dim, width), f"at most {LARGEST[1:]}")

    def recall(facts: int) -> float:
        # draws are paired: a smaller problem is a corner of the largest, up to the scale of the
        # embeddings
        assert largest.mlp_weights is not None
        scale = math.sqrt(LARGEST[1] / dim)
        small: dict[str, Any] = {**vars(largest), "setting": alone(facts, dim, width, activation)}
        small |= {
            k: small[k][:facts, :dim] * scale for k in ("input_embeddings", "output_embeddings")
        }
        small |= {k: small[k][:dim] * scale for k in ("trigger", "query")}
        small |= {
            "mlp_weights": largest.mlp_weights[:width, :dim],
            "permutation": torch.arange(facts),
        }
        return perfect_recall(Problem(**small))

    return recall


@lru_cache(maxsize=len(SEEDS))
def _largest(seed: int) -> Problem:
    return drawn(alone(*LARGEST, "linear"), seed)


def needed(facts: Iterable[float]) -> Array:
    r"""$n\log n$: what $d^2$ or $md$ is compared with."""
    n = np.asarray(list(facts), dtype=float)
    return np.asarray(n * np.log(n))


# activation, shapes (d, m), the size that varies (0: d, 1: m), and its exponent at large sizes
EXPONENTS: dict[str, tuple[Phi, list[tuple[int, int]], int, int]] = {
    "he3, d = 32 to 64 at m = 384": ("he3", [(d, 384) for d in (32, 64)], 0, 1),
    "he3, m = 96 to 384 at d = 48": ("he3", [(48, m) for m in (96, 384)], 1, 1),
    "relu, m = 512 to 2048 at d = 48": ("relu", [(48, m) for m in (512, 2048)], 1, 0),
    "relu, d = 32 to 64 at m = 2048": ("relu", [(d, 2048) for d in (32, 64)], 0, 2),
}


def exponent(
    shapes: list[tuple[int, int]],
    sizes: Iterable[int],
    activation: Phi,
    seeds: Iterable[int] = SEEDS,
) -> tuple[float, Interval]:
    r"""Exponent of $n\log n$ in ``sizes`` along ``shapes``: that of the predicted curve, and
    measured with interval."""
    table = [needed(capacities(shapes, activation, seed)) for seed in seeds]
    curve = needed(capacities(shapes, activation, None))
    return float(np.polyfit(np.log(list(sizes)), np.log(curve), 1)[0]), fitted_slope(
        list(sizes), table
    )


def exponent_row(case: str) -> dict[str, Any]:
    """A case's exponent: measured with its interval, predicted, and at large sizes."""
    activation, shapes, moved, limit = EXPONENTS[case]
    predicted, found = exponent(shapes, [shape[moved] for shape in shapes], activation)
    return {"case": case, **found._asdict(), "predicted": predicted, "large sizes": limit}


# The cap, from the ledger's expressions

phi0, phi1, square = sp.symbols("phi_0 phi_1 K", positive=True)  # K = E phi^2


def superposition() -> sp.Expr:
    r"""Interference and MLP noise at $N\to\infty$, $\tau=0$, to leading order in $1/d$ and $1/V$,
    times $2\log V$.

    $J\approx\phi_1^4/d$; $\theta=\phi_0^2$ is what all features share. In one neuron two facts meet
    with the mean square $K^2$, of which $K\phi_0^2$ is the same for all: $F\approx
    K(K-\phi_0^2)/m$. 1 where about half is lost."""
    parts = symbolic.mean_squares(mlp=True)
    inserted = {
        symbolic.J: phi1**4 / d,
        symbolic.F: square * (square - phi0**2) / m,
        symbolic.H: square,
        symbolic.theta: phi0**2,
    }
    total = (parts["interference"] + parts["MLP noise"]).subs(inserted)
    many = sp.limit(sp.expand(total), N, sp.oo)
    return sp.factor(2 * sp.log(V) * V * sp.limit(sp.expand(many / V), V, sp.oo))


def estimate(activation: Phi, dim: int, width: int) -> float:
    r"""$V\log V$ at which :func:`superposition` is 1."""
    known = coefficients(activation)
    values = {phi0: known["phi_0"], phi1: known["phi_1"], square: known["K"], d: dim, m: width}
    return float(sp.simplify(V * sp.log(V) / superposition()).subs(values))


def coefficients(activation: Phi) -> dict[str, float]:
    r"""$\phi_0,\phi_1,K$ at variance 1, and the cap over that of the identity (infinite without
    $\phi_1$)."""
    first = hermite_coefficients(activation, 1.0, 3).values
    total = float(moment_table(activation, np.ones(1)).square[0])
    linear = abs(first[1]) > 1e-9
    factor = ((total - first[0] ** 2) / first[1] ** 2) ** 2 if linear else math.inf
    return {"phi_0": float(first[0]), "phi_1": float(first[1]), "K": total, "cap": factor}


def near_zero(activation: Phi, variance: float) -> dict[str, float]:
    r"""$\phi_0$, the slope $\phi_1/\sqrt a$, and $\frac d{da}\mathbb E\,\phi^2$ at a small variance
    $a$."""
    first = hermite_coefficients(activation, variance, 1).values
    growth = float(moment_table(activation, np.array([variance])).growth[0])
    return {
        "phi_0": float(first[0]),
        "slope": float(first[1] / math.sqrt(variance)),
        "growth": growth,
    }


# Three steps with attention


def outcomes(
    settings: Iterable[Setting], seeds: Iterable[int] = SEEDS, **keys: Any
) -> pd.DataFrame:
    """Predicted and simulated lock-on, recall and accuracy, one row for each setting and seed."""
    rows, seeds = [], list(seeds)
    for setting in settings:
        guess = predict(setting, warn=False)
        shape = {k: getattr(setting, k) for k in ("dim", "seq_len", "samples", "width")}
        shape |= {
            "activation": "none" if setting.width is None else name(setting.activation),
            **keys,
        }
        shape |= {"tau": int(setting.trigger_in_values)}
        shape |= {f"predicted_{k}": getattr(guess, k) for k in ("accuracy", "lock_on", "recall")}
        for seed in seeds:
            found = simulate(setting, seed, test_samples=TEST)
            rows.append({**shape, "seed": seed, **vars(found)})
    return pd.DataFrame(rows)


REMEDIES: dict[
    str, tuple[bool, dict[str, bool]]
] = {  # trigger in the values, what is done to the features
    "as it is": (True, {}),
    "normalised input": (True, {"normalised": True}),
    "centred features": (True, {"centred": True}),
    "both": (True, {"normalised": True, "centred": True}),
    "trigger out": (False, {}),
    "trigger out, both": (False, {"normalised": True, "centred": True}),
}


def remedies(setting: Setting, activations: Iterable[Phi]) -> pd.DataFrame:
    """Recall with perfect attention under each remedy, by seed; predicted where the remedy is a
    setting."""
    rows, activations = [], list(activations)
    batches = {
        t: [draw(replace(setting, seq_len=1, trigger_in_values=t), seed) for seed in SEEDS]
        for t in (True, False)
    }
    for activation in activations:
        for label, (trigger, changes) in REMEDIES.items():
            problems = [
                replace(p, setting=replace(p.setting, activation=activation))
                for p in batches[trigger]
            ]
            guess = math.nan if changes else predict(problems[0].setting, warn=False).recall
            for problem in problems:
                row = {
                    "activation": name(activation),
                    "remedy": label,
                    "seed": problem.seed,
                    "predicted": guess,
                }
                rows.append({**row, "recall": perfect_recall(problem, counted(problem), **changes)})
    return pd.DataFrame(rows)


def many_draws(
    setting: Setting, activations: Iterable[Phi], seeds: Iterable[int]
) -> dict[str, list[float]]:
    """Recall with perfect attention by activation, on the same draws."""
    problems = [draw(setting, seed) for seed in seeds]
    return {
        name(phi): [
            perfect_recall(replace(p, setting=replace(setting, activation=phi)), counted(p))
            for p in problems
        ]
        for phi in activations
    }


def shared_part(activation: Phi, tau: int) -> float:
    r"""$\theta/H$ at infinite width: $\sum_k\phi_k^22^{-k}/K$ with the trigger in the values,
    $\phi_0^2/K$ without."""
    phi = hermite_coefficients(activation, 1.0, 30).values
    shared = np.sum(phi**2 * (0.5 if tau else 0.0) ** np.arange(len(phi)))
    return float(shared / moment_table(activation, np.ones(1)).square[0])
