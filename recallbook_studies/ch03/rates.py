r"""What the early-phase limit leaves out: the three steps at finite $\eta$ and $\gamma$."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from recallbook.data.task import Problem, draw
from recallbook.model.transformer import RecallTransformer, Weights
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate

SEEDS = range(10)
DIM = 64
SATURATIONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # trigger score over log L
TEST = 1000  # fresh sequences a seed
TINY_ETA = 1e-3  # in units of L V: small enough for the limit of eta


def setting(trigger_in_values: bool, dim: int = DIM) -> Setting:
    """The setting of both figures."""
    return Setting(
        vocab=128, seq_len=16, dim=dim, samples=4096, trigger_in_values=trigger_in_values
    )


def trigger_score(problem: Problem, limit: Weights) -> float:
    r"""$t^\top W_{KQ}^{(1)}z_{\rm EOS}/(\gamma\eta)$ in the early-phase limit: what the trigger
    adds to a score."""
    return float(problem.trigger @ limit.key_query @ problem.query)


def saturated(problem: Problem, limit: Weights, ratio: float) -> tuple[Weights, float]:
    r"""Three steps at $\eta$ in units of $LV$ and the $\gamma$ at which scores are of order $10^4$,
    so that attention is hard; and the relative distance of $W_V^{(2)}/\gamma$ to its limit, in
    Frobenius norm and without $W_V^{(1)}/\gamma$."""
    eta = ratio * problem.setting.seq_len * problem.setting.vocab
    gamma = 1e4 / (eta * trigger_score(problem, limit))
    weights = three_steps(problem, eta, gamma)
    difference = (weights.value2 - weights.value1) / gamma - limit.value2
    return weights, float(difference.norm() / limit.value2.norm())


def over_eta(
    trigger_in_values: bool,
    seeds: Iterable[int] = SEEDS,
    device: str = "cpu",
    *,
    dim: int = DIM,
    etas: Iterable[float],
) -> pd.DataFrame:
    r"""Finite $\eta$ under saturated attention: ``accuracy``, and the ``distance`` to the limit.

    ``eta`` is in units of $LV$, and ``gain`` is the accuracy minus that of the limit."""
    rows, etas = [], tuple(etas)
    for seed in seeds:
        problem = draw(setting(trigger_in_values, dim), seed, device=device)
        limit = three_steps(problem)
        reached = evaluate(problem, limit, TEST).accuracy
        for ratio in etas:
            weights, distance = saturated(problem, limit, ratio)
            accuracy = evaluate(problem, weights, TEST).accuracy
            row = {"eta": ratio, "seed": seed, "accuracy": accuracy, "distance": distance}
            rows.append({**row, "gain": accuracy - reached})
    return pd.DataFrame(rows)


def over_gamma(
    trigger_in_values: bool, seeds: Iterable[int] = SEEDS, device: str = "cpu"
) -> pd.DataFrame:
    r"""Finite $\gamma$ at tiny $\eta$: mean ``attention`` on the informative position of fresh
    sequences.

    ``saturation`` is the trigger's score, $\gamma\eta$ times its value in the limit, over $\log L$.
    """
    rows = []
    for seed in seeds:
        problem = draw(setting(trigger_in_values), seed, device=device)
        eta = TINY_ETA * problem.setting.seq_len * problem.setting.vocab
        test = problem.fresh(TEST)
        model = RecallTransformer(problem)
        per_gamma = three_steps(problem, eta, gamma=1.0).key_query  # step 2 is linear in gamma
        score = trigger_score(problem, three_steps(problem))
        for saturation in SATURATIONS:
            gamma = saturation * np.log(problem.setting.seq_len) / (eta * score)
            model.key_query.data = gamma * per_gamma
            weights = model.attention(test.tokens, test.positions).detach()
            attention = float(weights.gather(1, test.positions[:, None]).mean())
            rows.append({"saturation": saturation, "seed": seed, "attention": attention})
    return pd.DataFrame(rows)
