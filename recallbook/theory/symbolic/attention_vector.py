r"""Coefficients of the attention vector's mean and covariance, given embeddings and label counts; functions of $L$.

Tokens of a sequence but the informative one are drawn from $p'$. About their mean $b=\sum_xp'_xz_x$ they are
$x_x=z_x-b$, with $C=\sum_xp'_xx_xx_x^\top$; the informative token has key $\kappa=x_a+t$ and value $\nu=x_a+\tau t$.
"""

from __future__ import annotations

import sympy as sp

from recallbook.theory.symbolic.expressions import L
from recallbook.theory.symbolic.lock_on import R

# of a sequence's mean value, (v_a)/L + R b, and of the covariance R/L C of its fluctuation zeta
value_scatter = R / L
# mean of Sigma = (1/L) sum_j e_j (e'_j - mean)^T: R^2 C + R/L kappa nu^T
tokens_pull = R**2
mark_pull = R / L
# mean of Delta zeta, a sequence's key noise on its own value noise: third moment, less turns of the mark
own_third = R**2 / L
own_mark = R / L**2
# covariance of Delta q: single tokens, pairs of tokens, a token with the mark, and the first with the third
single_tokens = R**3 / L
pairs_of_tokens = R * (L - 2) / L**3
with_mark = R / L**3
single_with_mark = -(R**2) / L**2

below = sp.Symbol("F", nonnegative=True)  # chance that a token without mark scores less than the marked one
tied = sp.Symbol("E", positive=True)  # and that it scores the same
# that none of L - 1 scores more, and that the marked one is chosen among those that tie
lock_chance = ((below + tied) ** L - below**L) / (L * tied)
