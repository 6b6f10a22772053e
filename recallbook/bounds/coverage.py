r"""Coverage: facts that no sequence shows can only be guessed, by every reader of the data; the
larger of two needs.

Given the data, unseen tokens and labels are matched uniformly at random, so of $u>0$ unseen facts
any labels name at most one on average. With $\mu=V(1-\frac1V)^N=\mathbb E\,u$ that leaves at most
$V-\mu+1$ facts. Ours."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from recallbook.arguments import check_size
from recallbook.bounds import information, information_terms as expressions
from recallbook.theory.symbolic.expressions import N, V, numeric


def unseen_allowed(vocab: int, accuracy: float = 1.0, error: float | None = None) -> float:
    r"""Largest mean number $\mu$ of unseen facts with which any reader of the data can be that
    good.

    With ``error=None``, a mean fraction $\alpha$: $\mu\le(1-\alpha)V+1$. With ``error`` $=\delta$,
    at least $a=\lceil\alpha V\rceil$ facts but for an event of probability $\delta$: $\mu\le
    s(s+V-a)$ with $s\ge1$ the root of $(s-1)^2+(V-a)(s-1-\log s)=-\log(1-\delta)$, which is $s=1$
    at $\delta=0$. Necessary, not sufficient: for all facts with certainty no $N$ is enough once
    $V\ge3$, and yet one unseen fact on average is allowed here.

    Raises
    ------
    ValueError
        As :func:`recallbook.bounds.information.required_information`.
    """
    vocab = check_size("vocab", vocab, smallest=2)
    accuracy, error = information.check_accuracy(accuracy), information.check_error(error)
    if error is None:
        return (1 - accuracy) * vocab + 1
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
    r"""Sequences that every reader of the data needs: $N\ge\log\frac V\mu\big/\log\frac V{V-1}$, at
    least 0.

    $\mu$ from :func:`unseen_allowed`. For all facts about $V\log V$. Holds for every reader, three
    steps included.

    Raises
    ------
    ValueError
        As :func:`recallbook.bounds.information.required_information`.
    """
    most = unseen_allowed(vocab, accuracy, error)
    return max(0.0, float(numeric(expressions.coverage())({V: vocab, expressions.unseen: most})))


def covered_accuracy(vocab: int, samples: int) -> float:
    r"""Largest mean fraction of facts that coverage allows:
    $1-\max\big(0,(1-\frac1V)^N-\frac1V\big)$."""
    vocab, samples = check_size("vocab", vocab, smallest=2), check_size("samples", samples)
    unseen = float(numeric(expressions.chance_unseen())({V: vocab, N: samples}))
    return 1 - max(0.0, unseen - 1 / vocab)


def minimum_samples(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    *,
    width: int | None = None,
    error: float | None = None,
    reading_error: float = 1.0,
) -> float:
    r"""Sequences that every reader of the initial gradient needs: the larger of information and
    coverage.

    $$N\ \ge\ \max\Big((V-1)\Big[c\,(L-1)\big(e^{2I/D}-1\big)-1\Big],\ \log\tfrac
    V\mu\Big/\log\tfrac V{V-1}\Big),$$ with $I$ from
    :func:`recallbook.bounds.information.required_information`, $D=\min(d,V-1)^2$ (for the MLP and
    for $N<d$ see :func:`recallbook.bounds.information.information_samples`) and $\mu$ from
    :func:`unseen_allowed`. For all facts, $V\ll N\ll LV$ and large $d<V$ the first is about
    $2LV^2(\log V-1)/d^2$, the second about $V\log V$.

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

    Returns
    -------
    float
        A real number, at least 0; infinite where it exceeds any float.

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
    told = information.information_samples(
        vocab, seq_len, dim, accuracy, width=width, error=error, reading_error=reading_error
    )
    return max(told, coverage_samples(vocab, accuracy, error=error))
