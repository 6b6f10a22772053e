r"""Labels for all tokens from the initial gradient and the embeddings alone.

With $x_v$ the centred features of the mean sequence that holds token $v$, $\mathbb
E\,G=\frac1V\sum_v\tilde u_{\pi(v)}x_v^\top$, and the noise is close to
$\frac1N\,\Sigma_U\otimes\Sigma_X$ (prop-bound-moments, chapter 8; $\Sigma_U$ is $S_U$ at equal
frequencies)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching
from torch import Tensor
from torch.nn import functional

from recallbook.arguments import Device, check_choice
from recallbook.data.residuals import centred_labels
from recallbook.data.streams import stream, uniform_integers
from recallbook.data.task import Problem, check_problem
from recallbook.model.ties import logit_slack, tied
from recallbook.setting import other_frequencies
from recallbook.training.early_phase import value_step
from recallbook.training.gradients import features

METHODS = ("argmax", "whitened", "assignment", "refined", "descent")
TOKEN_LAWS = ("zipf", "other_zipf")
CONTEXTS = 2000  # sets of other tokens; each meets every informative token
PER_FEATURE = 64  # sequences for each feature in the covariance
ENTRIES = 1 << 22  # numbers in one block of features
MOST_SWAPS = 20  # per token; the likelihood rises with each, so this only guards against rounding
LEAST_GAIN = 1e-9  # in the log-likelihood: gains closer than this tie
# singular values below this share of the largest belong to tables with repeated rows
DEGENERATE = 1e-9
# directions of features with less of the largest second moment: what float64 leaves is rounding
SILENT = 1e-10


class FeatureMoments(NamedTuple):
    r"""``means``: $\mathbb E[g\mid v]$, ``(V, m)``. ``covariance``: of $g$ over all tokens, ``(m,
    m)``."""

    means: Float[Tensor, "V m"]
    covariance: Float[Tensor, "m m"]

    @property
    def second(self) -> Float[Tensor, "m m"]:
        r"""$\mathbb E\,gg^\top$."""
        mean = self.means.mean(dim=0)
        return self.covariance + torch.outer(mean, mean)


def feature_moments(
    problem: Problem, contexts: int = CONTEXTS, sequences: int | None = None
) -> FeatureMoments:
    r"""Compute the means given the informative token, and the covariance, of the features of mean
    sequences.

    Without the MLP exact. With it by Monte Carlo from a stream of the problem's own seed that is
    used for nothing else: the same other tokens stand beside every informative token, so that
    differences of means hardly vary, and are exact for a linear activation. The covariance is from
    ``sequences`` others (default: 64 for each feature, and not fewer than ``contexts``), in which
    every token is the informative one equally often. Exact at $L=1$."""
    setting, z = problem.setting, problem.input_embeddings
    setting.require_equal("moments are those of uniform tokens", TOKEN_LAWS)
    vocab, length, size = setting.vocab, setting.seq_len, setting.feature_dim
    if problem.mlp_weights is None:
        z_mean = z.mean(dim=0)
        shared = float(setting.trigger_in_values) * problem.trigger
        beta = (z - z_mean) / length
        means = (z + (length - 1) * z_mean + shared) / length
        return FeatureMoments(means, beta.T @ beta * (length / vocab))
    contexts = contexts if length > 1 else 1
    at_once = max(1, ENTRIES // (vocab * size))
    means, total, second = z.new_zeros(vocab, size), z.new_zeros(size), z.new_zeros(size, size)
    for part in torch.split(_beside(problem, contexts, 0)[:, None], at_once):
        means += _features_beside(problem, part).sum(dim=0) / contexts
    wanted = sequences or max(contexts, PER_FEATURE * size)
    rounds = -(-wanted // vocab) if length > 1 else 1  # in a round each token is informative once
    beside = _beside(problem, rounds * vocab, 1).view(rounds, vocab, -1)
    for part in torch.split(beside, at_once):
        g = _features_beside(problem, part).flatten(0, 1)
        second += g.T @ g / (rounds * vocab)
        total += g.sum(dim=0) / (rounds * vocab)
    return FeatureMoments(means, second - torch.outer(total, total))


def _features_beside(problem: Problem, beside: Float[Tensor, "n _ d"]) -> Float[Tensor, "n V m"]:
    """Compute the features of mean sequences of every informative token beside others of these
    sums."""
    shared = float(problem.setting.trigger_in_values) * problem.trigger
    e_mean = (beside + problem.input_embeddings + shared) / problem.setting.seq_len
    return features(problem, e_mean.flatten(0, 1)).view(*e_mean.shape[:2], -1)


def _beside(problem: Problem, count: int, block: int) -> Float[Tensor, "n d"]:
    """Sum the embeddings of the other tokens, for ``count`` sequences of the reader's own."""
    others = problem.setting.seq_len - 1
    if others == 0:
        return problem.input_embeddings.new_zeros(count, problem.setting.dim)
    drawn = uniform_integers(
        stream(problem.seed, "reader_tokens", block), problem.setting.vocab, count * others
    )
    tokens = torch.from_numpy(drawn.reshape(count, others)).to(problem.device)
    return functional.embedding_bag(tokens, problem.input_embeddings, mode="sum")


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
        t}L\big)$ centred. ``"descent"``: $\arg\max_ku_k^\top G\,g(z_v+\tau t)$, what the model
        answers after one step of gradient descent when attention is exactly on the token, but for
        an output bias. Both may give a label twice, and take tokens of any frequency and any
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
    With the MLP the $x_v$ of ``"argmax"`` is exact to first order in the shift that one token makes; the methods that
    whiten use all features with their means and second moment (:mod:`recallbook_theory.bounds.decoding`). Ours.

    Examples
    --------
    >>> from recallbook import Setting, draw
    >>> problem = draw(Setting(vocab=8, seq_len=2, dim=10, samples=4000, embeddings="orthogonal"), seed=0)
    >>> bool((decode(problem, "assignment") == problem.permutation).all())
    True
    """
    method = check_choice("method", method, METHODS)
    problem = check_problem(problem, dtype, device)
    if method == "refined":
        seen = whiten(problem, _seen(problem, gradient))
        return refine(seen, _first_matching(_best(*_fit(seen), "assignment")))
    best = choices(problem, method, gradient)
    return _first_matching(best) if method == "assignment" else best.int().argmax(dim=1)


def choices(problem: Problem, method: str = "argmax", gradient: Tensor | None = None) -> Tensor:
    """Say which labels the method finds equally good for each token, ``(V tokens, V labels)`` of
    truth values.

    One label, but for ties (:mod:`recallbook.model.ties`). With ``"assignment"``: the labels that
    some best permutation gives the token. :func:`decode` returns the lowest label, or a permutation
    made of such labels.

    Raises
    ------
    ValueError
        As :func:`decode`.
    """
    method = check_choice("method", method, METHODS)
    problem = check_problem(problem)
    if method == "refined":  # a path of exchanges: one answer
        return functional.one_hot(
            decode(problem, method, gradient=gradient), problem.setting.vocab
        ).bool()
    return _best(*_scores(problem, method, _seen(problem, gradient)), method)


def decoded(problem: Problem, method: str = "argmax", gradient: Tensor | None = None) -> float:
    """Compute the fraction of the facts that the method finds; one that ties with k - 1 other
    labels counts 1/k."""
    best = choices(problem, method, gradient)
    right = best.gather(1, problem.permutation.to(best.device)[:, None])[:, 0]
    return float((right.double() / best.sum(dim=1)).mean())


def _seen(problem: Problem, gradient: Tensor | None) -> Tensor:
    return value_step(problem) if gradient is None else gradient.to(problem.device, problem.dtype)


def _scores(problem: Problem, method: str, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Compute how well each label fits each token ``(V tokens, V labels)``, and the slack of ties
    ``(V, 1)``."""
    if method == "descent":
        tau = float(problem.setting.trigger_in_values)
        x = features(problem, problem.input_embeddings + tau * problem.trigger)
    elif method == "argmax":
        x = token_features(problem)
        x = x - x.mean(dim=0)
    else:
        return _fit(whiten(problem, seen))
    return _fit(Whitened(seen, problem.output_embeddings, x))


