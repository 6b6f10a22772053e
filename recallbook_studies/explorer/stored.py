r"""Recall with an MLP in one number: the noise of stored facts.

Of one token, which attention always locates, a fact seen $n$ times has the right logit
$n-\theta\lambda$, where $\lambda=N/V$ and $\theta$ is what all stored vectors share with the asked
one. Logits scatter by $\sigma$, the right one too,
$$\sigma^2=\rho^2(\lambda^2+\lambda)+\theta^2(1+V/d)\lambda,$$
and counts are Poisson. The chance of a fact never located is multiplied by $1/(1+d/V)$, a factor
found by fitting: of its wrong labels some have a stored fact of their own. Which $\rho$ gives the
recall that is predicted varies slowly with all sizes, so the page interpolates $\log\rho$; its
script has the same for partial lock-on.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_ndtr
from scipy.stats import poisson

from recallbook.theory.symbolic.expressions import Array
from recallbook_studies.ch07.features import shared_part

NOISES = np.arange(-7, 5, 0.05)  # log rho
FINE = np.arange(NOISES[0], NOISES[-1], 0.002)
MARGINS = np.arange(-9, 14, 0.02)
SCATTER = np.arange(-6, 6.1, 0.25)  # of the right logit, in standard deviations
WEIGHTS = np.exp(-(SCATTER**2) / 2) / np.exp(-(SCATTER**2) / 2).sum()
DOUBT = 1e-4  # recall that is as good as equal: of such noises the one nearest to a matrix's
STIFF = 0.0064  # of a surface: what a squared second difference counts beside a squared miss


@cache
def wins(vocab: int) -> Array:
    """Chances at the ``MARGINS``, in standard deviations, that the right logit is the largest."""
    return np.asarray(np.exp((vocab - 1) * log_ndtr(MARGINS[:, None] + SCATTER)) @ WEIGHTS)


def noise(row: Any) -> tuple[float, float]:
    r"""$\log\rho$ at which recall is as predicted, and how fast recall changes with it there."""
    mean = row.samples / row.vocab
    theta = shared_part(row.activation, row.trigger_in_values)
    counts = np.arange(poisson.ppf(1e-9, mean), poisson.isf(1e-9, mean) + 1)
    chances = poisson.pmf(counts, mean) * np.where(counts > 0, 1, 1 / (1 + row.dim / row.vocab))
    scatter = np.exp(2 * NOISES) * (mean**2 + mean) + theta**2 * (1 + row.vocab / row.dim) * mean
    margins = (counts - theta * mean) / np.sqrt(scatter)[:, None]
    found = np.interp(margins, MARGINS, wins(row.vocab)) @ chances
    usual = np.log((row.vocab + row.dim) / row.dim**2) / 2  # of a matrix
    off = (np.interp(FINE, NOISES, found) - row.recall) ** 2 + (DOUBT * (FINE - usual)) ** 2
    best = FINE[np.argmin(off)]
    return best, np.interp(best, NOISES, np.gradient(found, NOISES))


def noises(rows: pd.DataFrame, shape: tuple[int, ...]) -> Array:
    r"""$\log\rho$ of the rows of a grid of vocabulary, dimension, ratio and share: surfaces over
    dimension and ratio that bend little and miss recall little. Where recall hardly shows the
    noise, they go on as beside it."""
    found = np.reshape([noise(row) for row in rows.itertuples()], (*shape, 2))
    bends = [np.diff(np.eye(size), 2, axis=0) for size in shape[1:3]]
    ones = [np.eye(size) for size in shape[1:3]]
    stiff = np.kron(bends[0].T @ bends[0], ones[1]) + np.kron(ones[0], bends[1].T @ bends[1])
    surfaces = np.empty(shape)
    for vocab, share in np.ndindex(shape[0], shape[3]):
        roots, slopes = found[vocab, ..., share, :].reshape(-1, 2).T
        weights = slopes**2
        solved = np.linalg.solve(np.diag(weights) + STIFF * stiff, weights * roots)
        surfaces[vocab, ..., share] = solved.reshape(shape[1:3])
    return surfaces
