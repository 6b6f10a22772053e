r"""How many sequences suffice, in closed form: but for an expected fraction $\delta$, every fact is
recalled.

Attention-only, Gaussian embeddings, early-phase limit (thm-closed, the book's proof of a sufficient
number of sequences). Every constant of the proof is an expression here, under its symbol and in the
order in which the proof makes it: :func:`definitions`, then the parts of the trace that signals of
lock-on lose (:func:`losses`) and the Frobenius norm. All three are in units of $1/K$, the signal's
own. Ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import sympy as sp

from recallbook_theory.search import bracket
from recallbook_theory.symbolic.expressions import L, N, V, Values, d, numeric, tau

# events that the proof excludes, each of probability exp(-Lambda): those of lock-on over V^2, with
# those of recall of all facts; and those of recall of one fact over V, from 30 % of the error. Of
# the rest lock-on has a fifth, and RARE-th is left for a fact that is shown too seldom.
OF_LOCK_ON = 13
EVENTS = 16
OF_ONE = 10
RARE = 2
SMALLEST_VOCAB = 5  # the count of events needs it
LARGEST = 2**100  # sequences; where these do not suffice, nothing is said

Lambda, Lambda_prime = sp.symbols(r"Lambda \Lambda'", positive=True)
# embeddings (eq-prf-embeddings), frequencies of labels (eq-prf-counts)
eps, ell, o, G, alpha, alpha_minus, J, Delta = sp.symbols(
    r"epsilon \ell o G alpha \alpha_- J Delta", positive=True
)
theta, f, u, a, b = sp.symbols(r"\theta f u a b", positive=True)
# one sequence, all of them (eq-prf-sequence)
s_alpha, s_beta, B, sigma, S, P, D, H, K = sp.symbols(
    r"s_\alpha s_\beta B \sigma S P D H K", positive=True
)
# recall (eq-prf-question)
x, f_minus, p_minus, c_plus, h_2, q_minus, R = sp.symbols("x f_- p_- c_+ h_2 q_- R", positive=True)

root = sp.sqrt
spread = root(2 * Lambda)
tail = 2 * Lambda / 3  # of Bernstein's inequality, per unit of what one term can be
signal = alpha_minus * (1 - 1 / V)  # K times the least that the trigger adds to the trace
side = f * root(G / V) + tau * ell * u  # L times the norm of the facts' part of the values


def length(mean: sp.Expr, reach: sp.Expr, log: sp.Expr, share: sp.Expr) -> sp.Expr:
    """Bound the length of a sum of vectors of at most ``reach`` that has the root mean square
    ``mean``, and ``share`` of its square along any one direction."""
    return mean + root(2 * log * (share * mean**2 + 2 * reach * mean)) + 3 * log * reach


@cache
def definitions() -> dict[sp.Symbol, sp.Expr]:
    r"""Give each symbol of lock-on by sizes, $\Lambda$, which pays for a union over pairs of tokens,
    $\Lambda'$, which pays for one over sequences too, and the symbols before it."""
    noise = root(N) * sigma
    return {
        Lambda_prime: Lambda + 2 * sp.log(N * L),
        eps: root(Lambda / d),
        ell: root(1 + 2 * eps + 2 * eps**2),
        o: root(2) * ell * eps + 5 * ell**2 / (4 * V),
        G: (1 + root(d / V) + root(2 * Lambda / V)) ** 2 / d,
        alpha: ell**2 + 2 * o,
        alpha_minus: 1 - 2 * eps - 2 * eps * root(1 - 2 * eps),
        J: 3 * (ell + root(2 * d * G) * eps) ** 2 / d + 3 * ell**4 / V,
        Delta: 2 * eps + 2 * eps**2 + 1 / V,
        theta: V * Lambda / N,
        f: 1 + root(2 * theta) + theta / 3,
        u: length(root(N), sp.Integer(1), Lambda, 1 / V) / N,
        a: f * (alpha + root(J)),
        b: (1 + tau) * ell,
        s_alpha: root(2 * J * L * Lambda_prime) + 2 * alpha * Lambda_prime / 3,
        s_beta: ell * root(2 * L * Lambda_prime),
        B: s_alpha * (3 * ell + (s_beta + b) / L) / L + 2 * alpha * s_beta / L**2,
        sigma: ell * root(J) * (1 / root(L) + 2 / L)
        + (b * root(J) + 2 * alpha * ell) / root(L) ** 3,
        K: L * V * (L + 2),
        S: K * length(noise, 2 * B, Lambda, f / V) / N,
        P: length(noise, 2 * B, Lambda_prime, f / V),
        D: ell * (spread * root(G * f / (N * L)) + tail / (N * L)),
        H: L * root(V) * a * b + L**2 * V * u * root(G * J),
    }


