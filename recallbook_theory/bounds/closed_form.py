r"""How many sequences suffice, in closed form: with probability $1-\delta$ all sequences lock, all
facts are recalled.

Attention-only, Gaussian embeddings, early-phase limit (thm-closed, thm-closed-fraction, the book's
proof of a sufficient number of sequences). Every constant of the proof is an expression here, under
its symbol and in the order in which the proof makes it: :func:`definitions` first, then what the
signal of lock-on loses (:func:`losses`), the Frobenius norm that it is compared with
(:func:`norms`), and recall. Losses and norms are in units of $1/K$, the signal's own. Ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from recallbook.arguments import check_flag, check_share, check_size
from recallbook_theory.search import bracket
from recallbook_theory.symbolic.expressions import L, N, V, Values, d, numeric, tau

# events that the proof excludes, each of probability exp(-Lambda), over V^2: those of lock-on, and
# with those of recall; over V those of recall where one fact is asked. Lock-on then costs a fifth of
# the error, and one RARE-th is left for facts that are shown too seldom.
OF_LOCK_ON = 31
EVENTS = 49
OF_ONE = 70
RARE = 2
SMALLEST_VOCAB = 5  # the count of events needs it
LEVELS = 8  # of a fact's frequency, in recall
LARGEST = 2**100  # sequences; where these do not suffice, nothing is said

# of one event; of one event for each token; of one for each of N^2 (eq-prf-log)
Lambda, lam, Lambda_prime = sp.symbols(r"Lambda \lambda \Lambda'", positive=True)
# good embeddings (eq-prf-embeddings)
eps, eps_1, omega, varpi, G, Delta = sp.symbols(
    r"epsilon \epsilon_1 omega varpi G Delta", positive=True
)
ell_plus, ell_minus, ell_0, gamma, h_plus = sp.symbols(
    r"\ell_+ \ell_- \ell_0 gamma h_+", positive=True
)
o, o_bar, J, Gamma_plus = sp.symbols(r"o \bar{o} J \Gamma_+", positive=True)
# keys a_k.g and values b_k (eq-prf-keys)
alpha_1, alpha_t, alpha_plus, alpha_minus, b_plus = sp.symbols(
    r"\alpha_1 \alpha_t \alpha_+ \alpha_- b_+", positive=True
)
# good counts, and V sum f^2 alpha^2 (eq-prf-counts)
theta, f_plus, f_minus, phi, m, m_minus, a_plus = sp.symbols(
    r"\theta f_+ f_- phi m m_- a_+", positive=True
)
# one sequence (eq-prf-sequence)
s_beta, s_alpha, s_alpha_beta = sp.symbols(r"s_\beta s_\alpha s_{\alpha\beta}", positive=True)
B_X, B_Y, mu_X, C_X, sigma_X, sigma_XY = sp.symbols(
    r"B_X B_Y \mu_X C_X sigma_X \sigma_{XY}", positive=True
)
# all sequences, different sequences, the unit (eq-prf-all)
S_F, D_op, P, K = sp.symbols("S_F D_{op} P K", positive=True)
# recall: z_v.h, t.h, t.z_v, |h|^2, the right weight, and squares of wrong ones (eq-prf-question)
p_minus, c_plus, o_t, h_2, q_minus, R = sp.symbols(r"p_- c_+ o_t h_2 q_- R", positive=True)

root = sp.sqrt
spread = root(2 * Lambda)
tail = 2 * Lambda / 3  # of Bernstein's inequality, per unit of what one term can be
uneven = phi / root(N)  # of the labels' frequencies
# L times the norm of the facts' part of the values; K times that of the spread's part of the keys
side = f_plus * root(G / V) + tau * ell_plus * uneven
along = L * (L - 1) * V * uneven * Gamma_plus
# K times the least that facts add to the trace through t.g (eq-prf-signal)
signal = alpha_minus * ((1 - 1 / V) * m_minus - 2 * f_plus * eps * root(m_minus)) / V


def length(mean: sp.Expr, reach: sp.Expr, log: sp.Expr = Lambda, part: Any = 3) -> sp.Expr:
    """Bound the length of a sum whose terms are as unevenly spread over labels as frequencies are
    at most."""
    scatter = f_plus * mean**2 / V + 2 * reach * mean
    return mean + root(2 * log * scatter) + part * log * reach


@cache
def definitions() -> dict[sp.Symbol, sp.Expr]:
    r"""Give each symbol of the proof by sizes, $\Lambda$ and the symbols before it.

    $\Lambda$ pays for a union over pairs of tokens, $\lambda=\Lambda-\log2V$ over tokens,
    $\Lambda'=\Lambda+2\log N$ also over sequences."""
    logs = {lam: Lambda - sp.log(2 * V), Lambda_prime: Lambda + 2 * sp.log(N)}
    return logs | _embeddings() | _counts() | _sequence() | _fluctuations() | _question()


