r"""Labels for all tokens from the initial gradient and the embeddings alone.

With $x_v$ the centred features of the mean sequence that holds token $v$, $\mathbb
E\,G=\frac1V\sum_v\tilde u_{\pi(v)}x_v^\top$, and the noise is close to
$\frac1N\,\Sigma_U\otimes\Sigma_X$."""

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

TOKEN_LAWS = ("zipf", "other_zipf")
CONTEXTS = 2000  # sets of other tokens; each meets every informative token
PER_FEATURE = 64  # sequences for each feature in the covariance
ENTRIES = 1 << 22  # numbers in one block of features


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
    r"""Means given the informative token, and the covariance, of the features of mean sequences.

    Without the MLP exact. With it by Monte Carlo from a stream of the problem's own seed that is
    used for nothing else: the same other tokens stand beside every informative token, so that
    differences of means hardly vary, and are exact for a linear activation. The covariance is from
    ``sequences`` others (default: 64 for each feature, and not fewer than ``contexts``), in which
    every token is the informative one equally often. Exact at $L=1$."""
    setting, embeddings = problem.setting, problem.input_embeddings
    setting.require_equal("moments are those of uniform tokens", TOKEN_LAWS)
    vocab, length = setting.vocab, setting.seq_len
    shared = float(setting.trigger_in_values) * problem.trigger
    if problem.mlp_weights is None:
        mean = embeddings.mean(dim=0)
        means = (embeddings + (length - 1) * mean + shared) / length
        centred = (embeddings - mean) / length
        return FeatureMoments(means, centred.T @ centred * (length / vocab))
    contexts = contexts if length > 1 else 1
    means = embeddings.new_zeros(vocab, setting.feature_dim)
    at_once = max(1, ENTRIES // (vocab * setting.feature_dim))
    for part in torch.split(_beside(problem, contexts, 0), at_once):
        located = (part[:, None] + embeddings + shared) / length
        means += (
            features(problem, located.flatten(0, 1)).view(len(part), vocab, -1).sum(dim=0)
            / contexts
        )
    second, total = (
        embeddings.new_zeros(setting.feature_dim, setting.feature_dim),
        torch.zeros_like(means[0]),
    )
    wanted = sequences or max(contexts, PER_FEATURE * setting.feature_dim)
    rounds = -(-wanted // vocab) if length > 1 else 1
    beside = _beside(problem, rounds * vocab, 1).view(
        rounds, vocab, -1
    )  # in a round each token is informative once
    for part in torch.split(beside, at_once):
        seen = features(problem, ((part + embeddings + shared) / length).flatten(0, 1))
        second += seen.T @ seen / (rounds * vocab)
        total += seen.sum(dim=0) / (rounds * vocab)
    return FeatureMoments(means, second - torch.outer(total, total))


def _beside(problem: Problem, count: int, block: int) -> Float[Tensor, "n d"]:
    """Sums of the embeddings of the other tokens, for ``count`` sequences of the reader's own."""
    others = problem.setting.seq_len - 1
    if others == 0:
        return problem.input_embeddings.new_zeros(count, problem.setting.dim)
    drawn = uniform_integers(
        stream(problem.seed, "reader_tokens", block), problem.setting.vocab, count * others
    )
    tokens = torch.from_numpy(drawn.reshape(count, others)).to(problem.device)
    return functional.embedding_bag(tokens, problem.input_embeddings, mode="sum")


METHODS = ("argmax", "whitened", "assignment", "refined", "descent")
MOST_SWAPS = 20  # per token; the likelihood rises with each, so this only guards against rounding
LEAST_GAIN = 1e-9  # in the log-likelihood: gains closer than this tie
DEGENERATE = (
    1e-9  # singular values below this share of the largest belong to tables with repeated rows
)
# directions of features with less of the largest second moment: what float64 leaves is rounding
SILENT = 1e-10


class Whitened(NamedTuple):
    r"""The gradient in units of its noise: $Y=\frac{\sqrt N}V\sum_va_{\pi(v)}b_v^\top+$ noise of
    variance about 1.

    ``observed`` $Y$, ``(d, d)`` or ``(d, m)``; ``labels``, rows $a_k$; ``tokens``, rows
    $\frac{\sqrt N}Vb_v$."""

    observed: torch.Tensor
    labels: torch.Tensor
    tokens: torch.Tensor


def decode(
    problem: Problem,
    method: str = "argmax",
    *,
    gradient: torch.Tensor | None = None,
    dtype: torch.dtype | None = None,
    device: Device | None = None,
) -> torch.Tensor:
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
    whiten use all features with their means and second moment (:mod:`recallbook_bounds.decoding`). Ours.

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


def choices(
    problem: Problem, method: str = "argmax", gradient: torch.Tensor | None = None
) -> torch.Tensor:
    """Which labels the method finds equally good for each token, ``(V tokens, V labels)`` of truth
    values.

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
        return torch.nn.functional.one_hot(
            decode(problem, method, gradient=gradient), problem.setting.vocab
        ).bool()
    return _best(*_scores(problem, method, _seen(problem, gradient)), method)


def decoded(
    problem: Problem, method: str = "argmax", gradient: torch.Tensor | None = None
) -> float:
    """Fraction of the facts that the method finds; one that ties with k - 1 other labels counts
    1/k."""
    best = choices(problem, method, gradient)
    right = best.gather(1, problem.permutation.to(best.device)[:, None])[:, 0]
    return float((right.double() / best.sum(dim=1)).mean())


def _seen(problem: Problem, gradient: torch.Tensor | None) -> torch.Tensor:
    return value_step(problem) if gradient is None else gradient.to(problem.device, problem.dtype)


def _scores(problem: Problem, method: str, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How well each label fits each token ``(V tokens, V labels)``, and the slack of ties ``(V,
    1)``."""
    labels = problem.output_embeddings
    if method == "descent":
        marked = (
            problem.input_embeddings + float(problem.setting.trigger_in_values) * problem.trigger
        )
        asked = features(problem, marked)
    elif method == "argmax":
        asked = token_features(problem)
        asked = asked - asked.mean(dim=0)
    else:
        return _fit(whiten(problem, seen))
    return _fit(Whitened(seen, labels, asked))


def _fit(seen: Whitened) -> tuple[torch.Tensor, torch.Tensor]:
    """The same from a gradient, whitened or not, with vectors of labels and tokens in its units."""
    return seen.tokens @ seen.observed.T @ seen.labels.T, logit_slack(
        seen.labels, seen.observed, seen.tokens
    )


def _best(scores: torch.Tensor, slack: torch.Tensor, method: str) -> torch.Tensor:
    return admissible(scores, float(slack.max())) if method == "assignment" else tied(scores, slack)


def admissible(scores: torch.Tensor, slack: float) -> torch.Tensor:
    r"""Which labels some permutation with the largest sum of scores gives each token, ``(V tokens,
    V labels)``.

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


def _first_matching(best: torch.Tensor) -> torch.Tensor:
    """A permutation of admissible labels ``(V,)``: the same one wherever the admissible labels are
    the same."""
    found = maximum_bipartite_matching(csr_array(best.cpu().numpy()), perm_type="column")
    return torch.from_numpy(found.astype(np.int64)).to(best.device)


def token_features(problem: Problem) -> torch.Tensor:
    r"""Features of the mean sequence that holds token $v$ marked beside average tokens, ``(V, d)``
    or ``(V, m)``."""
    setting, embeddings = problem.setting, problem.input_embeddings
    law = other_frequencies(setting)
    mean = (
        embeddings.mean(dim=0)
        if np.all(law == law[0])
        else torch.from_numpy(law).to(embeddings) @ embeddings
    )
    shared = (setting.seq_len - 1) * mean + float(setting.trigger_in_values) * problem.trigger
    return features(problem, (embeddings + shared) / setting.seq_len)


def whiten(problem: Problem, gradient: torch.Tensor) -> Whitened:
    r"""$Y=\sqrt N\,\Sigma_U^{-1/2}G\,\Sigma_X^{-1/2}$, inverse on the range.

    $\Sigma_U=\frac1V\tilde U^\top\tilde U$, and $\Sigma_X=\frac LV X^\top X+\bar x\bar x^\top$ with
    $X$ the centred rows $x_v$: the second moment of the mean sequence's features. The other $L-1$
    tokens vary like the informative one, and $\bar x$ carries the frequencies of labels. With the
    MLP $x_v$ and $\Sigma_X$ are from
    :func:`recallbook_bounds.decoding.feature_moments`, and no direction is left out.
    """
    setting = problem.setting
    setting.require_equal("gradients are whitened for equal facts and the plain loss")
    labels = centred_labels(problem)
    left = _inverse_root(labels / setting.vocab**0.5, min(setting.dim, setting.vocab - 1))
    if setting.width is None:
        asked = token_features(problem)
        mean = asked.mean(dim=0)
        rows = torch.cat([(asked - mean) * (setting.seq_len / setting.vocab) ** 0.5, mean[None]])
        side = _inverse_root(rows, min(setting.dim, setting.vocab))
    else:
        known = feature_moments(problem)
        asked, mean = known.means, known.means.mean(dim=0)
        sizes, directions = torch.linalg.eigh(known.second)
        keep = sizes > SILENT * sizes[-1]
        side = directions[:, keep] / sizes[keep].sqrt() @ directions[:, keep].T
    centred = asked - mean
    root = setting.samples**0.5
    return Whitened(
        root * left @ gradient @ side, labels @ left, centred @ side * (root / setting.vocab)
    )


def _inverse_root(rows: torch.Tensor, rank: int) -> torch.Tensor:
    r"""Symmetric $(R^\top R)^{-1/2}$ on the ``rank`` strongest directions of the rows; algebra says
    how many there are.

    From singular values of the rows: those of their second moment would lose half of the digits.
    """
    _, sizes, directions = torch.linalg.svd(rows, full_matrices=False)
    keep = (torch.arange(len(sizes), device=sizes.device) < rank) & (sizes > DEGENERATE * sizes[0])
    kept = directions[keep]
    return torch.matmul(kept.T / sizes[keep], kept)


def refine(seen: Whitened, labels: torch.Tensor) -> torch.Tensor:
    """Exchange the two labels that raise the likelihood most until none does; cost of one exchange
    $O(V^2+Vd)$."""
    labels = labels.clone()
    distance = torch.cdist(seen.tokens, seen.tokens).square()
    for _ in range(MOST_SWAPS * len(labels)):
        facts = seen.labels[labels]  # (V, d), row v is a_{pi(v)}
        rest = seen.observed - facts.T @ seen.tokens
        fit = facts @ rest @ seen.tokens.T  # [v, w]: label of v at token w
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
