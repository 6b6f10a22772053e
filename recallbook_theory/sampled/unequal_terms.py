r"""Step 2 when facts are not equally frequent: scores of tokens and of the mark, to leading order.
Ours.

Facts have frequencies $p_v$, other tokens $p'_v$; $P_{i,j}=\sum_vp_v^ip_v'^j$. Labels weigh $\tilde
f_v$ and the predictions at zero are $c_v$: with $\hat u_v=u_v-\sum_jc_ju_j$ the frequent labels
pull by $g=\sum_v\tilde f_v\hat u_v$, which a trained output bias makes zero. Scores given
frequencies are those of orthogonal embeddings, exact but for chance; what random embeddings add to
them is in the noises."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import sympy as sp

from recallbook_theory.symbolic.expressions import L, N, V, d, power, q, tau, trace
from recallbook_theory.symbolic.lock_terms import R

# frequency of token v as a fact; q is that of token v as another token
f = sp.Symbol("f", nonnegative=True)
# Means over Gaussian embeddings, sums over Wick's pairings: of z_v' C b, exact, and
# of z_v' (sum_x p'_x z_x z_x')^k z_v for k = 2 and 3, those that do not cross
P2, P3, S2, S3, S4 = power(0, 2), power(0, 3), trace(2), trace(3), trace(4)
BIAS_OVERLAP = sp.expand(q**2 - q * P2 + S2 * q * (1 + q - 2 * P2))
TOKEN_SQUARE = q**2 + 2 * q * S2 + P2 * S2 + S3
TOKEN_CUBE = sp.expand(
    q**3 + 3 * q**2 * S2 + q * (2 * P2 * S2 + S2**2 + 2 * S3) + P2 * (S2**2 + 2 * S3) + P3 * S2 + S4
)
EVEN = ("balanced", "inverse")


class Labels(NamedTuple):
    r"""What scores need to know of labels, in the mean over counts; see :func:`labels`.

    ``square`` $|g|^2$; ``along`` $\sum_y\tilde f_yp'_y\hat u_y^\top g$; ``facts`` $\sum_y\tilde
    f_y^2|\hat u_y|^2$; of token $v$ alone: ``pull`` $\tilde f_v\hat u_v^\top g$, ``own`` $\tilde
    f_v^2|\hat u_v|^2$ and ``shared`` $\tilde f_v\sum_k\tilde f_kp'_k\hat u_v^\top\hat u_k$."""

    square: sp.Expr
    along: sp.Expr
    facts: sp.Expr
    pull: sp.Expr
    own: sp.Expr
    shared: sp.Expr


@cache
def labels(bias: str) -> Labels:
    r"""The sums of :class:`Labels` for orthogonal labels (eq-unequal-pull, chapter 11).

    ``"none"``: $\tilde f=f$, $c=1/V$, so $|g|^2=P_2-\frac1V+\frac{1-P_2}N$. ``"calibrated"``: $c=p$
    and $|g|^2=\frac{1-P_2}N$. ``"trained"``: $c=f$, $g=0$. ``"balanced"`` batches and ``"inverse"``
    loss weights: $\tilde f=c=1/V$, $g=0$, every fact covered. Sampling enters where $g$ does; in
    ``facts`` a sequence meeting itself adds $\frac1N$, and carries no signal ("own sequence")."""
    p2, p3, p11, p21 = power(2), power(3), power(1, 1), power(2, 1)
    zero, even = sp.Integer(0), 1 / V
    if bias in EVEN:
        facts, own = even * (1 - even), even**2 * (1 - even)
        return Labels(zero, zero, facts, zero, own, even**2 * (q - even))
    if bias == "none":
        square, along = p2 - even + (1 - p2) / N, p21 - p11 * even + (p11 - p21) / N
        pull = f * (f - even) + f * (1 - f) / N
        return Labels(
            square, along, p2 * (1 - even), pull, f**2 * (1 - even), f * (f * q - p11 * even)
        )
    facts, own = p2 - 2 * p3 + p2**2, f**2 * (1 - 2 * f + p2)
    shared = f * (f * q - p11 * (f - p2) - p21)
    if bias == "calibrated":
        square, along = (1 - p2) / N, (p11 - 2 * p21 + p11 * p2) / N
        return Labels(square, along, facts, f * (1 - 2 * f + p2) / N, own, shared)
    return Labels(zero, zero, facts, zero, own, shared)


