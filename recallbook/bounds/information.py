r"""What estimators that see the gradients at initialisation can reach when these are seen through Gaussian noise.

At zero weights $\nabla_{W_{KQ}}\hat{\mathcal L}=0$, so the gradient in $W_V$ is all there is to see. Given the labels
its noise has a known covariance; the bounds hold for Gaussian noise of that covariance, and say nothing of an exact
$G$: see :mod:`recallbook.bounds.lattice`. Formulas: :mod:`recallbook.bounds.expressions`. Ours.
"""

from __future__ import annotations

import math
from typing import Any

from scipy.special import gammaln, lambertw

from recallbook.arguments import check_rate, check_size, not_allowed
from recallbook.bounds import expressions
from recallbook.theory.symbolic.expressions import L, N, V, d, m, numeric

FRACTION = "a number above 0 and at most 1"


def required_information(vocab: int, accuracy: float = 1.0, error: float | None = None) -> float:
    r"""Nats about the facts without which no estimator is that good.

    With ``error=None``: for a mean fraction $\alpha$ of the $V$ facts, $\alpha V(\log\alpha V-1)+1$ and at least 0,
    or $\log V!$ for all. With ``error`` $=\delta$: to have at least $a=\lceil\alpha V\rceil$ facts right but for an
    event of probability $\delta$, Fano's $(1-\delta)\log a!-h(\delta)$ with $h$ the entropy of a coin. Labels
    need not be a permutation.

    Raises
    ------
    ValueError
        ``vocab`` not a size of at least 2, ``accuracy`` not above 0 and at most 1, ``error`` not between 0 and 1.
    """
    vocab, accuracy, error = check_size("vocab", vocab, smallest=2), check_accuracy(accuracy), check_error(error)
    facts = accuracy * vocab
    if error is not None:
        # a fraction that meets a whole number of facts up to rounding asks for that many
        known = {expressions.named: math.ceil(facts * (1 - 1e-12)), expressions.error: error}
        return max(0.0, float(numeric(expressions.fano())(known)))
    if accuracy == 1:
        return float(gammaln(vocab + 1))
    return _some_facts(facts) if facts > 1 else 0.0


def available_information(vocab: int, seq_len: int, dim: int, samples: int, width: int | None = None) -> float:
    r"""Nats about the facts in the initial gradient: at most $\frac D2\log\big(1+\frac{N+V-1}{(L-1)(V-1)}\big)$.

    $D=\min(d,V-1)^2$, or $\min(d,V-1)\min(m,V-1)$ with the MLP, whatever its activation. Infinite at $L=1$: there is no
    noise then. Holds on average over embeddings and batches, for embeddings of any law.

    Raises
    ------
    ValueError
        Names the size, its value and what is allowed.
    """
    vocab, seq_len, dim, width = _check_sizes(vocab, seq_len, dim, width)
    samples = check_size("samples", samples)
    if seq_len == 1:
        return math.inf
    sizes = {V: vocab, N: samples, L: seq_len, expressions.directions: _directions(vocab, dim, width)}
    return float(numeric(expressions.available())(sizes))


def maximum_accuracy(vocab: int, seq_len: int, dim: int, samples: int, width: int | None = None) -> float:
    r"""Largest mean fraction of facts that :func:`available_information` allows; at least $\frac1V$, a guess."""
    nats = available_information(vocab, seq_len, dim, samples, width)
    return allowed_accuracy(vocab, nats)


def allowed_accuracy(vocab: int, nats: float) -> float:
    r"""Largest mean fraction of facts that so many nats allow, at least $\frac1V$; inverts the need on average."""
    vocab = check_size("vocab", vocab, smallest=2)
    if not nats >= 0:
        raise not_allowed("nats", nats, "a number of at least 0")
    if nats >= _some_facts(vocab):
        return 1.0
    facts = math.exp(1 + lambertw((nats - 1) / math.e).real)  # solves a (log a - 1) + 1 = nats
    return min(1.0, max(1.0, facts) / vocab)


