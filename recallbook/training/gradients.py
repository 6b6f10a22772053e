"""The loss and its exact gradients at any weights, in closed form and in chunks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.activations import differentiated
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
    $-\nabla_{W_{KQ}}\hat{\mathcal L}=k\,z_{\rm EOS}^\top$. ``inputs`` and ``outputs`` are
    $-\nabla_Z\hat{\mathcal L}$ and $-\nabla_U\hat{\mathcal L}$. What was not asked for is zero.
    ``loss`` is $\hat{\mathcal L}$, not a number where predictions were taken as those before the
    first step, and ``attention`` the mean weight on the informative position."""

    value: Float[Tensor, "d m"]
    key: Float[Tensor, " d"]
    inputs: Float[Tensor, "V d"]
    outputs: Float[Tensor, "V d"]
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
    images, pullback = differentiated(problem.setting.phi, located @ problem.mlp_weights.T)
    images = _finite_images(problem, located, images) / scale
    return images, lambda cotangent: pullback(cotangent / scale) @ problem.mlp_weights


def labels_first_is_cheaper(problem: Problem) -> bool:
    """Whether a product with all labels costs less than one with all sequences (Attention-MLP)."""
    return problem.setting.width is not None and problem.setting.vocab < problem.setting.samples


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

    With the residuals $r_i=\omega_{y_i}(e_{y_i}-p_i)$, weights $\omega$ and the bias in $p_i$ from
    :mod:`recallbook.data.residuals`, $b_i=U^\top r_i$, $q_i=J_g(h_i)^\top W_V^\top b_i$,
    $s_{ij}=q_i^\top e'_{ij}$, and $c_{ij}=a_{ij}\big(s_{ij}-\sum_{j'}a_{ij'}s_{ij'}\big)$ by which
    each score would rise,
    $$-\nabla_{W_V}=\frac1N\sum_i b_i\,g(h_i)^\top,\qquad k=\frac1N\sum_{ij}c_{ij}e_{ij},$$
    $$-\nabla_{u_k}=\frac1N\sum_i r_{ik}\,W_V\,g(h_i),\qquad -\nabla_{z_v}=\frac1N\sum_{ij}\mathbf
    1\{x_{ij}=v\}\big(a_{ij}q_i+c_{ij}\,W_{KQ}z_{\rm EOS}\big):$$
    a token is moved as a value and as a key.

    Parameters
    ----------
    value : Tensor ``(d, d)`` or ``(d, m)``, or None
        $W_V$; ``None`` is zero.
    attention_vector : Tensor ``(d,)`` or None
        $W_{KQ}z_{\rm EOS}$; ``None`` is zero.
    wrt : tuple of str
        What is asked for, of ``"value"``, ``"key"`` and ``"tables"``, which is $Z$ and $U$.
    first_predictions : bool
        Take $p_i=c$, the prediction at $W_V=0$ (:mod:`recallbook.data.residuals`), whatever $W_V$
        is: exact at $W_V=0$, the early-phase limit elsewhere.
    chunk : int or None
        Sequences at a time. Cost $O(N(L+V+m)d)$, memory $O(\text{chunk}\cdot\max(V,m,L))$.
    """
    setting, like = problem.setting, problem.input_embeddings
    scores = None if attention_vector is None else attention_scores(problem, attention_vector)
    before, centred = residuals(problem), centred_labels(problem)
    by_label = None  # what each label pulls the features towards (V, m)
    if first_predictions and value is not None and labels_first_is_cheaper(problem):
        by_label = centred @ value
    gradient = like.new_zeros(setting.dim, setting.feature_dim)
    inputs, outputs = torch.zeros_like(like), torch.zeros_like(like)
    token_weights, trigger_weight = like.new_zeros(setting.vocab), like.new_zeros(())
    loss, attention, size = 0.0, 0.0, like.new_zeros(())
    for part in chunks(sequences, chunk_rows(problem, chunk)):
        weights = soft_attention(problem, part, scores)  # (n, L)
        images, pullback = features_and_pullback(problem, attend(problem, part, weights))  # (n, m)
        attention += float(weights.gather(1, part.positions[:, None]).sum())
        if first_predictions or value is None:
            errors = centred[part.labels]  # (n, d)
        else:
            answers = images @ value.T  # (n, d)
            part_loss, rests = loss_and_residuals(problem, part, answers, before)  # (n, V)
            errors = rests @ problem.output_embeddings
            loss += part_loss
        if "value" in wrt:
            gradient += errors.T @ images
        if value is None or wrt == ("value",):
            continue
        pulled = pullback(errors @ value if by_label is None else by_label[part.labels])  # (n, d)
        size = torch.maximum(size, pull_size(problem, pulled))
        pulls = attention_pulls(problem, part, weights, pulled)  # (n, L)
        tokens = part.tokens.long()
        token_weights.scatter_add_(0, tokens.flatten(), pulls.flatten())
        trigger_weight += pulls.gather(1, part.positions[:, None]).sum()
        if "tables" in wrt:
            outputs += rests.T @ answers
            shares = weights.new_zeros(len(tokens), setting.vocab).scatter_add_(1, tokens, weights)
            inputs += shares.T @ pulled  # (V, n) by (n, d)
    count = len(sequences.labels)
    along = token_weights @ problem.input_embeddings + trigger_weight * problem.trigger
    if attention_vector is not None and "tables" in wrt:
        inputs += torch.outer(token_weights, attention_vector)
    return Descent(
        value=gradient / count,
        key=without_rounding(along / count, size),
        inputs=inputs / count,
        outputs=outputs / count,
        loss=math.nan if first_predictions or value is None else loss / count,
        attention=attention / count,
    )


def loss_and_residuals(
    problem: Problem, part: Sequences, outputs: Float[Tensor, "n d"], before: Residuals
) -> tuple[float, Float[Tensor, "n V"]]:
    r"""Summed loss of outputs $W_Vg(h)$ ``(n, d)``, and residuals $\omega_y(e_y-p)$ ``(n, V)``."""
    logits = (outputs @ problem.output_embeddings.T).add_(before.bias)  # (n, V)
    log_probabilities = torch.log_softmax(logits, dim=1)
    weights = before.weights[part.labels][:, None]
    losses = weights * log_probabilities.gather(1, part.labels[:, None])
    loss = -float(losses.masked_fill(weights == 0, 0.0).sum())  # nor 0 times infinity
    rests = log_probabilities.exp_().neg_()
    rests.scatter_add_(1, part.labels[:, None], rests.new_ones(len(part.labels), 1))
    return loss, rests.mul_(weights)


def attention_pulls(
    problem: Problem, part: Sequences, weights: Float[Tensor, "n L"], pulled: Float[Tensor, "n d"]
) -> Float[Tensor, "n L"]:
    r"""How much each score would rise, $a_{ij}(s_{ij}-\sum_{j'}a_{ij'}s_{ij'})$, ``(n, L)``."""
    products = token_products(problem, pulled, part.tokens)
    if problem.setting.trigger_in_values:
        products = add_at(products, part.positions, pulled @ problem.trigger)
    return weights * (products - (weights * products).sum(dim=1, keepdim=True))


def require_finite(*weights: Any) -> None:
    """Raise ``ArithmeticError`` if training has left what floating numbers can hold."""
    if not all(bool(matrix.isfinite().all()) for matrix in weights):
        raise ArithmeticError("weights are not finite: smaller rates are needed")
