r"""The attention vector of step 2, given embeddings and label counts: exact mean and covariance
over sequences.

$w=\frac1{N^2}\sum_{ij}A_{y_iy_j}\Sigma_i\bar e'_j$, with $\Sigma_i$ the covariance of keys and
values in sequence $i$, $\bar e'_j$ the mean value of sequence $j$, and $A$ the products of first
residuals seen through $U$. Both are their means plus independent fluctuations $\Delta_i$ and
$\zeta_j$; sequences are summed over, none is drawn. Ours. Cost $O(V^2d)$, whatever $N$ and $L$ are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import sympy as sp
from jaxtyping import Float64

from recallbook_theory.sampled import unequal_terms as symbolic
from recallbook_theory.symbolic.expressions import L, numeric
from recallbook_theory.symbolic.lock_terms import R

Vector = Float64[np.ndarray, " d"]
Square = Float64[np.ndarray, "d d"]


class Facts(NamedTuple):
    r"""Tables in which row $v$ is token $v$, its label, and its law; float64.

    ``tokens`` and ``labels`` ``(V, d)``; ``trigger`` ``(d,)``; ``others`` ``(V,)`` the law $p'$ of
    tokens without mark; ``counts`` ``(V,)`` training sequences of each label; ``weights`` $\omega$
    and ``prediction`` $c$, ``(V,)``."""

    tokens: Float64[np.ndarray, "V d"]
    labels: Float64[np.ndarray, "V e"]
    trigger: Vector
    others: Float64[np.ndarray, " V"]
    counts: Float64[np.ndarray, " V"]
    weights: Float64[np.ndarray, " V"]
    prediction: Float64[np.ndarray, " V"]
    length: int
    tau: float

    @property
    def residuals(self) -> Float64[np.ndarray, "V e"]:
        r"""$\omega_k(u_k-\sum_jc_ju_j)$."""
        return np.asarray(self.weights[:, None] * (self.labels - self.prediction @ self.labels))


class AttentionVector:
    r"""Means and covariances of the parts of $w$ (eq-attention-vector, appendix of chapter 5), by
    name, each computed when it is asked for.

    Attributes bear the symbols: tokens $x_v=z_v-b$ about their mean, with covariance ``C`` over
    $p'$; keys $\kappa_v=x_v+t$ and values $\nu_v=x_v+\tau t$ ``(V, d)``; shares $f_v$; first
    residuals ``u`` ``(V, e)``, ``A`` $=uu^\top$, and ``u_g`` $=u_v\cdot g$ with $g=\sum_vf_vu_v$;
    mean pulls $q_v=\sum_yf_yA_{vy}\bar e'_y$, and ``nu_q`` $=\nu_v\cdot q_v$."""

    def __init__(self, facts: Facts):
        self.facts = facts
        self.size = float(facts.counts.sum())  # N
        self.f, self.p = facts.counts / self.size, facts.others
        b = self.p @ facts.tokens
        self.x = facts.tokens - b
        self.p_x = self.p[:, None] * self.x
        self.C = self.x.T @ self.p_x
        self.kappa, self.nu = self.x + facts.trigger, self.x + facts.tau * facts.trigger
        self.f_kappa = self.f[:, None] * self.kappa
        self.u = facts.residuals
        self.u_g = self.u @ (self.f @ self.u)
        mean_values = (facts.tokens + facts.tau * facts.trigger) / facts.length
        mean_values = mean_values + self.at(R) * b
        self.q = self.u @ (self.u.T @ (self.f[:, None] * mean_values))
        self.nu_q = np.sum(self.nu * self.q, axis=1)

    def at(self, expression: sp.Expr) -> float:
        """A coefficient at this length."""
        return float(numeric(sp.sympify(expression))({L: float(self.facts.length)}))

    def third_moment(self, vector: Vector) -> Square:
        r"""$\sum_xp'_x(x\cdot v)xx^\top$."""
        return np.asarray(self.p_x.T @ ((self.x @ vector)[:, None] * self.x))

    @cached_property
    def A(self) -> Float64[np.ndarray, "V V"]:
        """Products of first residuals."""
        return np.asarray(self.u @ self.u.T)

    @cached_property
    def C2(self) -> Square:
        """$C^2$."""
        return np.asarray(self.C @ self.C)

    @cached_property
    def x_q(self) -> Float64[np.ndarray, "V V"]:
        r"""$x\cdot q_y$ of every token with every label."""
        return np.asarray(self.x @ self.q.T)

    @cached_property
    def means(self) -> dict[str, Vector]:
        """Means of the parts, by name; what remains of $w$ has mean zero."""
        return {name: mean(self) for name, mean in MEANS.items()}

    @cached_property
    def noises(self) -> dict[str, Square]:
        """Covariances of the noises, by name; :attr:`shared_noise` is between the first two."""
        return {name: noise(self) for name, noise in NOISES.items()}

    @cached_property
    def shared_noise(self) -> Square:
        """Covariance of value noise with key noise, which see the same tokens, and its
        transpose."""
        own_tokens, own_mark = self.at(symbolic.own_tokens), self.at(symbolic.own_mark)
        tokens, mark = self.at(symbolic.tokens_pull), self.at(symbolic.mark_pull)
        f_ug = self.f * self.u_g
        f_q = self.f[:, None] * self.q
        of_tokens = own_tokens * tokens * self.third_moment(f_ug @ self.q) @ self.C
        facts = ((self.x @ (f_q.T @ self.A)) * (self.x @ self.nu.T)) @ self.f_kappa
        of_facts = own_tokens * mark * self.p_x.T @ facts
        turned = self.kappa.T @ (f_ug[:, None] * self.q) @ self.C2 + (f_ug @ self.nu_q) * self.C2
        pairs = self.f_kappa.T @ ((self.A * (self.q @ self.C @ self.nu.T)) @ self.f_kappa)
        means = self.C @ (self.nu.T * (self.A @ (self.f * self.nu_q))) @ self.f_kappa
        total = of_tokens + of_facts - own_mark * (tokens * turned + mark * (pairs + means))
        return np.asarray((total + total.T) / self.size)


