r"""How many sequences suffice, in closed form: with probability $1-\delta$ all sequences lock, all
facts are recalled.

Attention-only, Gaussian embeddings, early-phase limit (thm-closed, thm-closed-fraction, the book's
proof of a sufficient number of sequences). Every constant of the proof is an expression here, under
its symbol and in the order in which the proof makes it: :func:`definitions` first, then what the
signal of lock-on loses (:func:`losses`), the Frobenius norm that it is compared with
(:func:`norms`), and recall. Losses and norms are in units of $1/K$, the signal's own. Ours; loose
in constants."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import sympy as sp

from recallbook.arguments import check_flag, check_rate, check_share, check_size, not_allowed
from recallbook.theory.symbolic.expressions import L, N, V, Values, d, numeric, tau

EVENTS = 43  # times V^2: events that the proof excludes, each of probability exp(-Lambda)
OF_ONE = 64  # times V: the same where one fact is asked; lock-on leaves 17 / 43 of the error
SMALLEST_VOCAB = 5  # the lemma of the keys and the count of events need it
LEVELS = 12  # of a fact's frequency, in recall
LARGEST = 1e60  # sequences; where these do not suffice, nothing is said

# of one event; of one event for each token; of one for each of N^2 (eq-prf-log)
Lambda, lam, Lambda_prime = sp.symbols(r"Lambda \lambda \Lambda'", positive=True)
# good embeddings (eq-prf-embeddings)
eps, eps_1, omega, G, Delta = sp.symbols(r"epsilon \epsilon_1 omega G Delta", positive=True)
ell_plus, s_minus, gamma, h_plus = sp.symbols(r"\ell_+ s_- gamma h_+", positive=True)
o_t, o, o_bar, ell_bar = sp.symbols(r"o_t o \bar{o} \bar{\ell}", positive=True)
# keys a_k.g and values b_k (eq-prf-keys)
alpha_1, alpha_plus, alpha_minus, alpha_2, b_plus = sp.symbols(
    r"\alpha_1 \alpha_+ \alpha_- \alpha_2 b_+", positive=True
)
# good counts (eq-prf-counts)
theta, f_plus, f_minus, phi = sp.symbols(r"\theta f_+ f_- phi", positive=True)
# one sequence (eq-prf-sequence)
s_beta, s_alpha, s_alpha_beta = sp.symbols(r"s_\beta s_\alpha s_{\alpha\beta}", positive=True)
B_X, B_Y, W, mu_X, C_X, sigma_X = sp.symbols(r"B_X B_Y W \mu_X C_X sigma_X", positive=True)
# all sequences, different sequences, the unit (eq-prf-all)
S_F, v_D, D_op, P, K = sp.symbols("S_F v_D D_{op} P K", positive=True)
# recall: z_v.h, t.h, |h|, V^2 sum f^2, and V^2/|h|^2 times the squares of all wrong shares
# (eq-prf-question)
p_minus, c_plus, eta, m, r = sp.symbols(r"p_- c_+ \eta m r", positive=True)

root = sp.sqrt
third_part = sp.Rational(1, 3)


@cache
def definitions() -> dict[sp.Symbol, sp.Expr]:
    r"""Give each symbol of the proof by sizes, $\Lambda$ and the symbols before it.

    $\Lambda=\log(43V^2/\delta)$ pays for a union over pairs of tokens,
    $\lambda=\Lambda-\log2V$ over tokens, $\Lambda'=\Lambda+2\log N$ also over sequences."""
    logs = {lam: Lambda - sp.log(2 * V), Lambda_prime: Lambda + 2 * sp.log(N)}
    return logs | _embeddings() | _keys() | _counts() | _sequence() | _fluctuations() | _question()


def _embeddings() -> dict[sp.Symbol, sp.Expr]:
    """Bound lengths and overlaps of good embeddings (lem-closed-embeddings)."""
    return {
        eps: root(Lambda / d),
        eps_1: root(lam / d),
        ell_plus: root(1 + 2 * eps_1 + 2 * eps_1**2),
        s_minus: (1 - 1 / V) * (1 - 2 * eps_1),
        o_t: root(2) * ell_plus * eps_1,
        o: root(2) * ell_plus * eps + ell_plus**2 / (V - 1),
        o_bar: root(2 / V) * eps,
        ell_bar: o_bar + 1 / root(V * d),
        omega: (1 + root(d / V) + root(2 * Lambda / V)) ** 2,
        G: omega / d,
        gamma: root(3 * ell_plus**2 + 4 * o_t + 2 * o),
        Delta: (ell_plus**2 - s_minus) / 2,
        h_plus: root(2 * G) * eps * (Delta + (2 * o + ell_plus**2 / (V - 1)) / (V - 1))
        + 2 * ell_plus**2 * Delta / V
        + 2 * G * ell_plus**2 / (V - 1),
    }


