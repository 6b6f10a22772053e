r"""Numbers of sequences that are necessary: coverage for every reader of the data, and the larger of
two needs.

Given the data, unseen tokens and labels are matched uniformly at random, so of $u>0$ unseen facts
any labels name at most one on average. With $\mu=V(1-\frac1V)^N=\mathbb E\,u$ that leaves at most
$V-\mu+1$ facts (prop-bound-coverage, chapter 8). Ours."""

from __future__ import annotations

import math

from recallbook.arguments import check_choice, check_flag, check_size
from recallbook_theory.bounds import information, information_terms as expressions
from recallbook_theory.bounds.necessary import (
    SMALLEST_UNEVEN,
    excluded_samples,
    mean_bias_samples,
)
from recallbook_theory.symbolic.expressions import V, numeric

LEARNERS = ("one gradient", "three steps")


def unseen_allowed(vocab: int, accuracy: float = 1.0, error: float | None = None) -> float:
    r"""Give the largest mean number $\mu$ of unseen facts with which any reader of the data can be
    that good (prop-bound-coverage, chapter 8; prop-bound-coverage-often, its appendix of proofs).

    With ``error=None``, a mean fraction $\alpha$: $\mu\le(1-\alpha)V+1$. With ``error`` $=\delta$,
    at least $a=\lceil\alpha V\rceil$ facts but for an event of probability $\delta$: $\mu\le
    s(s+V-a)$ with $s\ge1$ the root of $(s-1)^2+(V-a)(s-1-\log s)=-\log(1-\delta)$, which is $s=1$
    at $\delta=0$. Necessary, not sufficient: for all facts with certainty no $N$ is enough once
    $V\ge3$, and yet one unseen fact on average is allowed here.

    Raises
    ------
    ValueError
        As :func:`recallbook_theory.bounds.information.required_information`.
    """
    vocab = check_size("vocab", vocab, smallest=2)
    accuracy, error = information.check_accuracy(accuracy), information.check_error(error)
    if error is None:
        return (1 - accuracy) * vocab + 1
    from scipy.optimize import brentq  # slow to load, and rarely needed

    spare = vocab - information.whole_facts(vocab, accuracy)
    doubt = -math.log1p(-error)
    # at the upper end the square alone is as large as the doubt
    root = brentq(
        lambda s: (s - 1) ** 2 + spare * (s - 1 - math.log(s)) - doubt,
        1.0,
        1 + math.sqrt(doubt) + 1e-9,
    )
    return float(root * (root + spare)) if error else 1.0 + spare


def coverage_samples(vocab: int, accuracy: float = 1.0, *, error: float | None = None) -> float:
    r"""Count the sequences that every reader of the data needs: $N\ge\log\frac V\mu\big/\log\frac
    V{V-1}$, at least 0 (second line of eq-bound, chapter 8).

    $\mu$ from :func:`unseen_allowed`. For all facts about $V\log V$. Holds for every reader, three
    steps included.

    Raises
    ------
    ValueError
        As :func:`recallbook_theory.bounds.information.required_information`.
    """
    most = unseen_allowed(vocab, accuracy, error)
    return max(0.0, float(numeric(expressions.coverage())({V: vocab, expressions.unseen: most})))


def covered_accuracy(vocab: int, samples: int) -> float:
    r"""Give the largest mean fraction of facts that coverage allows:
    $1-\max\big(0,(1-\frac1V)^N-\frac1V\big)$."""
    vocab, samples = check_size("vocab", vocab, smallest=2), check_size("samples", samples)
    return 1 - max(0.0, (1 - 1 / vocab) ** samples - 1 / vocab)


