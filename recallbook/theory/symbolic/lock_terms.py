r"""Step 2 in the early-phase limit: what the trigger adds to a score, and how much scores of tokens
scatter.

The attention vector is $w=\frac1N\sum_i\mathrm{Cov}_i(\text{keys},\text{values})\,q_{y_i}$. A token
scores $z_v^\top w$, the mark adds $t^\top w$. Attention locks when the second exceeds the scatter
of the first."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import sympy as sp

from recallbook.theory.symbolic.expressions import L, N, V, d, tau

T = sp.Symbol("T", positive=True)  # |t|^2, mean 1
# N |sum_k (f_k - 1/V) u_k|^2, mean 1: how uneven the labels of the batch are
Q = sp.Symbol("Q", positive=True)
M = sp.Symbol("M", positive=True)  # V |mean embedding|^2, mean 1

# What the fixed random MLP makes of phi near zero; see recallbook.theory.feature_kernels.near_zero
epsilon = sp.Symbol("epsilon", nonnegative=True)  # 1/m
k_same, k_other, k_bias, k_own = sp.symbols("k_s k_o k_b k_1", real=True)
# mean square over pairs with different labels; k_o is the mean
k_square = sp.Symbol("k_2", nonnegative=True)
p_other, p_own = sp.symbols("p_o p_1", real=True)
spread = sp.Symbol("e", nonnegative=True)
LINEAR = {  # Attention-only
    **dict.fromkeys((k_same, k_other, k_square, k_bias, k_own), 1),
    **dict.fromkeys((epsilon, p_other, p_own, spread), 0),
}

R = 1 - 1 / L
kappa = 1 / d + 1 / V  # mean square overlap of two tokens, plus a token's own share of the mean
count_noise = 1 / (N * L)
SHARED = (T, Q, M)  # what fluctuates from draw to draw and is shared by all tokens
# of one term and of all
lengths_variance, total_variance = sp.symbols("lambda sigma2", nonnegative=True)


class LockTerm(NamedTuple):
    """One source of scatter: its variance over tokens, and over draws of the trigger's own
    score."""

    token: sp.Expr
    trigger: sp.Expr


@cache
def spectral_moment(power: int) -> sp.Expr:
    r"""$m_k=d^k\,\frac1d\mathrm{tr}\,G^k$ for $G=\frac1VZ^\top Z$: Marchenko-Pastur moments, at
    ratio $d/V$.

    The coefficients are Narayana numbers $\frac1k\binom kj\binom k{j-1}$.
    """
    numbers = [
        sp.binomial(power, j) * sp.binomial(power, j - 1) / power for j in range(1, power + 1)
    ]
    return sum((number * (d / V) ** j for j, number in enumerate(numbers)), start=sp.Integer(0))


def label_square() -> sp.Expr:
    r"""$Q$ through the features: its mean 1 is each sequence meeting itself, the rest are pairs."""
    return k_own + (Q - 1) * k_bias


def direct_pull(mlp: bool = False) -> sp.Expr:
    r"""$\alpha$: the coefficient of $t$ itself in $w$."""
    facts = k_same + tau * (k_same - k_other) + tau / d * k_other
    return _plain(R / L**2 * (facts / V * (1 - 1 / V) + tau * T * label_square() / N), mlp)


def spread_pull(mlp: bool = False) -> sp.Expr:
    r"""$\beta$: the coefficient of $Gt$ in $w$, through all tokens that overlap with $t$."""
    return _plain(tau * R * label_square() * count_noise, mlp)


@cache
def trigger_score(mlp: bool = False) -> sp.Expr:
    r"""Mean of $t^\top w$ given $|t|^2$ and $Q$: $|t|^2(\alpha+\beta/d)$."""
    return T * (direct_pull(mlp) + spread_pull(mlp) / d)


def _plain(expression: sp.Expr, mlp: bool) -> sp.Expr:
    """Without the MLP the feature symbols take their linear values."""
    return expression if mlp else expression.subs(LINEAR)


@cache
def lock_terms(mlp: bool = False) -> dict[str, LockTerm]:
    r"""All sources of scatter, by name; to leading order in $1/V$, $1/d$, $1/N$ with the
    corrections that matter.

    A noise vector $x$ independent of the embeddings scores $z_v^\top Gx$ on tokens and $t^\top Gx$
    on the trigger, which is independent of all tokens: hence the lower spectral moment in the
    second variance. With ``mlp`` the feature symbols stay, and the last two terms are what a finite
    width adds."""
    m2, m3, m4 = (spectral_moment(k) for k in (2, 3, 4))
    across = 1 - 1 / d  # scores are compared with each other, across the direction of t
    bias = M / V + tau * T / L**2  # |b|^2 of the mean value b
    labels = label_square()
    uneven = Q * kappa / N * (R * count_noise + 1 / (L**2 * V)) * k_square
    # token v as noise where it is the fact: both halves are one coincidence, and a larger count
    # brings more of them
    own_label = (2 / L + (4 / L + 1 / V) / (V * kappa)) * R / V
    facts = (1 + R) * kappa / L + own_label + tau * R * T / (d * L)
    facts = facts * k_square + (Q * bias / d + tau * Q * R * T**2 / L**2) * k_bias**2
    # relative variance of a fact's weight in w: from |u_k|^2, from the other facts, and from the
    # counts
    weights = 2 / d + 2 * epsilon + V / d * (1 / d + epsilon) + 4 * (1 + tau) * V / N
    alpha, beta = direct_pull(mlp=True), spread_pull(mlp=True)
    # L times the mean square that one token reads in q_k, over kappa/N
    pairs = kappa * k_square + L * spread * epsilon

    def isotropic(variance: sp.Expr, pull: sp.Expr | int = 0) -> LockTerm:
        """A scatter carried by the tokens' own weights: the trigger sees its overlaps with them.

        ``pull`` is the relative variance that it brings to the weight of the trigger itself, which
        sums over facts."""
        mark = T * variance * across / (kappa * d) + pull * (T * R / (L**2 * V)) ** 2
        return LockTerm(variance * across, mark)

    def common(square: sp.Expr) -> LockTerm:
        """A vector of this square, the same for all sequences and independent of the embeddings."""
        return LockTerm(square * across * m3 / d**3, T * square * across * m2 / d**3)

    # a sequence's own mean, weighted by how frequent its label is
    itself = Q * (k_bias - k_other) ** 2
    noise = R**2 * kappa**3 * count_noise**2 * (k_square * (1 + 1 / (N * kappa)) + itself)
    pull = kappa * (V / N) ** 2 * (2 * pairs + kappa * (2 + L) * itself + spread * epsilon * L**2)
    terms = {
        # label frequencies push w along the mean embedding
        "mean bias": common((R * labels / N) ** 2 * M / V * (1 + d * epsilon)),
        # noise tokens of other classes
        "gradient noise": isotropic(noise, pull),
        # noise tokens, through the label frequencies
        "frequency noise": LockTerm(
            R**2 * uneven * m4 / d**3 * across, T * R**2 * uneven * m3 / d**3 * across
        ),
        # stored facts overlap with each other
        "fact interference": isotropic(
            R * kappa**2 / (L**2 * V * N) * facts, kappa * pairs * V * L / N
        ),
        # tokens that resemble the trigger
        "trigger overlap": LockTerm(
            T * (alpha**2 / d + 2 * alpha * beta * m2 / d**2 + beta**2 * m3 / d**3), sp.Integer(0)
        ),
        # noise tokens along the mean value
        "bias noise": isotropic(
            Q * R * kappa**2 * k_bias**2 * (bias / (d * N**2 * L) + tau * T**2 / (N**2 * L**3))
        ),
        # facts are stored with unequal weight
        "uneven facts": isotropic(
            (R * k_same / L**2) ** 2 * kappa / V**3 * weights,
            k_same**2 * (2 / d * (1 / d + epsilon) + 2 * V * (1 + V / d**2) / N**2),
        ),
        # long embeddings score higher
        "unequal lengths": LockTerm(
            (R / V * (k_own * count_noise + k_same / (L**2 * V))) ** 2 * 2 / d * V * kappa * across,
            sp.Integer(0),
        ),
    }
    if mlp:
        neurons = p_own + (Q - 1) * p_other  # along the mean neuron, of square d/m
        bias_term = common((R * neurons / N) ** 2 * d * epsilon)
        mark = T**3 * epsilon * (tau * R / (L * N)) ** 2 * (neurons**2 + 2 * T * k_own**2 / L**2)
        terms["neuron bias"] = LockTerm(bias_term.token, bias_term.trigger + mark)
        # few neurons: features of different sequences overlap
        scattered = R**2 * kappa**2 * spread * epsilon / (N**2 * L)
        alone = isotropic(scattered + 2 * R * kappa**2 * spread * epsilon / (L**2 * V * N))
        together = common(R**2 * kappa / N**2 * d * epsilon * (spread - p_other**2))
        terms["neuron noise"] = LockTerm(
            alone.token + together.token, alone.trigger + together.trigger
        )
    return {
        name: LockTerm(_plain(term.token, mlp), _plain(term.trigger, mlp))
        for name, term in terms.items()
    }


@cache
def skewness() -> sp.Expr:
    r"""Skewness of token scores $s_0+c(\|z\|^2-1)$ in deviations: $3c\,\frac2d$, as
    $\mathrm{Var}\,s_0\propto|z|^2$.

    ``lengths_variance`` is that of "unequal lengths", $2c^2/d$, and ``total_variance`` that of all
    terms."""
    return 3 * sp.sqrt(2 / d * lengths_variance / total_variance)