# Means of parts


def frequent_tokens(w: AttentionVector) -> Vector:
    r"""$R^2C\sum_yf_yq_y$: along the tokens' own mean, with the square of the labels' mean
    residual."""
    return np.asarray(w.at(symbolic.tokens_pull) * w.C @ (w.f @ w.q))


def marked_tokens(w: AttentionVector) -> Vector:
    r"""$\frac RL\sum_yf_y\kappa_y\,(\nu_y\cdot q_y)$: where the mark is learned, with its token."""
    return np.asarray(w.at(symbolic.mark_pull) * w.nu_q @ w.f_kappa)


def own_sequence(w: AttentionVector) -> Vector:
    r"""$\frac1N\sum_yf_yA_{yy}\,\mathrm E[\Delta_i\zeta_i]$: a sequence that meets itself."""
    weight = w.f * np.sum(w.u**2, axis=1) / w.size
    skew = (w.p * np.sum(w.x**2, axis=1)) @ w.x
    turned = np.trace(w.C) * (weight @ w.kappa) + w.C @ (weight @ w.nu)
    return np.asarray(
        w.at(symbolic.own_tokens) * weight.sum() * skew - w.at(symbolic.own_mark) * turned
    )


# Covariances of noises


def value_noise(w: AttentionVector) -> Square:
    r"""Of $\frac1N\sum_jG_{y_j}\zeta_j$ with $G_k=\sum_yf_yA_{yk}\bar\Sigma_y$: noise of step 1."""
    tokens, mark = w.at(symbolic.tokens_pull), w.at(symbolic.mark_pull)
    f_ug = w.f * w.u_g
    mixed = tokens * mark * w.C2 @ ((w.nu.T * (w.A @ f_ug)) @ w.f_kappa)
    AfA = w.u @ ((w.u.T * w.f) @ w.u) @ w.u.T
    marked = mark**2 * w.f_kappa.T @ ((AfA * (w.nu @ w.C @ w.nu.T)) @ w.f_kappa)
    total = tokens**2 * (f_ug @ w.u_g) * w.C2 @ w.C + mixed + mixed.T + marked
    return np.asarray(w.at(symbolic.value_scatter) / w.size * total)


