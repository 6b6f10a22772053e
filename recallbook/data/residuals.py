r"""What a sequence asks for before anything is learned: residuals, loss weights, the output bias.

The loss is $\frac1N\sum_i\omega_{y_i}\ell_i$ and the model predicts $c=\mathrm{softmax}(b)$ while
$W_V=0$, so there the residual of sequence $i$ is $r_i=\omega_{y_i}(\mathbf 1_{y_i}-c)$
(eq-grad-residual, chapter 4, with weights and bias). Weights and bias are fixed by the problem's
training batch, whatever sequences they are used on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from recallbook.data.task import Problem
from recallbook.setting import fact_frequencies


class Residuals(NamedTuple):
    r"""$\omega$, $b$ (0 without bias) and $c=\mathrm{softmax}(b)$ by label, each ``(V,)``."""

    weights: Float[Tensor, " V"]
    bias: Float[Tensor, " V"]
    prediction: Float[Tensor, " V"]


def residuals(problem: Problem) -> Residuals:
    """Loss weights, output bias and first prediction of the problem's training."""
    weights, like = loss_weights(problem), problem.input_embeddings
    prediction = first_prediction(problem)
    if prediction is None:
        zero = torch.zeros_like(weights)
        return Residuals(weights, zero, zero + 1 / problem.setting.vocab)
    return Residuals(weights, prediction.log().to(like), prediction.to(like))


def loss_weights(problem: Problem) -> Float[Tensor, " V"]:
    r"""$\omega_k$: 1, or $N/(Vn_k)$ with $n_k$ the count of label $k$ in the training batch,
    ``(V,)``; a label that the batch lacks weighs nothing, which matters on fresh batches only."""
    return _float64_weights(problem).to(problem.input_embeddings)


def first_prediction(problem: Problem) -> Float64[Tensor, " V"] | None:
    r"""$c$, what the model predicts before the first step, ``(V,)`` in float64; ``None`` is
    $\mathbf 1/V$ without bias.

    ``"calibrated"`` is the law of labels that training sees in the mean: $p_{\pi^{-1}(k)}$, and
    uniform where batches are balanced or the loss is weighted by inverse counts. ``"trained"``
    minimises the loss of the batch at $W_V=0$: $c_k=\sum_{i:y_i=k}\omega_k/\sum_i\omega_{y_i}$, so
    that $\sum_ir_i=0$."""
    setting = problem.setting
    if setting.output_bias == "trained":
        total = _label_counts(problem) * _float64_weights(problem)
        return total / total.sum()
    uneven = setting.zipf > 0 and not setting.balanced and setting.loss_weights == "equal"
    if setting.output_bias == "none" or not uneven:  # a constant bias does nothing
        return None
    frequencies = np.empty(setting.vocab)
    frequencies[problem.permutation.cpu().numpy()] = fact_frequencies(setting)
    return torch.from_numpy(frequencies).to(problem.device)


def output_bias(problem: Problem) -> Float[Tensor, " V"]:
    r"""$b=\log c$, ``(V,)``: zero without bias, $-\infty$ where a label was not met."""
    return residuals(problem).bias


def centred_labels(problem: Problem) -> Float[Tensor, "V d"]:
    r"""$\tilde u_k=\omega_k(u_k-\sum_jc_ju_j)$, shape ``(V, d)``: the first residual of label $k$
    seen through $U$.

    With equal weights and no bias, $u_k-\bar u$, as in eq-step-one of chapter 3.
    """
    outputs, prediction = problem.output_embeddings, first_prediction(problem)
    mean = outputs.mean(dim=0) if prediction is None else prediction.to(outputs) @ outputs
    if problem.setting.loss_weights == "equal":
        return outputs - mean
    return loss_weights(problem)[:, None] * (outputs - mean)


def onto_labels_(
    problem: Problem,
    table: Float[Tensor, " ..."],
    names: Int64[Tensor, " V"] | None = None,
    *,
    dim: int = 0,
) -> Float[Tensor, " ..."]:
    r"""$R^\top X$ in place, with $\tilde U=RU$, $R=\mathrm{diag}(\omega)(I-\mathbf 1c^\top)$, along
    one axis.

    What the rows of $X$ ask for through the residuals of their labels, added up by output
    embedding; its sum over labels is zero. ``dim`` is the axis of labels, and ``names[i]`` the
    label at place ``i`` of it (``None``: ``i``)."""
    prediction, setting = first_prediction(problem), problem.setting
    if prediction is None and setting.loss_weights == "equal":
        return table.sub_(table.mean(dim=dim, keepdim=True))
    known = residuals(problem)
    along = [-1 if axis == dim else 1 for axis in range(table.ndim)]
    weights, shares = (
        (x if names is None else x[names]).view(along) for x in (known.weights, known.prediction)
    )
    table.mul_(weights)
    return table.addcmul_(shares, table.sum(dim=dim, keepdim=True), value=-1)


def _label_counts(problem: Problem) -> Float64[Tensor, " V"]:
    return torch.bincount(problem.labels, minlength=problem.setting.vocab).double()


def _float64_weights(problem: Problem) -> Float64[Tensor, " V"]:
    counts, setting = _label_counts(problem), problem.setting
    if setting.loss_weights == "equal":
        return torch.ones_like(counts)
    each = len(problem.labels) / (setting.vocab * counts)
    return torch.where(counts > 0, each, torch.zeros_like(counts))
