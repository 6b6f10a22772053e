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

from recallbook.theory.symbolic.expressions import L, numeric
from recallbook_studies.ch11.theory import unequal_terms as symbolic

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
    def shares(self) -> Float64[np.ndarray, " V"]:
        """Of the batch, by label."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def residuals(self) -> Float64[np.ndarray, "V e"]:
        r"""$\omega_k(u_k-\sum_jc_ju_j)$."""
        return np.asarray(self.weights[:, None] * (self.labels - self.prediction @ self.labels))


class AttentionVector:
    r"""Means and covariances of the parts of $w$, by name, each computed when it is asked for."""

    def __init__(self, facts: Facts):
        self.facts = facts
        self.size = float(facts.counts.sum())
        self.f = facts.shares
        self.p = facts.others
        mean = self.p @ facts.tokens
        self.x = facts.tokens - mean
        self.px = self.p[:, None] * self.x
        self.C = self.x.T @ self.px
        self.keys, self.values = self.x + facts.trigger, self.x + facts.tau * facts.trigger
        self.fkeys = self.f[:, None] * self.keys
        self.residuals = residuals = facts.residuals
        # of each label along the mean residual: omega u.g
        self.pull = residuals @ (self.f @ residuals)
        mean_values = (facts.tokens + facts.tau * facts.trigger) / facts.length + self.at(
            1 - 1 / L
        ) * mean
        # mean pull of each label (V, d)
        self.q = residuals @ (residuals.T @ (self.f[:, None] * mean_values))
        self.own = np.sum(self.values * self.q, axis=1)

    def at(self, expression: sp.Expr) -> float:
        """A coefficient at this length."""
        return float(numeric(sp.sympify(expression))({L: float(self.facts.length)}))

    def third(self, vector: Vector) -> Square:
        r"""$\sum_xp'_x(x\cdot v)xx^\top$."""
        return np.asarray(self.px.T @ ((self.x @ vector)[:, None] * self.x))

    @cached_property
    def A(self) -> Float64[np.ndarray, "V V"]:
        """Products of first residuals."""
        return np.asarray(self.residuals @ self.residuals.T)

    @cached_property
    def C2(self) -> Square:
        """$C^2$."""
        return np.asarray(self.C @ self.C)

    @cached_property
    def read(self) -> Float64[np.ndarray, "V V"]:
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

    # Means

    def frequent_tokens(self) -> Vector:
        r"""$R^2C\sum_yf_yq_y$: along the tokens' own mean, with the square of the labels' mean
        residual."""
        return np.asarray(self.at(symbolic.tokens_pull) * self.C @ (self.f @ self.q))

    def marked_tokens(self) -> Vector:
        r"""$\frac RL\sum_yf_y\kappa_y\,(\nu_y\cdot q_y)$: where the mark is learned, with its
        token."""
        return np.asarray(self.at(symbolic.mark_pull) * self.own @ self.fkeys)

    def own_sequence(self) -> Vector:
        r"""$\frac1N\sum_yf_yA_{yy}\,\mathrm E[\Delta_i\zeta_i]$: a sequence that meets itself."""
        weight = self.f * np.sum(self.residuals**2, axis=1) / self.size
        third = (self.p * np.sum(self.x**2, axis=1)) @ self.x
        turned = np.trace(self.C) * (weight @ self.keys) + self.C @ (weight @ self.values)
        return np.asarray(
            self.at(symbolic.own_third) * weight.sum() * third - self.at(symbolic.own_mark) * turned
        )

    # Covariances

    def value_noise(self) -> Square:
        r"""Of $\frac1N\sum_jG_{y_j}\zeta_j$ with $G_k=\sum_yf_yA_{yk}\bar\Sigma_y$: noise of step
        1."""
        tokens, mark = self.at(symbolic.tokens_pull), self.at(symbolic.mark_pull)
        weight = self.f * self.pull
        mixed = tokens * mark * self.C2 @ ((self.values.T * (self.A @ weight)) @ self.fkeys)
        root = self.residuals
        twice = root @ ((root.T * self.f) @ root) @ root.T
        marked = (
            mark**2 * self.fkeys.T @ ((twice * (self.values @ self.C @ self.values.T)) @ self.fkeys)
        )
        total = tokens**2 * (weight @ self.pull) * self.C2 @ self.C + mixed + mixed.T + marked
        return np.asarray(self.at(symbolic.value_scatter) / self.size * total)

    def key_noise(self) -> Square:
        r"""Of $\frac1N\sum_i\Delta_iq_{y_i}$: noise of step 2 where step 1 gave its mean."""
        pulled = np.sum(self.q @ self.C * self.q, axis=1)  # q.Cq by label
        squares, weight = self.q.T @ (self.f[:, None] * self.q), self.f * self.own
        turned = (self.keys.T @ (weight[:, None] * self.q)) @ self.C
        third = self.px.T @ (self.read**2 @ self.fkeys)
        return (
            self._key_covariance(
                self.px.T @ ((self.read**2 @ self.f)[:, None] * self.x) - self.C @ squares @ self.C,
                self.C * (self.f @ pulled) + self.C @ squares @ self.C,
                self.keys.T @ (pulled[:, None] * self.fkeys)
                + self.C * (weight @ self.own)
                + turned
                + turned.T,
                third + third.T + 2 * self.third(weight @ self.q),
            )
            / self.size
        )

    def _key_covariance(
        self, single: Square, pairs: Square, marked: Square, third: Square
    ) -> Square:
        """The four parts of the covariance of Delta q with their coefficients."""
        parts = {
            symbolic.single_tokens: single,
            symbolic.pairs_of_tokens: pairs,
            symbolic.with_mark: marked,
            symbolic.single_with_mark: third,
        }
        return np.asarray(sum(self.at(coefficient) * part for coefficient, part in parts.items()))

    @cached_property
    def shared_noise(self) -> Square:
        """Covariance of value noise with key noise, which see the same tokens, and its
        transpose."""
        third, turned = self.at(symbolic.own_third), self.at(symbolic.own_mark)
        tokens, mark = self.at(symbolic.tokens_pull), self.at(symbolic.mark_pull)
        weight = self.f * self.pull
        fq = self.f[:, None] * self.q
        one = third * tokens * self.third(weight @ self.q) @ self.C
        two = (
            third
            * mark
            * self.px.T
            @ (((self.x @ (fq.T @ self.A)) * (self.x @ self.values.T)) @ self.fkeys)
        )
        three = self.keys.T @ (weight[:, None] * self.q) @ self.C2 + (weight @ self.own) * self.C2
        four = self.fkeys.T @ ((self.A * (self.q @ self.C @ self.values.T)) @ self.fkeys)
        five = self.C @ (self.values.T * (self.A @ (self.f * self.own))) @ self.fkeys
        total = one + two - turned * (tokens * three + mark * (four + five))
        return np.asarray((total + total.T) / self.size)

    def gradient_noise(self) -> Square:
        r"""Of $\frac1{N^2}\sum_{ij}A_{y_iy_j}\Delta_i\zeta_j$: noise of step 2 on noise of step 1.

        To the pairs $(i,j),(i,j)$ come the exchanged ones $(i,j),(j,i)$, which meet where tokens
        do."""
        weights = self.A**2 * np.outer(self.f, self.f)
        total, by_label = weights.sum(), weights.sum(axis=1)
        pulled, trace = np.sum(self.x @ self.C * self.x, axis=1), np.trace(self.C2)
        third = (self.p * pulled) @ self.x
        mean_key, mean_value = by_label @ self.keys, by_label @ self.values
        twice = self.values @ self.C2
        turned = self.keys.T @ (by_label[:, None] * twice)
        direct = self._key_covariance(
            total * (self.px.T @ (pulled[:, None] * self.x) - self.C2 @ self.C),
            total * (self.C * trace + self.C2 @ self.C),
            self.keys.T @ (by_label[:, None] * self.keys) * trace
            + self.C * np.sum(by_label[:, None] * self.values * (self.values @ self.C))
            + turned
            + turned.T,
            np.outer(third, mean_key)
            + np.outer(mean_key, third)
            + 2 * self.third(self.C @ mean_value),
        )
        exchanged = self._exchanged(
            weights, total, np.outer(third, mean_key) + self.third(mean_value) @ self.C, twice
        )
        return np.asarray((self.at(symbolic.value_scatter) * direct + exchanged) / self.size**2)

    def _exchanged(
        self,
        weights: Float64[np.ndarray, "V V"],
        total: float,
        mixed: Square,
        twice: Float64[np.ndarray, "V d"],
    ) -> Square:
        r"""$\sum A^2\,\mathrm E[\Delta_i\,\cdot\,\zeta_i]\,\mathrm E[\Delta_j\,\cdot\,\zeta_j]$,
        indices exchanged."""
        third, turned = self.at(symbolic.own_third), self.at(symbolic.own_mark)
        once = self.values @ self.C
        across = self.keys.T @ weights @ twice
        marks = (
            self.keys.T @ weights @ self.keys * np.trace(self.C2)
            + across
            + across.T
            + (once.T @ weights @ once).T
        )
        tokens = total * self.px.T @ ((self.x @ self.x.T) ** 2 @ self.px)
        return np.asarray(
            third**2 * tokens - third * turned * (mixed + mixed.T) + turned**2 * marks
        )


MEANS: dict[str, Callable[[AttentionVector], Vector]] = {
    "frequent tokens": AttentionVector.frequent_tokens,
    "uneven facts": AttentionVector.marked_tokens,
    "own sequence": AttentionVector.own_sequence,
}
NOISES: dict[str, Callable[[AttentionVector], Square]] = {
    "value noise": AttentionVector.value_noise,
    "key noise": AttentionVector.key_noise,
    "gradient noise": AttentionVector.gradient_noise,
}
