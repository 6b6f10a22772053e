r"""How many sequences suffice, in closed form: with probability $1-\delta$ all sequences lock, all
facts are recalled.

Attention-only, Gaussian embeddings, early-phase limit. Every constant of the proof (the book's page
of proofs) is an expression here, in the order in which the proof makes it: :func:`definitions`
first, then what the signal of lock-on loses (:func:`losses`), the Frobenius norm that it is
compared with (:func:`norms`), and recall. Losses and norms are in units of $1/K$, the signal's own.
Ours; loose in constants."""

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

log, log_one, log_all = sp.symbols(
    r"Lambda \lambda \Lambda'", positive=True
)  # of one event; of one event for each token; of one for each of N^2
eps, eps_one, omega, G, Delta, K = sp.symbols(r"epsilon \epsilon_1 omega G Delta K", positive=True)
longest, shortest, widest = sp.symbols(
    r"\ell_+ s_- gamma", positive=True
)  # length, squared length, |g|
overlap, trigger_overlap, third = sp.symbols("o o_t h_+", positive=True)
mean_overlap, mean_length = sp.symbols(r"\bar{o} \bar{\ell}", positive=True)
share, most, least, uneven = sp.symbols(r"\theta f_+ f_- phi", positive=True)
key, any_key, low_key, keys, value = sp.symbols(
    r"\alpha_1 \alpha_+ \alpha_- \alpha_2 b_+", positive=True
)
sum_values, sum_keys, sum_both = sp.symbols(r"s_\beta s_\alpha s_{\alpha\beta}", positive=True)
x_bound, y_bound, x_worst, x_bias = sp.symbols(r"B_X B_Y W \mu_X", positive=True)
deviation, x_most, half = sp.symbols("sigma_X C_X P", positive=True)
key_noise, variance, value_noise = sp.symbols("S_F v_D D_{op}", positive=True)

right, common, question, mass, others = sp.symbols(r"p_- c_+ \eta m r", positive=True)

root = sp.sqrt
third_part = sp.Rational(1, 3)


@cache
def definitions() -> dict[sp.Symbol, sp.Expr]:
    r"""Each symbol of the proof by sizes, $\Lambda$ and the symbols before it.

    $\Lambda=\log(43V^2/\delta)$ pays for a union over pairs of tokens,
    $\lambda=\Lambda-\log2V$ over tokens, $\Lambda'=\Lambda+2\log N$ also over sequences."""
    hits = root(2 * L * G * log_all)
    return {
        # good embeddings
        log_one: log - sp.log(2 * V),
        log_all: log + 2 * sp.log(N),
        eps: root(log / d),
        eps_one: root(log_one / d),
        longest: root(1 + 2 * eps_one + 2 * eps_one**2),
        shortest: (1 - 1 / V) * (1 - 2 * eps_one),
        trigger_overlap: root(2) * longest * eps_one,
        overlap: root(2) * longest * eps + longest**2 / (V - 1),
        mean_overlap: root(2 / V) * eps,
        mean_length: mean_overlap + 1 / root(V * d),
        omega: (1 + root(d / V) + root(2 * log / V)) ** 2,
        G: omega / d,
        widest: root(3 * longest**2 + 4 * trigger_overlap + 2 * overlap),
        Delta: (longest**2 - shortest) / 2,
        third: root(2 * G) * eps * (Delta + (2 * overlap + longest**2 / (V - 1)) / (V - 1))
        + 2 * longest**2 * Delta / V
        + 2 * G * longest**2 / (V - 1),
        # keys a_k.g and values b_k
        key: longest**2 + trigger_overlap + overlap,
        any_key: 2 * longest**2 + 3 * trigger_overlap + 2 * overlap,
        low_key: 1 - 2 * eps_one - 2 * trigger_overlap,
        keys: key + root(G) * widest,
        value: (1 + tau) * longest,
        # good counts
        share: V * log_one / N,
        most: 1 + root(2 * share) + share / 3,
        least: 1 - root(2 * share) + share / 3,
        uneven: 1 + root(2 * log * (1 / V + 2 / root(N))) + log / (3 * root(N)),
        # one sequence
        sum_values: longest * root(2 * L * log_all),
        sum_keys: widest * hits + 2 * key * log_all / 3,
        sum_both: longest * widest * hits + 2 * (key * longest + G * widest) * log_all / 3,
        x_bound: sum_both / L
        + (sum_values * sum_keys + L * G * widest + any_key * sum_values + value * sum_keys) / L**2,
        y_bound: sum_values / L,
        x_worst: 2 * key * longest + 2 * G * widest + (any_key * longest + value * key) / 4,
        x_bias: 6 * x_worst * sp.exp(-log_all),
        x_most: x_bound + x_bias,
        deviation: widest
        * root(G)
        * (longest / root(L) + root(longest**2 + 2 * G) / L + value / L ** sp.Rational(3, 2))
        + any_key * longest / L ** sp.Rational(3, 2),
        # all sequences
        key_noise: deviation * root(2 * log / N) + 2 * third_part * log * x_most / N + x_bias,
        variance: sp.Max(most * longest**2 / V, G) / (N * L),
        value_noise: root(2 * variance * log) + 2 * third_part * longest * log / (N * L),
        # different sequences
        half: root(2 * log_all * N) * deviation + 2 * third_part * log_all * x_most,
        K: L**3 * V / (L - 1),
        # recall: z_v.h, t.h, |h|, V^2 sum f^2, and V^2/|h|^2 times the squares of all wrong shares
        right: 1 - 2 * eps_one - tau * trigger_overlap,
        common: longest**2 + trigger_overlap,
        question: root(right + tau * common),
        mass: V + V**2 * uneven**2 / N,
        others: (mass + 2 * most * root(mass * log_one) + 2 * most**2 * log_one) / d,
    }