def _keys() -> dict[sp.Symbol, sp.Expr]:
    """Bound keys and values (lem-closed-keys)."""
    return {
        alpha_1: ell_plus**2 + o_t + o,
        alpha_plus: 2 * ell_plus**2 + 3 * o_t + 2 * o,
        alpha_minus: 1 - 2 * eps_1 - 2 * o_t,
        alpha_2: alpha_1 + root(G) * gamma,
        b_plus: (1 + tau) * ell_plus,
    }


def _counts() -> dict[sp.Symbol, sp.Expr]:
    """Bound frequencies of labels (lem-closed-counts)."""
    return {
        theta: V * lam / N,
        f_plus: 1 + root(2 * theta) + theta / 3,
        f_minus: 1 - root(2 * theta) + theta / 3,
        phi: 1 + root(2 * Lambda * (1 / V + 2 / root(N))) + Lambda / (3 * root(N)),
    }


def _sequence() -> dict[sp.Symbol, sp.Expr]:
    """Bound the deviations X and Y of one sequence (lem-closed-sequence)."""
    alphas = root(2 * L * G * Lambda_prime)
    return {
        s_beta: ell_plus * root(2 * L * Lambda_prime),
        s_alpha: gamma * alphas + 2 * alpha_1 * Lambda_prime / 3,
        s_alpha_beta: ell_plus * gamma * alphas
        + 2 * (alpha_1 * ell_plus + G * gamma) * Lambda_prime / 3,
        B_X: s_alpha_beta / L
        + (s_beta * s_alpha + L * G * gamma + alpha_plus * s_beta + b_plus * s_alpha) / L**2,
        B_Y: s_beta / L,
        W: 2 * alpha_1 * ell_plus + 2 * G * gamma + (alpha_plus * ell_plus + b_plus * alpha_1) / 4,
        mu_X: 6 * W * sp.exp(-Lambda_prime),
        C_X: B_X + mu_X,
        sigma_X: gamma
        * root(G)
        * (ell_plus / root(L) + root(ell_plus**2 + 2 * G) / L + b_plus / L ** sp.Rational(3, 2))
        + alpha_plus * ell_plus / L ** sp.Rational(3, 2),
    }


def _fluctuations() -> dict[sp.Symbol, sp.Expr]:
    """Bound the deviations of all sequences together and of two halves of them
    (lem-closed-fluctuations)."""
    return {
        S_F: sigma_X * root(2 * Lambda / N) + 2 * third_part * Lambda * C_X / N + mu_X,
        v_D: sp.Max(f_plus * ell_plus**2 / V, G) / (N * L),
        D_op: root(2 * v_D * Lambda) + 2 * third_part * ell_plus * Lambda / (N * L),
        P: root(2 * Lambda_prime * N) * sigma_X + 2 * third_part * Lambda_prime * C_X,
        K: L**3 * V / (L - 1),
    }


def _question() -> dict[sp.Symbol, sp.Expr]:
    """Bound what recall compares (lem-closed-gap)."""
    return {
        p_minus: 1 - 2 * eps_1 - tau * o_t,
        c_plus: ell_plus**2 + o_t,
        eta: root(p_minus + tau * c_plus),
        m: V + V**2 * phi**2 / N,
        r: (m + 2 * f_plus * root(m * lam) + 2 * f_plus**2 * lam) / d,
    }


@cache
def signal() -> sp.Expr:
    r"""Give $K$ times the least that facts add to the trace through $t^\top g$ (eq-prf-signal)."""
    return alpha_minus * s_minus