@cache
def mark_score(bias: str = "none") -> sp.Expr:
    r"""$t^\top w$: $\frac R{L^2}\sum_y\tilde f_y^2|\hat u_y|^2$, and what frequent labels add
    through $g$."""
    of = labels(bias)
    others = power(0, 2)
    return R / L**2 * (of.facts + tau * of.square - of.along) + R**2 / L * (
        of.along - others * of.square
    )


@cache
def bias_pull(bias: str = "none") -> sp.Expr:
    r"""$R^3|g|^2\,\mathbb E\,z_v^\top Cb$, over Gaussian embeddings: leads "frequent tokens" at
    large $L$ (eq-unequal-token, chapter 11)."""
    return R**3 * labels(bias).square * BIAS_OVERLAP


@cache
def token_scores(bias: str = "none") -> dict[str, sp.Expr]:
    r"""Mean of $z_v^\top w$ of a token of frequencies $q$ and $f$, in two parts that add up.

    "frequent tokens" is zero where $g$ is; "uneven facts" is $\frac R{L^2}\tilde f_v^2$ against the
    mean of all."""
    of, others = labels(bias), power(0, 2)
    direct = (
        R**2 / L * (q * (of.pull - of.along) + of.pull * (q - others)) + R / L**2 * tau * of.pull
    )
    without = mark_score(bias).subs(tau, 0) if of.square == 0 else R / L**2 * of.facts
    through = direct + bias_pull(bias) - q * sp.expand(mark_score(bias) - without)
    return {
        "frequent tokens": through,
        "uneven facts": R / L**2 * (of.own - of.shared) - q * without,
    }


@cache
def own_sequence(bias: str = "none") -> sp.Expr:
    r"""What sequences meeting themselves add to the mean score of a token: $\frac1N$ of a signal.

    Of orthogonal embeddings, to leading order in $1/L$.
    """
    squares = 1 - power(2) if bias in ("calibrated", "trained") else 1 - 1 / V  # mean of |u^_y|^2
    squares *= power(-1) / V**2 if bias == "inverse" else 1  # and of the squared loss weight
    skew = -3 / L * (q**2 - q * power(0, 2))
    return squares / N * skew


class Batch(NamedTuple):
    r"""Sums over a batch's labels that noises need, with loss weights $\omega$: of what fluctuates,
    and how strongly.

    ``pulls`` $\sum_yf_y\omega_y^2(\hat u_y^\top g)^2$; ``pairs``
    $\sum_{yk}f_yf_k\omega_y^2\omega_k^2 (\hat u_y^\top\hat u_k)^2$; with
    $h_k=\sum_yf_y\omega_y^2\tilde f_k^2(\hat u_y^\top\hat u_k)^2$ that of token $v$ as ``own``, and
    ``every`` $\sum_kh_k$, ``others`` $\sum_kp'_kh_k$."""

    pulls: sp.Expr
    pairs: sp.Expr
    own: sp.Expr
    every: sp.Expr
    others: sp.Expr


@cache
def batch(bias: str) -> Batch:
    """The sums of :class:`Batch` to leading order; inverse weights bring reciprocal frequencies."""
    p2, zero = power(2), sp.Integer(0)
    if bias == "balanced":
        return Batch(
            zero,
            1 / V + 1 / d,
            1 / V**3 + 1 / (V**2 * d),
            1 / V**2 + 1 / (V * d),
            1 / V**3 + 1 / (V**2 * d),
        )
    if bias == "inverse":
        mean = power(-1) / V**2  # of the squared loss weight
        own, every, others = (1 / (V**4 * f), power(-1) / V**4, power(-1, 1) / V**4)
        across = (mean / (V**2 * d), mean / (V * d), mean / (V**2 * d))
        alike = [one + two for one, two in zip((own, every, others), across, strict=True)]
        return Batch(zero, power(-2) / V**4 + mean**2 / d, *alike)
    pulls = zero if bias == "trained" else labels(bias).square / d + p2 / N
    if bias == "none":
        pulls += power(3) - 2 * p2 / V + 1 / V**2
    return Batch(
        pulls, p2 + 1 / d, f**3 + f**2 / d, power(3) + p2 / d, power(3, 1) + power(2, 1) / d
    )


