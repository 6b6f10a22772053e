r"""The least cross-entropy of facts in one matrix, found by descent and checked, beside what
:mod:`recallbook_theory.trained` says of its mean (chapter 12).

The loss is convex in $W$, so a small gradient proves a minimum nearly reached. Where a matrix with
all margins positive is found, there is none, and every fact counts as recalled. Where there is not,
no matrix of norm 1 has margins above ``margin``: the gradient along any W is at least its least
margin times the mean chance of a wrong answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize
from scipy.special import softmax

ENOUGH = 1e-5  # margin, of matrices of norm 1
STEPS = 20000


class Minimum(NamedTuple):
    """Share of the facts recalled, whether all are, the largest margin that a matrix of norm 1 can
    still have, and the matrix found."""

    recall: float
    fits: bool
    margin: float
    matrix: Float64[np.ndarray, "d d"]


def minimum(inputs: Float64[np.ndarray, "K d"], outputs: Float64[np.ndarray, "V d"]) -> Minimum:
    """Minimise the mean cross-entropy of the facts over W, the k-th of which has the k-th label, until
    one of the two is proved: all fits, or margins are below ``ENOUGH``.

    Raises
    ------
    ArithmeticError
        If neither is, after 20,000 steps or where rounding ends the descent.
    """
    count, dim = inputs.shape
    facts = np.arange(count)
    found = Minimum(0.0, False, np.inf, np.zeros((dim, dim)))

    def loss(flat: Float64[np.ndarray, " w"]) -> tuple[float, Float64[np.ndarray, " w"]]:
        nonlocal found
        matrix = flat.reshape(dim, dim).copy()
        logits = inputs @ matrix.T @ outputs.T  # (K, V)
        chances = softmax(logits, axis=1)
        right, own = logits[facts, facts], chances[facts, facts]
        logits[facts, facts] = -np.inf
        margins = right - logits.max(axis=1)
        chances[facts, facts] -= 1
        slope = outputs.T @ chances.T @ inputs / count
        wrong = float((1 - own).mean())
        margin = float(np.linalg.norm(slope)) / max(wrong, 1e-300)
        found = Minimum(float((margins > 0).mean()), bool(margins.min() > 0), margin, matrix)
        return -float(np.log(np.maximum(own, 1e-300)).mean()), slope.ravel()

    def proved(_: object) -> None:
        if found.fits or found.margin < ENOUGH:
            raise StopIteration

    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "ftol": 0, "gtol": 0, "maxcor": 20}
    minimize(loss, np.zeros(dim**2), jac=True, method="L-BFGS-B", callback=proved, options=options)
    if not (found.fits or found.margin < ENOUGH):
        raise ArithmeticError(f"no minimum proved: margins to {found.margin:.0e}")
    return found
