"""Training on one rung of the ladder: several seeds side by side, each on its own fixed set of
sequences; and what is measured of the trained models, the same for every rung."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from recallbook.arguments import Device
from recallbook.data.streams import stream
from recallbook.data.task import Problem, draw
from recallbook.model.ties import credit, tolerance
from recallbook.setting import Setting
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.ch12.models import LadderModel, Written, repeated, write
from recallbook_studies.ch12.rungs import Rung

STEPS, BATCH = 400, 32
TEST = 256  # fresh sequences
COLUMNS = "seed accuracy recall lock_on loss".split()
BETAS, EPSILON = (0.9, 0.999), 1e-8  # of AdamW, as the library has them
WARM_UP = 0.1  # of all steps

Weights = dict[str, Tensor]


class Trained(NamedTuple):
    """``outcomes``: one row for each seed. ``models``: trained.

    Columns: ``accuracy`` on fresh sequences; ``recall``, that on sequences of one token only (a fact
    that cannot be missed); ``lock_on`` of the best head; ``loss`` on the last batch."""

    outcomes: pd.DataFrame
    models: list[LadderModel]


def problem_for(rung: Rung, setting: Setting, seed: int, **kind: Any) -> Problem:
    """The problem of this seed, with the trigger in the values if the rung has it there."""
    return draw(replace(setting, trigger_in_values=rung.marked_values), seed, **kind)


def train(
    rung: Rung,
    setting: Setting,
    seeds: Iterable[int],
    *,
    rate: float | Sequence[float] = 1.0,
    decay: float | Sequence[float] = 0.0,
    steps: int = STEPS,
    batch: int = BATCH,
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
        Learning rate, of all models or of each; for gradient descent a factor on the book's two
        rates, which is 1 for rungs at the book's rates. Not used by three steps, which have none.
    decay : float or sequence of float
        Weight decay of everything that AdamW moves, decoupled: weights shrink by ``rate * decay`` a
        step. Gradient descent has none.
    steps : int
        The same for every N, so that N changes the data and not the time.
    batch : int
        Sequences in a minibatch; all N if they are fewer.

    Returns
    -------
    Trained

    Notes
    -----
    Seeds do not see each other: one alone gives the same up to rounding, which training may amplify.
    """
    problems = [problem_for(rung, setting, seed, dtype=dtype, device=device) for seed in seeds]
    if rung.steps == "three":
        rows = [vars(evaluate(problem, three_steps(problem), test_samples)) for problem in problems]
        return Trained(_outcomes(problems, rows), [])
    models = [LadderModel(rung, problem) for problem in problems]
    everything = {name: one.detach() for name, one in stack_module_state(models)[0].items()}
    moving = {name for name, one in models[0].named_parameters() if one.requires_grad}
    weights = {name: one for name, one in everything.items() if name in moving}
    fixed = {name: one for name, one in everything.items() if name not in moving}
    rates, decays = (
        torch.as_tensor(one, dtype=torch.float64, device=device).expand(len(problems))
        for one in (rate, decay)
    )
    stepper = Stepper(rung, setting, weights, steps=steps, rates=rates, decays=decays)
    slopes, losses = vmap(grad_and_value(partial(_loss, models[0]))), torch.empty(0)
    for part in minibatches(rung, problems, batch, steps):
        gradients, losses = slopes(weights, fixed, part)
        stepper.step(gradients)
    for index, model in enumerate(models):
        model.load_state_dict({name: each[index] for name, each in everything.items()})
    rows = [measured(*pair, test_samples) for pair in zip(models, problems, strict=True)]
    return Trained(_outcomes(problems, rows).assign(loss=losses.tolist()), models)


