"""Any number of steps of gradient descent."""

from __future__ import annotations

import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import check_flag, check_optional, check_rate, check_size, not_allowed
from recallbook.data.task import Problem, check_problem
from recallbook.memory_needs import require_memory, sequences as sequences_needs, weight_needs
from recallbook.model.transformer import RecallTransformer
from recallbook.training.gradients import descent_directions, require_finite


def descend(
    model: RecallTransformer,
    problem: Problem,
    steps: int = 100,
    *,
    eta: float,
    gamma: float,
    batch: int | None = None,
    chunk: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Move both matrices of ``model``, in place, by gradient descent: any number of steps.

    $W_V\leftarrow W_V-\eta\nabla_{W_V}\hat{\mathcal L}$ and $W_{KQ}\leftarrow
    W_{KQ}-\gamma\nabla_{W_{KQ}}\hat{\mathcal L}$, both at the old weights. Loss weights and output
    bias are fixed by the problem's training batch, also where sequences are fresh.

    Parameters
    ----------
    model : RecallTransformer
        Built from the same problem, with whatever weights and embeddings it has.
    eta, gamma : float
        Learning rates of the value matrix and of the key-query matrix.
    batch : int or None
        ``None``: the problem's fixed batch in every step. An integer: that many fresh sequences in
        every step.
    chunk : int or None
        Sequences at a time.
    progress : bool
        Show a progress bar.

    Returns
    -------
    pandas.DataFrame
        One row for each step, *before* it is taken: ``step``, ``loss`` and ``attention`` (mean
        weight on the informative position) on the sequences of that step.

    Raises
    ------
    ArithmeticError
        If weights overflow: the rates are too large. The model keeps the weights that did.
    """
    if not isinstance(model, RecallTransformer):
        raise not_allowed("model", model, "a recallbook.RecallTransformer")
    problem = check_problem(problem, model.value.dtype, model.value.device)
    if model.setting != problem.setting:
        allowed = f"a model of the problem's own setting, {problem.setting}"
        raise not_allowed("model", model.setting, allowed)
    same = torch.equal(model.trigger, problem.trigger) and torch.equal(model.query, problem.query)
    if not same:
        allowed = "a model of this problem: its trigger and query are others"
        raise not_allowed("model", "of another draw", allowed)
    steps, progress = check_size("steps", steps), check_flag("progress", progress)
    batch = check_optional(check_size, "batch", batch)
    fresh = [] if batch is None else sequences_needs(problem.setting, batch, "batch")
    require_memory([*weight_needs(problem.setting, 5), *fresh], "gradient descent")
    eta, gamma = check_rate("eta", eta), check_rate("gamma", gamma)
    held, history = model.problem_as_held(problem), []
    for step in tqdm(range(steps), disable=not progress):
        sequences = problem.sequences
        if batch is not None:
            sequences = problem.fresh(batch, role="batch", block=step)
        value, key_query = model.value.data, model.key_query.data
        descent = descent_directions(held, sequences, value, key_query @ held.query, chunk=chunk)
        history.append({"step": step, "loss": descent.loss, "attention": descent.attention})
        model.value.data = value + eta * descent.value
        model.key_query.data = key_query + gamma * descent.key_query
        require_finite(model.value.data, model.key_query.data)
    return pd.DataFrame(history)
