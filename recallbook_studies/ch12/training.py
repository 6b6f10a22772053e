"""Training on one rung of the ladder: several seeds side by side, each on its own fixed set of
sequences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from recallbook.arguments import Device
from recallbook.data.streams import stream
from recallbook.data.task import Problem, draw
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.ch12.measures import best_head, share_right
from recallbook_studies.ch12.models import LadderModel
from recallbook_studies.ch12.rungs import Rung
from recallbook_studies.ch12.updates import Stepper
from recallbook_studies.ch12.writing import Written, repeated, write

STEPS, BATCH = 400, 32
LOOKS = 20  # times that accuracy and attention are measured while training
TEST = 256  # fresh sequences
COLUMNS = "accuracy recall lock_on attention loss".split()


class Trained(NamedTuple):
    """``outcomes``: one row for each seed. ``history``: one for each seed and look. ``models``:
    trained.

    Columns of ``outcomes``: ``accuracy`` on fresh sequences; ``recall``, that on sequences of one
    token only (a fact that cannot be missed); ``lock_on`` and ``attention`` of the best head;
    ``loss`` on the last batch; ``step_lock_on``, the first look at which lock-on was half of the way
    from chance, 1/L, to 1 (not a number: never)."""

    outcomes: pd.DataFrame
    history: pd.DataFrame
    models: list[LadderModel]


class _Stack(NamedTuple):
    """Models side by side: weights that move, and tensors that do not, each with a first axis over
    seeds."""

    model: LadderModel
    weights: dict[str, Tensor]
    fixed: dict[str, Tensor]


def problem_for(rung: Rung, setting: Setting, seed: int, **kind: Any) -> Problem:
    """The problem of this seed, with the trigger in the values if the rung has it there."""
    return draw(replace(setting, trigger_in_values=rung.marked_values), seed, **kind)


def exam(rung: Rung, problem: Problem, test_samples: int) -> list[Written]:
    """Sequences to train on, fresh ones, and for each fact one that repeats its token."""
    vocab, length = problem.setting.vocab, problem.setting.seq_len
    facts = repeated(vocab, length, problem.permutation)
    parts = (problem.sequences, problem.fresh(test_samples), facts)
    return [write(each, rung.trigger, vocab) for each in parts]


def train(
    rung: Rung,
    setting: Setting,
    seeds: Iterable[int],
    *,
    rate: float | Sequence[float] = 1.0,
    decay: float | Sequence[float] = 0.0,
    steps: int = STEPS,
    batch: int = BATCH,
    looks: int = LOOKS,
    test_samples: int = TEST,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
) -> Trained:
    r"""Train the rung's model on N fixed sequences for each seed, and measure it.

    Parameters
    ----------
    rung : Rung
    setting : Setting
        $V,L,d,N$ and how often tokens come (``zipf``); no MLP of its own and none of the remedies
        for unequal facts. Whether values carry the trigger is the rung's to say.
    seeds : iterable of int
        One for each model; a seed may come again, at another rate or decay.
    rate : float or sequence of float
        Learning rate, of all models or of each; for gradient descent a factor on the book's two rates, which is 1 for rungs
        at the book's rates. Not used by three steps, which have none.
    decay : float or sequence of float
        Weight decay of everything that AdamW moves, decoupled: weights shrink by ``rate * decay`` a
        step. Gradient descent has none.
    steps : int
        The same for every N, so that N changes the data and not the time.
    batch : int
        Sequences in a minibatch; all N if they are fewer.
    looks : int
        Measurements while training, evenly spaced.

    Returns
    -------
    Trained

    Notes
    -----
    Seeds do not see each other: one alone gives the same up to rounding, which training may amplify.
    """
    problems = [problem_for(rung, setting, seed, dtype=dtype, device=device) for seed in seeds]
    if rung.steps == "three":
        return _three_steps(problems, test_samples)
    exams = [exam(rung, problem, test_samples) for problem in problems]
    data, fresh, facts = (_stacked(list(parts)) for parts in zip(*exams, strict=True))
    batch = setting.samples if rung.data == "full" else batch
    order = torch.stack([orders(p.seed, setting.samples, batch, steps) for p in problems])
    models = [LadderModel(rung, problem) for problem in problems]
    stack = _stack(models)
    rates, decays = (
        torch.as_tensor(one, dtype=torch.float64, device=device).expand(len(problems))
        for one in (rate, decay)
    )
    stepper = Stepper(rung, setting, stack.weights, steps=steps, rates=rates, decays=decays)

    def loss(weights: dict[str, Tensor], fixed: dict[str, Tensor], written: Written) -> Tensor:
        logits = _logits(stack, weights, fixed, written)[0]
        return torch.nn.functional.cross_entropy(logits, written.labels)

    slopes = vmap(grad_and_value(loss))
    looked = {round(look * steps / looks) for look in range(looks + 1)}
    history: list[dict[str, Any]] = []
    losses = torch.full((len(problems),), math.nan)
    for step in range(steps):
        which = order[:, step].to(data.labels.device)
        part = Written(
            *(torch.stack([t[i] for t, i in zip(each, which, strict=True)]) for each in data)
        )
        gradients, losses = slopes(stack.weights, stack.fixed, part)
        if step in looked:
            history += _look(stack, problems, (fresh, facts), step, losses)
        stepper.step(gradients)
    history += _look(stack, problems, (fresh, facts), steps, losses)
    frame = pd.DataFrame(history)
    for index, model in enumerate(models):
        ends = {**stack.weights, **stack.fixed}.items()
        model.load_state_dict({name: each[index] for name, each in ends})
    return Trained(_outcomes(setting, frame), frame, models)


def _three_steps(problems: list[Problem], test_samples: int) -> Trained:
    found = [vars(evaluate(problem, three_steps(problem), test_samples)) for problem in problems]
    frame = pd.DataFrame(found).assign(seed=[problem.seed for problem in problems])
    return Trained(frame.reindex(columns=["seed", *COLUMNS, "step_lock_on"]), pd.DataFrame(), [])


def orders(seed: int, samples: int, batch: int, steps: int) -> Int64[Tensor, "steps batch"]:
    """Which sequences each step sees: epochs in random order, one after the other, cut into
    batches."""
    if batch >= samples:
        return torch.arange(samples).expand(steps, samples)
    epochs = range(1, 2 + steps * batch // samples)  # block 0 of this stream has drawn the facts
    drawn = [
        np.argsort(stream(seed, "permutation", epoch).random(samples), kind="stable")
        for epoch in epochs
    ]
    return torch.from_numpy(np.concatenate(drawn)[: steps * batch].reshape(steps, batch))


def _stacked(parts: list[Written]) -> Written:
    return Written(*(torch.stack(tensors) for tensors in zip(*parts, strict=True)))


def _stack(models: list[LadderModel]) -> _Stack:
    parameters, buffers = stack_module_state(models)
    moving = {name for name, one in models[0].named_parameters() if one.requires_grad}
    everything = {name: tensor.detach() for name, tensor in {**parameters, **buffers}.items()}
    return _Stack(
        models[0],
        {name: tensor for name, tensor in everything.items() if name in moving},
        {name: tensor for name, tensor in everything.items() if name not in moving},
    )


def _logits(
    stack: _Stack, weights: dict[str, Tensor], fixed: dict[str, Tensor], written: Written
) -> Any:
    """Logits and attention of one model at these weights."""
    return functional_call(stack.model, {**weights, **fixed}, (written.tokens, written.marked))


def _answers(stack: _Stack, written: Written) -> Any:
    with torch.no_grad():
        return vmap(lambda *each: _logits(stack, *each))(stack.weights, stack.fixed, written)


def _look(
    stack: _Stack,
    problems: list[Problem],
    exam: tuple[Written, Written],
    step: int,
    losses: Float[Tensor, " seeds"],
) -> list[dict[str, Any]]:
    """What there is to see at these weights: a row for each run."""
    fresh, facts = exam
    logits, seen = _answers(stack, fresh)
    on_facts = _answers(stack, facts)[0]
    rows = []
    for index, problem in enumerate(problems):
        weights = [layer[index] for layer in seen]
        lock_on, attention = best_head(weights, fresh.informative[index])
        rows.append(
            {
                "run": index,
                "seed": problem.seed,
                "step": step,
                "loss": float(losses[index]),
                "accuracy": share_right(logits[index], fresh.labels[index]),
                "recall": share_right(on_facts[index], facts.labels[index]),
                "lock_on": lock_on,
                "attention": attention,
            }
        )
    return rows


def _outcomes(setting: Setting, history: pd.DataFrame) -> pd.DataFrame:
    """The last look at each run, and when it first locked on."""
    found = history[history["step"] == history["step"].max()].set_index("run")[["seed", *COLUMNS]]
    there = history[history["lock_on"] >= (1 + 1 / setting.seq_len) / 2]
    found["step_lock_on"] = there.groupby("run")["step"].min()
    return found.reset_index(drop=True)