@cache
def noises(bias: str = "none") -> dict[str, sp.Expr]:
    r"""Variances of $z_v^\top w$ across $t$ that the sequences bring, by name: to leading order in
    small frequencies.

    "value noise" is what the mean values of sequences scatter, "key noise" what their keys do,
    "gradient noise" both: $\frac{R^2}{L^2N^2}$ times ``pairs`` times $(q+s_2)^2+\dots$ For the most
    frequent token, of $q=0.1$, they are too large by a factor of about $(1-q)^{-7}$."""
    s2, p2, p3 = trace(2), power(0, 2), power(0, 3)
    of, overlap = batch(bias), q + s2  # mean of z_v'Cz_v
    value = of.pulls * R**4 * TOKEN_CUBE
    if bias == "none":  # frequent labels pull, and their facts are in the same sequences
        value += 2 * R**3 / L * _pulled_facts()
    value += (
        R**2 / L**2 * (of.own * (overlap + tau * s2) + s2 * (of.others + (1 + tau) * s2 * of.every))
    )
    key = (q * (of.own + s2 * of.every) + s2 * (of.others + s2 * of.every)) / L**2
    key += of.pulls * (
        R**2 * (q * (q**2 + s2 * p2) + s2 * (p3 + s2 * p2)) + tau * s2 / L**2 * overlap
    )
    # the second part: sequences i and j exchanged, where a token is both key and value
    gradient = of.pairs * (q * overlap + s2 * (p2 + s2) + q**2 + s2 * p2)
    rate = R / (L * N)
    return {
        "value noise": rate * value,
        "key noise": rate * key,
        "gradient noise": rate**2 * gradient,
    }


def _pulled_facts() -> sp.Expr:
    r"""$\sum_jf_j\hat u_j^\top g\sum_yf_y\hat u_y^\top\hat u_j\,(z_v^\top C^2z_y)(z_v^\top z_y)$
    without a bias."""
    square, constant = TOKEN_SQUARE, TOKEN_SQUARE.subs(q, 0)
    own = f * (f - 1 / V) * (f + 1 / d)
    sums = [  # of own p'^j
        power(3, j) + (1 / d - 1 / V) * power(2, j) - power(1, j) / (V * d) for j in range(3)
    ]
    return own * square + trace(2) * (constant * sums[0] + 2 * trace(2) * sums[1] + sums[2])


# The attention vector given embeddings and label counts: coefficients of its mean and covariance.
# Tokens of a sequence but the informative one are drawn from p'. About their mean b they are x - b,
# with covariance C; the informative token has key kappa = x_a + t and value nu = x_a + tau t.

# of a sequence's mean value, (v_a)/L + R b, and of the covariance R/L C of its fluctuation zeta
value_scatter = R / L
# mean of Sigma = (1/L) sum_j e_j (e'_j - mean)^T: R^2 C + R/L kappa nu^T
tokens_pull = R**2
mark_pull = R / L
# mean of Delta zeta, a sequence's key noise on its own value noise: third moment, less turns of the
# mark
own_tokens = R**2 / L
own_mark = R / L**2
# covariance of Delta q: single tokens, pairs of tokens, a token with the mark, and the first with
# the third
single_tokens = R**3 / L
pairs_of_tokens = R * (L - 2) / L**3
with_mark = R / L**3
single_with_mark = -(R**2) / L**2

# chance that a token without mark scores less than the marked one
below = sp.Symbol("F", nonnegative=True)
tied = sp.Symbol("E", positive=True)  # and that it scores the same
# that none of L - 1 scores more, and that the marked one is chosen among those that tie
lock_chance = ((below + tied) ** L - below**L) / (L * tied)
