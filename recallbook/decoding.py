r"""Labels for all tokens from the initial gradient and the embeddings alone.

With $x_v$ the centred features of the mean sequence that holds token $v$,
$\mathbb E\,G=\frac1V\sum_v\tilde u_{\pi(v)}x_v^\top$, and the noise is close to $\frac1N\,\Sigma_U\otimes\Sigma_X$.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from scipy.optimize import linear_sum_assignment

from recallbook.descent import initial_gradient
from recallbook.gradients import centred_labels, features
from recallbook.setting import check_choice
from recallbook.task import Problem, check_problem

METHODS = ("argmax", "whitened", "assignment", "refined", "descent")
MOST_SWAPS = 20  # per token; the likelihood rises with each, so this only guards against rounding


class Whitened(NamedTuple):
    r"""The gradient in units of its noise: $Y=\frac{\sqrt N}V\sum_va_{\pi(v)}b_v^\top+$ noise of variance about 1.

    ``observed`` $Y$, ``(d, d)`` or ``(d, m)``; ``labels``, rows $a_k$; ``tokens``, rows $\frac{\sqrt N}Vb_v$.
    """

    observed: torch.Tensor
    labels: torch.Tensor
    tokens: torch.Tensor


def decode(problem: Problem, method: str = "argmax", *, dtype: Any = None, device: Any = None) -> torch.Tensor:
    r"""Guess the label of every token from $G$ of :func:`recallbook.initial_gradient`, shape ``(V,)`` int64.

    Parameters
    ----------
    problem : Problem
        Its tokens and labels enter through $G$ only; the permutation is not looked at.
    method : str
        ``"argmax"``: $\arg\max_k u_k^\top Gx_v$, with $x_v=g\big(\frac{z_v+(L-1)\bar z+\tau t}L\big)$ centred.
        ``"descent"``: $\arg\max_ku_k^\top G\,g(z_v+\tau t)$, what the model answers after one step of gradient
        descent when attention is exactly on the token. Both may give a label twice.
        ``"whitened"``: $\arg\max_ka_k^\top Yb_v$ after :func:`whiten`.
        ``"assignment"``: the permutation with the largest $\sum_va_{\pi(v)}^\top Yb_v$, the likelihood's linear part.
        ``"refined"``: from there, exchanges of two labels as long as the whole likelihood rises; it contains
        $\|\sum_va_{\pi(v)}b_v^\top\|^2$, which makes its exact maximum a quadratic assignment problem.
    dtype, device
        Default: the problem's.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.

    Notes
    -----
    With the MLP $x_v$ is exact to first order in the shift that one token makes. Ours.

    Examples
    --------
    >>> from recallbook import Setting, draw
    >>> problem = draw(Setting(vocab=8, seq_len=2, dim=10, samples=4000, embeddings="orthogonal"), seed=0)
    >>> bool((decode(problem, "assignment") == problem.permutation).all())
    True
    """
    method = check_choice("method", method, METHODS)
    problem = check_problem(problem, dtype, device)
    gradient = initial_gradient(problem)
    if method == "descent":
        asked = problem.input_embeddings + float(problem.setting.trigger_in_values) * problem.trigger
        return (problem.output_embeddings @ gradient @ features(problem, asked).T).argmax(dim=0)
    if method == "argmax":
        asked = token_features(problem)
        return (problem.output_embeddings @ gradient @ (asked - asked.mean(dim=0)).T).argmax(dim=0)
    seen = whiten(problem, gradient)
    scores = seen.labels @ seen.observed @ seen.tokens.T  # (V labels, V tokens)
    if method == "whitened":
        return scores.argmax(dim=0)
    labels = assign(scores)
    return labels if method == "assignment" else refine(seen, labels)


def token_features(problem: Problem) -> torch.Tensor:
    r"""Features of the mean sequence that holds token $v$ marked beside average tokens, ``(V, d)`` or ``(V, m)``."""
    setting, embeddings = problem.setting, problem.input_embeddings
    shared = (setting.seq_len - 1) * embeddings.mean(dim=0) + float(setting.trigger_in_values) * problem.trigger
    return features(problem, (embeddings + shared) / setting.seq_len)


def whiten(problem: Problem, gradient: torch.Tensor) -> Whitened:
    r"""$Y=\sqrt N\,\Sigma_U^{-1/2}G\,\Sigma_X^{-1/2}$, inverse on the range.

    $\Sigma_U=\frac1V\tilde U^\top\tilde U$, and $\Sigma_X=\frac LV X^\top X+\bar x\bar x^\top$ with $X$ the centred
    rows $x_v$: the second moment of the mean sequence's features. The other $L-1$ tokens vary like the informative one,
    and $\bar x$ carries the frequencies of labels. With the MLP only the $\min(d,V)$ strongest directions are kept,
    those that are linear in the embeddings.
    """
    setting = problem.setting
    labels, asked = centred_labels(problem), token_features(problem)
    mean = asked.mean(dim=0)
    centred = asked - mean
    left = _inverse_root(labels.T @ labels / setting.vocab, setting.dim)
    moment = centred.T @ centred * (setting.seq_len / setting.vocab) + torch.outer(mean, mean)
    side = _inverse_root(moment, min(setting.dim, setting.vocab))
    root = setting.samples**0.5
    return Whitened(root * left @ gradient @ side, labels @ left, centred @ side * (root / setting.vocab))


def _inverse_root(matrix: torch.Tensor, rank: int) -> torch.Tensor:
    """Symmetric inverse square root on the ``rank`` strongest directions that are not rounding errors."""
    values, vectors = torch.linalg.eigh(matrix)
    floor = values[-1] * len(values) * torch.finfo(values.dtype).eps
    keep = (values > floor) & (torch.arange(len(values), device=values.device) >= len(values) - rank)
    return vectors[:, keep] * values[keep].rsqrt() @ vectors[:, keep].T


def assign(scores: torch.Tensor) -> torch.Tensor:
    """The permutation with the largest sum of ``scores[label, token]``, as labels ``(V,)``."""
    tokens, labels = linear_sum_assignment(scores.T.cpu().numpy(), maximize=True)
    out = torch.empty(len(tokens), dtype=torch.int64)
    out[torch.as_tensor(tokens)] = torch.as_tensor(labels)
    return out.to(scores.device)


def log_likelihood(seen: Whitened, labels: torch.Tensor) -> float:
    r"""$-\frac12\|Y-M\|^2$ with $M=\frac{\sqrt N}V\sum_va_{\pi(v)}b_v^\top$, up to a constant."""
    return -0.5 * float((seen.observed - seen.labels[labels].T @ seen.tokens).square().sum())


def refine(seen: Whitened, labels: torch.Tensor) -> torch.Tensor:
    """Exchange the two labels that raise the likelihood most until none does; cost of one exchange $O(V^2+Vd)$."""
    labels = labels.clone()
    distance = torch.cdist(seen.tokens, seen.tokens).square()
    for _ in range(MOST_SWAPS * len(labels)):
        facts = seen.labels[labels]  # (V, d), row v is a_{pi(v)}
        rest = seen.observed - facts.T @ seen.tokens
        fit = facts @ rest @ seen.tokens.T  # [v, w]: label of v at token w
        own = fit.diagonal()
        gain = fit + fit.T - own[:, None] - own - 0.5 * torch.cdist(facts, facts).square() * distance
        best = int(gain.argmax())
        if float(gain.flatten()[best]) <= 1e-9:
            break
        first, second = divmod(best, len(labels))
        labels[[first, second]] = labels[[second, first]]
    return labels