def key_noise(w: AttentionVector) -> Square:
    r"""Of $\frac1N\sum_i\Delta_iq_{y_i}$: noise of step 2 where step 1 gave its mean."""
    q_Cq = np.sum(w.q @ w.C * w.q, axis=1)
    Q, weight = w.q.T @ (w.f[:, None] * w.q), w.f * w.nu_q
    turned = (w.kappa.T @ (weight[:, None] * w.q)) @ w.C
    mixed = w.p_x.T @ (w.x_q**2 @ w.f_kappa)
    total = _key_covariance(
        w,
        w.p_x.T @ ((w.x_q**2 @ w.f)[:, None] * w.x) - w.C @ Q @ w.C,
        w.C * (w.f @ q_Cq) + w.C @ Q @ w.C,
        w.kappa.T @ (q_Cq[:, None] * w.f_kappa) + w.C * (weight @ w.nu_q) + turned + turned.T,
        mixed + mixed.T + 2 * w.third_moment(weight @ w.q),
    )
    return total / w.size


def gradient_noise(w: AttentionVector) -> Square:
    r"""Of $\frac1{N^2}\sum_{ij}A_{y_iy_j}\Delta_i\zeta_j$: noise of step 2 on noise of step 1.

    To the pairs $(i,j),(i,j)$ come the exchanged ones $(i,j),(j,i)$, which meet where tokens do."""
    weights = w.A**2 * np.outer(w.f, w.f)
    total, by_label = weights.sum(), weights.sum(axis=1)
    x_Cx, trace = np.sum(w.x @ w.C * w.x, axis=1), np.trace(w.C2)
    skew = (w.p * x_Cx) @ w.x
    mean_kappa, mean_nu = by_label @ w.kappa, by_label @ w.nu
    turned = w.kappa.T @ (by_label[:, None] * (w.nu @ w.C2))
    direct = _key_covariance(
        w,
        total * (w.p_x.T @ (x_Cx[:, None] * w.x) - w.C2 @ w.C),
        total * (w.C * trace + w.C2 @ w.C),
        w.kappa.T @ (by_label[:, None] * w.kappa) * trace
        + w.C * np.sum(by_label[:, None] * w.nu * (w.nu @ w.C))
        + turned
        + turned.T,
        np.outer(skew, mean_kappa) + np.outer(mean_kappa, skew) + 2 * w.third_moment(w.C @ mean_nu),
    )
    mixed = np.outer(skew, mean_kappa) + w.third_moment(mean_nu) @ w.C
    exchanged = _exchanged(w, weights, total, mixed)
    return np.asarray((w.at(symbolic.value_scatter) * direct + exchanged) / w.size**2)


def _key_covariance(
    w: AttentionVector, single: Square, pairs: Square, marked: Square, mixed: Square
) -> Square:
    """Covariance of Delta q: of single tokens, of pairs, of tokens with the mark, and of the first
    with the third."""
    parts = {
        symbolic.single_tokens: single,
        symbolic.pairs_of_tokens: pairs,
        symbolic.with_mark: marked,
        symbolic.single_with_mark: mixed,
    }
    return np.asarray(sum(w.at(coefficient) * part for coefficient, part in parts.items()))


def _exchanged(
    w: AttentionVector, weights: Float64[np.ndarray, "V V"], total: float, mixed: Square
) -> Square:
    r"""$\sum A^2\,\mathrm E[\Delta_i\,\cdot\,\zeta_i]\,\mathrm E[\Delta_j\,\cdot\,\zeta_j]$,
    indices exchanged."""
    own_tokens, own_mark = w.at(symbolic.own_tokens), w.at(symbolic.own_mark)
    nu_C = w.nu @ w.C
    across = w.kappa.T @ weights @ (w.nu @ w.C2)
    marks = (
        w.kappa.T @ weights @ w.kappa * np.trace(w.C2)
        + across
        + across.T
        + (nu_C.T @ weights @ nu_C).T
    )
    tokens = total * w.p_x.T @ ((w.x @ w.x.T) ** 2 @ w.p_x)
    return np.asarray(
        own_tokens**2 * tokens - own_tokens * own_mark * (mixed + mixed.T) + own_mark**2 * marks
    )


MEANS: dict[str, Callable[[AttentionVector], Vector]] = {
    "frequent tokens": frequent_tokens,
    "uneven facts": marked_tokens,
    "own sequence": own_sequence,
}
NOISES: dict[str, Callable[[AttentionVector], Square]] = {
    "value noise": value_noise,
    "key noise": key_noise,
    "gradient noise": gradient_noise,
}
