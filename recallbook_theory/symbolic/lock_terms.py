r"""Step 2 in the early-phase limit: what the trigger adds to a score, and how much scores of tokens
scatter.

The attention vector is $w=\frac1N\sum_i\Sigma_i\,q_{y_i}$ (eq-attention-vector, appendix of chapter
5), with $\Sigma_i$ the covariance of keys and values of a sequence and $q_k$ what step 1 stored
about a label. A token scores $z_v^\top w$, the trigger adds $t^\top w$. Attention locks when the
second exceeds the scatter of the first.

Each noise is a function. Its docstring has the variance of token scores without the MLP and without
the factor $1-\frac1d$; chapter 5 divides by the squared signal $(\frac R{L^2V})^2$. All are leading
parts, in $\frac1V,\frac1d,\frac1N$ with the corrections that matter, of the moments that
``recallbook_studies/ch05/enumeration.py`` counts (prop-exact-moments, appendix of chapter 5): in
``tests/test_moments.py``, ``test_every_term_of_the_ledger_is_derived`` compares the variances of
tokens, ``test_what_leads_in_the_marks_variance`` those of the trigger's score. What the MLP makes
of them is ours and heuristic: ``test_score_and_scatter_with_the_mlp`` of
``tests/test_mlp_theory.py`` measures it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import sympy as sp

from recallbook_theory.symbolic.expressions import L, N, V, d, tau

T = sp.Symbol("T", positive=True)  # |t|^2, mean 1
# N |sum_k (f_k - 1/V) u_k|^2, mean 1: how uneven the labels of the batch are
Q = sp.Symbol("Q", positive=True)
M = sp.Symbol("M", positive=True)  # V |mean embedding|^2, mean 1

# What the fixed random MLP makes of phi near zero; see recallbook_theory.feature_kernels.near_zero
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
across = 1 - 1 / d  # scores are compared with each other, across the direction of t
mean_value = M / V + tau * T / L**2  # |b|^2 of the mean value b
# L times the mean square that one token reads in q_k, over kappa/N
stored = kappa * k_square + L * spread * epsilon
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
    r"""$\Gamma_k=d^{k-1}\,\mathrm{tr}\,G^k$ for $G=\frac1VZ^\top Z$ (letters of chapter 5):
    Marchenko and Pastur's moments, at ratio $d/V$.

    The coefficients are Narayana numbers $\frac1k\binom kj\binom k{j-1}$.
    """
    return sp.Add(
        *(
            sp.binomial(power, j) * sp.binomial(power, j - 1) / power * (d / V) ** (j - 1)
            for j in range(1, power + 1)
        )
    )


def label_square() -> sp.Expr:
    r"""$Q$ of (eq-square, appendix of chapter 5) through the features, $k_1+(Q-1)k_b$: its mean 1 is
    each sequence meeting itself, the rest are pairs."""
    return k_own + (Q - 1) * k_bias


def direct_pull(mlp: bool = False) -> sp.Expr:
    r"""The coefficient $\alpha$ of $t$ itself in $w=\alpha t+\beta Gt$ (appendix of chapter 5).

    $\alpha=\frac R{L^2}\big(\frac{1+\tau/d}V(1-\frac1V)+\frac{\tau TQ}N\big)$: facts, and the
    unevenness of labels (eq-lock-signal, chapter 5)."""
    facts = k_same + tau * (k_same - k_other) + tau / d * k_other
    return _plain(R / L**2 * (facts / V * (1 - 1 / V) + tau * T * label_square() / N), mlp)


def spread_pull(mlp: bool = False) -> sp.Expr:
    r"""The coefficient $\beta=\frac{\tau RQ}{NL}$ of $Gt$ in $w$, through all tokens that overlap
    with $t$ (appendix of chapter 5)."""
    return _plain(tau * R * label_square() / (N * L), mlp)


@cache
def trigger_score(mlp: bool = False) -> sp.Expr:
    r"""Mean of $t^\top w$ given $T$ and $Q$: $T(\alpha+\beta/d)$ (eq-lock-signal, chapter 5)."""
    return T * (direct_pull(mlp) + spread_pull(mlp) / d)


def _plain(expression: sp.Expr, mlp: bool) -> sp.Expr:
    """Without the MLP the feature symbols take their linear values."""
    return expression if mlp else expression.xreplace(LINEAR)


# The noises, in the order of the ledger


def _by_tokens(variance: sp.Expr, pull: sp.Expr | int = 0) -> LockTerm:
    r"""Scatter of a $w$ that is a sum of tokens with independent weights: mean square overlaps are
    $\kappa$ with a token, $T/d$ with the trigger.

    ``pull`` is the relative variance that it brings to the weight of the trigger itself, which sums
    over facts."""
    own = pull * (T * R / (L**2 * V)) ** 2
    return LockTerm(variance * across, T * variance * across / (kappa * d) + own)


def _by_one_vector(square: sp.Expr) -> LockTerm:
    r"""Scatter of $w=Gx$ with $x$ of this square, the same for all sequences and independent of the
    embeddings: $x^\top G^3x$ for tokens, $(t^\top Gx)^2$ for the trigger."""
    square = square * across / d**3
    return LockTerm(square * spectral_moment(3), T * square * spectral_moment(2))


def mean_bias() -> LockTerm:
    r"""Label frequencies push $w$ along the mean embedding: $\big(\frac{RQ}N\big)^2\frac
    MV\frac{\Gamma_3}{d^3}$ (eq-mean-bias, chapter 5)."""
    return _by_one_vector((R * label_square() / N) ** 2 * M / V * (1 + d * epsilon))


def gradient_noise() -> LockTerm:
    r"""Irrelevant tokens resemble those of other sequences:
    $\frac{R^2\kappa^3}{(NL)^2}\big(1+\frac1{N\kappa}\big)$ (eq-gradient-noise, chapter 5)."""
    # with the MLP, a sequence's own mean, weighted by how frequent its label is
    itself = Q * (k_bias - k_other) ** 2
    noise = k_square * (1 + 1 / (N * kappa)) + itself
    pull = 2 * stored + kappa * (2 + L) * itself + spread * epsilon * L**2
    return _by_tokens(R**2 * kappa**3 / (N * L) ** 2 * noise, kappa * (V / N) ** 2 * pull)


def frequency_noise() -> LockTerm:
    r"""Uneven labels read the irrelevant tokens of step 1: $R^2\frac{\kappa Q}N\big(\frac
    R{NL}+\frac1{L^2V}\big)\frac{\Gamma_4}{d^3}$ (eq-frequency-noise, chapter 5)."""
    square = R**2 * Q * kappa / N * (R / (N * L) + 1 / (L**2 * V)) * k_square * across / d**3
    return LockTerm(square * spectral_moment(4), T * square * spectral_moment(3))


def fact_interference() -> LockTerm:
    r"""Stored facts overlap with irrelevant tokens, and these with stored facts:
    $\frac{R\kappa^2}{L^2VN}$ times the sum of

    - $(1+R)\frac\kappa L$, either way round, and $\frac{\tau RT}{dL}$, irrelevant tokens of step 1
      that the trigger in a fact's value reads;
    - $\frac RV\big(\frac2L+\frac{4/L+1/V}{V\kappa}\big)$, where the irrelevant token is the fact's
      own: both are one coincidence, and more counts bring more of them;
    - $\frac Qd\big(\frac MV+\frac{\tau T}{L^2}\big)+\frac{\tau QRT^2}{L^2}$, facts that agree with
      the mean value.

    Words: "The eight noises", appendix of chapter 5."""
    own_label = (2 / L + (4 / L + 1 / V) / (V * kappa)) * R / V
    facts = (1 + R) * kappa / L + own_label + tau * R * T / (d * L)
    along = Q * mean_value / d + tau * Q * R * T**2 / L**2
    square = facts * k_square + along * k_bias**2
    return _by_tokens(R * kappa**2 / (L**2 * V * N) * square, kappa * stored * V * L / N)


def trigger_overlap() -> LockTerm:
    r"""Tokens resemble the trigger: $T\big(\frac{\alpha^2}d+\frac{2\alpha\beta\,\Gamma_2}{d^2}+
    \frac{\beta^2\,\Gamma_3}{d^3}\big)$ (eq-trigger-overlap, chapter 5, and its appendix)."""
    alpha, beta = direct_pull(mlp=True), spread_pull(mlp=True)
    second, third = spectral_moment(2) / d**2, spectral_moment(3) / d**3
    square = alpha**2 / d + 2 * alpha * beta * second + beta**2 * third
    return LockTerm(T * square, sp.Integer(0))


def bias_noise() -> LockTerm:
    r"""Irrelevant tokens agree with the mean value $\bar z+\frac\tau Lt$:
    $\frac{QR\kappa^2}{N^2L}\big(\frac1d\big(\frac MV+\frac{\tau T}{L^2}\big)+\frac{\tau
    T^2}{L^2}\big)$.

    The enumeration counts it as fact interference, but for the trigger's part, which is in no
    moment."""
    square = mean_value / (d * N**2 * L) + tau * T**2 / (N**2 * L**3)
    return _by_tokens(Q * R * kappa**2 * k_bias**2 * square)


def uneven_facts() -> LockTerm:
    r"""Facts are stored with unequal weights: $\big(\frac R{L^2}\big)^2\frac\kappa{V^3}$ times the
    relative variance of a weight, $\frac2d+\frac V{d^2}+\frac{4(1+\tau)V}N$.

    Of $|u_k|^2$, through the other facts, and of counts ("The eight noises", appendix of chapter
    5)."""
    weight = 2 / d + 2 * epsilon + V / d * (1 / d + epsilon) + 4 * (1 + tau) * V / N
    pull = 2 / d * (1 / d + epsilon) + 2 * V * (1 + V / d**2) / N**2
    return _by_tokens((R * k_same / L**2) ** 2 * kappa / V**3 * weight, k_same**2 * pull)


def unequal_lengths() -> LockTerm:
    r"""Long embeddings read out more of what they put into $w$, and $|z_v|^2$ has variance
    $\frac2d$: $\big(\frac RV\big(\frac1{NL}+\frac1{L^2V}\big)\big)^2\,\frac2d\,V\kappa$."""
    own = R / V * (k_own / (N * L) + k_same / (L**2 * V))
    return LockTerm(own**2 * 2 / d * V * kappa * across, sp.Integer(0))


def neuron_bias() -> LockTerm:
    r"""Label frequencies push $w$ along the mean neuron, of square $\frac dm$: with
    $p=p_1+(Q-1)p_o$, that of $w=Gx$ with $|x|^2=\big(\frac{Rp}N\big)^2\frac dm$."""
    neurons = p_own + (Q - 1) * p_other
    bias = _by_one_vector((R * neurons / N) ** 2 * d * epsilon)
    mark = T**3 * epsilon * (tau * R / (L * N)) ** 2 * (neurons**2 + 2 * T * k_own**2 / L**2)
    return LockTerm(bias.token, bias.trigger + mark)


def neuron_noise() -> LockTerm:
    r"""Few neurons: features of different sequences overlap, by a mean square of $\frac em$."""
    scattered = R**2 * kappa**2 * spread * epsilon / (N**2 * L)
    alone = _by_tokens(scattered + 2 * R * kappa**2 * spread * epsilon / (L**2 * V * N))
    together = _by_one_vector(R**2 * kappa / N**2 * d * epsilon * (spread - p_other**2))
    return LockTerm(alone.token + together.token, alone.trigger + together.trigger)


@cache
def lock_terms(mlp: bool = False) -> dict[str, LockTerm]:
    """All noises by name, which is that of the function; with ``mlp`` the feature symbols stay, and
    the last two are what a finite width adds."""
    noises = [mean_bias, gradient_noise, frequency_noise, fact_interference]
    noises += [trigger_overlap, bias_noise, uneven_facts, unequal_lengths]
    if mlp:
        noises += [neuron_bias, neuron_noise]
    return {
        noise.__name__.replace("_", " "): LockTerm(*(_plain(part, mlp) for part in noise()))
        for noise in noises
    }


@cache
def skewness() -> sp.Expr:
    r"""Skewness of token scores $s_0+c(\|z\|^2-1)$ in deviations, $3c\,\frac2d$, as
    $\mathrm{Var}\,s_0\propto|z|^2$ ("From scatter to lock-on", appendix of chapter 5).

    ``lengths_variance`` is that of "unequal lengths", $2c^2/d$, and ``total_variance`` that of all
    terms."""
    return 3 * sp.sqrt(2 / d * lengths_variance / total_variance)
