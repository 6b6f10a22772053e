"""Any number of steps by several optimisers, on the weights and on the embeddings."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor
from tqdm import tqdm

from recallbook.arguments import (
    check_choice,
    check_flag,
    check_optional,
    check_rate,
    check_size,
    not_allowed,
)
from recallbook.data.task import Problem, check_problem
from recallbook.memory_needs import require_memory, sequences as sequences_needs, weight_needs
from recallbook.model.transformer import RecallTransformer
from recallbook.training.gradients import (
    MATRICES,
    TABLES,
    check_learned,
    descent_directions,
    require_finite,
)
from recallbook.training.optimizers import OPTIMIZERS


def descend(
    model: RecallTransformer,
    problem: Problem,
    steps: int = 100,
    *,
    eta: float,
    gamma: float,
    batch: int | None = None,
    optimizer: str = "gd",
    learn: Iterable[str] = MATRICES,
    embedding_rate: float | None = None,
    chunk: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Gradient descent on both matrices at once, beyond three steps. Moves ``model`` in place.

    $W_V\leftarrow W_V-\eta\nabla_{W_V}\hat{\mathcal L}$ and $W_{KQ}\leftarrow
    W_{KQ}-\gamma\nabla_{W_{KQ}}\hat{\mathcal L}$, both at the old weights; so do $Z$ and $U$ with a
    rate of their own, if they are learned. Other optimisers put another direction in the gradient's
    place. Loss weights and output bias are fixed by the problem's training batch, also where
    sequences are fresh.

    Parameters
    ----------
    model : RecallTransformer
        Built from the same problem, with whatever weights and embeddings it has.
    eta, gamma : float
        Learning rates of the value matrix and of the key-query matrix.
    batch : int or None
        ``None``: the problem's fixed batch in every step. An integer: that many fresh sequences in
        every step.
    optimizer : str
        ``"gd"`` as above; ``"sign"``, ``"adam"`` or ``"muon"``:
        :mod:`recallbook.training.optimizers`. What Adam and Muon remember of earlier gradients is
        lost at the end of a call.
    learn : iterable of str
        What moves, of ``"value"``, ``"key_query"``, ``"input_embeddings"`` ($Z$) and
        ``"output_embeddings"`` ($U$). Trigger and query stay. Learned embeddings are the model's
        own, and the problem keeps what was drawn.
    embedding_rate : float or None
        Learning rate of $Z$ and $U$; ``None`` is ``eta``.
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
    new_update = OPTIMIZERS[check_choice("optimizer", optimizer, tuple(OPTIMIZERS))]
    rates = _rates(check_learned("learn", learn), eta, gamma, embedding_rate)
    updates = {name: new_update() for name in rates}
    history = []
    for step in tqdm(range(steps), disable=not progress):
        sequences = problem.sequences
        if batch is not None:
            sequences = problem.fresh(batch, role="batch", block=step)
        own = model.problem_as_held(problem)
        at = model.value.data, model.key_query.data @ own.query
        found = descent_directions(own, sequences, *at, wrt=rates, chunk=chunk)
        history.append({"step": step, "loss": found.loss, "attention": found.attention})
        for name, rate in rates.items():
            _move(model, name, rate * updates[name](getattr(found, name)))
        require_finite(*(getattr(model, name).data for name in rates))
    return pd.DataFrame(history)


def _rates(
    learned: tuple[str, ...], eta: float, gamma: float, embedding_rate: float | None
) -> dict[str, float]:
    """The rate of each matrix that is learned."""
    eta, gamma = check_rate("eta", eta), check_rate("gamma", gamma)
    if embedding_rate is not None and not {*TABLES} & {*learned}:
        allowed = "None where neither table of embeddings is learned"
        raise not_allowed("embedding_rate", embedding_rate, allowed)
    of_tables = check_optional(check_rate, "embedding_rate", embedding_rate) or eta
    rates = {"value": eta, "key_query": gamma, **dict.fromkeys(TABLES, of_tables)}
    return {name: rates[name] for name in learned}


def _move(model: RecallTransformer, name: str, step: Float[Tensor, "r c"]) -> None:
    """Add a step to one matrix, as a new tensor: tables at the start are the problem's own."""
    if name in MATRICES:
        parameter = getattr(model, name)
        parameter.data = parameter.data + step
    else:
        setattr(model, name, getattr(model, name) + step)
