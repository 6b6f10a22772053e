"""What the trained weights can do on fresh sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from recallbook.attention import (
    attend,
    attention_scores,
    chunk_rows,
    chunks,
    hard_attention,
    score,
)
from recallbook.descent import three_steps
from recallbook.early_phase import located_vectors
from recallbook.gradients import features
from recallbook.model import RecallTransformer
from recallbook.setting import Setting, bad, check_rates, check_size
from recallbook.task import Problem, check_problem, draw
from recallbook.weights import Weights


@dataclass(frozen=True)
class Outcome:
    r"""Three fractions between 0 and 1.

    Attributes
    ----------
    accuracy : float
        Fresh test sequences whose arg max logit is $\pi(x_\ell)$.
    lock_on : float
        Fresh test sequences whose largest attention weight is at $\ell$ (lowest index on ties).
    recall : float
        Tokens $v$ whose label is the arg max when attention sits exactly on $v$ as the informative token
        ($h=z_v+t$, or $z_v$ when the values do not carry the trigger).
    """

    accuracy: float
    lock_on: float
    recall: float


def evaluate(
    problem: Problem,
    weights: Weights | RecallTransformer,
    test_samples: int = 20000,
    seed: int | None = None,
    *,
    chunk: int | None = None,
    dtype: torch.dtype | None = None,
    device: Any = None,
) -> Outcome:
    """Measure accuracy, lock-on and recall.

    Parameters
    ----------
    problem : Problem
    weights : Weights or RecallTransformer
        Weights of the early-phase limit are used with hard attention, all others with softmax attention.
    test_samples : int
        Number of fresh sequences.
    seed : int or None
        Seed of the test sequences; ``None`` is the problem's. They differ from the training sequences at any seed.

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.
    """
    test_samples = check_size("test_samples", test_samples)
    problem = check_problem(problem, dtype, device)
    value, key_query, hard = _matrices(problem, weights)
    sequences = problem.fresh(test_samples, seed)
    rows = chunk_rows(problem, chunk)
    known = _known(problem, value, torch.arange(problem.setting.vocab, device=problem.device), True, rows)
    recall = float((known == problem.permutation).double().mean())
    direction = key_query @ problem.query
    measure = _measure_hard if hard else _measure_soft
    right, locked = measure(problem, sequences, value, direction, rows)
    return Outcome(right / test_samples, locked / test_samples, recall)


def simulate(
    setting: Setting,
    seed: int,
    *,
    eta: float | None = None,
    gamma: float | None = None,
    test_samples: int = 20000,
    dtype: torch.dtype = torch.float64,
    device: Any = "cpu",
) -> Outcome:
    """Draw, take three steps, evaluate; rates as in :func:`recallbook.three_steps`.

    Examples
    --------
    >>> setting = Setting(vocab=64, seq_len=8, dim=64, samples=4096, trigger_in_values=False)
    >>> simulate(setting, seed=0).lock_on
    1.0
    """
    test_samples = check_size("test_samples", test_samples)
    check_rates(eta, gamma)
    problem = draw(setting, seed, dtype=dtype, device=device)
    return evaluate(problem, three_steps(problem, eta, gamma), test_samples)


def _matrices(problem: Problem, weights: Any) -> tuple[torch.Tensor, torch.Tensor, bool]:
    """Value and key-query matrices in the problem's floating type, and whether attention is hard."""
    if isinstance(weights, Weights):
        value, key_query, hard = weights.value2, weights.key_query, weights.limit
    elif isinstance(weights, RecallTransformer):
        value, key_query, hard = weights.value.detach(), weights.key_query.detach(), False
    else:
        raise bad("weights", weights, "recallbook.Weights or a recallbook.RecallTransformer")
    setting = problem.setting
    shapes = [(setting.dim, setting.feature_dim), (setting.dim, setting.dim)]
    if [tuple(value.shape), tuple(key_query.shape)] != shapes:
        raise bad("weights", [tuple(value.shape), tuple(key_query.shape)], f"shapes {shapes} for this problem")
    like = problem.input_embeddings
    return value.to(like), key_query.to(like), hard


def _predict(problem: Problem, value: torch.Tensor, located: torch.Tensor) -> torch.Tensor:
    """Arg max labels ``(n,)`` for located vectors ``(n, d)``."""
    return (features(problem, located) @ value.T @ problem.output_embeddings.T).argmax(dim=1)


def _known(
    problem: Problem, value: torch.Tensor, tokens: torch.Tensor, hits: bool | torch.Tensor, rows: int
) -> torch.Tensor:
    """Arg max labels when attention sits on these tokens, with the trigger where ``hits``."""
    hits = torch.as_tensor(hits, device=tokens.device).expand(tokens.shape)
    parts = zip(tokens.split(rows), hits.split(rows), strict=True)
    return torch.cat([_predict(problem, value, located_vectors(problem, v, hit)) for v, hit in parts])


def _measure_hard(problem, sequences, value, direction, rows) -> tuple[int, int]:
    """Right answers and locks under hard attention; each distinct located vector is answered once."""
    vocab = problem.setting.vocab
    scores = attention_scores(problem, direction)
    located = [hard_attention(part, scores) for part in chunks(sequences, rows)]
    hits = torch.cat([part.hits for part in located])
    codes = torch.cat([part.tokens for part in located]) + vocab * hits
    distinct, which = codes.unique(return_inverse=True)
    answers = _known(problem, value, distinct % vocab, distinct >= vocab, rows)
    return int((answers[which] == sequences.labels).sum()), int(hits.sum())


def _measure_soft(problem, sequences, value, direction, rows) -> tuple[int, int]:
    """Right answers and locks under softmax attention."""
    scores = attention_scores(problem, direction)
    right = locked = 0
    for part in chunks(sequences, rows):
        raw = score(part, scores)  # (n, L); arg max of the scores: softmax weights may round to ties
        locked += int((raw.argmax(dim=1) == part.positions).sum())
        located = attend(problem, part, torch.softmax(raw, dim=1))
        right += int((_predict(problem, value, located) == part.labels).sum())
    return right, locked
