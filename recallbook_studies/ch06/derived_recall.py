r"""The noises of step 3 from their definitions: Wick's pairings of the embeddings and moments of
the counts. Ours.

With perfect attention the logit of a wrong label k, asked for v, is $\sum_jf_j\,(z_j+\tau t)^\top
h\,u_k^\top\tilde u_j$ with $h=z_v+\tau t$. Each origin is a product of inner products of different
vectors; its mean square is a sum over pairings, with the trigger's length at one, times a moment of
the counts."""

from __future__ import annotations

import sympy as sp

from recallbook.theory.symbolic.expressions import N, V, d, tau
from recallbook_studies.ch05.contractions import TRIGGER, contractions


def mean_of(vectors: tuple[int, ...]) -> sp.Expr:
    """Mean of a product of inner products; equal numbers are one random vector, and ``TRIGGER`` has
    length one."""
    found = sp.Integer(0)
    for pairs, dims, _ in contractions(tuple(vector == TRIGGER for vector in vectors)):
        if all(vectors[a] == vectors[b] for a, b in pairs):
            found += d**-dims
    return found


def count_moments() -> dict[str, sp.Expr]:
    r"""$\mathbb E f_j^2$, $\mathrm{Var}\,f_j$, $\mathrm{Cov}(f_j,f_l)$ of multinomial
    frequencies."""
    pair = N * (N - 1) / V**2  # E n_j (n_j - 1), and E n_j n_l
    square, product = (pair + N / V) / N**2, pair / N**2
    return {
        "square": square,
        "variance": sp.simplify(square - V**-2),
        "covariance": sp.simplify(product - V**-2),
    }


def mean_squares() -> dict[str, sp.Expr]:
    r"""Mean square of a wrong logit by origin over $1/V^2$, at $|t|=1$: exact but for the mean
    $\bar u$.

    $z_v$ is vector 0, $z_j$ is 1, $u_k$ is 2, $u_j$ is 3 and $u_v$ is 4. $(z_j+\tau t)^\top h$
    without what all facts share is $z_j^\top(z_v+\tau t)$; the trigger's share $\theta=\tau\,t^\top
    h$ has mean square $\tau(1+\frac1d)$. Which facts make an origin, and how many they are ($V-2$
    are neither asked nor answered), is written by hand; means and moments are derived."""
    counts = count_moments()
    overlap = mean_of((1, 0, 1, 0)) + tau * mean_of((1, TRIGGER, 1, TRIGGER))
    labels, length = mean_of((2, 3, 2, 3)), mean_of((2, 2, 2, 2))
    shared = tau * (1 + mean_of((TRIGGER, 0, TRIGGER, 0)))
    # sum over facts of (f_j - 1/V) u_k.u_j: facts are different vectors, and of k itself |u_k|^2
    frequencies = (V - 2) * counts["variance"] * labels + counts["variance"] * length
    # squared lengths and overlaps of the asked token with itself: |z_v|^2 + tau z_v.t
    asked = mean_of((0, 0, 0, 0)) + tau * mean_of((0, TRIGGER, 0, TRIGGER))
    # the mean of (|z_v|^2 + tau z_v.t) theta is tau (1 + 1/d), as that of theta^2
    own = counts["square"] * asked + 3 * counts["variance"] * shared
    parts = {
        "label frequencies": shared * frequencies,
        "interference": (V - 2) * counts["square"] * overlap * labels,
        "label overlap": own * mean_of((2, 4, 2, 4)),
        "own fact": counts["square"] * overlap * length,
    }
    return {name: sp.simplify(part * V**2) for name, part in parts.items()}


def posterior() -> tuple[sp.Expr, sp.Expr]:
    r"""Mean along $g$, per unit of $|g|^2$, and variance times d, of $u_k$ given $g=w\,u_k+s$: what
    "pull" stands for.

    $u_k\sim N(0,\frac1d)$ and $s\sim N(0,\frac{C-w^2}d)$ in each coordinate; by completing the
    square."""
    u, g = sp.symbols("u g", real=True)
    w, total = sp.Symbol("w", real=True), sp.Symbol("C", positive=True)
    exponent = sp.expand(-d * u**2 / 2 - d * (g - w * u) ** 2 / (2 * (total - w**2)))
    curvature = -sp.diff(exponent, u, 2)
    mean = sp.solve(sp.diff(exponent, u), u)[0]
    return sp.simplify(mean / g), sp.simplify(d / curvature)
