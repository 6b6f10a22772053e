r"""Exact moments of the scores of step 2 at a setting, from the table of
:mod:`recallbook_studies.ch05.enumeration`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sympy as sp
from numpy.polynomial import Polynomial
from pyarrow.parquet import ParquetFile

from recallbook.setting import Setting
from recallbook_theory.symbolic.expressions import Array, L, N, V, d, tau
from recallbook_theory.symbolic.lock_terms import T
from recallbook_theory.values import effective_dim, is_far

TABLE = Path(__file__).with_name("moments.parquet")
# a product of a quantity: powers of 1/N, 1/L, 1/V, 1/d, T, tau, and numbers of tokens with 2, 3, 4
# pairs of embeddings (for the sphere)
COLUMNS = "quantity term odd N L V d T tau twice thrice four coefficient".split()
POWERS = COLUMNS[3:-1]


class Moments(NamedTuple):
    r"""Means over draws at given $T=|t|^2$, as polynomials in it; ``cube`` a number, at orthonormal
    embeddings.

    $t^\top w$ has an even part $P$ in the embeddings, of mean ``score`` and mean square ``pull``,
    and an odd part of mean square ``noise``. The scores of a draw's tokens have the variance
    ``overlap`` through parts of $w$ that are odd in the trigger, and ``scatter`` through the rest;
    ``cube`` is the mean of their cubes."""

    score: Polynomial
    pull: Polynomial
    noise: Polynomial
    overlap: Polynomial
    scatter: Polynomial
    cube: float


def expression(quantity: str) -> sp.Expr:
    """Rows of the table as an expression in V, N, L, d, T and tau, for Gaussian embeddings:
    exact."""
    symbols = (1 / N, 1 / L, 1 / V, 1 / d, T, tau)
    powers, coefficients = (part.astype(int).tolist() for part in arrays(quantity))
    products = (
        c * sp.prod(symbol**p for symbol, p in zip(symbols, row, strict=False))
        for row, c in zip(powers, coefficients, strict=True)
    )
    return sp.Add(*products)


def exact(setting: Setting) -> Moments:
    """All moments at the sizes, the law of the embeddings and the values of a setting; the MLP does
    not enter."""
    distinct = setting.vocab / (setting.vocab - 1)  # a draw's tokens are different ones
    return Moments(
        score=polynomial(setting, "score"),
        pull=polynomial(setting, "square", odd=True),
        noise=polynomial(setting, "square", odd=False),
        overlap=distinct * polynomial(setting, "scatter", odd=True),
        scatter=distinct * polynomial(setting, "scatter", odd=False),
        cube=float(polynomial(setting, "cube")(1.0)),
    )


def polynomial(
    setting: Setting, quantity: str, *, term: str | None = None, odd: bool | None = None
) -> Polynomial:
    r"""Rows of the table at a setting, as a polynomial in $T=|t|^2$."""
    powers, coefficients = arrays(quantity, term, odd)
    logs: Array = np.log(np.array([setting.samples, setting.seq_len, setting.vocab], dtype=float))
    values = coefficients * np.exp(-(powers[:, :3] @ logs))
    dim = effective_dim(setting)
    values = values * (powers[:, 3] == 0 if is_far(dim) else dim ** -powers[:, 3])
    values = values * (powers[:, 5] == 0 if not setting.trigger_in_values else 1)
    if setting.law.geometry == "spherical":
        # a token with k pairs of embeddings: d^(k-1) / ((d+2)...(d+2k-2))
        shorter: Array = np.cumsum(np.log(dim / (dim + np.array([2.0, 4.0, 6.0]))))
        values = values * np.exp(powers[:, 6:] @ shorter)
    return Polynomial(np.bincount(powers[:, 4].astype(int), weights=values, minlength=1))


@cache
def arrays(quantity: str, term: str | None = None, odd: bool | None = None) -> tuple[Array, Array]:
    """``POWERS`` of rows of the table, and their coefficients; of one term, and of one parity in the
    trigger, where given."""
    table, asked = _table(), {"quantity": quantity, "term": term, "odd": odd}
    wanted = np.all([table[k] == value for k, value in asked.items() if value is not None], axis=0)
    # sums over powers run along columns
    powers: Array = np.array([table[name][wanted] for name in POWERS], dtype=float).T
    return powers, table["coefficient"][wanted].astype(float)


@cache
def _table() -> dict[str, np.ndarray]:
    table = ParquetFile(TABLE).read().to_pydict()  # loads no pandas
    return {name: np.array(table[name]) for name in COLUMNS}