def _embeddings() -> dict[sp.Symbol, sp.Expr]:
    """Bound lengths and overlaps of good embeddings, keys and values (lem-closed-embeddings,
    lem-closed-keys)."""
    pair = gamma * (ell_plus**2 + o) / V
    return {
        eps: root(Lambda / d),
        eps_1: root(lam / d),
        ell_plus: root(1 + 2 * eps_1 + 2 * eps_1**2),
        ell_minus: root(1 - 2 * eps_1),
        ell_0: root(1 + 2 * eps / root(V) + 2 * eps**2 / V),
        o: root(2) * ell_plus * eps + ell_plus**2 / (V - 1),
        o_bar: root(2 / V) * eps,
        omega: (1 + root(d / V) + root(2 * Lambda / V)) ** 2,
        varpi: (root(root(1 + (d + 1) / V)) + root(2 * Lambda / V) / root(root(d))) ** 4,
        G: omega / d,
        gamma: root(3 + 6 * eps + 6 * eps**2),
        J: 3 * (ell_0 + root(2 * omega) * eps) ** 2 / d + gamma * pair,
        Gamma_plus: root(3) * (root(varpi) + root(2) * eps * omega) / d + pair,
        Delta: (ell_plus**2 - (1 - 1 / V) * ell_minus**2) / 2,
        alpha_1: ell_plus**2 + 2 * o,
        alpha_t: ell_plus**2 + 2 * ell_plus * eps,
        alpha_plus: alpha_1 + alpha_t,
        alpha_minus: ell_minus**2 - 2 * ell_minus * eps,
        b_plus: (1 + tau) * ell_plus,
        h_plus: root(6 * G) * eps * Delta + 2 * alpha_1 * Delta / V,
    }


def _counts() -> dict[sp.Symbol, sp.Expr]:
    """Bound frequencies of labels, and of labels with keys (lem-closed-counts)."""
    bend = 1 + 6 * V / N + 7 * (V / N) ** 2 + (V / N) ** 3  # E n^4 over its leading term
    return {
        theta: V * lam / N,
        f_plus: 1 + root(2 * theta) + theta / 3,
        f_minus: 1 - root(2 * theta) + theta / 3,
        phi: 1 + root(2 * Lambda * (2 * f_plus - 1) / V) + Lambda * (f_plus - 1) / (3 * V),
        m: V + V**2 * phi**2 / N,
        m_minus: sp.Max(V, V + (V**2 - V) / N - root(2 * Lambda * V * bend)),
        a_plus: (alpha_t + root(3 / d) * ell_plus) * root(m / V)
        + (root(6 * G) * eps + root(2 / V) * alpha_1) * f_plus,
    }


def _sequence() -> dict[sp.Symbol, sp.Expr]:
    """Bound the deviations X and Y of one sequence (lem-closed-sequence)."""
    sums, tail, long = root(2 * L * Lambda_prime), 2 * Lambda_prime / 3, L * root(L)
    return {
        s_beta: ell_plus * sums,
        s_alpha: root(J) * sums + alpha_1 * tail,
        s_alpha_beta: ell_plus * root(J) * sums + (alpha_1 * ell_plus + Gamma_plus) * tail,
        B_X: s_alpha_beta / L
        + (s_beta * s_alpha + L * Gamma_plus + alpha_plus * s_beta + b_plus * s_alpha) / L**2,
        B_Y: s_beta / L,
        mu_X: 24 * alpha_plus * b_plus * sp.exp(-Lambda_prime),
        C_X: B_X + mu_X,
        sigma_X: ell_plus * root(J / L)
        + root(ell_plus**2 * J + 2 * Gamma_plus**2) / L
        + (b_plus * root(J) + alpha_plus * ell_0) / long,
        sigma_XY: b_plus**2 * root(J) * (4 * root(G) / L + 6 / long)
        + 3 * alpha_plus * ell_plus**2 / L**2,
    }


def _fluctuations() -> dict[sp.Symbol, sp.Expr]:
    """Bound the deviations of all sequences together and of two halves of them
    (lem-closed-fluctuations)."""
    third = sp.Rational(1, 3)
    return {
        S_F: length(root(N) * sigma_X, C_X, Lambda, third) / N + mu_X,
        D_op: root(2 * lam * sp.Max(f_plus * ell_0**2 / V, G) / (N * L))
        + 2 * ell_plus * lam / (3 * N * L),
        P: length(root(N) * sigma_X, C_X, Lambda_prime, third),
        K: L**3 * V / (L - 1),
    }