@cache
def signal() -> sp.Expr:
    r"""$K$ times the least that facts add to the trace through $t^\top g$."""
    return low_key * shortest


@cache
def losses() -> dict[str, sp.Expr]:
    r"""$K$ times what each other part of the trace takes away at most, by name."""
    tilted = root(V * G / N)
    weight = most ** sp.Rational(3, 2) * value
    itself = K / (L**2 * N) * (3 * L * third + any_key * longest**2 + value * G * widest)
    itself_noise = (
        y_bound * deviation * root(2 * log * N) + 4 * third_part * log * x_bound * y_bound
    )
    across = root(2 * log_all * G * N * most / (V * L)) + 2 * third_part * log_all * longest / L
    return {
        "uneven facts": root(G) * widest * (Delta + longest**2 * uneven * (most + 1) * root(V / N)),
        "centred facts": uneven * most * keys * G * root(V / N),
        "trigger and facts": tau * most * longest * (key * uneven * tilted + most * widest * G)
        + tau * uneven * most * longest * tilted * (any_key + longest * widest),
        "facts and mean": L
        * uneven
        * mean_overlap
        * most
        * tilted
        * (any_key + tau * longest * widest)
        + tau * L * V * uneven**2 * mean_overlap * longest * key / N,
        "spread and facts": (L - 1) * uneven * most * G * widest * tilted,
        "spread and trigger": tau * (L - 1) * V * uneven**2 * longest * G * widest / N,
        "mean bias": L * (L - 1) * V * uneven**2 * G * widest * mean_overlap / N,
        "facts and values": weight * keys * root(2 * log * G * L / N)
        + 4 * third_part * log * most * any_key * value * longest / N,
        "spread and values": (L - 1) * uneven * widest * root(2 * log * L * V * most * G**3) / N
        + 2 * third_part * log * (L - 1) * (most - 1) * G * widest * longest / N,
        "keys and facts": L**2
        / (L - 1)
        * (
            deviation * weight * root(2 * log / N)
            + most * value * (4 * third_part * log * x_most / N + 2 * x_bias)
        ),
        "keys and mean": K
        / V
        * mean_overlap
        * (
            (
                uneven * deviation * root(2 * log * most * V)
                + 2 * third_part * log * x_most * (most - 1)
            )
            / N
            + uneven * x_bias * most * root(V / N)
        ),
        "a sequence with itself": itself + K * (itself_noise / N**2 + longest * x_bias / N),
        "keys and values": K * (4 * half * across / N**2 + (most + 1) / V * x_bias * y_bound),
    }


@cache
def norms() -> dict[str, sp.Expr]:
    r"""$K$ times parts of a bound on $\|CSm^\top C\|_F$, by name."""
    facts = most * value * keys
    side = most * root(G / V) + tau * uneven * longest / root(
        N
    )  # L times the norm of the facts' part of the values
    along = L * (L - 1) * V * uneven * G * widest / root(N)  # the spread's part of the keys
    return {
        "facts and facts": facts * root(V) * side,
        "facts and mean": L * facts * root(V / N) * mean_length * uneven,
        "spread and facts": along * side / L,
        "mean bias": losses()["mean bias"],
        "facts and values": L * root(V) * facts * value_noise,
        "frequency noise": along * value_noise,
        "keys and facts": K / L * key_noise * side,
        "keys and mean": K * key_noise * mean_length * uneven / root(N),
        "gradient noise": K * key_noise * value_noise,
    }


@cache
def recall_gap() -> sp.Expr:
    r"""$V(q_v-q_k+f_kz_k^\top z_v)/\lVert h\rVert$ at least, $h$ the question: the right fact's share less a
    wrong one's, but for what differs from fact to fact."""
    return (least * right - tau * (most - least) * common) / question


@cache
def recall_noise() -> sp.Expr:
    r"""$V\lVert q\rVert/\lVert h\rVert$ at most where $q_v$ is at its least, $q$ centred."""
    own = least * right / question
    return root(own**2 + others) + tau * uneven * V * common / (question * root(N))


