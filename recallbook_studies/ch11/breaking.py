r"""The lead of the most frequent token: how its score compares with the mark's, and how far the
difference between both scatters from draw to draw."""

from __future__ import annotations

from functools import cache, reduce
from typing import Any, NamedTuple

import sympy as sp
from numpy.polynomial.polynomial import polyadd, polymul as times

from recallbook.theory.symbolic.expressions import L, N, V, d, power, q, tau, trace
from recallbook.theory.symbolic.lock_terms import R

Polynomial = Any  # coefficients of 1, p, p^2, ..., expressions
ZERO, ONE = sp.Integer(0), sp.Integer(1)
P: Polynomial = (ZERO, ONE)
UNEVEN: Polynomial = (-1 / V, ONE)  # a label along g
PULL = power(2) - 1 / V + (1 - power(2)) / N  # |g|^2


def plus(*parts: Polynomial) -> Polynomial:
    """The sum of polynomials."""
    return reduce(polyadd, parts)


def every(one: Polynomial) -> sp.Expr:
    r"""$\sum_v$ of a polynomial in $p_v$."""
    return sp.Add(*(part * (power(degree) if degree else V) for degree, part in enumerate(one)))


def most(one: Polynomial) -> sp.Expr:
    """A polynomial at the most frequent token."""
    return sp.Add(*(part * q**degree for degree, part in enumerate(one)))


class Direction(NamedTuple):
    """A vector over tokens: a polynomial, and what token 1, the mark and the asked token have
    besides."""

    tokens: Polynomial = (ZERO,)
    first: sp.Expr = ZERO
    mark: sp.Expr = ZERO
    asked: sp.Expr = ZERO

    def times(self, scale: sp.Expr) -> Direction:
        """Scaled."""
        return Direction(
            times((scale,), self.tokens), scale * self.first, scale * self.mark, scale * self.asked
        )


Form = tuple[Direction, Direction]  # u'Ev, of which the symmetric half counts


def dot(one: Direction, other: Direction, weight: Polynomial | None = None) -> sp.Expr:
    """Inner product; with a ``weight`` of tokens alone."""
    first = (
        one.first * other.first + one.first * most(other.tokens) + other.first * most(one.tokens)
    )
    if weight is not None:
        return every(times(weight, times(one.tokens, other.tokens))) + most(weight) * first
    return (
        every(times(one.tokens, other.tokens))
        + first
        + one.mark * other.mark
        + one.asked * other.asked
    )


def square(forms: list[Form], diagonal: Polynomial) -> sp.Expr:
    r"""$\operatorname{tr}Q^2$ of the symmetric half of all forms and of a diagonal over tokens."""
    pairs = sp.Add(
        *(dot(u, s) * dot(v, t) + dot(u, t) * dot(v, s) for u, v in forms for s, t in forms)
    )
    across = sp.Add(*(dot(u, v, diagonal) for u, v in forms))
    return pairs / 2 + 2 * across + every(times(diagonal, diagonal))


@cache
def mean_residual() -> Direction:
    r"""$R|g|^2b+\frac1L\sum_kp_k(\hat u_k^\top g)(z_k+\tau t)$: step 2 multiplies it by the tokens'
    covariance."""
    return Direction(
        plus(times((R * PULL,), P), times((1 / L,), times(P, UNEVEN))), mark=tau * PULL / L
    )


@cache
def learned() -> Polynomial:
    """What the fact of a token finds of itself, once attention stands on it."""
    own = (ZERO, 1 / L, -1 / L)
    return plus(own, times(UNEVEN, (tau / L - R * power(2), R)))


@cache
def attention() -> Direction:
    """The attention vector at its mean, in tokens and the mark: its entries are the mean scores."""
    m, fact = mean_residual(), learned()
    by_covariance = plus(
        times(P, (-every(times(P, m.tokens)),)), times(P, m.tokens), times((trace(2),), m.tokens)
    )
    total = every(times(P, fact))
    by_fact = times(P, plus(fact, (-total,)))
    tokens = plus(times((R**2,), by_covariance), times((R / L,), by_fact))
    return Direction(tokens, mark=R**2 * trace(2) * m.mark + R / L * total)


def of_embeddings() -> sp.Expr:
    r"""$\operatorname{tr}Q^2$ of tokens, the mark and the asked token."""
    gap, less = Direction(first=ONE, mark=-ONE, asked=-ONE), -(1 + q) * R / L
    without_mean = Direction((ZERO, -ONE), first=ONE)  # z_1 - b
    pulled = every(times(P, UNEVEN))
    shared = Direction((ZERO, R), mark=tau / L)  # what a label along g reads
    of_first = shared.times(q - 1 / V)._replace(first=q / L)
    forms = [
        (gap, attention()),
        (without_mean.times(R**2 * q), mean_residual()),
        (without_mean._replace(mark=tau).times(R / L * q), of_first),
        (Direction((ZERO, -ONE), mark=tau).times(less), Direction((ZERO, ZERO, 1 / L))),
        (Direction(plus(times(P, UNEVEN), (ZERO, -pulled)), mark=tau * pulled).times(less), shared),
    ]
    return square(forms, (ZERO, ZERO, less / L))


def of_labels() -> sp.Expr:
    r"""$\operatorname{tr}Q^2$ of labels."""
    m, less = (tau / L - R * power(2), R), -(1 + q) * R / L
    through = R**3 * q * (q + trace(2) - power(2)) - tau * R**2 * trace(2) / L
    of_first = R**2 * q * (q + trace(2)) / L + R / L * q * most(m)
    others = plus(
        times((through,), UNEVEN), (ZERO, ZERO, -(R**2) * q / L), times((less,), times(P, m))
    )
    alone = Direction(first=ONE)
    centred = plus(others, (-(every(others) + of_first) / V,))
    forms = [
        (Direction(centred, first=of_first), Direction(UNEVEN)),
        (alone.times(R / L**2 * q**2 * (1 - q)), alone),
    ]
    return square(forms, times((less / L,), (ZERO, ZERO, ONE, -ONE)))


@cache
def gap_variance() -> dict[str, sp.Expr]:
    r"""Variance of $\frac{S_1-S_a-M}{\mathbb E\,M}$ between draws: three parts that add up, to
    first order in $1/d$."""
    asked = dot(attention(), attention()) / 2
    parts = {
        "overlaps of the asked token": asked,
        "other tokens, mark": of_embeddings() - asked,
        "labels": of_labels(),
    }
    return {name: 2 / d * part / attention().mark ** 2 for name, part in parts.items()}


def variance() -> sp.Expr:
    """Of :func:`gap_variance`, the sum."""
    return sp.Add(*gap_variance().values())


@cache
def quotient() -> sp.Expr:
    r"""$\mathbb E\,S_1/\mathbb E\,M$ with the covariance's part $s_2$."""
    return most(attention().tokens) / attention().mark