def _question() -> dict[sp.Symbol, sp.Expr]:
    """Bound what recall compares (lem-closed-gap)."""
    shares = m + 2 * f_plus * root(m * lam) + 2 * f_plus**2 * lam
    trigger = c_plus * V * uneven
    return {
        o_t: root(2) * ell_plus * eps_1,
        p_minus: ell_minus**2 - tau * o_t,
        c_plus: ell_plus**2 + o_t,
        h_2: p_minus + tau * c_plus,
        q_minus: f_minus * p_minus - tau * (1 - f_minus) * c_plus,
        R: h_2 * shares / d + tau * trigger * (trigger + root(8 * h_2) * eps_1 * f_plus),
    }


@cache
def losses() -> dict[str, sp.Expr]:
    r"""Give $K$ times what each other part of the trace takes away at most, by name
    (lem-closed-trace, eq-prf-losses)."""
    of_beta, of_g = root(V * G), root(V * J)  # norms of beta and beta g
    itself = (L - 1) * h_plus + ell_0**2 * (alpha_t + uneven * of_g)
    itself += Gamma_plus * (uneven * of_beta + tau * ell_plus)
    noise = sigma_XY * spread * root(N) + 2 * tail * B_X * B_Y + Lambda * ell_plus * mu_X
    across = root(2 * Lambda_prime * G * N * f_plus / (V * L))
    across += 2 * Lambda_prime * ell_plus / (3 * L)
    return {
        "uneven facts": root(6 * G * m / V) * eps * ell_plus**2 * f_plus
        + 2 * f_plus**2 * ell_plus**2 * alpha_1 / V,
        "centred facts": uneven * a_plus * G * root(V),
        "trigger and facts": tau
        * f_plus
        * ell_plus
        * (f_plus * root(G * J) + uneven * ((alpha_t + alpha_plus) * of_beta + ell_plus * of_g)),
        "facts and mean": L
        * uneven
        * o_bar
        * (
            f_plus * (alpha_plus * of_beta + tau * ell_plus * of_g)
            + tau * V * ell_plus * alpha_t * uneven
        ),
        "spread and facts": along * side / L,
        "mean bias": along * uneven * o_bar,
        "facts and values": b_plus * a_plus * spread * root(f_plus * G * L / N)
        + 2 * tail * f_plus * alpha_plus * b_plus * ell_plus / N,
        "spread and values": (L - 1)
        * Gamma_plus
        * (uneven * spread * root(L * V * f_plus * G / N) + tail * (f_plus - 1) * ell_plus / N),
        "keys and facts": L**2
        / (L - 1)
        * b_plus
        * (sigma_X * spread * root(f_plus * m / (V * N)) + 2 * f_plus * (tail * C_X / N + mu_X)),
        "keys and mean": K
        * o_bar
        * (
            uneven * root(f_plus / V) * (sigma_X * spread / root(N) + mu_X * root(f_plus))
            + tail * C_X * (f_plus - 1) / (V * N)
        ),
        "a sequence with itself": V / N * itself + K / N * (noise / N + 2 * ell_plus * mu_X),
        "keys and values": K * (4 * P * across / N**2 + (f_plus + 1) / V * mu_X * B_Y),
    }


@cache
def norms() -> dict[str, sp.Expr]:
    r"""Give $K$ times parts of a bound on $\|CSm^\top C\|_F$, by name (lem-closed-norm,
    eq-prf-norms)."""
    facts = b_plus * a_plus
    widest = f_plus * alpha_plus * root(G) + tau * a_plus * ell_plus
    return {
        "facts and facts": facts * root(V) * side,
        "facts and mean": L * uneven * (facts / root(d) + root(2) * eps * widest),
        **{name: losses()[name] for name in ("spread and facts", "mean bias")},
        "facts and values": length(facts * root(G * L * V / N), facts * root(V) * ell_plus / N),
        "frequency noise": along * length(root(G / (N * L)), ell_plus / (N * L)),
        "keys and facts": K / L * S_F * side,
        "keys and mean": K * S_F * uneven * (o_bar + 1 / root(V * d)),
        "gradient noise": K * S_F * D_op,
    }


def constants(
    sizes: Values, chain: Callable[[], dict[sp.Symbol, sp.Expr]] = definitions
) -> dict[sp.Symbol, float]:
    r"""Evaluate every symbol of a chain of definitions, by default at $V,N,L,d,\tau$ and $\Lambda$;
    what is given stays."""
    values = dict(sizes)
    with np.errstate(invalid="ignore"):  # ell_- where epsilon is large
        for symbol, expression in chain().items():
            if symbol not in sizes:
                values[symbol] = numeric(expression)(values)
    return values


