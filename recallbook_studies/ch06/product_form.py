r"""The conditions of :mod:`recallbook_bounds.closed_form` as products of powers: one constant, the
laws' exponents.

Where $d\ge400\Lambda$ every symbol of order 1 is below a number (:func:`caps`). What then remains
of a loss or norm is a sum of monomials in $V,L,d,N,\Lambda,\Lambda'$. Each is bounded over the
whole range of the theorem by a linear program in the logarithms; its dual solution is an exact
certificate (:func:`certificate`)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import sympy as sp
from scipy.optimize import linprog

from recallbook.theory.symbolic.expressions import L, N, V, d, tau
from recallbook_bounds import closed_form as cf

SIZES = (V, L, d, N, cf.Lambda, cf.Lambda_prime)
DIM_OVER_LOG = 400  # d over Lambda, at least
LOG = 20  # Lambda, at least: V / log(49 V^2) grows with V, and is below 400 at V = 8000
VOCAB = DIM_OVER_LOG * LOG
DIM_SQUARE = {0: 12, 1: 66}  # d^2 over V Lambda, at least, for tau = 0 and 1
SAMPLES = {0: 4, 1: 56}  # N over Lambda'^2 and the largest law, at least


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


def exponent(length: sp.Expr, dim: sp.Expr, trigger_in_values: bool) -> sp.Expr:
    r"""$\log_V$ of the largest law at $L=V^c$, $d=V^b$: ``length`` is $c$, ``dim`` is
    $b>\frac12$."""
    powers = (powers_of(law)[:3] for law in laws(trigger_in_values).values())
    return sp.Max(*(of_v + of_l * length + of_d * dim for of_v, of_l, of_d in powers))


def powers_of(product: sp.Expr) -> sp.Matrix:
    """The exponents of a product of powers, in the order of ``SIZES``."""
    exponents = product.as_powers_dict()
    if strange := set(exponents) - {*SIZES, *(x for x in exponents if x.is_number)}:
        raise ArithmeticError(f"{strange} in {product}: only powers of the sizes can be compared")
    return sp.Matrix([exponents[size] for size in SIZES])


@cache
def facets(trigger_in_values: bool) -> tuple[sp.Matrix, list[float]]:
    """The range of the theorem: the exponents of each product of sizes that has a lower bound, as a
    column, and these bounds."""
    flag = int(trigger_in_values)
    least = {
        V / d: 1,
        L: 2,
        d / cf.Lambda: DIM_OVER_LOG,
        cf.Lambda: LOG,
        cf.Lambda_prime / cf.Lambda: 1,
        d**2 / (V * cf.Lambda): DIM_SQUARE[flag],
    }
    for law in laws(trigger_in_values).values():
        least[N / (cf.Lambda_prime**2 * law)] = SAMPLES[flag]
    return sp.Matrix.hstack(*map(powers_of, least)), [float(bound) for bound in least.values()]


@cache
def caps(trigger_in_values: bool) -> dict[sp.Symbol, float]:
    """Symbols at the corner of the range: the smallest $V=d$ and $N$, and $\\Lambda=\\Lambda'$.

    There symbols of order 1 are at their largest (those of ``cf`` named minus at their smallest),
    and so are $Gd$, $Jd$, $Ed$ and $m/V$: all are monotone in $\\epsilon$, $1/V$, $d/V$,
    $\\Lambda/V$ and $V\\Lambda/N$."""
    samples = SAMPLES[trigger_in_values] * LOG**2 * VOCAB
    values: dict[sp.Symbol, float] = {V: VOCAB, d: VOCAB, N: samples, tau: int(trigger_in_values)}
    values |= {cf.Lambda: LOG, cf.lam: LOG, cf.m_minus: VOCAB}  # lambda <= Lambda
    for symbol, definition in cf.definitions().items():
        known = symbol in {*values, cf.Lambda_prime}
        if not known and definition.free_symbols <= values.keys():
            values[symbol] = float(definition.subs(values))
    return values


@cache
def monomials(part: sp.Expr, trigger_in_values: bool) -> tuple[tuple[float, sp.Expr], ...]:
    """An upper bound of a part, in monomials: coefficient and product of powers."""
    known, definitions = caps(trigger_in_values), cf.definitions()
    sizes = {cf.theta: V * cf.Lambda / N, cf.m: V * known[cf.m] / VOCAB, cf.lam: cf.Lambda}
    sizes |= {symbol: known[symbol] * VOCAB / d for symbol in (cf.G, cf.J, cf.Gamma_plus)}
    sizes |= dict.fromkeys((cf.eps, cf.eps_1), sp.sqrt(cf.Lambda / d))
    # Delta = 2 eps + eps^2 + (1 - 2 eps) / (2 V), and eps is at most 1/20 and at least 1/sqrt(V)
    sizes[cf.Delta] = sp.Rational(21, 10) * sizes[cf.eps]
    kept = {symbol: definitions[symbol] for symbol in (cf.o_bar, cf.h_plus, cf.R)}
    kept |= {s: e for s, e in definitions.items() if s not in {*known, cf.Lambda_prime}}
    part = part.xreplace({cf.f_plus - 1: definitions[cf.f_plus] - 1})
    while part.free_symbols & kept.keys():
        part = part.xreplace(kept)
    part = part.xreplace(sizes)
    numbers = {s: sp.Float(v) for s, v in known.items() if s not in {*SIZES, *sizes}}
    return _collected(part.xreplace(numbers).xreplace(sizes))


def _collected(part: sp.Expr) -> tuple[tuple[float, sp.Expr], ...]:
    """Denominators and roots made simple from above, then expanded."""
    above = {1 / (L - 1): 2 / L, 1 / (V - 1): (1 + sp.Rational(1, 5000)) / V, L - 1: L}
    part = part.xreplace({**above, sp.exp(-cf.Lambda_prime): 1 / N**2}).replace(sp.Max, sp.Add)
    part = part.replace(lambda e: e.is_Pow and e.exp == sp.Rational(1, 2), _root)
    found = []
    for term in _terms(part):
        coefficient, product = term.as_independent(*SIZES)
        if not (coefficient.is_number and coefficient > 0):
            raise ArithmeticError(f"not a positive monomial: {term}")
        found.append((float(coefficient), product))
    return tuple(found)


def _terms(expression: sp.Expr) -> tuple[sp.Expr, ...]:
    return tuple(term for term in sp.Add.make_args(sp.expand(expression)) if term != 0)


def _root(power: sp.Expr) -> sp.Expr:
    """The root of a sum is at most the sum of the roots."""
    return sp.Add(*map(sp.sqrt, _terms(power.base)))


@cache
def certificate(product: sp.Expr, trigger_in_values: bool) -> sp.Matrix:
    """Non-negative weights of the facets whose weighted powers add to those of one over the
    product, exactly.

    So the product is at most the facets' bounds to minus these weights, multiplied. Found by a
    linear program in floating point, then made rational and checked."""
    (table, least), wanted = facets(trigger_in_values), -powers_of(product)
    solved = linprog(
        -np.log(least),
        A_eq=np.array(table, dtype=float),
        b_eq=np.array(wanted, dtype=float),
        bounds=(0, None),
    )
    if solved.status != 0:
        raise ArithmeticError(f"no bound for {product} in the range of the theorem")
    weights = sp.Matrix([sp.Rational(w).limit_denominator(1000) for w in solved.x.tolist()])
    if min(weights) < 0 or table * weights != wanted:
        raise ArithmeticError(f"weights of {product} are negative or not exact: {weights}")
    return weights


def largest(part: sp.Expr, trigger_in_values: bool) -> float:
    """An upper bound of a part over the range of the theorem."""
    total, logs = 0.0, np.log(facets(trigger_in_values)[1])
    for coefficient, product in monomials(part, trigger_in_values):
        weights = np.array(certificate(product, trigger_in_values), dtype=float).ravel()
        total += coefficient * math.exp(-weights @ logs)
    return total


@cache
def worst(trigger_in_values: bool) -> dict[str, float]:
    r"""What lock-on and recall come to at the edge of the range: each number must be at most 1."""
    values = caps(trigger_in_values)
    least_signal = float(cf.signal().subs(values))
    lost = sum(largest(part, trigger_in_values) for part in cf.losses().values())
    room = 2 * sp.sqrt(cf.Lambda / d) * (1 + sp.sqrt(cf.Lambda / d))
    norm = sum(largest(room * part, trigger_in_values) for part in cf.norms().values())
    # e^x - 1 - x is at most 0.72 x^2 for x at most 1
    uneven = tau * cf.c_plus
    square = (cf.q_minus**2 + cf.R + cf.f_plus**2 * cf.h_2 / 2) / d + 0.72 * uneven**2 * V / N
    gap = float((cf.q_minus - 1.72 * uneven / (V - 1)).subs(values))
    return {
        "losses": lost / least_signal,
        "norms": norm / (least_signal - lost),
        "recall": largest(2 * sp.sqrt(cf.Lambda * square), trigger_in_values) / gap,
    }