class Conditions(NamedTuple):
    """What the theorem asks: ``lock_on`` and ``recall`` at most 1, and the parts of both, by name.

    ``margin`` is what the losses leave of the signal; it must be above 0.
    """

    margin: float
    losses: dict[str, float]
    lock_on: float
    norms: dict[str, float]
    recall: float

    @property
    def hold(self) -> bool:
        """Whether the theorem applies."""
        return self.margin > 0 and self.lock_on <= 1 and self.recall <= 1

    @property
    def binding(self) -> str:
        """The largest part of the condition that is furthest from holding: a loss where nothing is
        left of the signal, else recall or a norm."""
        if self.margin > 0 and self.recall >= self.lock_on:
            return "recall"
        parts = self.losses if self.margin <= 0 else self.norms
        return max(parts, key=lambda name: parts[name])


def constants(sizes: Values) -> dict[sp.Symbol, float]:
    r"""The value of every symbol of :func:`definitions` at $V,N,L,d,\tau$ and $\Lambda$; what is
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
    r"""The conditions of the theorem at $N$ sequences, for all facts but with probability ``error``
    $=\delta$; without ``every`` for an expected fraction $1-\delta$ of them.

    Lock-on asks for $d\ge8\Lambda$ and $F\le T\sqrt{d/8\Lambda}$, with $T$ the margin and $F$ the
    sum of the norms; recall for $d\,\text{gap}^2\ge(\Lambda-x)(4\,\text{noise}^2+2f_+^2)$ at
    every level $x$ of rarity.

    Raises
    ------
    ValueError
        A size that is none (``vocab`` at least 5, ``seq_len`` at least 2), ``samples`` below
        ``vocab``, ``error`` not between 0 and 1, ``trigger_in_values`` no boolean.
    """
    vocab, seq_len = (
        check_size("vocab", vocab, smallest=SMALLEST_VOCAB),
        check_size("seq_len", seq_len, smallest=2),
    )
    dim, flag = check_size("dim", dim), check_flag("trigger_in_values", trigger_in_values)
    samples, error = check_rate("samples", samples), check_share("error", error)
    if not vocab <= samples <= LARGEST:
        raise not_allowed("samples", samples, f"a number from vocab={vocab} to {LARGEST:g}")
    sizes = {V: vocab, L: seq_len, d: dim, N: samples, tau: int(flag)}
    values = constants({**sizes, log: union(vocab, error)})
    asked = values if every else constants(one_fact(sizes, error))
    return _conditions(values, _recall(asked))


def one_fact(sizes: Values, error: float) -> Values:
    r"""Sizes with what differs if one fact is asked: $\Lambda=\log(64V/\delta)$, and $f_+$, the only
    bound over all labels, at $\Lambda$ in place of $\lambda$."""
    level = math.log(OF_ONE * sizes[V] / error)
    frequent = numeric(definitions()[most])({share: sizes[V] * level / sizes[N]})
    return {**sizes, log: level, most: float(frequent)}


def union(vocab: int, error: float) -> float:
    r"""$\Lambda=\log(43V^2/\delta)$."""
    return math.log(EVENTS * vocab**2 / error)


def _conditions(values: Values, recall: float) -> Conditions:
    lost = {name: float(numeric(loss)(values)) for name, loss in losses().items()}
    parts = {name: float(numeric(norm)(values)) for name, norm in norms().items()}
    margin = float(numeric(signal())(values)) - sum(lost.values())
    # lower bounds of products hold only where their factors are positive
    if values[low_key] <= 0 or values[shortest] <= 0:
        margin = -math.inf
    room = values[d] / (8 * values[log])
    lock = (
        max(1 / room, sum(parts.values()) / (margin * math.sqrt(room))) if margin > 0 else math.inf
    )
    return Conditions(margin, lost, lock, parts, recall)


def _recall(values: Values) -> float:
    r"""The largest of $(\Lambda-x)(4\,\text{noise}^2+2f_+^2)/d\,\text{gap}^2$ over the levels of
    the fact's own frequency.

    It is below the level of $y$ with probability $e^{-y}$, so that between the levels of $x$ and
    $y$ only $\Lambda-x$ is asked of the output embeddings.
    """
    levels = np.linspace(0, values[log_one], LEVELS + 1)
    if values[right] <= 0 or values[share] > 0.8:  # there the least frequency is above 0
        return math.inf
    rare = numeric(definitions()[least])({share: values[V] * levels[1:] / values[N]})
    gap, noise = (numeric(of)({**values, least: rare}) for of in (recall_gap(), recall_noise()))
    if min(gap) <= 0:
        return math.inf
    asked = (values[log] - levels[:-1]) * (4 * noise**2 + 2 * values[most] ** 2)
    return float(max(asked / gap**2) / values[d])


def sufficient_samples_closed_form(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    trigger_in_values: bool = False,
    *,
    every: bool = True,
) -> float:
    r"""The $N$ from which on an expected accuracy of ``accuracy`` $=1-\delta$ is proved; inf where
    it never is.

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
