"""Signal and noise of the attention vector $w$, measured, and the formulas that predict them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pandas as pd
import sympy as sp
import torch

from recallbook.data.task import Problem, draw
from recallbook.setting import Setting
from recallbook.training.early_phase import key_query_step, value_step
from recallbook_theory.symbolic import lock_terms as symbolic

TERMS = (
    "trigger overlap",
    "mean bias",
    "gradient noise",
    "frequency noise",
    "fact interference",
    "uneven facts",
    "cross terms",
)


# Measured


def attention_vector(problem: Problem) -> torch.Tensor:
    r"""$w$ after step 2 in the early-phase limit, per unit $\gamma\eta\|z_{\rm EOS}\|^2$,
    ``(d,)``."""
    return key_query_step(problem, value_step(problem))


def measure(problem: Problem) -> dict[str, float]:
    r"""Scores of one draw and what all its tokens share, as a row.

    ``score`` is $t^\top w$ and ``variance`` that of $z_v^\top w$ over the vocabulary. ``T``, ``Q``,
    ``M`` are the symbols."""
    problem.setting.require_equal("parts of the scores are those of uniform tokens")
    z, t, w = problem.input_embeddings, problem.trigger, attention_vector(problem)
    vocab, samples = problem.setting.vocab, problem.setting.samples
    mean = z.mean(dim=0)
    excess = torch.bincount(problem.labels, minlength=vocab).to(z.dtype) / samples - 1 / vocab
    return {
        "score": float(t @ w),
        "variance": float((z @ w).var()),
        "T": float(t @ t),
        "Q": float(samples * (excess @ problem.output_embeddings).square().sum()),
        "M": float(vocab * mean @ mean),
    }


def run(setting: Setting, seeds: Iterable[int], device: str = "cpu") -> pd.DataFrame:
    """One row for each seed."""
    draws = ((seed, draw(setting, seed, device=device)) for seed in seeds)
    return pd.DataFrame([{"seed": seed, **measure(problem)} for seed, problem in draws])


# Predicted


@cache
def terms() -> dict[str, sp.Expr]:
    """Variance of token scores by term."""
    return {name: term.token for name, term in symbolic.lock_terms().items()}


def readable(expression: sp.Expr) -> sp.Expr:
    r"""The same with $R=1-1/L$ and $\kappa=1/d+1/V$ as symbols, for printing."""
    return expression.subs({symbolic.R: sp.Symbol("R"), symbolic.kappa: sp.Symbol("kappa")})
