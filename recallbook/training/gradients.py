"""The loss and its exact gradients at any weights, in closed form and in chunks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.arguments import not_allowed
from recallbook.data.residuals import Residuals, centred_labels, residuals
from recallbook.data.task import Problem, Sequences
from recallbook.model.attention import (
    add_at,
    attend,
    attention_scores,
    chunk_rows,
    chunks,
    pull_size,
    soft_attention,
    token_products,
)
from recallbook.model.ties import without_rounding


class Descent(NamedTuple):
    r"""Where gradient descent would go, and where it is.

    ``value`` is $-\nabla_{W_V}\hat{\mathcal L}$. ``key`` is the vector $k$ with
    $-\nabla_{W_{KQ}}\hat{\mathcal L}=k\,z_{\rm EOS}^\top$. ``loss`` is $\hat{\mathcal L}$ and
    ``attention`` the mean weight on the informative position. A gradient that was not asked for is
    an empty tensor. ``loss`` is not a number where predictions were taken as those before the first
    step."""

    value: Float[Tensor, "d m"]
    key: Float[Tensor, " d"]
    loss: float
    attention: float


def features(problem: Problem, located: Float[Tensor, "n d"]) -> Float[Tensor, "n m"]:
    r"""$g(h)$: $h$ itself, or $\phi(W_{\rm in}h)/\sqrt m$."""
    if problem.mlp_weights is None:
        return located
    images = problem.setting.phi(located @ problem.mlp_weights.T)
    return _finite_images(problem, located, images).div(problem.mlp_weights.shape[0] ** 0.5)


def _finite_images(
    problem: Problem, located: Float[Tensor, "n d"], images: Float[Tensor, "n m"]
) -> Tensor:
    """Refuse an activation that makes what is not finite of what is."""
    if not bool(images.isfinite().all()) and bool(located.isfinite().all()):
        allowed = "a function that is finite wherever training asks it, which this was not"
        raise not_allowed("activation", problem.setting.activation, allowed)
    return images


def features_and_pullback(
    problem: Problem, located: Float[Tensor, "n d"]
) -> tuple[Float[Tensor, "n m"], Callable[[Tensor], Tensor]]:
    r"""$g(h)$ and the map $b\mapsto J_g(h)^\top b$, row by row."""
    if problem.mlp_weights is None:
        return located, lambda cotangent: cotangent
    scale = problem.mlp_weights.shape[0] ** 0.5
    # only the elementwise phi is differentiated by autograd, so that any callable will do
    images, pullback = torch.func.vjp(problem.setting.phi, located @ problem.mlp_weights.T)[:2]
    return _finite_images(
        problem, located, images
    ) / scale, lambda cotangent: pullback(cotangent / scale)[0] @ problem.mlp_weights


def descent_directions(
    problem: Problem,
    sequences: Sequences,
    value: Float[Tensor, "d m"] | None,
    attention_vector: Float[Tensor, " d"] | None,
    *,
    wrt: tuple[str, ...] = ("value", "key"),
    first_predictions: bool = False,
    chunk: int | None = None,
) -> Descent:
    r"""Negative gradients of the mean weighted cross-entropy over ``sequences``.

    With $b_i=\omega_{y_i}U^\top(e_{y_i}-p_i)$, weights $\omega$ and the bias in $p_i$ from
    :mod:`recallbook.data.residuals`, $q_i=J_g(h_i)^\top W_V^\top b_i$ and $s_{ij}=q_i^\top e'_{ij}$,
    $$-\nabla_{W_V}=\frac1N\sum_i b_i\,g(h_i)^\top,\qquad
    k=\frac1N\sum_{ij}a_{ij}\Big(s_{ij}-\sum_{j'}a_{ij'}s_{ij'}\Big)e_{ij}.$$

    Parameters
    ----------
    value : Tensor ``(d, d)`` or ``(d, m)``, or None
        $W_V$; ``None`` is zero.
    attention_vector : Tensor ``(d,)`` or None
        $W_{KQ}z_{\rm EOS}$; ``None`` is zero.
    first_predictions : bool
        Take $p_i=c$, the prediction at $W_V=0$ (:mod:`recallbook.data.residuals`), whatever $W_V$
        is: exact at $W_V=0$, the early-phase limit elsewhere.
    chunk : int or None
        Sequences at a time. Cost $O(N(L+V+m)d)$, memory $O(\text{chunk}\cdot\max(V,m,L))$.
    """
    scores = None if attention_vector is None else attention_scores(problem, attention_vector)
    before, centred = residuals(problem), centred_labels(problem)
    setting, like = problem.setting, problem.input_embeddings
    want_value = "value" in wrt
    gradient = like.new_zeros(setting.dim, setting.feature_dim if want_value else 0)
    token_weights, trigger_weight = like.new_zeros(setting.vocab), like.new_zeros(())
    loss, attention, size = 0.0, 0.0, like.new_zeros(())
    for part in chunks(sequences, chunk_rows(problem, chunk)):
        weights = soft_attention(problem, part, scores)  # (n, L)
        images, pullback = features_and_pullback(problem, attend(problem, part, weights))  # (n, m)
        if first_predictions or value is None:
            errors = centred[part.labels]  # (n, d)
        else:
            part_loss, part_residuals = loss_and_residuals(problem, part, images @ value.T, before)
            errors = part_residuals @ problem.output_embeddings
            loss += part_loss
        attention += float(weights.gather(1, part.positions[:, None]).sum())
        if want_value:
            gradient += errors.T @ images
        if "key" in wrt and value is not None:
            pulled = pullback(errors @ value)  # (n, d)
            size = torch.maximum(size, pull_size(problem, pulled))
            pulls = attention_pulls(problem, part, weights, pulled)  # (n, L)
            token_weights.scatter_add_(0, part.tokens.flatten().long(), pulls.flatten())
            trigger_weight += pulls.gather(1, part.positions[:, None]).sum()
    count = len(sequences.labels)
    along = token_weights @ problem.input_embeddings + trigger_weight * problem.trigger
    return Descent(
        value=gradient / count,
        key=without_rounding(along / count, size) if "key" in wrt else along[:0],
        loss=math.nan if first_predictions or value is None else loss / count,
        attention=attention / count,
    )


def loss_and_residuals(
    problem: Problem, part: Sequences, outputs: Float[Tensor, "n d"], before: Residuals
) -> tuple[float, Float[Tensor, "n V"]]:
    r"""Summed weighted cross-entropy of outputs $W_Vg(h)$, and the residuals $\omega_y(e_y-p)$,
    shape ``(n, V)``."""
    logits = (outputs @ problem.output_embeddings.T).add_(before.bias)  # (n, V)
    log_probabilities = torch.log_softmax(logits, dim=1)
    weights = before.weights[part.labels][:, None]
    losses = weights * log_probabilities.gather(1, part.labels[:, None])
    loss = -float(
        torch.where(weights > 0, losses, torch.zeros_like(losses)).sum()
    )  # a label that weighs nothing
    rests = log_probabilities.exp_().neg_()
    rests.scatter_add_(1, part.labels[:, None], rests.new_ones(len(part.labels), 1))
    return loss, rests.mul_(weights)


def attention_pulls(
    problem: Problem, part: Sequences, weights: Float[Tensor, "n L"], pulled: Float[Tensor, "n d"]
) -> Float[Tensor, "n L"]:
    r"""$a_{ij}(s_{ij}-\sum_{j'}a_{ij'}s_{ij'})$: how much each score would rise, shape ``(n,
    L)``."""
    products = token_products(problem, pulled, part.tokens)
    if problem.setting.trigger_in_values:
        products = add_at(products, part.positions, pulled @ problem.trigger)
    return weights * (products - (weights * products).sum(dim=1, keepdim=True))


class TableDirections(NamedTuple):
    r"""$-\nabla_Z\hat{\mathcal L}$ and $-\nabla_U\hat{\mathcal L}$."""

    inputs: Float[Tensor, "V d"]
    outputs: Float[Tensor, "V d"]


def embedding_directions(
    problem: Problem,
    sequences: Sequences,
    value: Float[Tensor, "d m"],
    attention_vector: Float[Tensor, " d"],
    *,
    chunk: int | None = None,
) -> TableDirections:
    r"""Negative gradients in the tables of embeddings; trigger, query and MLP are no part of them.

    With $r_i=\omega_{y_i}(e_{y_i}-p_i)$ the residual of sequence $i$, $b_i=U^\top r_i$,
    $w=W_{KQ}z_{\rm EOS}$, and $q_i$, $s_{ij}$, $a_{ij}$ as in ``descent_directions``:
    $$-\nabla_{u_k}=\frac1N\sum_i r_{ik}\,W_V\,g(h_i),\qquad -\nabla_{z_v}=\frac1N\sum_{ij}\mathbf
    1\{x_{ij}=v\}\,a_{ij} \Big(q_i+\big(s_{ij}-\sum_{j'}a_{ij'}s_{ij'}\big)w\Big):$$ a token is
    moved as a value and as a key. Cost $O(NVd)$, memory $O(\text{chunk}\cdot\max(V,m,L))$."""
    scores, before = attention_scores(problem, attention_vector), residuals(problem)
    vocab = problem.setting.vocab
    inputs, outputs = (
        torch.zeros_like(problem.input_embeddings),
        torch.zeros_like(problem.output_embeddings),
    )
    key_weights = inputs.new_zeros(vocab)
    for part in chunks(sequences, chunk_rows(problem, chunk)):
        weights = soft_attention(problem, part, scores)  # (n, L)
        images, pullback = features_and_pullback(problem, attend(problem, part, weights))  # (n, m)
        answers = images @ value.T  # (n, d)
        _, rests = loss_and_residuals(problem, part, answers, before)  # (n, V)
        outputs += rests.T @ answers
        pulled = pullback(rests @ problem.output_embeddings @ value)  # (n, d)
        tokens = part.tokens.long()
        shares = weights.new_zeros(len(tokens), vocab).scatter_add_(1, tokens, weights)  # (n, V)
        inputs += shares.T @ pulled
        pulls = attention_pulls(problem, part, weights, pulled)  # (n, L)
        key_weights.scatter_add_(0, tokens.flatten(), pulls.flatten())
    inputs += torch.outer(key_weights, attention_vector)
    count = len(sequences.labels)
    return TableDirections(inputs / count, outputs / count)


def require_finite(*weights: Any) -> None:
    """Say at once that training has left what floating numbers can hold.

    Raises
    ------
    ArithmeticError
        If a weight is infinite, or none.
    """
    if not all(bool(matrix.isfinite().all()) for matrix in weights):
        raise ArithmeticError("weights are not finite: smaller rates are needed")
