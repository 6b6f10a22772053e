r"""Signal and noise of the attention vector $w$, measured and predicted.

Predictions are means over what all tokens of a draw share: $|t|^2$ and $V|\bar z|^2$ are
$\chi^2_d/d$, and $Q$ has mean 1 and variance $2\kappa$. All three are taken as gamma variables, so
that the mean of a power is explicit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd
import sympy as sp
import torch
from numpy.polynomial import Polynomial

from recallbook.data.task import Problem, draw
from recallbook.setting import Setting
from recallbook.training.early_phase import key_query_step, value_step
from recallbook_theory import moments
from recallbook_theory.symbolic import lock_terms as symbolic
from recallbook_theory.symbolic.expressions import d, numeric
from recallbook_theory.values import length_variance, sizes

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
def averaged(expression: sp.Expr, equal_lengths: bool = False) -> sp.Expr:
    r"""Mean over $|t|^2$, $Q$ and $M$, independent gamma variables of mean 1: $\mathbb
    E\,x^k=\prod_{j<k}(1+js)$.

    $s$ is the variance: $2/d$ for $|t|^2$ (0 with equal lengths) and $M$, $2\kappa$ for $Q$.
    """
    spreads = (0 if equal_lengths else 2 / d, 2 * symbolic.kappa, 2 / d)
    total = sp.Integer(0)
    found = sp.Poly(sp.expand(expression), *symbolic.SHARED, domain="EX")
    for powers, coefficient in found.terms():
        moments = [
            1 + j * s for power, s in zip(powers, spreads, strict=True) for j in range(power)
        ]
        total += coefficient * sp.Mul(*moments)
    return total


@cache
def terms() -> dict[str, sp.Expr]:
    """Variance of token scores by term."""
    return {name: term.token for name, term in symbolic.lock_terms().items()}


def predicted(setting: Setting) -> dict[str, float]:
    """Mean trigger score as ``score``, and the token-score variance of each term by its name;
    means over draws."""
    equal = not length_variance(setting)
    found = {
        name: float(numeric(averaged(expression, equal))(sizes(setting)))
        for name, expression in {"score": symbolic.trigger_score(), **terms()}.items()
    }
    return {**found, "unequal lengths": 0.0} if equal else found


def variance(setting: Setting) -> float:
    """Predicted variance of token scores."""
    return sum(size for name, size in predicted(setting).items() if name != "score")


def exact_parts(setting: Setting) -> dict[str, float]:
    """Exact variance of token scores by term of the enumeration, mean over draws."""
    distinct = setting.vocab / (setting.vocab - 1)
    parts = {term: moments.polynomial(setting, "scatter", term=term) for term in TERMS}
    return {term: distinct * over_triggers(setting, part) for term, part in parts.items()}


def over_triggers(setting: Setting, given: Polynomial) -> float:
    r"""Mean of a polynomial over $|t|^2$, a gamma variable of mean 1: $\mathbb
    E\,T^k=\prod_{j<k}(1+js)$."""
    spread = length_variance(setting)
    means = np.cumprod([1.0, *(1 + j * spread for j in range(len(given.coef) - 1))])
    return float(np.dot(np.asarray(given.coef, dtype=float), means))


def readable(expression: sp.Expr) -> sp.Expr:
    r"""The same with $R=1-1/L$ and $\kappa=1/d+1/V$ as symbols, for printing."""
    return expression.subs({symbolic.R: sp.Symbol("R"), symbolic.kappa: sp.Symbol("kappa")})