@cache
def losses() -> dict[str, sp.Expr]:
    r"""Give $K$ times what each other part of the trace takes away at most, by name
    (lem-closed-trace, eq-prf-losses)."""
    norm_beta = root(V * G / N)  # over sqrt(N)
    weight = f_plus ** sp.Rational(3, 2) * b_plus
    itself = K / (L**2 * N) * (3 * L * h_plus + alpha_plus * ell_plus**2 + b_plus * G * gamma)
    itself_noise = B_Y * sigma_X * root(2 * Lambda * N) + 4 * third_part * Lambda * B_X * B_Y
    across = (
        root(2 * Lambda_prime * G * N * f_plus / (V * L))
        + 2 * third_part * Lambda_prime * ell_plus / L
    )
    return {
        "uneven facts": root(G) * gamma * (Delta + ell_plus**2 * phi * (f_plus + 1) * root(V / N)),
        "centred facts": phi * f_plus * alpha_2 * G * root(V / N),
        "trigger and facts": tau
        * f_plus
        * ell_plus
        * (alpha_1 * phi * norm_beta + f_plus * gamma * G)
        + tau * phi * f_plus * ell_plus * norm_beta * (alpha_plus + ell_plus * gamma),
        "facts and mean": L
        * phi
        * o_bar
        * f_plus
        * norm_beta
        * (alpha_plus + tau * ell_plus * gamma)
        + tau * L * V * phi**2 * o_bar * ell_plus * alpha_1 / N,
        "spread and facts": (L - 1) * phi * f_plus * G * gamma * norm_beta,
        "spread and trigger": tau * (L - 1) * V * phi**2 * ell_plus * G * gamma / N,
        "mean bias": L * (L - 1) * V * phi**2 * G * gamma * o_bar / N,
        "facts and values": weight * alpha_2 * root(2 * Lambda * G * L / N)
        + 4 * third_part * Lambda * f_plus * alpha_plus * b_plus * ell_plus / N,
        "spread and values": (L - 1) * phi * gamma * root(2 * Lambda * L * V * f_plus * G**3) / N
        + 2 * third_part * Lambda * (L - 1) * (f_plus - 1) * G * gamma * ell_plus / N,
        "keys and facts": L**2
        / (L - 1)
        * (
            sigma_X * weight * root(2 * Lambda / N)
            + f_plus * b_plus * (4 * third_part * Lambda * C_X / N + 2 * mu_X)
        ),
        "keys and mean": K
        / V
        * o_bar
        * (
            (
                phi * sigma_X * root(2 * Lambda * f_plus * V)
                + 2 * third_part * Lambda * C_X * (f_plus - 1)
            )
            / N
            + phi * mu_X * f_plus * root(V / N)
        ),
        "a sequence with itself": itself + K * (itself_noise / N**2 + ell_plus * mu_X / N),
        "keys and values": K * (4 * P * across / N**2 + (f_plus + 1) / V * mu_X * B_Y),
    }


@cache
def norms() -> dict[str, sp.Expr]:
    r"""Give $K$ times parts of a bound on $\|CSm^\top C\|_F$, by name (lem-closed-norm,
    eq-prf-norms)."""
    facts = f_plus * b_plus * alpha_2
    # L times the norm of the facts' part of the values
    side = f_plus * root(G / V) + tau * phi * ell_plus / root(N)
    along = L * (L - 1) * V * phi * G * gamma / root(N)  # the spread's part of the keys
    return {
        "facts and facts": facts * root(V) * side,
        "facts and mean": L * facts * root(V / N) * ell_bar * phi,
        "spread and facts": along * side / L,
        "mean bias": losses()["mean bias"],
        "facts and values": L * root(V) * facts * D_op,
        "frequency noise": along * D_op,
        "keys and facts": K / L * S_F * side,
        "keys and mean": K * S_F * ell_bar * phi / root(N),
        "gradient noise": K * S_F * D_op,
    }


@cache
def recall_gap() -> sp.Expr:
    r"""Give $q_-$ of eq-prf-recall: $V(q_v-q_k+f_kz_k^\top z_v)/\lVert h\rVert$ at least, $h$ the
    question: the right fact's share less a wrong one's, but for what differs from fact to fact."""
    return (f_minus * p_minus - tau * (f_plus - f_minus) * c_plus) / eta


@cache
def recall_noise() -> sp.Expr:
    r"""Give $q_+$ of eq-prf-recall: $V\lVert q\rVert/\lVert h\rVert$ at most where $q_v$ is at its
    least, $q$ centred."""
    own = f_minus * p_minus / eta
    return root(own**2 + r) + tau * phi * V * c_plus / (eta * root(N))


class Conditions(NamedTuple):
    """What the theorem asks (eq-prf-conditions): ``lock_on`` and ``recall`` at most 1, and
    ``margin``, which is what the losses leave of the signal, above 0."""

    margin: float
    lock_on: float
    recall: float

    @property
    def hold(self) -> bool:
        """Whether the theorem applies."""
        return self.margin > 0 and self.lock_on <= 1 and self.recall <= 1


def constants(sizes: Values) -> dict[sp.Symbol, float]:
    r"""Evaluate every symbol of :func:`definitions` at $V,N,L,d,\tau$ and $\Lambda$; what is
    given stays."""
    values = dict(sizes)
    with np.errstate(invalid="ignore"):  # |h| where epsilon is large
        for symbol, expression in definitions().items():
            if symbol not in sizes:
                values[symbol] = numeric(expression)(values)
    return values


