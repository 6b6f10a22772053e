r"""Numbers of sequences that three steps need: mean bias, and label frequencies.

Mean bias: the margin of the marked token over another is Gaussian in the mean embedding $\bar z$,
given all else (thm-mean-bias, proofs of what three steps need). Label frequencies: with the trigger
in the values they bound recall with perfect attention (thm-label-frequencies, there). Ours."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import sympy as sp

from recallbook_theory import moments
from recallbook_theory.bounds import closed_form
from recallbook_theory.search import bracket
from recallbook_theory.symbolic.expressions import Array, L, N, V, Values, d, tau

# values that are tried; each is valid
THETAS, LEVELS = np.linspace(0.25, 0.97, 10), np.linspace(0.53, 3.06, 8)
OWN = sp.Rational(5, 4)  # where a quadratic touches the chance of the marked token's own score
STRAY = 0.01  # chance that some sequence does not lock, at which lock-on is asked
SMALLEST_UNEVEN = 216  # tokens, from which label frequencies are bounded
STEP = 1.02  # between numbers of sequences at which recall is bounded
theta, e_2, h, m_4, m_2 = sp.symbols("theta e_2 h m_4 m_2", positive=True)
y, s, rho_1, rho_2, r_1, r_2 = sp.symbols("y s rho_1 rho_2 r_1 r_2", positive=True)
P, p = sp.symbols("P p", nonnegative=True)
root = sp.sqrt
N_plus, eps, right, S, Q, r, R = sp.symbols("N_+ epsilon p S Q r R", positive=True)
kappa, z, a, G, b, p_all = sp.symbols("kappa z a G b p'", positive=True)


@cache
def mean_bias() -> dict[sp.Symbol, sp.Expr]:
    r"""Give the chance $p$, at least, that another token of a fresh sequence outscores the marked
    one after three steps at $N\ge V$, for every $0<\theta<1$, and what it is made of, in order
    (eq-necessary-bias).

    The mean embedding moves a margin by at least $\theta y/\sqrt{Vd}$ times a normal variable, but
    with a chance of $1-P$: $s$ is the relative variance of its main part, $r_1$ and $r_2$ are mean
    squares of the rest, products of those of facts and tokens with $\rho_1$ and $\rho_2$. $e_2^2$
    is :func:`pull_square`. Attention-only, Gaussian embeddings."""
    drift = root(s) + root(2 * (r_1 + r_2)) / y
    return {
        h: 2 * (1 + 18 / d + 44 / d**2) / (3 * V),
        m_4: 9 / d**2 + h,
        m_2: (1 + tau) ** 2 * ((1 + 4 / d) / d + h),
        y: root(3 - 3 / (2 * d)) * (1 - 1 / L) * (V - 1) * (V - 2) / (V**2 * d * N),
        s: (1 + 2 / d) / (1 - 1 / (2 * d)) * V * (V + 1) / ((V - 1) * (V - 2)) - 1,
        rho_1: (L - 1) ** 2 * ((2 + 1 / V) / d + 7 * (1 + 1 / d) / V) / (L**4 * (V - 1) * N),
        rho_2: (1 / d + 2 * (1 + 1 / d) / V) / N**2,
        r_1: (m_4 + m_2) * rho_1,
        r_2: ((2 / L + 4 / L**2 + 8 / L**3) * m_4 + m_2 / L**3) * rho_2,
        P: sp.Max(0, 1 - drift**2 / (1 - theta) ** 2),
        p: (1 - 1 / V) * (P / 4 - root(P * V * d) * e_2 / (8 * theta * y)),
    }


@cache
def many_tokens() -> dict[sp.Symbol, sp.Expr]:
    r"""Give the same chance by all other tokens at once, for every $0<\theta<1$ and level $0.53\le
    z\le3.06$, which a normal variable exceeds with the chance $\kappa$ (thm-mean-bias-many,
    eq-necessary-many)."""
    drift = root(s) + 3 * root((r_1 + r_2) / (1 - 1 / V)) / y
    rest = root(7 * rho_1) + 3 * tau / (L * N) + root(2 * rho_2 * (1 + 2 / d + 4 / L) / L)
    main = 19 * theta**2 * (1 - 1 / V) * y**2 / 60
    return {
        kappa: sp.erfc(z / root(2)) / 2,
        a: sp.exp(-(OWN**2) / 2) / root(8 * sp.pi) / (z + OWN),
        G: (1 + root(d / V) + 2 * root(sp.log(V) / V)) ** 2 / d,
        b: G * (root(1 + 2 / d) * G / N + rest) ** 2 / main,
        p_all: sp.erfc(OWN / root(2)) / 2
        + a * ((z + OWN) ** 2 - e_2**2 * V * d / main)
        - drift**2 / (1 - theta) ** 2
        - 20 * b
        - (1 / (L - 1) + b) / kappa,
    }


def pull_parts(sizes: Values) -> Array:
    """Compute the exact mean square for :func:`pull_square`, by powers of 1/N, ``(5,)``."""
    vocab, length, dim, flag = (float(sizes[symbol]) for symbol in (V, L, d, tau))
    lengths = np.cumprod([1, *(1 + 2 * j / dim for j in range(4))])  # E T^k
    total = np.zeros(5)
    for quantity, weight in (("square", 1.0), ("scatter", 2 * vocab / (vocab - 1))):
        powers, coefficients = moments.arrays(quantity, odd=True)
        values = coefficients * flag ** powers[:, 5] * lengths[powers[:, 4].astype(int)]
        values *= np.exp(-powers[:, 1:4] @ np.log([length, vocab, dim]))
        total += weight * np.bincount(powers[:, 0].astype(int), values, minlength=5)
    return total


def pull_square(sizes: Values) -> float:
    r"""Bound $e_2^2=\mathbb E(a^\top w_{\rm o})^2$ at $N\ge V$ from above (thm-mean-bias), such
    that $N^2$ times it never falls with $N$.

    It is a polynomial in 1/N, exactly known (:mod:`recallbook_theory.moments`); what is negative is
    left out, and beyond the second power $N$ is replaced by $V$."""
    samples, vocab = float(sizes[N]), float(sizes[V])
    scales = np.array([samples**2, samples, 1, 1 / vocab, 1 / vocab**2])
    return float(np.maximum(pull_parts(sizes), 0) @ scales) / samples**2


def outscored(sizes: Values) -> float:
    r"""Compute the best $p$ of :func:`mean_bias` and :func:`many_tokens` at V, N, L, d and tau."""
    known = {**sizes, e_2: math.sqrt(pull_square(sizes)), theta: THETAS}
    one = closed_form.constants(known, mean_bias)
    many = closed_form.constants({**one, z: LEVELS[:, None]}, many_tokens)
    return float(max(np.max(one[p]), np.max(many[p_all])))


def mean_bias_samples(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    trigger_in_values: bool = False,
) -> float:
    r"""Count the sequences below which three steps with at least $V$ of them are not that accurate
    on average, because of mean bias; 0 where nothing is proved (cor-mean-bias).

    At large sizes a multiple of $L^2\sqrt V/d^{3/2}$ (eq-many-leading) with $L\gg\sqrt{Vd}$,
    which $\tau=1$ asks for; nothing at $\alpha\le\frac12$, and below $V$ of about 9000 only what one
    other token asks (thm-mean-bias), nothing at $\alpha\le\frac34$. Sizes as
    :func:`recallbook.minimum_samples` checks them."""
    if seq_len == 1 or vocab < 4:
        return 0.0
    sizes = {V: vocab, L: seq_len, d: dim, tau: int(trigger_in_values)}

    # sequences where another token is ahead name 1/V of the facts
    def enough(samples: int) -> bool:
        return outscored({**sizes, N: float(samples)}) - 1 / vocab <= 1 - accuracy

    return float(bracket(enough, vocab, smallest=vocab, largest=2**100, tolerance=1e-9).low)


@cache
def label_frequencies() -> dict[sp.Symbol, sp.Expr]:
    r"""Give $R$, which bounds expected recall with perfect attention from above, trigger in the
    values, at every number of sequences from $N\ge V$ to $N_+$, and what it is made of, in order
    (thm-label-frequencies, eq-necessary-labels): $r$ is the scaled right weight that half of the
    facts exceed only by rare events. Not a number where $r^2>d$, of which nothing is said."""
    often = 2 * sp.log(V) * V / N
    wide = 1 + root(2) * eps
    level = sp.Max(0, (r + root(2 * d / V)) * wide - sp.S.Half)
    normal = sp.Lambda(z, sp.erfc(-z / root(2)) / 2)
    won = normal(1 / root(4 - 4 * r**2 / d)) + normal(level / root(1 - 10 / V)) ** (V / 5 - 1)
    return {
        eps: root(sp.log(V) / d),
        right: (1 + 2 * eps) ** 2,
        S: (V**2 - V) / N_plus * (1 - 1 / sp.cbrt(V)),
        Q: sp.Max(
            1 / V,
            (2 - right) * root(S)
            - 2 * right / root(S)
            - 2 * eps * (1 + 2 * eps) * (1 + root(2 * often) + often / 3),
        ),
        r: root(d) / Q * right * (1 + 2 * V / N + 4 * eps / root(V)),
        R: 1 - (sp.S.Half - 3 / sp.cbrt(V)) * (1 - won),
    }


def excluded_samples(
    vocab: int, seq_len: int, dim: int, accuracy: float = 0.9
) -> tuple[float, float]:
    r"""Give $N_1$ and $N_2$ between which no number of sequences gives three steps that expected
    accuracy, with the trigger in the values (cor-label-frequencies); $N_1=N_2$ where none is
    excluded.

    From $N_1$ on every sequence is proved to lock, so accuracy is recall with perfect attention,
    which label frequencies bound up to $N_2$. Gaussian embeddings, equal facts, no MLP; ``vocab``
    at least 216, ``seq_len`` at least 2."""
    log = closed_form.union(vocab, STRAY, closed_form.OF_LOCK_ON)
    sizes = {V: vocab, L: seq_len, d: dim, tau: 1, closed_form.Lambda: log}

    def locks(samples: int) -> bool:
        return closed_form.lock_on(closed_form.constants({**sizes, N: float(samples)})) <= 1

    first = last = bracket(
        locks, vocab, smallest=vocab, largest=closed_form.LARGEST, tolerance=1e-3, logarithmic=True
    ).high
    while last < math.inf:
        between = {**sizes, N: last, N_plus: STEP * last}
        if not closed_form.constants(between, label_frequencies)[R] < accuracy - STRAY:
            break
        last *= STEP
    return first, last
