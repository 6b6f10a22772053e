r"""The command ``plan``: the cheapest training run that is predicted to reach an accuracy, and what
binds there.

Everything rests on :func:`recallbook.predict`, three steps in the early-phase limit; nothing here
is proved."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from tqdm import tqdm

from recallbook.arguments import LARGEST_SIZE, check_share, check_size, not_allowed
from recallbook.setting import Setting
from recallbook.theory.critical import quick_theory, smallest_size
from recallbook.theory.prediction import phase, predict, reaches
from recallbook.theory.search import bracket
from recallbook_studies.commands.predicting import add_setting, as_json, chosen_fields

LARGEST_DIM = 2**20
LARGEST_RATIO = 16  # of d to V with an MLP, whose neurons are drawn for each prediction
STEPS = (2**0.5, 2**0.25, 2**0.125, 2**0.0625)  # from one dimension to the next, coarse to fine


@dataclass(frozen=True)
class Plan:
    """What :func:`plan` found.

    ``best`` is the cheapest setting with the accuracy ``wanted``, and ``cost`` its cost; both are
    ``None`` where none has it. Of this setting, or else of the largest sizes allowed, ``predicted``
    is the accuracy, ``one_in_ten`` what one draw of embeddings and data in ten stays below, and
    ``binds`` the term whose removal would raise accuracy most (:func:`recallbook.phase`)."""

    wanted: float
    best: Setting | None
    cost: float | None
    predicted: float
    typically_off: float
    one_in_ten: float
    binds: str


def cost_of(setting: Setting) -> float:
    r"""Multiplications of three steps written out.

    A sequence takes $3d^2+3Ld$ of them, or $7dm+3Ld$ with the MLP: an outer product in steps 1 and
    3 and the pull on the values in step 2, $d$ by $d$ or $d$ by $m$; the MLP there and back; three
    times $L$ inner products in $d$ dimensions."""
    matrices = (3 if setting.width is None else 7) * setting.feature_dim
    return float(setting.samples * setting.dim * (matrices + 3 * setting.seq_len))


def plan(
    vocab: int,
    seq_len: int,
    accuracy: float = 0.9,
    *,
    dim: int | None = None,
    samples: int | None = None,
    **setting: Any,
) -> Plan:
    r"""The cheapest $(N,d)$ with this predicted accuracy.

    At each dimension that is tried, the smallest N (:func:`recallbook.critical_samples`), and
    around the cheapest dimension finer steps, down to a few percent. That is some 500 predictions,
    seconds, or with an MLP minutes; dimensions are counted on a terminal. A setting whose
    prediction is an average over draws (unequal facts, structured embeddings) is refused.

    Parameters
    ----------
    vocab, seq_len : int
    accuracy : float
        Between 0 and 1.
    dim, samples : int or None
        Given where it must not vary. With ``samples`` the smallest dimension is sought that does
        with it.
    **setting
        Other fields of a :class:`Setting`.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.

    Examples
    --------
    >>> found = plan(64, 16, dim=96, trigger_in_values=False)
    >>> from recallbook import critical_samples
    >>> found.best.samples == critical_samples(64, 16, 96, trigger_in_values=False)
    True
    """
    accuracy, vocab = check_share("accuracy", accuracy), check_size("vocab", vocab, 2)
    largest = LARGEST_DIM if setting.get("width") is None else LARGEST_RATIO * vocab
    base = Setting(
        vocab=vocab,
        seq_len=seq_len,
        dim=max(largest, vocab + 2) if dim is None else dim,
        samples=LARGEST_SIZE if samples is None else samples,
        **setting,
    )
    least = base.law.least_dim(vocab)
    if dim is None and base.law.geometry == "orthonormal":
        dim = least  # all dimensions are alike
        base = replace(base, dim=dim)
    quick_theory(base)

    bar = tqdm(desc="dimensions tried", unit="", leave=False, disable=None)

    @cache
    def cheapest_at(dim: int) -> Setting | None:
        """The smallest N of a dimension, or the given one if it suffices."""
        bar.update()
        there = replace(base, dim=dim)
        if samples is not None:
            return there if reaches(there, accuracy) else None
        found = smallest_size(lambda n: replace(there, samples=n), accuracy, start=vocab)
        return None if math.isinf(found) else replace(there, samples=int(found))

    def price(dim: int) -> float:
        found = cheapest_at(dim)
        return cost_of(found) if found else math.inf

    chosen = dim
    if chosen is None:
        start = max(least, math.isqrt(vocab))
        suffices = bracket(
            lambda size: bar.update() or reaches(replace(base, dim=size), accuracy),
            start,
            smallest=least,
            largest=base.dim,
        ).high
        if math.isinf(suffices):
            chosen = base.dim
        elif samples is None:
            chosen = cheapest(price, math.ceil(1.1 * suffices), least)
        else:
            chosen = int(suffices)  # more dimensions only cost more
    best = cheapest_at(chosen)
    bar.close()
    there = best or base
    found = predict(there, warn=False)
    return Plan(
        wanted=accuracy,
        best=best,
        cost=cost_of(best) if best else None,
        predicted=found.accuracy,
        typically_off=found.expected_error.accuracy if found.expected_error else math.nan,
        one_in_ten=found.quantile(0.1).accuracy,
        binds=phase(there),
    )


def cheapest(price: Callable[[int], float], start: int, least: int) -> int:
    """A size of at least ``least`` that no step by the last of ``STEPS``, up or down, makes
    cheaper."""
    best = start
    for step in STEPS:
        moved = True
        while moved:
            near = {max(least, round(best * step)), max(least, round(best / step)), best}
            other = min(sorted(near), key=price)
            moved = price(other) < price(best)
            best = other if moved else best
    return best


PLAN = """\
    Find the cheapest number of sequences N and dimension d with this predicted accuracy after three steps, and the term
    that binds there. Cost is counted in multiplications of the three steps, N (3 d d + 3 L d), or with an MLP of
    --width m and --activation N (7 d m + 3 L d). The dimension is found to a few percent. Seconds; with an MLP, whose
    neurons are drawn anew for each dimension, minutes at V = 1,000,000. Unequal facts and embeddings of a structure,
    where each prediction is an average over draws, are refused.

    --json prints one object with the keys wanted, best (the setting) and cost, which are null where nothing suffices,
    and predicted, typically_off, one_in_ten (the accuracy that one draw in ten stays below) and binds (rb.phase) of the
    best setting, or of the largest sizes allowed. The exit status is 1 where nothing suffices."""


def add_plan(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text = textwrap.dedent(PLAN)
    parser = commands.add_parser("plan", help="plan a training run", description=text, **shape)
    add_setting(parser, ("vocab", "seq_len"), ("dim", "samples", "width"))
    parser.options({"accuracy": (float, "A", 0.9, "what to reach (default: 0.9)")})
    parser.set_defaults(run=_plan)


def _plan(chosen: argparse.Namespace) -> int:
    if (chosen.width is None) != (chosen.activation is None):
        raise not_allowed("width", chosen.width, "a size with --activation, and only with it")
    found = plan(**chosen_fields(chosen), accuracy=chosen.accuracy)
    print(as_json(asdict(found)) if chosen.json else _planned(found))
    return 0 if found.best else 1


def _planned(found: Plan) -> str:
    there = f"accuracy {found.predicted:.3f}, typically off by {found.typically_off:.2f}; "
    there += f"one draw in ten below {found.one_in_ten:.2f}"
    if found.best is None:
        first = f"nothing suffices for accuracy {found.wanted:g}; with the largest sizes allowed:"
    else:
        sizes = f"N = {found.best.samples}, d = {found.best.dim}, cost {found.cost:.2g}"
        first = f"cheapest for accuracy {found.wanted:g}: {sizes}"
    return f"{first}\npredicted there: {there}\nwhat binds: {found.binds}"
