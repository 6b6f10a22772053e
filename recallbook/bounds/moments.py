r"""Moments of the features of mean sequences: what a reader of the gradient knows of them before it looks.

$g(\bar e')$ with $\bar e'=\frac1L(z_v+\sum z+\tau t)$, $v$ the informative token and the other $L-1$ uniform.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from recallbook.data.streams import stream, uniform_integers
from recallbook.data.task import Problem
from recallbook.training.gradients import features

TOKEN_LAWS = ("zipf", "other_zipf")
CONTEXTS = 2000  # sets of other tokens; each meets every informative token
PER_FEATURE = 64  # sequences for each feature in the covariance
ENTRIES = 1 << 22  # numbers in one block of features


class FeatureMoments(NamedTuple):
    r"""``means``: $\mathbb E[g\mid v]$, ``(V, m)``. ``covariance``: of $g$ over all tokens, ``(m, m)``."""

    means: Float[Tensor, "V m"]
    covariance: Float[Tensor, "m m"]

    @property
    def second(self) -> Float[Tensor, "m m"]:
        r"""$\mathbb E\,gg^\top$."""
        mean = self.means.mean(dim=0)
        return self.covariance + torch.outer(mean, mean)

    @property
    def between(self) -> Float[Tensor, "m m"]:
        """Scatter of the means over informative tokens."""
        centred = self.means - self.means.mean(dim=0)
        return centred.T @ centred / len(centred)

    @property
    def within(self) -> Float[Tensor, "m m"]:
        """Scatter around the mean given the informative token, averaged over tokens."""
        return self.covariance - self.between


def feature_moments(problem: Problem, contexts: int = CONTEXTS, sequences: int | None = None) -> FeatureMoments:
    r"""Means given the informative token, and the covariance, of the features of mean sequences.

    Without the MLP exact. With it by Monte Carlo from a stream of the problem's own seed that is used for nothing else:
    the same other tokens stand beside every informative token, so that differences of means hardly vary, and are exact
    for a linear activation. The covariance is from ``sequences`` others (default: 64 for each feature, and not fewer
    than ``contexts``), in which every token is the informative one equally often. Exact at $L=1$.
    """
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
        means += features(problem, located.flatten(0, 1)).view(len(part), vocab, -1).sum(dim=0) / contexts
    second, total = embeddings.new_zeros(setting.feature_dim, setting.feature_dim), torch.zeros_like(means[0])
    wanted = sequences or max(contexts, PER_FEATURE * setting.feature_dim)
    rounds = -(-wanted // vocab) if length > 1 else 1
    beside = _beside(problem, rounds * vocab, 1).view(rounds, vocab, -1)  # in a round each token is informative once
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
    drawn = uniform_integers(stream(problem.seed, "reader_tokens", block), problem.setting.vocab, count * others)
    tokens = torch.from_numpy(drawn.reshape(count, others)).to(problem.device)
    return functional.embedding_bag(tokens, problem.input_embeddings, mode="sum")