def _fit(seen: Whitened) -> tuple[Tensor, Tensor]:
    r"""Compute the same, $a_k^\top Yb_v$, from a gradient, whitened or not, with vectors of labels
    and tokens in its units."""
    y, a, b = seen
    return b @ y.T @ a.T, logit_slack(a, y, b)


def _best(scores: Tensor, slack: Tensor, method: str) -> Tensor:
    return admissible(scores, float(slack.max())) if method == "assignment" else tied(scores, slack)


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
    found = maximum_bipartite_matching(csr_array(best.cpu().numpy()), perm_type="column")
    return torch.from_numpy(found.astype(np.int64)).to(best.device)


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
    tokens vary like the informative one, and $\bar x$ carries the frequencies of labels. With the
    MLP $x_v$ and $\Sigma_X$ are from
    :func:`recallbook_theory.bounds.decoding.feature_moments`, and no direction is left out.
    """
    setting, vocab = problem.setting, problem.setting.vocab
    setting.require_equal("gradients are whitened for equal facts and the plain loss")
    u = centred_labels(problem)
    u_root = _inverse_root(u / vocab**0.5, min(setting.dim, vocab - 1))
    if setting.width is None:
        x = token_features(problem)
        x_mean = x.mean(dim=0)
        rows = torch.cat([(x - x_mean) * (setting.seq_len / vocab) ** 0.5, x_mean[None]])
        x_root = _inverse_root(rows, min(setting.dim, vocab))
    else:
        known = feature_moments(problem)
        x, x_mean = known.means, known.means.mean(dim=0)
        sizes, directions = torch.linalg.eigh(known.second)
        keep = sizes > SILENT * sizes[-1]
        x_root = directions[:, keep] / sizes[keep].sqrt() @ directions[:, keep].T
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
