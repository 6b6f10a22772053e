r"""The noises of step 3 from their definitions: Wick's pairings of the embeddings and moments of
the counts. Ours.

With perfect attention the logit of a wrong label k, asked for v, is $\sum_jf_j\,(z_j+\tau t)^\top
h\,u_k^\top\tilde u_j$ with $h=z_v+\tau t$. Each origin is a product of inner products of different
vectors; its mean square is a sum over pairings, with the trigger's length at one, times a moment of
the counts."""

from __future__ import annotations

import sympy as sp

from recallbook_studies.ch05.contractions import TRIGGER, contractions
from recallbook_theory.symbolic.expressions import N, V, d, tau


def mean_of(vectors: tuple[int, ...]) -> sp.Expr:
    """Mean of a product of inner products; equal numbers are one random vector, and ``TRIGGER`` has
    length one."""
    found = sp.Integer(0)
    for pairs, dims, _ in contractions(tuple(vector == TRIGGER for vector in vectors)):
        if all(vectors[a] == vectors[b] for a, b in pairs):
            found += d**-dims
    return found


def mean_squares() -> dict[str, sp.Expr]:
    r"""Mean square of a wrong logit by origin over $1/V^2$, at $|t|=1$: exact but for the mean
    $\bar u$.

    $z_v$ is vector 0, $z_j$ is 1, $u_k$ is 2, $u_j$ is 3 and $u_v$ is 4. $(z_j+\tau t)^\top h$
    without what all facts share is $z_j^\top(z_v+\tau t)$; the trigger's share $\theta=\tau\,t^\top
    h$ has mean square $\tau(1+\frac1d)$. Which facts make an origin, and how many they are ($V-2$
    are neither asked nor answered), is written by hand; means and moments are derived."""
    square = ((N - 1) / V + 1) / (N * V)  # E f_j^2 of multinomial frequencies, and their variance
    variance = square - V**-2
    overlap = mean_of((1, 0, 1, 0)) + tau * mean_of((1, TRIGGER, 1, TRIGGER))
    labels, length = mean_of((2, 3, 2, 3)), mean_of((2, 2, 2, 2))
    shared = tau * (1 + mean_of((TRIGGER, 0, TRIGGER, 0)))
    # sum over facts of (f_j - 1/V) u_k.u_j: facts are different vectors, and of k itself |u_k|^2
    frequencies = (V - 2) * variance * labels + variance * length
    # squared lengths and overlaps of the asked token with itself: |z_v|^2 + tau z_v.t
    asked = mean_of((0, 0, 0, 0)) + tau * mean_of((0, TRIGGER, 0, TRIGGER))
    # the mean of (|z_v|^2 + tau z_v.t) theta is tau (1 + 1/d), as that of theta^2
    own = square * asked + 3 * variance * shared
    parts = {
        "label frequencies": shared * frequencies,
        "interference": (V - 2) * square * overlap * labels,
        "label overlap": own * mean_of((2, 4, 2, 4)),
        "own fact": square * overlap * length,
    }
    return {name: part * V**2 for name, part in parts.items()}
