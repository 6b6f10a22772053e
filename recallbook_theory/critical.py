"""Critical sizes: the fewest sequences and dimensions, the narrowest MLP and the most facts with a
predicted accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property, partial
from typing import Any, Unpack

from scipy.special import lambertw
from tqdm import tqdm

from recallbook.arguments import (
    LARGEST_SIZE,
    check_choice,
    check_choices,
    check_flag,
    check_share,
    check_size,
    not_allowed,
)
from recallbook.result import OUTCOMES
from recallbook.setting import Choices, Setting
from recallbook_theory.prediction import (
    Prediction,
    check_without,
    phase,
    predict,
    theory_of,
    warn_of,
)
from recallbook_theory.search import bracket
from recallbook_theory.theories import SILENT, Asked, Theory

WIDEST = 2**24  # wider MLPs are as good as infinite
# the second where a prediction takes time in proportion to d
LARGEST_DIM, LARGEST_SLOW_DIM = 2**20, 2**13
GRID = 2**0.25  # from one tried vocabulary to the next


class CriticalSize(float):
    """A size that was sought for an ``accuracy``, and the ``setting`` that has it; where no size is enough
    (it is infinite, a capacity 0), the setting has the largest that was tried, of a capacity the one of
    which most facts are known.

    Taken where an integer is asked for, unless it is infinite."""

    setting: Setting
    accuracy: float
    _predicted: Callable[..., Prediction]

    def __new__(
        cls, size: float, setting: Setting, accuracy: float, predicted: Callable[..., Prediction]
    ) -> CriticalSize:
        number = super().__new__(cls, size)
        number.setting, number.accuracy, number._predicted = setting, accuracy, predicted
        return number

    @cached_property
    def prediction(self) -> Prediction:
        """What is predicted at the setting, expected errors with it."""
        return self._predicted(self.setting, warn=False)

    @cached_property
    def why(self) -> str:
        """Say what accuracy is predicted there and how far it is typically off; where no size is enough,
        also which term stands in the way, and how many dimensions would do."""
        reached, error = self.prediction.accuracy, self.prediction.expected_error
        said = f"accuracy {reached:.2f}" + (
            f", typically off by {error.accuracy:.3f}" if error else ""
        )
        if 0 < self < math.inf or not (error and self.prediction.ledger):
            return said
        said += f"; in the way: {phase(self.setting)}"
        if self.setting.width is not None:  # minutes
            return said
        fields = vars(self.setting) | {"accuracy": self.accuracy, "warn": False}
        del fields["dim"]
        enough = critical_dim(**fields)
        dims = f"d = {int(enough)} would do" if math.isfinite(enough) else "no d would do"
        return f"{said}; {dims}"

    def __repr__(self) -> str:
        size = f"{int(self)}" if math.isfinite(self) else "inf"
        return f"{size} ({self.why})"

    def __index__(self) -> int:
        if not math.isfinite(self):
            raise TypeError("no size is enough")
        return int(self)

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        return float, (float(self),)  # results are stored as numbers


def critical_samples(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    *,
    outcome: str = "accuracy",
    value_steps: int = 1,
    rate: float | Sequence[float] | None = None,
    without: Iterable[str] = (),
    warn: bool = True,
    **setting: Unpack[Choices],
) -> CriticalSize:
    """Find the least number of training sequences with at least this predicted accuracy, or other
    ``outcome``: lock-on or recall; infinite where there is none.

    By doubling or halving from ``vocab`` and bisection to one part in a thousand: some 30 predictions, of
    milliseconds each. With unequal facts or structured embeddings to one part in a hundred, counted
    on a terminal: some ten seconds at V = 16, half a minute at 256, six minutes at 1024; as precise with
    several value steps, at their ``rate`` or the best, as :func:`predict` takes both. Terms named
    in ``without`` are left out, as in :func:`predict`. Warns as :func:`predict` does at the number
    found, unless ``warn`` is false.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, a size is bad, a term has no such name, or
        ``samples`` is given, which is what is sought.
    """
    fixed = {"vocab": vocab, "seq_len": seq_len, "dim": dim, **setting}
    low = check_size("vocab", vocab, smallest=2)
    steps: dict[str, Any] = {"value_steps": value_steps, "rate": rate}
    steps["outcome"] = check_choice("outcome", outcome, OUTCOMES)
    return critical("samples", accuracy, fixed, start=low, without=without, warn=warn, **steps)


def critical_dim(
    vocab: int,
    seq_len: int,
    samples: float = math.inf,
    accuracy: float = 0.9,
    *,
    value_steps: int = 1,
    rate: float | Sequence[float] | None = None,
    without: Iterable[str] = (),
    warn: bool = True,
    **setting: Unpack[Choices],
) -> CriticalSize:
    """Find the least embedding dimension with at least this predicted accuracy, by default with as many
    sequences as one likes; infinite where there is none.

    Up to 2^20, with an MLP or several value steps to 2^13. To the unit, or as :func:`critical_samples` does where predictions
    are means over draws, from which the rest is taken, too.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, a size is bad, a term has no such name, or ``dim`` is
        given, which is what is sought.
    """
    many = LARGEST_SIZE if samples == math.inf else samples
    fixed = {"vocab": vocab, "seq_len": seq_len, "samples": many, **setting}
    slow = setting.get("width") is not None or value_steps != 1
    most = LARGEST_SLOW_DIM if slow else LARGEST_DIM
    low = settings_with("dim", fixed)(most).law.least_dim(check_size("vocab", vocab))
    ends: dict[str, Any] = {"start": max(low, 16), "smallest": low, "largest": most}
    steps: dict[str, Any] = {"value_steps": value_steps, "rate": rate}
    return critical("dim", accuracy, fixed, without=without, warn=warn, **ends, **steps)


def critical_width(
    vocab: int,
    seq_len: int,
    dim: int,
    samples: int,
    accuracy: float = 0.9,
    *,
    without: Iterable[str] = (),
    warn: bool = True,
    **setting: Unpack[Choices],
) -> CriticalSize:
    """Find the least width of the MLP with at least this predicted accuracy; infinite where there
    is none.

    By doubling from half of ``dim`` and bisection to one part in a thousand. Terms named in
    ``without`` are left out, as in :func:`predict`. Warns as :func:`predict` does at the width found,
    unless ``warn`` is false.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, a size is bad, a term has no such name, or ``width``
        is given, which is what is sought.
    """
    fixed = {"vocab": vocab, "seq_len": seq_len, "dim": dim, "samples": samples, **setting}
    low = max(1, check_size("dim", dim) // 2)
    ends: dict[str, Any] = {"start": low, "smallest": low, "largest": WIDEST}
    return critical("width", accuracy, fixed, without=without, warn=warn, **ends)


def capacity(
    samples: int,
    seq_len: int,
    dim: int,
    accuracy: float | None = None,
    *,
    vocab: int | None = None,
    value_steps: int = 1,
    rate: float | Sequence[float] | None = None,
    without: Iterable[str] = (),
    warn: bool = True,
    **setting: Unpack[Choices],
) -> CriticalSize:
    r"""Find the largest vocabulary, which is the number of facts, with at least this predicted
    accuracy; 0 where there is none. With ``vocab``: how many of so many facts are known.

    The second is ``vocab`` times the predicted accuracy, rounded, and at least 1, which is chance: a
    mean over draws, which differ up to a hundredfold where attention is partial. What one draw in
    ten knows is shown by simulation. It falls gradually where sequences get too long, while the
    largest vocabulary falls to 0.

    The inverse of :func:`critical_samples`. Accuracy is low at very small $V$ too, where a sequence
    repeats its own token, and above the largest $V$ that reaches it: so vocabularies are tried from
    twice of what coverage allows, $2N/\log\frac1{1-a}$, downwards in steps of $2^{1/4}$ to 2, and
    upwards if already the first reaches it; the first that does is refined by bisection, to one part
    in a thousand. A range of vocabularies narrower than a step may be missed. Some 20 to 70 predictions.
    After several value steps the first is at most where $V\ln V=d^2$, which is beyond their wall,
    and the last within one part in a hundred: some ten predictions of seconds each.

    Parameters
    ----------
    samples, seq_len, dim : int
    accuracy : float
        Between 0 and 1; 0.9 if left out.
    vocab : int
        In place of ``accuracy``.
    value_steps, rate
        As :func:`predict` takes both.
    without : iterable of str
        Names of ledger terms to leave out, as in :func:`predict`.
    warn : bool
        Whether to warn as :func:`predict` does at the vocabulary found.
    **setting
        Other fields of a :class:`Setting`, ``width`` too; facts are equal and embeddings have no
        structure.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed: ``accuracy`` beside ``vocab``, or ``vocab``
        where more facts would have to be tried than :func:`predict` takes.

    Examples
    --------
    >>> capacity(samples=8000, seq_len=64, dim=128)
    427 (accuracy 0.90, typically off by 0.002)
    >>> int(capacity(samples=8000, seq_len=64, dim=128, vocab=1024))
    528
    """
    warn = check_flag("warn", warn)
    setting_of = settings_with(
        "vocab", {"samples": samples, "seq_len": seq_len, "dim": dim, **setting}
    )
    smallest = setting_of(2 if vocab is None else vocab)
    smallest.require_equal("with unequal facts it would take hours")
    if theory_of(smallest).sampled:
        allowed = "a law without structure: with one it would take hours"
        raise not_allowed("embeddings", smallest.embeddings, allowed)
    theory = theory_of(smallest, value_steps=value_steps, rate=rate)
    without = check_without(theory, smallest, without)
    at = partial(predict, value_steps=value_steps, rate=rate, without=without)
    if vocab is not None:
        if accuracy is not None:
            allowed = "left out beside vocab, whose known facts count"
            raise not_allowed("accuracy", accuracy, allowed)
        share = at(smallest, warn=warn).accuracy
        return CriticalSize(max(round(vocab * share), 1), smallest, share, at)
    accuracy = check_share("accuracy", 0.9 if accuracy is None else accuracy)

    tried: dict[int, float] = {}  # accuracy by vocabulary

    def reached(vocab: int) -> bool:
        if smallest.law.least_dim(vocab) > smallest.dim:
            return False
        asked = Asked(without, level=accuracy)
        tried[vocab] = theory.averages(setting_of(vocab), asked).accuracy
        return tried[vocab] >= accuracy

    covered = min(2 * smallest.samples / -math.log1p(-accuracy) + 2, LARGEST_SIZE)
    if theory.sampled:
        covered = min(covered, smallest.dim**2 / float(lambertw(smallest.dim**2).real))
    grid = [2]
    while grid[-1] < covered:
        grid.append(min(max(round(grid[-1] * GRID), grid[-1] + 1), LARGEST_SIZE))
    shown = tqdm(grid[::-1], desc="vocabularies", leave=False, disable=None, delay=SILENT)
    known = next((vocab for vocab in shown if reached(vocab)), 0)
    if not known:
        best = setting_of(max(tried, key=lambda vocab: vocab * tried[vocab], default=2))
        return CriticalSize(0, best, accuracy, at)
    most = bracket(
        lambda vocab: not reached(vocab),
        known if known == grid[-1] else grid[grid.index(known) + 1],
        smallest=known,
        tolerance=_tolerance(theory),
    ).low
    size = CriticalSize(most, setting_of(most), accuracy, at)
    if warn:
        _warned(theory, size, without)
    return size


def critical(
    size: str,
    accuracy: float,
    fixed: Mapping[str, Any],
    *,
    start: int,
    smallest: int = 1,
    largest: int = LARGEST_SIZE,
    outcome: str = "accuracy",
    without: Iterable[str],
    warn: bool,
    **steps: Any,
) -> CriticalSize:
    """Find the least value of a size, beside the ``fixed`` fields of a setting, with this predicted
    accuracy after value ``steps``; from ``smallest`` to ``largest``, from ``start`` on; infinite
    where there is none.

    Raises
    ------
    ValueError
        If the size is among the fixed fields, or an argument is bad.
    """
    setting_of = settings_with(size, fixed)
    accuracy, theory = check_share("accuracy", accuracy), theory_of(setting_of(start), **steps)
    warn = check_flag("warn", warn)
    without = check_without(theory, setting_of(start), without)
    said = "critical size, some 30 predictions"
    # shown on a terminal: at once where each is an average over draws
    delay = 0 if theory.sampled else SILENT
    with tqdm(desc=said, unit="", leave=False, disable=None, delay=delay) as bar:

        def reached(size: int) -> bool:
            bar.update()
            return _reached(theory, setting_of(size), without, accuracy, outcome)

        near = 0.0 if size == "dim" and not theory.sampled else _tolerance(theory)
        least = math.inf
        if size == "dim" or reached(largest):  # more of another size takes no longer
            ends = bracket(reached, start, smallest=smallest, largest=largest, tolerance=near)
            least = ends.high
    at = partial(predict, without=without, **steps)
    if least == math.inf:
        return CriticalSize(least, setting_of(largest), accuracy, at)
    found = CriticalSize(least, setting_of(int(least)), accuracy, at)
    if warn:
        _warned(theory, found, without, level=5)
    return found


def settings_with(size: str, fixed: Mapping[str, Any]) -> Callable[[int], Setting]:
    """Make settings that differ in this size."""
    if size in fixed:
        raise not_allowed(size, fixed[size], "left out: it is what is sought")
    check_choices("keyword", fixed, tuple(field.name for field in fields(Setting)))
    return lambda value: Setting(**{**fixed, size: value})


def _warned(theory: Theory, size: CriticalSize, without: tuple[str, ...], level: int = 4) -> None:
    """Warn as a prediction at this size does."""
    warn_of(theory, size.setting, theory.averages(size.setting, Asked(without)), level=level)


def _reached(
    theory: Theory, setting: Setting, without: tuple[str, ...], level: float, outcome: str
) -> bool:
    """Say whether a predicted outcome is at least the level."""
    near = level if outcome == "accuracy" else None
    asked = Asked(without, recall=outcome != "lock_on", level=near)
    return float(getattr(theory.averages(setting, asked), outcome)) >= level


def _tolerance(theory: Theory) -> float:
    """To which share of itself a critical size or a capacity is found."""
    return 1e-2 if theory.sampled else 1e-3