def _outcomes(problems: list[Problem], rows: list[dict[str, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows).assign(seed=[problem.seed for problem in problems])
    return frame.reindex(columns=COLUMNS)


def _loss(model: LadderModel, weights: Weights, fixed: Weights, written: Written) -> Tensor:
    """Mean cross-entropy of one model at these weights."""
    inputs = (written.tokens, written.marked)
    logits, _ = functional_call(model, {**weights, **fixed}, inputs)
    return nn.functional.cross_entropy(logits, written.labels)


# What each step sees, and how it moves


def minibatches(rung: Rung, problems: list[Problem], batch: int, steps: int) -> Iterator[Written]:
    """What each step sees: sequences of every seed, stacked."""
    setting = problems[0].setting
    batch = setting.samples if rung.data == "full" else batch
    data = [write(problem.sequences, rung.trigger, setting.vocab) for problem in problems]
    order = torch.stack([orders(p.seed, setting.samples, batch, steps) for p in problems])
    for which in order.to(problems[0].device).unbind(dim=1):
        parts = [[tensor[i] for tensor in each] for each, i in zip(data, which, strict=True)]
        yield Written(*map(torch.stack, zip(*parts, strict=True)))


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


def book_rates(setting: Setting) -> dict[str, float]:
    r"""$\eta=LV/200$ for the values and $\gamma=L/20$ for attention: the book's rates beyond three
    steps."""
    return {
        "book.value": setting.seq_len * setting.vocab / 200,
        "book.key_query": setting.seq_len / 20,
    }


def schedule(step: int, steps: int) -> float:
    """Factor of the rate: linear up over the first tenth of the steps, then half a cosine down to
    zero."""
    warm = max(1, math.ceil(WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


class Stepper:
    """Moves stacked weights in place by the rung's optimiser, entry by entry, every model at a rate
    and a decay of its own: no model's step sees another's."""

    def __init__(
        self,
        rung: Rung,
        setting: Setting,
        weights: Weights,
        *,
        rates: Float64[Tensor, " models"],
        decays: Float64[Tensor, " models"],
        steps: int,
    ) -> None:
        plain = rung.optimiser == "sgd"
        own = book_rates(setting) if plain else dict.fromkeys(weights, 1.0)
        self._rates = {name: rates * factor for name, factor in own.items()}
        self._factors = iter([1.0 if plain else schedule(step, steps) for step in range(steps)])
        self._weights, self._decays = weights, 0 * decays if plain else decays
        # the library's optimiser moves zeros at rate 1: it says where to
        self._moves = {name: nn.Parameter(torch.zeros_like(one)) for name, one in weights.items()}
        moves = self._moves.values()
        adamw = torch.optim.AdamW(moves, lr=1.0, betas=BETAS, eps=EPSILON, weight_decay=0.0)
        self._optimiser = torch.optim.SGD(moves, lr=1.0) if plain else adamw

    def step(self, gradients: Weights) -> None:
        """One step down these gradients, stacked like the weights."""
        for name, move in self._moves.items():
            move.data.zero_()
            move.grad = gradients[name]
        self._optimiser.step()
        factor = next(self._factors)
        for name, weight in self._weights.items():
            rates = (factor * self._rates[name]).view(-1, *[1] * (weight.dim() - 1)).to(weight)
            decays = self._decays.view(rates.shape).to(weight)
            weight.mul_(1 - rates * decays).add_(rates * self._moves[name].data)


# What is measured


def measured(model: LadderModel, problem: Problem, test_samples: int) -> dict[str, float]:
    """Outcomes of one trained model."""
    vocab, trigger = problem.setting.vocab, model.rung.trigger
    fresh = write(problem.fresh(test_samples), trigger, vocab)
    facts = write(repeated(problem), trigger, vocab)
    with torch.no_grad():
        logits, seen = model(fresh.tokens, fresh.marked)
        on_facts, _ = model(facts.tokens, facts.marked)
    return {
        "accuracy": share_right(logits, fresh.labels),
        "recall": share_right(on_facts, facts.labels),
        "lock_on": best_lock_on(seen, fresh.informative),
    }


def share_right(logits: Float[Tensor, "n V"], labels: Int64[Tensor, " n"]) -> float:
    """Fraction whose largest logit is the label; a tie among k counts 1/k. Zero where logits are
    not numbers."""
    if not bool(torch.isfinite(logits).all()):
        return 0.0
    slack = tolerance(logits.dtype) * logits.abs().amax(dim=1, keepdim=True)
    return float(credit(logits, labels, slack).mean())


def best_lock_on(
    seen: list[Float[Tensor, "n H asked T"]], informative: Int64[Tensor, " n"]
) -> float:
    """Lock-on of the best head of all layers, seen from the last position: the fraction of sequences
    whose largest weight is at the informative token's position; zero where weights are not numbers.

    In a second layer that is where the token came in: what the first layer copied elsewhere is not
    looked for."""
    heads = [last for weights in seen for last in weights[:, :, -1].unbind(dim=1)]  # (n, T) each
    return max(
        float(credit(last, informative, tolerance(last.dtype)).mean())
        if bool(torch.isfinite(last).all())
        else 0.0
        for last in heads
    )
