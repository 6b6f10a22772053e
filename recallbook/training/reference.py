"""The oracle: the three gradient steps by plain autograd through the model, whole batch at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch.nn import functional

from recallbook.arguments import Device, check_rate
from recallbook.data.residuals import loss_weights
from recallbook.data.task import Problem, check_problem
from recallbook.model.transformer import RecallTransformer, Weights


def three_steps(
    problem: Problem,
    eta: float,
    gamma: float,
    *,
    dtype: torch.dtype | None = None,
    device: Device | None = None,
) -> Weights:
    r"""Take the three steps (alg-three-steps, chapter 3) as a user would write them, to check
    :func:`recallbook.three_steps` against.

    Keeps $N\times L\times d$ numbers in memory. Finite rates only: the early-phase limit has no
    gradient of its own."""
    eta, gamma = check_rate("eta", eta), check_rate("gamma", gamma)
    problem = check_problem(problem, dtype, device)

    def gradient(parameter: torch.nn.Parameter) -> torch.Tensor:
        logits = model(problem.tokens, problem.positions)
        weights = loss_weights(problem)
        losses = functional.cross_entropy(logits, problem.labels, weights, reduction="sum")
        return torch.autograd.grad(losses / len(problem.labels), parameter)[0]

    # whatever mode the reader is in, and the problem was drawn in: autograd is what this is for
    with torch.inference_mode(False), torch.enable_grad():
        tensors: dict[str, Any] = {
            k: x.clone() for k, x in vars(problem).items() if isinstance(x, torch.Tensor)
        }
        problem = replace(problem, **tensors)
        model = RecallTransformer(problem)
        # `.data` steps outside autograd, as an optimiser does
        model.value.data -= eta * gradient(model.value)
        value1 = model.value.detach().clone()
        model.key_query.data -= gamma * gradient(model.key_query)
        model.value.data -= gamma * gradient(model.value)
        return Weights(value1, model.key_query.detach(), model.value.detach(), eta, gamma)
