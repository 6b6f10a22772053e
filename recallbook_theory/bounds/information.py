r"""What readers of the gradients at initialisation can reach when they read these with a Gaussian
error.

At zero weights $\nabla_{W_{KQ}}\hat{\mathcal L}=0$, so the gradient in $W_V$ is all there is to
see. Given the labels its noise has a known covariance. A reader sees $G+W$, $W$ Gaussian,
independent of all else, of $c$ times that covariance (eq-bound-reading, chapter 8); $c$ is
``reading_error``. Proved for the true, discrete $G$ without the MLP. With the MLP proved for a
stand-in (prop-bound-mlp, its appendix of proofs): the mean of $G$ given facts and labels, plus such
a $W$. Nothing is said of an exact $G$, $c=0$. Formulas:
:mod:`recallbook_theory.bounds.information_terms`. Ours."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from scipy.special import gammaln, lambertw

from recallbook.arguments import check_number, check_optional, check_size
from recallbook_theory.bounds import information_terms
from recallbook_theory.symbolic.expressions import L, N, V, numeric

# value to a float
check_noise = partial(  # whose square neither vanishes nor overflows
    check_number,
    "reading_error",
    allowed="a number from 1e-100 to 1e+100",
    holds=lambda c: 1e-100 <= c <= 1e100,
)
check_error = partial(
    check_optional,
    partial(
        check_number,
        allowed="a number from 0 to below 1, or None (for the mean fraction)",
        holds=lambda error: 0 <= error < 1,
    ),
    "error",
)
check_accuracy = partial(
    check_number,
    "accuracy",
    allowed="a number above 0 and at most 1",
    holds=lambda fraction: 0 < fraction <= 1,
)


def required_information(vocab: int, accuracy: float = 1.0, error: float | None = None) -> float:
    r"""Compute the nats about the facts without which no estimator is that good
    (thm-bound-fano, chapter 8).

    With ``error=None``: for a mean fraction $\alpha$ of the $V$ facts, $\alpha V(\log\alpha V-1)+1$
    and at least 0, or $\log V!$ for all. With ``error`` $=\delta$: to have at least $a=\lceil\alpha
    V\rceil$ facts right but for an event of probability $\delta$, Fano's $(1-\delta)\log
    a!-h(\delta)$ with $h$ the entropy of a coin; at $\delta=0$ that is $\log a!$. Labels need not
    be a permutation.

    Raises
    ------
    ValueError
        ``vocab`` not a size of at least 2, ``accuracy`` not above 0 and at most 1, ``error`` not
        from 0 to below 1.
    """
    vocab, accuracy = check_size("vocab", vocab, smallest=2), check_accuracy(accuracy)
    error = check_error(error)
    facts = accuracy * vocab
    if error == 0:
        return float(gammaln(whole_facts(vocab, accuracy) + 1))
    if error is not None:
        known = {
            information_terms.named: whole_facts(vocab, accuracy),
            information_terms.error: error,
        }
        return max(0.0, float(numeric(information_terms.fano())(known)))
    if accuracy == 1:
        return float(gammaln(vocab + 1))
    return _some_facts(facts) if facts > 1 else 0.0


def available_information(
    vocab: int,
    seq_len: int,
    dim: int,
    samples: int,
    width: int | None = None,
    *,
    reading_error: float = 1.0,
) -> float:
    r"""Bound the nats about the facts in the initial gradient from above: $\frac
    D2\log\big(1+\frac1c\frac{N+V-1}{(L-1)(V-1)}\big)$ (eq-bound-information, chapter 8).

    $D=\min(d,V-1,N)\min(d,V-1)$, or $\min(d,V-1,N)\min(m,V-1)$ with the MLP, whatever its
    activation; $c$ is ``reading_error``. Infinite at $L=1$: there is no noise then, hence no
    reading error in units of it. Holds on average over embeddings and batches, for embeddings of
    any law.

    Raises
    ------
    ValueError
        Names the size, its value and what is allowed.
    """
    vocab, seq_len, dim, width = check_sizes(vocab, seq_len, dim, width)
    samples, noise = check_size("samples", samples), check_noise(reading_error)
    if seq_len == 1:
        return math.inf
    return _available(vocab, seq_len, samples, _ranks(vocab, dim, width), noise)


def maximum_accuracy(
    vocab: int,
    seq_len: int,
    dim: int,
    samples: int,
    width: int | None = None,
    *,
    reading_error: float = 1.0,
) -> float:
    r"""Give the largest mean fraction of facts that :func:`available_information` allows, at least
    $\frac1V$, a guess; inverts the need on average (thm-bound-fano, part 1)."""
    nats = available_information(vocab, seq_len, dim, samples, width, reading_error=reading_error)
    if nats >= _some_facts(vocab):
        return 1.0
    facts = math.exp(1 + lambertw((nats - 1) / math.e).real)  # solves a (log a - 1) + 1 = nats
    return min(1.0, max(1.0, facts) / vocab)


def information_samples(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 1.0,
    *,
    width: int | None = None,
    error: float | None = None,
    reading_error: float = 1.0,
) -> float:
    r"""Solve the information bound for $N$: no reader of the initial gradient does with fewer
    sequences (first line of eq-bound, chapter 8).

    $$N\ \ge\ (V-1)\Big[c\,(L-1)\big(e^{2I/D}-1\big)-1\Big],\qquad D=\min(d,V-1)\min(d,V-1),$$ where
    that is at least $r=\min(d,V-1)$, with $I$ from :func:`required_information`, $c$ =
    ``reading_error`` and $\min(m,V-1)$ for the second factor with the MLP. Below $r$ only $N$
    labels occur: there it is the root of
    $\frac{Nr}2\log\big(1+\frac1c\frac{N+V-1}{(L-1)(V-1)}\big)=I$. A real number; 0 at $L=1$ and
    where nothing has to be known, infinite where $2I/D>600$, near the largest float.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.
    """
    vocab, seq_len, dim, width = check_sizes(vocab, seq_len, dim, width)
    nats = required_information(vocab, accuracy, error)
    noise = check_noise(reading_error)
    rows, columns = _ranks(vocab, dim, width)
    if seq_len == 1 or nats == 0:
        return 0.0
    if 2 * nats / (rows * columns) > 600:  # beyond the largest float
        return math.inf
    known = {
        information_terms.directions: rows * columns,
        information_terms.information: nats,
        information_terms.reading: noise,
    }
    least = float(numeric(information_terms.samples())({V: vocab, L: seq_len, **known}))
    if least >= rows:
        return least

    def spare(samples: float) -> float:
        return _available(vocab, seq_len, samples, (rows, columns), noise) - nats

    from scipy.optimize import brentq  # slow to load, and rarely needed

    # so few sequences that some directions of the labels stay empty; with all of them there is
    # enough
    return float(brentq(spare, 0.0, float(rows)))


def check_sizes(vocab: Any, seq_len: Any, dim: Any, width: Any) -> tuple[int, int, int, int | None]:
    """Return the sizes as integers."""
    return (
        check_size("vocab", vocab, smallest=2),
        check_size("seq_len", seq_len),
        check_size("dim", dim),
        check_optional(check_size, "width", width),
    )


def whole_facts(vocab: int, accuracy: float) -> int:
    """Count the facts that make up the fraction; one that meets a whole number up to rounding asks
    for that many."""
    return math.ceil(accuracy * vocab * (1 - 1e-12))


def _ranks(vocab: int, dim: int, width: int | None) -> tuple[int, int]:
    """Count the directions of all labels, and of the features."""
    return min(dim, vocab - 1), min(dim if width is None else width, vocab - 1)


def _available(
    vocab: int, seq_len: int, samples: float, ranks: tuple[int, int], noise: float
) -> float:
    """Compute :func:`available_information` at a real number of sequences."""
    directions = min(ranks[0], samples) * ranks[1]
    sizes = {
        V: vocab,
        N: samples,
        L: seq_len,
        information_terms.reading: noise,
        information_terms.directions: directions,
    }
    return float(numeric(information_terms.available())(sizes))


def _some_facts(named: float) -> float:
    return float(numeric(information_terms.some_facts())({information_terms.named: named}))
