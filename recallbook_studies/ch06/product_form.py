r"""The conditions of :mod:`recallbook_theory.bounds.closed_form` as products of powers: one constant, the
laws' exponents.

Losses and norm are made of powers of $V,L,d,N,\Lambda,\Lambda'$ by sums, products and roots, and
what has to be large is put at its least (:func:`edge`). So their logarithms are convex in those of
the sizes, and they are largest at a corner of the range of the theorem, which is a polyhedron there
(:func:`corners`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.spatial import HalfspaceIntersection

from recallbook_theory.bounds import closed_form as cf
from recallbook_theory.symbolic.expressions import Array, L, N, V, d, numeric, tau

SIZES = (V, L, d, N, cf.Lambda, cf.Lambda_prime)
FAR = 120  # logarithm of the largest sizes that are looked at
DIM_OVER_LOG = 300  # d over Lambda, at least
LOG = 20  # Lambda, at least: V / log(16 V^2) grows with V, and is below 300 at V = 6000
VOCAB = DIM_OVER_LOG * LOG
DIM_SQUARE = {0: 8, 1: 40}  # d^2 over V Lambda, at least, for tau = 0 and 1
SAMPLES = {0: 2, 1: 15}  # N over Lambda'^2 and the largest law, at least


def laws(trigger_in_values: bool) -> dict[str, sp.Expr]:
    r"""$N$ above a constant times $(\Lambda')^2$ times each suffices."""
    long = sp.sqrt(d) ** 3
    found = {
        "coverage": V,
        "mean bias": L**2 * sp.sqrt(V) / long,
        "gradient noise": V * L / long,
        "frequency noise": V * L * sp.sqrt(L) / d**2,
    }
    return {**found, "label frequencies": V**2 / d} if trigger_in_values else found


@cache
def corners(trigger_in_values: bool) -> Array:
    """The corners of the range in logarithms of ``SIZES``, one a row; those at ``FAR`` stand for
    the directions in which it has no end."""
    least = {
        V / d: 1,
        L: 2,
        d / cf.Lambda: DIM_OVER_LOG,
        cf.Lambda: LOG,
        cf.Lambda_prime / cf.Lambda: 1,
        d**2 / (V * cf.Lambda): DIM_SQUARE[trigger_in_values],
    }
    for law in laws(trigger_in_values).values():
        least[N / (cf.Lambda_prime**2 * law)] = SAMPLES[trigger_in_values]
    powers = [[float(product.as_powers_dict()[size]) for size in SIZES] for product in least]
    walls = np.column_stack([-np.array(powers), np.log([*least.values()])])
    ends = np.column_stack([np.eye(len(SIZES)), np.full(len(SIZES), -FAR)])
    inside = np.array([30.0, 5, 27, 100, 4, 6])
    return np.asarray(HalfspaceIntersection(np.vstack([walls, ends]), inside).intersections)


@cache
def edge(trigger_in_values: bool) -> dict[sp.Symbol, float]:
    """Symbols at the smallest $V=d$ and $N$, where those named minus are at their smallest."""
    flag, samples = int(trigger_in_values), SAMPLES[trigger_in_values] * LOG**2 * VOCAB
    sizes = {V: VOCAB, d: VOCAB, N: samples, tau: flag, cf.Lambda: LOG, L: 2, cf.x: LOG}
    return cf.constants(cf.constants(sizes), cf.question)


def largest(part: sp.Expr, trigger_in_values: bool) -> float:
    """An upper bound of a part over the range of the theorem."""
    at = dict(zip(SIZES, np.exp(corners(trigger_in_values)).T, strict=True))
    return float(np.max(upper(part, trigger_in_values, at)))


def upper(part: sp.Expr, trigger_in_values: bool, at: dict[sp.Symbol, Any]) -> Any:
    """A bound of a part that is made of powers, at values of ``SIZES``."""
    worst = edge(trigger_in_values)
    known = (tau, cf.alpha_minus, cf.p_minus, cf.c_plus, cf.q_minus, cf.h_2)
    values = cf.constants({**at, **{symbol: worst[symbol] for symbol in known}, cf.x: 0.0})
    return numeric(part)(cf.constants(values, cf.question))


@cache
def worst(trigger_in_values: bool) -> dict[str, float]:
    r"""What lock-on and recall come to at the edge of the range: each number must be at most 1."""
    values = edge(trigger_in_values)
    mark = float(cf.signal.subs(values))
    lost = largest(sp.Add(*cf.losses().values()), trigger_in_values)
    norm = largest(2 * cf.eps * (1 + cf.eps) * cf.norm, trigger_in_values)
    # e^x - 1 - x is at most 0.72 x^2 for x at most 1
    uneven = tau * cf.c_plus
    square = (cf.q_minus**2 + cf.R + cf.f**2 * cf.h_2 / 2) / d + 0.72 * uneven**2 * V / N
    gap = float((cf.q_minus - 1.72 * uneven / (V - 1)).subs(values))
    return {
        "losses": lost / mark,
        "norms": norm / (mark - lost),
        "recall": largest(2 * sp.sqrt(cf.Lambda * square), trigger_in_values) / gap,
    }