def minimum_samples(
    vocab: int, seq_len: int, dim: int, accuracy: float = 1.0, *, width: int | None = None, error: float | None = None
) -> float:
    r"""The information bound, solved for $N$: no estimator from the initial gradient does with fewer sequences.

    $$N\ \ge\ (V-1)\Big[(L-1)\big(e^{2I/D}-1\big)-1\Big],$$
    at least 0, with $I$ from :func:`required_information` and $D$ as in :func:`available_information`. For all facts,
    $V\ll N\ll LV$ and large $d<V$ this is about $Nd^2\ge2LV^2(\log V-1)$. Infinite where it exceeds any float.

    Parameters
    ----------
    vocab, seq_len, dim : int
    accuracy : float
        Mean fraction of facts, above 0 and at most 1.
    width : int or None
        Width of the MLP.
    error : float or None
        Ask for at least that fraction but for an event of this probability, instead of on average.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.

    Notes
    -----
    The observation is the gradient with Gaussian noise; an exact gradient evades the bound. Derived in the chapter on
    lower bounds. Ours: neither the constant nor the assumption is taken from arXiv 2603.15923.

    Examples
    --------
    >>> round(minimum_samples(vocab=256, seq_len=16, dim=128))
    331
    """
    vocab, seq_len, dim, width = _check_sizes(vocab, seq_len, dim, width)
    nats = required_information(vocab, accuracy, error)
    exponent = 2 * nats / _directions(vocab, dim, width)
    if seq_len == 1:
        return 0.0
    if exponent > 600:  # beyond the largest float
        return math.inf
    known = {expressions.directions: _directions(vocab, dim, width), expressions.information: nats}
    return max(0.0, float(numeric(expressions.samples())({V: vocab, L: seq_len, **known})))


def minimum_dim(
    vocab: int,
    seq_len: int,
    samples: int,
    accuracy: float = 1.0,
    *,
    width: int | None = None,
    error: float | None = None,
) -> float:
    r"""The same bound solved for $d$, as a real number; infinite where even $d=V-1$ is too little.

    Without the MLP $d=\sqrt D$ and with it $d=D/\min(m,V-1)$, $D=2I/\log(1+\frac{N+V-1}{(L-1)(V-1)})$.
    """
    vocab, seq_len, _, width = _check_sizes(vocab, seq_len, 1, width)
    samples = check_size("samples", samples)
    nats = required_information(vocab, accuracy, error)
    if seq_len == 1 or nats == 0:
        return 0.0
    sizes = {V: vocab, N: samples, L: seq_len, expressions.information: nats}
    need = float(numeric(expressions.direction_need())(sizes))
    dim = math.sqrt(need) if width is None else need / min(width, vocab - 1)
    return dim if dim <= vocab - 1 else math.inf


def maximum_seq_len(
    vocab: int, dim: int, samples: int, accuracy: float = 1.0, *, width: int | None = None, error: float | None = None
) -> float:
    r"""The same bound solved for $L$, as a real number of at least 1; infinite where nothing has to be known."""
    vocab, _, dim, width = _check_sizes(vocab, 1, dim, width)
    samples = check_size("samples", samples)
    nats = required_information(vocab, accuracy, error)
    directions = _directions(vocab, dim, width)
    if nats == 0:
        return math.inf
    if 2 * nats / directions > 600:
        return 1.0
    known = {expressions.directions: directions, expressions.information: nats}
    return float(numeric(expressions.seq_len())({V: vocab, N: samples, **known}))


def check_accuracy(value: Any) -> float:
    """Return ``value`` as a fraction above 0 and at most 1."""
    if (fraction := check_rate("accuracy", value, FRACTION)) > 1:
        raise not_allowed("accuracy", value, FRACTION)
    return fraction


def check_error(value: Any) -> float | None:
    """Return ``value`` as a probability strictly between 0 and 1, or ``None``."""
    allowed = "a number between 0 and 1, or None (for the mean fraction)"
    if value is None:
        return None
    if (error := check_rate("error", value, allowed)) >= 1:
        raise not_allowed("error", value, allowed)
    return error


def _check_sizes(vocab: Any, seq_len: Any, dim: Any, width: Any) -> tuple[int, int, int, int | None]:
    return (
        check_size("vocab", vocab, smallest=2),
        check_size("seq_len", seq_len),
        check_size("dim", dim),
        None if width is None else check_size("width", width),
    )


def _directions(vocab: int, dim: int, width: int | None) -> int:
    """The product of the two ranks."""
    count = expressions.direction_count(width is not None)
    return int(numeric(count)({V: vocab, d: dim, m: width or 1}))


def _some_facts(named: float) -> float:
    return float(numeric(expressions.some_facts())({expressions.named: named}))
