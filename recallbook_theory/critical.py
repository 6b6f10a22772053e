"""Critical sizes: the fewest sequences, the narrowest MLP and the most facts with a predicted
accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from scipy.special import lambertw
from tqdm import tqdm

from recallbook.arguments import LARGEST_SIZE, check_flag, check_share, check_size, not_allowed
from recallbook.setting import Setting
from recallbook_theory.prediction import check_without, theory_of, warn_of
from recallbook_theory.search import bracket
from recallbook_theory.theories import Theory

WIDEST = 2**24  # wider MLPs are as good as infinite
GRID = 2**0.25  # from one tried vocabulary to the next
EXACT = 1e-3  # to which critical sizes and capacities are found


def critical_samples(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    *,
    value_steps: int = 1,
    rate: float | None = None,
    without: Iterable[str] = (),
    warn: bool = True,
    **setting: Any,
) -> float:
    """Find the least number of training sequences with at least this predicted accuracy; infinite
    where there is none.

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
    _sought("samples", setting)
    low = check_size("vocab", vocab, smallest=2)
    at = partial(Setting, vocab=vocab, seq_len=seq_len, dim=dim, **setting)
    ends = {"start": low, "smallest": 1, "largest": LARGEST_SIZE}
    steps: dict[str, Any] = {"value_steps": value_steps, "rate": rate}
    options: dict[str, Any] = {**ends, **steps, "without": without, "warn": warn}
    return smallest_size(lambda n: at(samples=n), accuracy, **options)


def critical_width(
    vocab: int,
    seq_len: int,
    dim: int,
    samples: int,
    accuracy: float = 0.9,
    *,
    without: Iterable[str] = (),
    warn: bool = True,
    **setting: Any,
) -> float:
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
    _sought("width", setting)
    low = max(1, check_size("dim", dim) // 2)
    at = partial(Setting, vocab=vocab, seq_len=seq_len, dim=dim, samples=samples, **setting)
    ends = {"start": low, "smallest": low, "largest": WIDEST}
    return smallest_size(lambda m: at(width=m), accuracy, **ends, without=without, warn=warn)


def capacity(
    samples: int,
    seq_len: int,
    dim: int,
    accuracy: float | None = None,
    *,
    vocab: int | None = None,
    value_steps: int = 1,
    rate: float | None = None,
    without: Iterable[str] = (),
    warn: bool = True,
    **setting: Any,
) -> int:
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
    value_steps, rate : int, float or None
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
    >>> capacity(samples=8000, seq_len=64, dim=128), capacity(samples=8000, seq_len=1024, dim=128)
    (427, 0)
    >>> capacity(samples=8000, seq_len=64, dim=128, vocab=1024)
    528
    """
    n, warn = check_size("samples", samples), check_flag("warn", warn)
    at = partial(Setting, samples=n, seq_len=seq_len, dim=dim, **setting)
    smallest = at(vocab=2 if vocab is None else vocab)
    theory, law = quick_theory(smallest, value_steps=value_steps, rate=rate), smallest.law
    without = check_without(theory, smallest, without)
    if vocab is not None:
        if accuracy is not None:
            raise not_allowed(
                "accuracy", accuracy, "left out beside vocab, whose known facts count"
            )
        outcomes = theory.averages(smallest, without)
        if warn:
            warn_of(theory, smallest, outcomes)
        return max(round(vocab * outcomes.accuracy), 1)
    accuracy = check_share("accuracy", 0.9 if accuracy is None else accuracy)

    def reached(vocab: int) -> bool:
        if law.least_dim(vocab) > smallest.dim:
            return False
        return theory.averages(at(vocab=vocab), without, level=accuracy).accuracy >= accuracy

    covered = min(2 * n / -math.log1p(-accuracy) + 2, LARGEST_SIZE)
    if theory.sampled:
        covered = min(covered, smallest.dim**2 / float(lambertw(smallest.dim**2).real))
    tried = [2]
    while tried[-1] < covered:
        tried.append(min(max(round(tried[-1] * GRID), tried[-1] + 1), LARGEST_SIZE))
    found = next((vocab for vocab in reversed(tried) if reached(vocab)), 0)
    if not found:
        return 0
    beyond = bracket(
        lambda vocab: not reached(vocab),
        found if found == tried[-1] else tried[tried.index(found) + 1],
        smallest=found,
        tolerance=1e-2 if theory.sampled else EXACT,
    )
    found = beyond.low
    if warn:
        there = at(vocab=found)
        warn_of(theory, there, theory.averages(there, without))
    return found


def quick_theory(setting: Setting, **steps: Any) -> Theory:
    """Choose the theory of a setting after value ``steps``, and refuse one whose predictions after
    one step are averages over draws: searches of hundreds of them."""
    if theory_of(setting).sampled:
        allowed = "one with equal facts and no structure of embeddings: others would take hours"
        raise not_allowed("setting", setting, allowed)
    return theory_of(setting, **steps)


def smallest_size(
    at: Callable[[int], Setting],
    accuracy: float,
    *,
    start: int,
    smallest: int = 1,
    largest: int = LARGEST_SIZE,
    without: Iterable[str] = (),
    warn: bool = False,
    **steps: Any,
) -> float:
    """Find the least size from ``smallest`` to ``largest`` whose setting has this predicted
    accuracy after value ``steps``, from ``start`` on; infinite where there is none."""
    accuracy, theory = check_share("accuracy", accuracy), theory_of(at(start), **steps)
    warn = check_flag("warn", warn)
    without = check_without(theory, at(start), without)
    said = "critical size, some 30 predictions"
    # shown on a terminal where each is an average over draws
    with tqdm(desc=said, unit="", leave=False, disable=None if theory.sampled else True) as bar:

        def reached(size: int) -> bool:
            bar.update()
            return theory.averages(at(size), without, level=accuracy).accuracy >= accuracy

        if not reached(largest):
            return math.inf
        near = 1e-2 if theory.sampled else EXACT
        found = bracket(reached, start, smallest=smallest, largest=largest, tolerance=near).high
    if warn:
        there = at(int(found))
        warn_of(theory, there, theory.averages(there, without), level=4)
    return float(found)


def _sought(name: str, setting: dict[str, Any]) -> None:
    if name in setting:
        raise not_allowed(name, setting[name], "left out: it is what is sought")
