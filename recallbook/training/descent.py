"""The three gradient steps on the recall task, exactly or in the early-phase limit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.arguments import (
    Device,
    check_optional,
    check_rates,
    check_size,
    check_value_steps,
    not_allowed,
)
from recallbook.data.task import Problem, Sequences, check_problem
from recallbook.memory_needs import require_memory, weight_needs
from recallbook.model.transformer import Weights
from recallbook.training import early_phase
from recallbook.training.gradients import descent_directions, require_finite


def initial_gradient(
    problem: Problem, *, dtype: torch.dtype | None = None, device: Device | None = None
) -> Float[Tensor, "d m"]:
    r"""Compute minus the gradient of the loss in $W_V$ at zero, all that is seen of the data at
    initialisation (eq-step-one, chapter 3, with $g$).

    $$G=\frac1N\sum_i\tilde u_{y_i}\,g(\bar e'_i)^\top,\qquad \bar e'_i=\frac1L\sum_j e'_{ij},$$
    shape ``(d, d)``, or ``(d, m)`` with the MLP. The gradient in $W_{KQ}$ is zero there.
    """
    return early_phase.value_step(check_problem(problem, dtype, device))


def three_steps(
    problem: Problem,
    eta: float | None = None,
    gamma: float | None = None,
    *,
    value_steps: int = 1,
    rate: float | Sequence[float] | None = None,
    second_batch: Sequences | None = None,
    chunk: int | None = None,
    dtype: torch.dtype | None = None,
    device: Device | None = None,
) -> Weights:
    r"""Take three gradient steps from zero on one fixed batch, values, attention, values
    (alg-three-steps and def-limit, chapter 3). Another optimiser's third step:
    ``dataclasses.replace(weights, value2=step(weights.value2))``.

    $$W_V^{(1)}=-\eta\nabla_{W_V}\hat{\mathcal L}(0,0),\quad
    W_{KQ}^{(1)}=-\gamma\nabla_{W_{KQ}}\hat{\mathcal L}(W_V^{(1)},0),\quad
    W_V^{(2)}=W_V^{(1)}-\gamma\nabla_{W_V}\hat{\mathcal L}(W_V^{(1)},W_{KQ}^{(1)}).$$

    Parameters
    ----------
    eta, gamma : float or None
        Learning rates. Finite and positive: exact, no approximation; those that come close to the
        limit are $\eta=\frac{LV}{100}$, or $\frac1{100}\frac{LVd}{V+d}$ with the trigger in the
        values, and $\gamma=10\ln L\,\frac{L^2V}\eta$ (eq-rates, chapter 3). Both ``None``: the early-phase
        limit, with the predictions before the first step in all three residuals, hard attention
        (equal shares on ties, as the limit of softmax gives them: :mod:`recallbook.model.ties`),
        and weights per unit rate $W_V^{(1)}/\eta$, $W_{KQ}^{(1)}/(\gamma\eta)$, $W_V^{(2)}/\gamma$.
    value_steps : int
        Value steps once attention is found, step 3 included. More than one are taken in the
        early-phase limit of steps 1 and 2, at ``rate`` from zero, with hard attention as step 2
        left it.
    rate : float, sequence of float, or None
        $\eta/V$ of these value steps, the logit that one writes, or one for each step, such as a
        rate that falls; needed for more than one. With one it changes nothing: $W_V^{(2)}$ is given
        per unit rate.
    second_batch : Sequences or None
        What step 2 reads in place of the batch, such as ``problem.fresh(N, role="batch")``.
    chunk : int or None
        Sequences at a time; any value gives the same result up to rounding.
    dtype, device
        Default: the problem's.

    Raises
    ------
    ValueError
        If more value steps lack a rate, or meet finite ``eta`` and ``gamma``, loss weights or an
        output bias; if a second batch meets these two.
    ArithmeticError
        If weights overflow: the rates, or the caller's embeddings, are too large.

    Notes
    -----
    The algorithm is the paper's (public summaries of arXiv 2603.15923); the early-phase limit as a limit of weights
    per unit rate is ours. :func:`recallbook.training.reference.three_steps` is the same by autograd.
    """
    eta, gamma = check_rates(eta, gamma)
    value_steps, rates = check_value_steps(value_steps, rate, eta)
    check_optional(check_size, "chunk", chunk)
    problem = check_problem(problem, dtype, device)
    if (value_steps > 1 or second_batch is not None) and not problem.setting.plain_steps:
        allowed = "without loss weights and output bias where there are more value steps or batches"
        raise not_allowed("setting", problem.setting, allowed)
    second = problem if second_batch is None else problem.with_batch(second_batch, "second_batch")
    require_memory(weight_needs(problem.setting), "three steps")
    value = early_phase.value_step(problem, chunk)  # exact at zero, so both cases start with it
    if eta is None or gamma is None:
        key_query = torch.outer(early_phase.key_query_step(second, value, chunk), problem.query)
        require_finite(value, key_query)
        attention_vector = key_query @ problem.query
        if rates is None or value_steps == 1:
            value2 = early_phase.located_value_step(problem, attention_vector, chunk)
        else:
            steps = early_phase.located_value_steps
            value2 = steps(problem, attention_vector, rates, chunk=chunk)
        require_finite(value2)
        return Weights(value, key_query, value2, None, None)
    value1 = eta * value
    descent, uniform = partial(descent_directions, chunk=chunk), torch.zeros_like(problem.query)
    step2 = descent(second, second.sequences, value1, uniform, wrt=("key_query",))
    key_query = gamma * step2.key_query
    step3 = descent(problem, problem.sequences, value1, key_query @ problem.query, wrt=("value",))
    value2 = value1 + gamma * step3.value
    require_finite(value1, key_query, value2)
    return Weights(value1, key_query, value2, eta, gamma)
