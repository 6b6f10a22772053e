r"""The cheapest training run that is predicted to reach an accuracy: how many sequences, dimensions
and neurons.

Everything rests on :func:`recallbook.predict`, three steps in the early-phase limit; nothing here
is proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from tqdm import tqdm

from recallbook.activations import Activation
from recallbook.arguments import (
    LARGEST_SIZE,
    check_flag,
    check_rate,
    check_share,
    check_size,
    not_allowed,
)
from recallbook.setting import Setting
from recallbook.theory import unequal
from recallbook.theory.prediction import WIDEST, predict, reaches, smallest_size
from recallbook.theory.search import bracket

LARGEST_DIM = 2**20
# between dimensions of the frontier; the second where the width varies
GRID, COARSE_GRID = math.sqrt(2), 2.0
REFINED = (2**0.25, 2**0.125, 2**0.0625)  # steps around the cheapest of them
WIDER = (2**0.5,)  # steps of the search over widths
ENOUGH = 0.98  # the frontier ends where a step in d leaves more than this of N


@dataclass(frozen=True)
class Cost:
    r"""What a run costs, in multiplications: those of three steps written out, and what data and
    memory are worth.

    A sequence takes $3d^2+3Ld$ of them, or $7dm+3Ld$ with the MLP: an outer product in steps 1 and
    3 and the pull on the values in step 2, $d$ by $d$ or $d$ by $m$; the MLP there and back; three
    times $L$ inner products in $d$ dimensions.

    Parameters
    ----------
    per_sequence, per_weight : float
        Price of one training sequence, and of one trained weight ($d^2$ in $W_{KQ}$, and $d^2$ or
        $dm$ in $W_V$).
    """

    per_sequence: float = 0.0
    per_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("per_sequence", "per_weight"):
            value = getattr(self, name)
            object.__setattr__(
                self, name, 0.0 if value == 0 else check_rate(name, value, "a number of at least 0")
            )

    def of(self, setting: Setting) -> float:
        """The cost of one run."""
        dim, features = setting.dim, setting.feature_dim
        products = (3 if setting.width is None else 7) * dim * features + 3 * setting.seq_len * dim
        weights = dim * dim + dim * features
        return setting.samples * (products + self.per_sequence) + self.per_weight * weights


@dataclass(frozen=True)
class Place:
    """Sizes with at least the accuracy wanted: its smallest N, and what it costs."""

    dim: int
    width: int | None
    samples: int
    cost: float


@dataclass(frozen=True)
class Plan:
    """What :func:`plan` found.

    ``best`` is the cheapest place, ``None`` where no number of sequences suffices; ``frontier`` the
    smallest N at each dimension of a grid. ``predicted`` is the accuracy at the best,
    ``one_in_ten`` what one draw of embeddings and data in ten stays below there (not a number where
    there is no best), and ``doubled`` the accuracy with twice of one size, by name, half the length
    (``"seq_len"``), or the trigger out of the values (``"trigger_out"``). ``remedies`` says, where
    nothing suffices, what would: the smallest ``dim`` or ``width``, the longest ``seq_len``, the
    ``samples``, the N with the ``trigger_out``; ``None`` for what would not."""

    wanted: float
    best: Place | None
    predicted: float
    frontier: tuple[Place, ...]
    doubled: dict[str, float] = field(default_factory=dict)
    remedies: dict[str, int | None] = field(default_factory=dict)
    one_in_ten: float = math.nan


def plan(
    vocab: int,
    seq_len: int,
    accuracy: float = 0.9,
    *,
    dim: int | None = None,
    samples: int | None = None,
    vary_width: bool = False,
    cost: Cost | None = None,
    **setting: Any,
) -> Plan:
    r"""The cheapest $(N,d)$, or $(N,d,m)$, with this predicted accuracy.

    At each dimension of a grid, :func:`recallbook.critical_samples` gives the smallest N (and,
    where the width varies, a search over widths the cheapest). The cheapest dimension is then
    refined to a few percent. That is some 500 predictions, seconds; so a setting whose prediction
    is an average over draws (unequal facts, structured embeddings) is refused. A terminal shows how
    far it is.

    Parameters
    ----------
    vocab, seq_len : int
    accuracy : float
        Between 0 and 1.
    dim, samples : int or None
        Given where it must not vary. With ``samples`` the smallest dimension (or width) is sought
        that does with it.
    vary_width : bool
        Whether there is an MLP whose width is sought; else ``width`` of the setting is kept.
    cost : Cost or None
        The default counts multiplications.
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
    fixed = {
        "vocab": check_size("vocab", vocab, 2),
        "seq_len": check_size("seq_len", seq_len),
        **setting,
    }
    accuracy = check_share("accuracy", accuracy)
    if check_flag("vary_width", vary_width):
        fixed["width"] = 1  # a placeholder: the MLP is there
    fixed["samples"] = 1 if samples is None else samples
    base = Setting(**fixed, dim=max(LARGEST_DIM, fixed["vocab"] + 2) if dim is None else dim)
    if dim is None and base.law.geometry == "orthonormal":
        dim = base.law.least_dim(base.vocab)  # all dimensions are alike
        base = replace(base, dim=dim)
    if unequal.needs_sampled_theory(base, {}):
        allowed = "one with equal facts and no structure of embeddings: others would take hours"
        raise not_allowed("setting", base, allowed)
    search = _Search(
        base, accuracy, cost or Cost(), dim is not None, samples is not None, vary_width
    )
    several = "plan: dimensions, each some 30 predictions"
    frontier = tuple(tqdm(search.frontier(), desc=several, unit="", leave=False, disable=None))
    if not frontier:
        reached = 0.0 if dim is None or samples is None else predict(base, warn=False).accuracy
        return Plan(accuracy, None, reached, (), remedies=what_would_suffice(search))
    best = search.refined(min(frontier, key=lambda place: place.cost))
    chosen = search.setting(best)
    frontier = tuple(sorted({*frontier, best}, key=lambda place: place.dim))
    there = predict(chosen, warn=False)
    return Plan(
        wanted=accuracy,
        best=best,
        predicted=there.accuracy,
        frontier=frontier,
        doubled=gains(chosen),
        one_in_ten=there.quantile(0.1).accuracy,
    )


