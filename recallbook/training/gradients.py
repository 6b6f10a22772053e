"""The loss and its exact gradients at any weights, in closed form and in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.activations import differentiated
from recallbook.arguments import all_finite, check_choices, not_allowed
from recallbook.data.residuals import Residuals, residuals
from recallbook.data.task import Problem, Sequences
from recallbook.model.attention import (
    add_at,
    add_by_key_,
    along_keys,
    attend,
    attention_scores,
    chunk_rows,
    chunks,
    pull_size,
    score,
    token_products,
)
from recallbook.model.ties import without_rounding

MATRICES = ("value", "key_query")


class Descent(NamedTuple):
    r"""Where gradient descent would go, and where it is.

    Minus the gradients of $\hat{\mathcal L}$ in $W_V$ and $W_{KQ}$, each with the shape of what it
    moves; what was not asked for is zero. ``loss`` is $\hat{\mathcal L}$, and ``attention`` the mean
    weight on the informative position."""

    value: Float[Tensor, "d m"]
    key_query: Float[Tensor, "d d"]
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
    if not all_finite(images) and all_finite(located):
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


def descent_directions(
    problem: Problem,
    sequences: Sequences,
    value: Float[Tensor, "d m"],
    attention_vector: Float[Tensor, " d"],
    *,
    wrt: Iterable[str] = MATRICES,
    chunk: int | None = None,
) -> Descent:
    r"""Compute negative gradients of the mean weighted cross-entropy over ``sequences``.

    With the residuals $r_i=\omega_{y_i}(\mathbf 1_{y_i}-p_i)$, weights $\omega$ and the bias in
    $p_i$ from :mod:`recallbook.data.residuals`, the pulls $q_i=J_g(h_i)^\top W_V^\top U^\top r_i$,
    the evidence $\chi_{ij}=q_i^\top e'_{ij}$, and
    $c_{ij}=a_{ij}\big(\chi_{ij}-\sum_{j'}a_{ij'}\chi_{ij'}\big)$, by which each score would rise,
    $$-\nabla_{W_V}=\frac1N\sum_i U^\top r_i\,g(h_i)^\top,\qquad
    -\nabla_{W_{KQ}}=\psi\,z_{\rm EOS}^\top,\quad\psi=\frac1N\sum_{ij}c_{ij}e_{ij}$$
    (eq-grad-value, eq-grad-pull, eq-grad-score and eq-grad-direction, chapter 4, with $g$, weights
    and bias).

    Parameters
    ----------
    value : Tensor ``(d, d)`` or ``(d, m)``
        $W_V$.
    attention_vector : Tensor ``(d,)``
        $w=W_{KQ}z_{\rm EOS}$.
    wrt : iterable of str
        What is asked for, of ``"value"`` and ``"key_query"``; anything else is a ``ValueError``.
    chunk : int or None
        Sequences at a time. Cost $O(N(L+V+m)d)$, memory $O(\text{chunk}\cdot\max(V,m,L))$.
    """
    wrt, setting, like = check_choices("wrt", wrt, MATRICES), problem.setting, problem.query
    scores, before = attention_scores(problem, attention_vector), residuals(problem)
    values, psi = like.new_zeros(setting.dim, setting.feature_dim), like.new_zeros(setting.dim)
    rises, size = like.new_zeros(setting.vocab + 1), like.new_zeros(())
    loss, attention = 0.0, 0.0
    for part in chunks(sequences, chunk_rows(problem, chunk)):
        a = torch.softmax(score(part, scores), dim=1)  # (n, L)
        g, pullback = features_and_pullback(problem, attend(problem, part, a))  # (n, m)
        attention += float(a.gather(1, part.positions[:, None]).sum())
        part_loss, r = loss_and_residuals(problem, part, g @ value.T, before)  # (n, V)
        asked = r @ problem.output_embeddings  # (n, d)
        loss += part_loss
        if "value" in wrt:
            values += asked.T @ g
        if "key_query" in wrt:
            q = pullback(asked @ value)  # (n, d)
            size = torch.maximum(size, pull_size(problem, q))
            add_by_key_(rises, part, score_rises(problem, part, a, q))
    count = len(sequences.labels)
    if "key_query" in wrt:
        psi = without_rounding(along_keys(problem, rises) / count, size)
    return Descent(
        value=values / count,
        key_query=torch.outer(psi, problem.query),
        loss=loss / count,
        attention=attention / count,
    )


def loss_and_residuals(
    problem: Problem, part: Sequences, outputs: Float[Tensor, "n d"], before: Residuals
) -> tuple[float, Float[Tensor, "n V"]]:
    r"""Summed loss of outputs $W_Vg(h)$ ``(n, d)``, and residuals $\omega_y(\mathbf 1_y-p)$ ``(n, V)``
    (eq-grad-loss and eq-grad-residual, chapter 4, with weights and bias)."""
    logits = (outputs @ problem.output_embeddings.T).add_(before.bias)  # (n, V)
    log_probabilities = torch.log_softmax(logits, dim=1)
    weights = before.weights[part.labels][:, None]
    losses = weights * log_probabilities.gather(1, part.labels[:, None])
    loss = -float(losses.masked_fill(weights == 0, 0.0).sum())  # nor 0 times infinity
    rests = log_probabilities.exp_().neg_()
    rests.scatter_add_(1, part.labels[:, None], rests.new_ones(len(part.labels), 1))
    return loss, rests.mul_(weights)


def score_rises(
    problem: Problem, part: Sequences, a: Float[Tensor, "n L"], q: Float[Tensor, "n d"]
) -> Float[Tensor, "n L"]:
    r"""How much each score would rise, $a_{ij}(\chi_{ij}-\sum_{j'}a_{ij'}\chi_{ij'})$, ``(n, L)``
    (eq-grad-score, chapter 4)."""
    chi = token_products(problem, q, part.tokens)
    if problem.setting.trigger_in_values:
        chi = add_at(chi, part.positions, q @ problem.trigger)
    return a * (chi - (a * chi).sum(dim=1, keepdim=True))


def require_finite(*weights: Any) -> None:
    """Raise ``ArithmeticError`` if training has left what floating numbers can hold."""
    if not all(bool(matrix.isfinite().all()) for matrix in weights):
        raise ArithmeticError("weights are not finite: smaller rates are needed")
