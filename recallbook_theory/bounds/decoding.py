r"""Labels for all tokens from the initial gradient and the embeddings alone.

With $x_v$ the centred features of the mean sequence that holds token $v$, $\mathbb
E\,G=\frac1V\sum_v\tilde u_{\pi(v)}x_v^\top$, and the noise is close to
$\frac1N\,\Sigma_U\otimes\Sigma_X$ (prop-bound-moments, chapter 8; $\Sigma_U$ is $S_U$ at equal
frequencies)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching
from torch import Tensor
from torch.nn import functional

from recallbook.arguments import Device, check_choice
from recallbook.data.residuals import centred_labels
from recallbook.data.task import Problem, check_problem
from recallbook.model.ties import logit_slack, tied
from recallbook.setting import other_frequencies
from recallbook.training.early_phase import value_step
from recallbook.training.gradients import features

METHODS = ("argmax", "whitened", "assignment", "refined")
MOST_SWAPS = 20  # per token; the likelihood rises with each, so this only guards against rounding
LEAST_GAIN = 1e-9  # in the log-likelihood: gains closer than this tie
# singular values below this share of the largest belong to tables with repeated rows
DEGENERATE = 1e-9


class Whitened(NamedTuple):
    r"""The gradient in units of its noise: $Y=\frac{\sqrt N}V\sum_va_{\pi(v)}b_v^\top+$ noise of
    variance about 1 (eq-bound-signal, appendix of proofs of chapter 8).

    ``observed`` $Y$, ``(d, d)`` or ``(d, m)``; ``labels``, rows $a_k$; ``tokens``, rows
    $\frac{\sqrt N}Vb_v$."""

    observed: Tensor
    labels: Tensor
    tokens: Tensor


def decode(
    problem: Problem,
    method: str = "argmax",
    *,
    gradient: Tensor | None = None,
    dtype: torch.dtype | None = None,
    device: Device | None = None,
) -> Tensor:
    r"""Guess the label of every token from $G$ of :func:`recallbook.initial_gradient`, shape
    ``(V,)`` int64.

    Parameters
    ----------
    problem : Problem
        Its tokens and labels enter through $G$ only; the permutation is not looked at.
    method : str
        ``"argmax"``: $\arg\max_k u_k^\top Gx_v$, with $x_v=g\big(\frac{z_v+(L-1)\bar z+\tau
        t}L\big)$ centred. It may give a label twice, and takes tokens of any frequency and any
        weights of the loss; the next three assume equal facts and the plain loss. ``"whitened"``:
        $\arg\max_ka_k^\top Yb_v$ after :func:`whiten`. ``"assignment"``: the permutation with the
        largest $\sum_va_{\pi(v)}^\top Yb_v$, the likelihood's linear part. ``"refined"``: from
        there, exchanges of two labels as long as the whole likelihood rises; it contains
        $\|\sum_va_{\pi(v)}b_v^\top\|^2$, which makes its exact maximum a quadratic assignment
        problem.
    gradient : Tensor ``(d, d)`` or ``(d, m)``, or None
        What the reader sees, as with a reading error; ``None`` is $G$.
    dtype, device
        Default: the problem's.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.

    Notes
    -----
    With the MLP $x_v$, and with it the units of noise, is exact to first order in the shift that one token makes. Ours.

    Examples
    --------
    >>> from recallbook import Setting, draw
    >>> problem = draw(Setting(vocab=8, seq_len=2, dim=10, samples=4000, embeddings="orthogonal"), seed=0)
    >>> bool((decode(problem, "assignment") == problem.permutation).all())
    True
    """
    method = check_choice("method", method, METHODS)
    problem = check_problem(problem, dtype, device)
    like = problem.input_embeddings
    seen = value_step(problem) if gradient is None else gradient.to(like)
    best = _best_labels(problem, method, seen)
    return _first_matching(best) if method == "assignment" else best.int().argmax(dim=1)


def decoded(problem: Problem, method: str = "argmax") -> float:
    """Compute the fraction of the facts that the method finds; one that ties with k - 1 other
    labels counts 1/k.

    Raises
    ------
    ValueError
        As :func:`decode`.
    """
    problem = check_problem(problem)
    best = _best_labels(problem, check_choice("method", method, METHODS), value_step(problem))
    right = best.gather(1, problem.permutation.to(best.device)[:, None])[:, 0]
    return float((right.double() / best.sum(dim=1)).mean())


def _best_labels(problem: Problem, method: str, gradient: Tensor) -> Tensor:
    """Say which labels the method finds equally good for each token, ``(V tokens, V labels)`` of
    truth values.

    One label, but for ties (:mod:`recallbook.model.ties`). With ``"assignment"``: the labels that
    some best permutation gives the token. With ``"refined"`` one answer, from a path of
    exchanges."""
    if method == "argmax":
        x = token_features(problem)
        seen = Whitened(gradient, problem.output_embeddings, x - x.mean(dim=0))
    else:
        seen = whiten(problem, gradient)
    y, a, b = seen
    scores, slack = b @ y.T @ a.T, logit_slack(a, y, b)
    if method in ("argmax", "whitened"):
        return tied(scores, slack)
    best = admissible(scores, float(slack.max()))
    if method == "refined":
        return functional.one_hot(refine(seen, _first_matching(best)), len(best)).bool()
    return best


def admissible(scores: Tensor, slack: float) -> Tensor:
    r"""Say which labels some permutation with the largest sum of scores gives each token,
    ``(V tokens, V labels)``.

    From one best permutation: prices of labels that make every exchange a loss (Bellman and Ford),
    then the pairs that lose nothing, then those of them on a cycle of exchanges. Costs $O(V^2)$ a
    round, and few rounds."""
    table = scores.cpu().numpy()
    tokens, labels = linear_sum_assignment(table, maximize=True)
    gains = table - table[tokens, labels][:, None]  # of taking another label, before prices
    prices = np.zeros(len(labels))
    for _ in range(len(labels)):
        raised = np.maximum(prices, (prices[labels][:, None] + gains).max(axis=0))
        settled = (raised - prices).max() <= slack
        prices = raised
        if settled:
            break
    free = prices - prices[labels][:, None] - gains <= 2 * slack  # [token, label]
    free[tokens, labels] = True
    _, cycle = connected_components(csr_array(free[:, labels]), directed=True, connection="strong")
    same = np.zeros_like(free)
    same[:, labels] = cycle[:, None] == cycle
    return torch.from_numpy(free & same).to(scores.device)


def _first_matching(best: Tensor) -> Tensor:
    """Choose a permutation of admissible labels, ``(V,)``: the same one wherever the admissible
    labels are the same."""
    labels = maximum_bipartite_matching(csr_array(best.cpu().numpy()), perm_type="column")
    return torch.from_numpy(labels.astype(np.int64)).to(best.device)


def token_features(problem: Problem) -> Tensor:
    r"""Compute the features of the mean sequence that holds token $v$ marked beside average tokens,
    ``(V, d)`` or ``(V, m)``."""
    setting, z = problem.setting, problem.input_embeddings
    law = other_frequencies(setting)
    z_mean = z.mean(dim=0) if np.all(law == law[0]) else torch.from_numpy(law).to(z) @ z
    shared = (setting.seq_len - 1) * z_mean + float(setting.trigger_in_values) * problem.trigger
    return features(problem, (z + shared) / setting.seq_len)


def whiten(problem: Problem, gradient: Tensor) -> Whitened:
    r"""Compute $Y=\sqrt N\,\Sigma_U^{-1/2}G\,\Sigma_X^{-1/2}$, inverse on the range (step 1 of the
    proof of thm-bound-information, at equal frequencies), and both tables in its units.

    $\Sigma_U=\frac1V\tilde U^\top\tilde U$, and $\Sigma_X=\frac LV X^\top X+\bar x\bar x^\top$ with
    $X$ the centred rows $x_v$: the second moment of the mean sequence's features. The other $L-1$
    tokens vary like the informative one, and $\bar x$ carries the frequencies of labels.
    """
    setting, vocab = problem.setting, problem.setting.vocab
    setting.require_equal("gradients are whitened for equal facts and the plain loss")
    u, x = centred_labels(problem), token_features(problem)
    x_mean = x.mean(dim=0)
    rows = torch.cat([(x - x_mean) * (setting.seq_len / vocab) ** 0.5, x_mean[None]])
    u_root = _inverse_root(u / vocab**0.5, min(setting.dim, vocab - 1))
    x_root = _inverse_root(rows, min(setting.feature_dim, vocab))
    root = setting.samples**0.5
    return Whitened(
        root * u_root @ gradient @ x_root, u @ u_root, (x - x_mean) @ x_root * (root / vocab)
    )


def _inverse_root(rows: Tensor, rank: int) -> Tensor:
    r"""Compute the symmetric $(R^\top R)^{-1/2}$ on the ``rank`` strongest directions of the rows;
    algebra says how many there are.

    From singular values of the rows: those of their second moment would lose half of the digits.
    """
    _, sizes, directions = torch.linalg.svd(rows, full_matrices=False)
    keep = (torch.arange(len(sizes), device=sizes.device) < rank) & (sizes > DEGENERATE * sizes[0])
    kept = directions[keep]
    return torch.matmul(kept.T / sizes[keep], kept)


def refine(seen: Whitened, labels: Tensor) -> Tensor:
    r"""Exchange the two labels that raise the likelihood $-\frac12\lVert Y-M_{\pi}\rVert^2$,
    $M_{\pi}=\frac{\sqrt N}V\sum_va_{\pi(v)}b_v^\top$, most until none does, ``(V,)``; one exchange
    costs $O(V^2+Vd)$."""
    y, a, b = seen
    labels = labels.clone()
    distance = torch.cdist(b, b).square()
    for _ in range(MOST_SWAPS * len(labels)):
        facts = a[labels]  # (V, d), row v is a_{pi(v)}
        rest = y - facts.T @ b
        fit = facts @ rest @ b.T  # [v, w]: label of v at token w
        own = fit.diagonal()
        gain = (
            fit + fit.T - own[:, None] - own - 0.5 * torch.cdist(facts, facts).square() * distance
        )
        most = float(gain.max())
        if most <= LEAST_GAIN:
            break
        best = int((gain.flatten() >= most - LEAST_GAIN).nonzero()[0])
        first, second = divmod(best, len(labels))
        labels[[first, second]] = labels[[second, first]]
    return labels