@dataclass(frozen=True)
class _Search:
    """What is given and what varies."""

    base: Setting
    wanted: float
    cost: Cost
    dim_given: bool
    samples_given: bool
    vary_width: bool

    @property
    def most_samples(self) -> int:
        return self.base.samples if self.samples_given else LARGEST_SIZE

    @property
    def widest(self) -> int | None:
        return WIDEST if self.vary_width else self.base.width

    @property
    def lowest(self) -> int:
        """The smallest dimension that the law of embeddings allows."""
        return self.base.law.least_dim(self.base.vocab)

    def setting(self, place: Place) -> Setting:
        return replace(self.base, dim=place.dim, width=place.width, samples=place.samples)

    def place(self, dim: int, width: int | None, samples: float) -> Place | None:
        if not math.isfinite(samples):
            return None
        found = Place(dim, width, int(samples), 0.0)
        return replace(found, cost=self.cost.of(self.setting(found)))

    def enough(self, dim: int, samples: int, width: int | None, **other: Any) -> bool:
        return reaches(
            replace(self.base, dim=dim, samples=samples, width=width, **other), self.wanted
        )

    def samples(self, dim: int, width: int | None) -> float:
        """The smallest N, or the one that is given, if it suffices; infinite if none does."""
        if self.samples_given:
            return self.base.samples if self.enough(dim, self.base.samples, width) else math.inf
        return self.least_samples(dim, width)

    def least_samples(self, dim: int, width: int | None) -> float:
        """The smallest N, whatever is given."""
        there = partial(replace, self.base, dim=dim, width=width)
        vocab = self.base.vocab
        return smallest_size(lambda n: there(samples=n), vocab, LARGEST_SIZE, self.wanted)

    def least_width(self, dim: int, activation: str | Activation) -> float:
        """The smallest width that does with the given N, or with any."""
        there = partial(replace, self.base, dim=dim, samples=self.most_samples)
        low = max(1, dim // 2)
        return smallest_size(
            lambda m: there(width=m, activation=activation), low, WIDEST, self.wanted
        )

    def at(self, dim: int, start: int | None = None) -> Place | None:
        """The cheapest place of this dimension, from a first guess of the width."""
        if not self.vary_width:
            return self.place(dim, self.base.width, self.samples(dim, self.base.width))
        least = self.least_width(dim, self.base.activation)
        if least > WIDEST / 4 or self.samples_given:
            return (
                self.place(dim, int(least), self.base.samples)
                if least < math.inf and self.samples_given
                else None
            )
        low = int(least * 1.05) + 1  # at the least width itself no finite N is enough
        found = cache(lambda width: self.place(dim, width, self.samples(dim, width)))
        return found(
            cheapest(lambda width: price(found(width)), max(low, start or 2 * low), low, WIDER)
        )

    def dims(self) -> Iterator[int]:
        """From the smallest dimension that any N makes enough, in steps of the grid."""
        if self.dim_given:
            yield self.base.dim
            return
        least = self.least_dim()
        size = least if self.samples_given and not self.vary_width else 1.1 * least
        while size <= LARGEST_DIM:
            yield math.ceil(size)
            if self.samples_given and not self.vary_width:
                return  # more dimensions only cost more
            size *= COARSE_GRID if self.vary_width else GRID

    def least_dim(self) -> float:
        """The smallest dimension that does with the given N, or with any; infinite where there is
        none."""
        vocab, width, least = self.base.vocab, self.widest, self.lowest
        # neurons are drawn for each
        most = LARGEST_DIM if width is None else min(LARGEST_DIM, 16 * vocab)
        most = max(least, most)
        start = max(least, min(most, max(2, round(math.sqrt(vocab)))))
        enough = partial(self.enough, samples=self.most_samples, width=width)
        return bracket(enough, start, smallest=least, largest=most).high

    def frontier(self) -> Iterator[Place]:
        """The cheapest place of each dimension, until more dimensions hardly save sequences."""
        last: Place | None = None
        for dim in self.dims():
            found = self.at(dim, last.width if last else None)
            if found is None:
                if last is not None:
                    return
                continue
            yield found
            if last and found.samples > ENOUGH * last.samples and found.cost > last.cost:
                return
            last = found

    def refined(self, best: Place) -> Place:
        """The cheapest near the best place of the grid."""
        if self.dim_given or self.samples_given:
            return best
        found = cache(lambda dim: best if dim == best.dim else self.at(dim, best.width))
        steps = REFINED[:1] if self.vary_width else REFINED
        return found(cheapest(lambda dim: price(found(dim)), best.dim, self.lowest, steps)) or best


def gains(chosen: Setting) -> dict[str, float]:
    """Predicted accuracy with twice of one size, half the length, or the trigger out of the
    values."""
    names = ["samples", "dim", *(["width"] if chosen.width else [])]
    changes: dict[str, dict[str, Any]] = {
        name: {name: min(2 * getattr(chosen, name), LARGEST_SIZE)} for name in names
    }
    if chosen.seq_len > 1:
        changes["seq_len"] = {"seq_len": chosen.seq_len // 2}
    if chosen.trigger_in_values:
        changes["trigger_out"] = {"trigger_in_values": False}
    return {
        name: predict(replace(chosen, **change), warn=False).accuracy
        for name, change in changes.items()
    }


def what_would_suffice(search: _Search) -> dict[str, int | None]:
    """One change at a time, with the given N or any; without a given dimension there is none."""
    if not search.dim_given:
        return {}
    base, dim, width = search.base, search.base.dim, search.widest
    enough = partial(search.enough, dim, search.most_samples)
    halves = (base.seq_len >> k for k in range(1, base.seq_len.bit_length()))
    found: dict[str, float | None] = {
        "dim": search.least_dim(),
        "seq_len": next((half for half in halves if enough(width, seq_len=half)), None),
    }
    if not search.vary_width:
        wide = search.least_width(dim, "he3" if width is None else base.activation)
        found["width"] = wide if wide < WIDEST / 4 else None
    if search.samples_given:
        found["samples"] = search.least_samples(dim, base.width)
    if base.trigger_in_values:
        out = replace(search, base=replace(base, trigger_in_values=False), samples_given=False)
        found["trigger_out"] = out.samples(dim, width)
    return {
        name: None if size is None or size == math.inf else int(size)
        for name, size in found.items()
    }


def price(place: Place | None) -> float:
    """Its cost; infinite where there is none."""
    return place.cost if place else math.inf


def cheapest(cost: Callable[[int], float], start: int, low: int, factors: tuple[float, ...]) -> int:
    """A size of at least ``low`` that no step by the last factor, up or down, makes cheaper."""
    best = start
    for factor in factors:
        moved = True
        while moved:
            near = {max(low, round(best * factor)), max(low, round(best / factor))} - {best}
            other = min(near, key=cost, default=best)
            moved = cost(other) < cost(best)
            best = other if moved else best
    return best