def conditions(
    vocab: int,
    seq_len: int,
    dim: int,
    samples: float,
    *,
    error: float,
    trigger_in_values: bool,
    every: bool = True,
) -> Conditions:
    r"""Evaluate the conditions at $N$ sequences, for all facts but with probability ``error``
    $=\delta$ (thm-closed); without ``every`` for an expected fraction $1-\delta$ of them
    (thm-closed-fraction).

    Lock-on asks for $d\ge8\Lambda$ and $F\le T\sqrt{d/8\Lambda}$, with $T$ the margin and $F$ the
    sum of the norms; recall for $d\,q_-(x_j)^2\ge(\Lambda-x_{j-1})(4q_+(x_j)^2+2f_+^2)$ at every
    level $x_j$ of rarity (eq-prf-conditions).

    Raises
    ------
    ValueError
        A size that is none (``vocab`` at least 5, ``seq_len`` at least 2), ``samples`` below
        ``vocab``, ``error`` not between 0 and 1, ``trigger_in_values`` no boolean.
    """
    vocab = check_size("vocab", vocab, smallest=SMALLEST_VOCAB)
    seq_len = check_size("seq_len", seq_len, smallest=2)
    dim, flag = check_size("dim", dim), check_flag("trigger_in_values", trigger_in_values)
    samples, error = check_rate("samples", samples), check_share("error", error)
    if not vocab <= samples <= LARGEST:
        raise not_allowed("samples", samples, f"a number from vocab={vocab} to {LARGEST:g}")
    sizes = {V: vocab, L: seq_len, d: dim, N: samples, tau: int(flag)}
    values = constants({**sizes, Lambda: union(vocab, error)})
    asked = values if every else constants(one_fact(sizes, error))
    return Conditions(*_lock_on(values), _recall(asked))


def one_fact(sizes: Values, error: float) -> Values:
    r"""Add to the sizes what differs if one fact is asked: $\Lambda_1=\log(64V/\delta)$
    (eq-prf-log-one), and $f_+$, the only bound over all labels, at $\Lambda_1$ in place of
    $\lambda_1$."""
    level = math.log(OF_ONE * sizes[V] / error)
    frequent = numeric(definitions()[f_plus])({theta: sizes[V] * level / sizes[N]})
    return {**sizes, Lambda: level, f_plus: float(frequent)}


def union(vocab: int, error: float) -> float:
    r"""Compute $\Lambda=\log(43V^2/\delta)$ (eq-prf-log)."""
    return math.log(EVENTS * vocab**2 / error)


def _lock_on(values: Values) -> tuple[float, float]:
    r"""Compute $T$ and $\max\big(\frac{8\Lambda}d,\frac FT\sqrt{8\Lambda/d}\big)$
    (eq-prf-conditions)."""
    losing = sum(float(numeric(loss)(values)) for loss in losses().values())
    margin = float(numeric(signal())(values)) - losing
    # lower bounds of products hold only where their factors are positive
    if values[alpha_minus] <= 0 or values[s_minus] <= 0:
        margin = -math.inf
    if not margin > 0:
        return margin, math.inf
    norm = sum(float(numeric(part)(values)) for part in norms().values())
    room = values[d] / (8 * values[Lambda])
    return margin, max(1 / room, norm / (margin * math.sqrt(room)))


def _recall(values: Values) -> float:
    r"""Compute the largest of $(\Lambda-x_{j-1})(4q_+(x_j)^2+2f_+^2)/d\,q_-(x_j)^2$ over the levels
    of the fact's own frequency (eq-prf-conditions).

    It is below the level of $y$ with probability $e^{-y}$, so that between the levels of $x$ and
    $y$ only $\Lambda-x$ is asked of the output embeddings.
    """
    x = np.linspace(0, values[lam], LEVELS + 1)
    if values[p_minus] <= 0 or values[theta] > 0.8:  # there the least frequency is above 0
        return math.inf
    rare = numeric(definitions()[f_minus])({theta: values[V] * x[1:] / values[N]})
    q_minus, q_plus = (
        numeric(of)({**values, f_minus: rare}) for of in (recall_gap(), recall_noise())
    )
    if min(q_minus) <= 0:
        return math.inf
    asked = (values[Lambda] - x[:-1]) * (4 * q_plus**2 + 2 * values[f_plus] ** 2)
    return float(max(asked / q_minus**2) / values[d])


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
    no union is taken over facts of recall. The conditions are easier at a larger
    $N$: their terms are $(\Lambda')^aN^{-b}$ with $a\le2b$, and $\Lambda'>6$. So bisection finds
    where they begin to hold.

    Raises
    ------
    ValueError
        As :func:`conditions`; ``accuracy`` not between 0 and 1.
    """
    error = 1 - check_share("accuracy", accuracy)

    def enough(samples: float) -> bool:
        return conditions(
            vocab,
            seq_len,
            dim,
            samples,
            error=error,
            trigger_in_values=trigger_in_values,
            every=every,
        ).hold

    few, many = float(check_size("vocab", vocab, smallest=SMALLEST_VOCAB)), LARGEST
    if enough(few):
        return few
    if not enough(many):
        return math.inf
    while many > few * (1 + 1e-9):
        middle = math.sqrt(few * many)
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many
