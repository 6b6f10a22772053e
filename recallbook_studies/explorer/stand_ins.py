"""Settings without an MLP that are as noisy as settings with one: fewer sequences for lock-on, other
dimensions for recall. What an MLP adds to their predictions is small and smooth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import sympy as sp
from numpy.typing import NDArray

from recallbook.setting import Setting
from recallbook.theory.feature_kernels import near_zero
from recallbook.theory.recall import overlaps
from recallbook.theory.symbolic import lock_terms as lock_symbols, recall_terms as recall_symbols
from recallbook.theory.symbolic.expressions import Values, numeric, tau
from recallbook.theory.symbolic.recall_terms import F, H, J, theta, theta2
from recallbook.theory.values import columns

Array = NDArray[np.float64]
LEAST = 1e-9  # as good as nothing, in a logarithm


def lock_noise(mlp: bool) -> sp.Expr:
    """Variance of token scores at the typical draw, over the mark's squared score."""
    terms = lock_symbols.lock_terms(mlp).values()
    total = sp.Add(*(term.token for term in terms)) / lock_symbols.trigger_score(mlp) ** 2
    return total.subs(dict.fromkeys(lock_symbols.SHARED, 1))


def recall_noise(mlp: bool) -> sp.Expr:
    r"""Mean square of a wrong logit, over the squared right one. With an MLP in terms of
    overlaps over $H-\theta$, all of their variance in J."""
    total = sp.Add(*recall_symbols.mean_squares(mlp).values())
    return total.subs({H: 1, theta: 0, F: 0} if mlp else {tau: 0})


def symbols(rows: pd.DataFrame) -> Values:
    """Values of the sizes, as arrays."""
    return {**columns(rows), tau: rows["trigger_in_values"].to_numpy(float)}


def falling(noise: Callable[[Array], Array], target: Array, low: Array, high: Array) -> Array:
    """Where a falling noise meets its target, or the nearest end."""
    for _ in range(40):
        middle = np.sqrt(low * high)
        above = noise(middle) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high


def as_noisy_for_lock_on(rows: pd.DataFrame, most: float) -> pd.DataFrame:
    """With so many sequences that lock-on is as noisy without the MLP; at most ``most`` times
    V."""
    names = rows[["activation", "seq_len", "vocab", "dim", "trigger_in_values"]]
    found = [
        near_zero(kind, seq_len, vocab, dim=dim, tau=int(flag))
        for kind, seq_len, vocab, dim, flag in names.itertuples(index=False)
    ]
    features = {symbol: np.array([at[symbol] for at in found]) for symbol in found[0]}
    given = {**symbols(rows), **features, lock_symbols.epsilon: 1 / rows["width"].to_numpy(float)}
    plain, vocab = numeric(lock_noise(False)), rows["vocab"].to_numpy(float)
    samples = falling(
        lambda count: plain(symbols(rows.assign(samples=count))),
        numeric(lock_noise(True))(given),
        vocab / 64,
        most * vocab,
    )
    return rows.assign(samples=samples)


def overlaps_of(setting: Setting) -> dict[str, float]:
    """Logarithms of the variance and of the shared square of overlaps in feature space."""
    found = {symbol: float(np.mean(part)) for symbol, part in overlaps(setting).overlaps.items()}
    right = (found[H] - found[theta]) ** 2
    shares = {"variance": (found[J] + found[F]) / right, "shared": found[theta2] / right}
    return {name: float(np.log(share + LEAST)) for name, share in shares.items()}


def as_noisy_for_recall(
    rows: pd.DataFrame, variance: Array, shared: Array, ends: tuple[float, float]
) -> pd.DataFrame:
    """With such a dimension that recall is as noisy without the MLP and with the trigger out of
    the values; from overlaps as :func:`overlaps_of` gives them."""
    given = {**symbols(rows), J: np.exp(variance), theta2: np.exp(shared)}
    plain, shape = numeric(recall_noise(False)), np.ones(len(rows))
    dim = falling(
        lambda size: plain(symbols(rows.assign(dim=size))),
        numeric(recall_noise(True))(given),
        ends[0] * shape,
        ends[1] * shape,
    )
    return rows.assign(dim=dim)