@cache
def losses() -> dict[str, sp.Expr]:
    r"""Give $K$ times what each other part of the trace takes away at most, by name
    (lem-closed-trace, eq-prf-losses)."""
    wide, along = root(G * V), root(G * J)
    third = Delta * (root(6 * G) * eps + 2 * alpha / V)  # a third moment of the embeddings
    across = root(2 * Lambda_prime * G * N * f / (V * L)) + 2 * Lambda_prime * ell / (3 * L)
    means = L * root(V) * (2 * alpha * f * root(G) + tau * ell * a) + L**2 * V * u * along + S
    return {
        "uneven facts": 2 * eps * f * alpha / root(V)
        + ell**2 * f**2 * (root(6 * G) * eps + 2 * alpha / V),
        "centred facts": root(G) * wide * u * a,
        "trigger and facts": tau
        * f
        * ell
        * (f * along + u * (3 * alpha * wide + ell * root(J * V))),
        "spread and facts": L * V * u * along * side,
        "mean bias": root(2 / V) * eps * u * means,
        "values' noise": H * (spread * root(G * f / (N * L * V)) + tail * ell / (N * L)),
        "keys' noise": (L + 2) * b * f * (sigma * spread * root(f / N) + 4 * tail * B / N),
        "a sequence with itself": V / N * (L * third + 2 * alpha * ell**2 + b * along)
        + K * s_beta / (L * N) * (sigma * spread / root(N) + 4 * tail * B / N),
        "two sequences": 4 * K * P * across / N**2,
    }


# K times a bound on the Frobenius norm of the keys' table times the values' (lem-closed-trace, eq-prf-norm)
norm = (H + S) * (side / L + u * (1 + spread) / root(V * d) + D)


@cache
def question() -> dict[sp.Symbol, sp.Expr]:
    """Give each symbol of recall, after those of :func:`definitions` (lem-closed-gap)."""
    overlap = root(2) * ell * eps
    return {
        f_minus: 1 - root(2 * x * V / N) + x * V / (3 * N),
        p_minus: 1 - 2 * eps - tau * overlap,
        c_plus: ell**2 + overlap,
        h_2: p_minus + tau * c_plus,
        q_minus: f_minus * p_minus - tau * (1 - f_minus) * c_plus,
        R: (root(h_2 / d) * (root(V + V**2 * u**2) + spread * f) + tau * c_plus * V * u) ** 2,
    }


def constants(
    sizes: Values, chain: Callable[[], dict[sp.Symbol, sp.Expr]] = definitions
) -> dict[sp.Symbol, float]:
    r"""Evaluate every symbol of a chain of definitions, by default at $V,N,L,d,\tau$ and $\Lambda$;
    what is given stays."""
    values = dict(sizes)
    with np.errstate(invalid="ignore"):  # alpha_- where epsilon is large
        for symbol, expression in chain().items():
            if symbol not in sizes:
                values[symbol] = numeric(expression)(values)
    return values


def conditions(sizes: Values, error: float) -> tuple[float, float]:
    r"""Evaluate the conditions on lock-on and on recall at $V,L,d,\tau$ and $N\ge V$: an expected
    fraction $1-\delta$ of the facts is recalled, with ``error`` $=\delta$, where both numbers are
    at most 1 (thm-closed)."""
    pairs = constants({**sizes, Lambda: union(sizes[V], error / 5, OF_LOCK_ON)})
    asked = {**sizes, Lambda: math.log(OF_ONE * sizes[V] / error), x: math.log(RARE / error)}
    return lock_on(pairs), recall(constants(constants(asked), question))


def union(vocab: int, error: float, events: int) -> float:
    r"""Compute $\Lambda$ at which so many events, times $V^2$, cost $\delta$."""
    return math.log(events * vocab**2 / error)


def lock_on(values: Values) -> float:
    r"""Compute $2(\epsilon+\epsilon^2)\frac FT$, with $T$ what the losses leave of the signal and
    $F$ the norm; infinite where $T\le0$ (eq-prf-conditions)."""
    margin = numeric(signal - sp.Add(*losses().values()))(values)
    # lower bounds of products hold only where their factors are positive
    if not (values[alpha_minus] > 0 and margin > 0):
        return math.inf
    return float(2 * values[eps] * (1 + values[eps]) * numeric(norm)(values) / margin)


def recall(values: Values) -> float:
    r"""Compute $\Lambda$ over the exponent of eq-prf-conditions; infinite where a fact may be shown
    too seldom, or have a weight that is none."""
    right, mean = values[q_minus], values[N] / values[V]  # mean: sequences of a fact
    if not (values[x] <= 0.8 * mean and values[p_minus] > 0 and right > 0):
        return math.inf
    square = (right**2 + values[R] + values[f] ** 2 * values[h_2] / 2) / values[d]
    uneven = values[tau] * values[c_plus]  # the trigger's part of a wrong weight, per label
    s = right / (2 * square + uneven**2 / mean)
    moved = values[N] / (values[V] - 1) * math.expm1(s * uneven / mean) - s * uneven
    return float(values[Lambda] / max(s * right - s**2 * square - moved, 1e-9))


def sufficient_samples_closed_form(
    vocab: int, seq_len: int, dim: int, accuracy: float = 0.9, trigger_in_values: bool = False
) -> float:
    r"""Solve the conditions for the $N$ from which on an expected accuracy of ``accuracy``
    $=1-\delta$ is proved; inf where it never is.

    What holds at an $N$ holds at every larger one (thm-closed), so bisection finds where the
    conditions begin to hold. ``vocab`` is at least 5 and ``seq_len`` at least 2; sizes are as
    :func:`recallbook.sufficient_samples` checks them."""
    sizes = {V: vocab, L: seq_len, d: dim, tau: int(trigger_in_values)}

    def enough(samples: int) -> bool:
        return max(conditions({**sizes, N: float(samples)}, 1 - accuracy)) <= 1

    ends = {"smallest": vocab, "largest": LARGEST}
    return float(bracket(enough, vocab, **ends, tolerance=1e-9, logarithmic=True).high)