def minimum_samples(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    *,
    width: int | None = None,
    error: float | None = None,
    reading_error: float = 1.0,
    learner: str = "one gradient",
    trigger_in_values: bool | None = None,
) -> float:
    r"""Count the sequences that every reader of the initial gradient needs (cor-bound, chapter 8),
    or that three steps need (thm-three-need): the larger of two needs, one of which is coverage.

    $$N\ \ge\ \max\Big((V-1)\Big[c\,(L-1)\big(e^{2I/D}-1\big)-1\Big],\ \log\tfrac
    V\mu\Big/\log\tfrac V{V-1}\Big),$$ with $I$ from
    :func:`recallbook_theory.bounds.information.required_information`, $D=\min(d,V-1)^2$ (for the MLP and
    for $N<d$ see :func:`recallbook_theory.bounds.information.information_samples`) and $\mu$ from
    :func:`unseen_allowed`. For all facts, $V\ll N\ll LV$ and large $d<V$ the first is about
    $2LV^2(\log V-1)/d^2$, the second about $V\log V$. For three steps mean bias takes the place of
    information: about $6.6\sqrt{\alpha-\frac12}\,L^2\sqrt V/d^{3/2}$
    (:func:`recallbook_theory.bounds.necessary.mean_bias_samples`).

    Parameters
    ----------
    vocab, seq_len, dim : int
    accuracy : float
        Fraction of facts, above 0 and at most 1; by default that of
        :func:`recallbook.critical_samples`.
    width : int or None
        Width of the MLP.
    error : float or None
        ``None``: that fraction on average. From 0 to below 1: at least that fraction but for an
        event of this probability, so 0 is always. At ``accuracy=1`` both ask for $\log V!$ nats and
        for at most one unseen fact on average.
    reading_error : float
        $c$: the reader sees $G$ with an independent Gaussian error of $c$ times the covariance of
        its noise. Has no meaning at $L=1$, where there is no noise: only coverage is left.
    learner : str
        ``"one gradient"``: any reader of it. ``"three steps"``: the three steps of the early-phase
        limit with Gaussian embeddings; ``accuracy`` is then that on fresh sequences, and ``error``
        asks for $1-\delta$ of it on average. Equal facts and loss weights, sequences drawn
        independently (not balanced), no output bias. With the MLP coverage alone.
    trigger_in_values : bool or None
        For three steps; ``None``: what holds for both. With it, label frequencies are asked, too,
        where every sequence is proved to lock (cor-label-frequencies).

    Returns
    -------
    float
        A real number, at least 0; infinite where it is near the largest float or beyond.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.

    Notes
    -----
    Proved, in the chapter on lower bounds; with the MLP the first is proved for a stand-in, the gradient's mean plus
    the reading error. Necessary, not sufficient: for all facts with certainty no $N$ is enough. The second holds for
    readers of anything computed from the batch. Ours: neither constants nor assumption are from arXiv 2603.15923.

    Examples
    --------
    >>> round(minimum_samples(vocab=256, seq_len=128, dim=128, accuracy=1.0))
    4704
    >>> round(minimum_samples(vocab=256, seq_len=16, dim=128, accuracy=1.0))  # coverage
    1417
    """
    vocab, seq_len, dim, width = information.check_sizes(vocab, seq_len, dim, width)
    information.check_noise(reading_error)
    flags = [False, True]
    if trigger_in_values is not None:
        flags = [check_flag("trigger_in_values", trigger_in_values)]
    shown = coverage_samples(vocab, accuracy, error=error)
    if check_choice("learner", learner, LEARNERS) == "one gradient":
        told = information.information_samples(
            vocab, seq_len, dim, accuracy, width=width, error=error, reading_error=reading_error
        )
        return max(told, shown)
    mean = float(accuracy) * (1 - float(error or 0))
    shown = coverage_samples(vocab, mean)
    if width is not None or shown < vocab:  # what is proved of mean bias holds from V on
        return shown
    return min(_three_steps((vocab, seq_len, dim), mean, shown, flag) for flag in flags)


def _three_steps(of: tuple[int, int, int], accuracy: float, shown: float, flag: bool) -> float:
    """Count what three steps need of sequences, at least ``shown``, with the trigger in the values
    or without."""
    least = max(shown, mean_bias_samples(*of, accuracy, flag))
    if not flag or of[0] < SMALLEST_UNEVEN or of[1] == 1:
        return least
    first, last = excluded_samples(*of, accuracy)
    return last if first <= least < last else least