def conditions(sizes: Values, error: float, every: bool = True) -> tuple[float, float]:
    r"""Evaluate the conditions on lock-on and on recall at $V,L,d,\tau$ and $N\ge V$: the theorem
    applies where both numbers are at most 1. For all facts but with probability ``error``
    $=\delta$ (thm-closed); without ``every`` for an expected fraction $1-\delta$ of them
    (thm-closed-fraction).

    Lock-on asks for $2(\epsilon+\epsilon^2)F\le T$, with $T$ what the losses leave of the signal
    and $F$ the sum of the norms; recall for an exponent of at least $\Lambda-x_{j-1}$ at every level
    $x_j$ of rarity (eq-prf-conditions)."""
    if every:
        values = constants({**sizes, Lambda: union(sizes[V], error, EVENTS)})
        return lock_on(values), _recall(values, values[lam])
    values = constants({**sizes, Lambda: union(sizes[V], error / 5, OF_LOCK_ON)})
    log = math.log(OF_ONE * sizes[V] / error)
    # the only bound over all labels pays for them
    frequent = numeric(definitions()[f_plus])({theta: sizes[V] * log / sizes[N]})
    asked = constants({**sizes, Lambda: log, f_plus: frequent})
    return lock_on(values), _recall(asked, math.log(RARE / error))


def union(vocab: int, error: float, events: int) -> float:
    r"""Compute $\Lambda$ at which so many events, times $V^2$, cost $\delta$ (eq-prf-log)."""
    return math.log(events * vocab**2 / error)


def lock_on(values: Values) -> float:
    r"""Compute $2(\epsilon+\epsilon^2)\frac FT$; infinite where $T\le0$ (eq-prf-conditions)."""
    margin = numeric(signal - sp.Add(*losses().values()))(values)
    # lower bounds of products hold only where their factors are positive
    if not (values[alpha_minus] > 0 and margin > 0):
        return math.inf
    norm = numeric(sp.Add(*norms().values()))(values)
    return float(2 * values[eps] * (1 + values[eps]) * norm / margin)


def _recall(values: Values, rarest: float) -> float:
    r"""Compute the largest of $\Lambda-x_{j-1}$ over the exponent of eq-prf-conditions over the
    levels $x_j$ of the fact's own frequency, up to ``rarest``.

    It is below the level of $y$ with probability $e^{-y}$, so that between the levels of $x$ and
    $y$ only $\Lambda-x$ is asked of the output embeddings.
    """
    x = rarest * (1 - np.linspace(1, 0, LEVELS + 1) ** 2)  # closer where facts are rare
    mean = values[N] / values[V]  # sequences of a fact
    rare = {**values, f_minus: numeric(definitions()[f_minus])({theta: x[1:] / mean})}
    right = numeric(definitions()[q_minus])(rare)
    # the least frequency, the least overlap and the least weight are above 0
    if not (rarest <= 0.8 * mean and values[p_minus] > 0 and min(right) > 0):
        return math.inf
    square = (right**2 + values[R] + values[f_plus] ** 2 * values[h_2] / 2) / values[d]
    uneven = values[tau] * values[c_plus]  # the trigger's part of a wrong weight, per label
    s = right / (2 * square + uneven**2 / mean)
    moved = values[N] / (values[V] - 1) * np.expm1(s * uneven / mean) - s * uneven
    exponent = s * right - s**2 * square - moved
    return float(max((values[Lambda] - x[:-1]) / np.maximum(exponent, 1e-9)))


def sufficient_samples_closed_form(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    trigger_in_values: bool = False,
    *,
    every: bool = True,
) -> float:
    r"""Solve the conditions for the $N$ from which on an expected accuracy of ``accuracy``
    $=1-\delta$ is proved; inf where it never is.

    With probability $1-\delta$ every sequence locks and every fact is recalled. Without ``every``
    no union is taken over facts of recall. What holds at an $N$ holds at every larger one (thm-closed),
    so bisection finds where the conditions begin to hold.

    Raises
    ------
    ValueError
        A size that is none (``vocab`` at least 5, ``seq_len`` at least 2), ``accuracy`` not between
        0 and 1, ``trigger_in_values`` no boolean.
    """
    error, few = (
        1 - check_share("accuracy", accuracy),
        check_size("vocab", vocab, smallest=SMALLEST_VOCAB),
    )
    sizes = {V: few, L: check_size("seq_len", seq_len, smallest=2), d: check_size("dim", dim)}
    sizes[tau] = int(check_flag("trigger_in_values", trigger_in_values))
    found = bracket(
        lambda samples: max(conditions({**sizes, N: float(samples)}, error, every)) <= 1,
        few,
        smallest=few,
        largest=LARGEST,
        tolerance=1e-9,
        logarithmic=True,
    )
    return float(found.high)
