r"""The least cross-entropy of facts in one matrix, found by descent and checked, beside what
:mod:`recallbook.theory.trained` says of its mean (chapter 12).

The loss is convex in $W$, so a small gradient proves a minimum nearly reached. Where a matrix with
all margins positive is found, there is none, and every fact counts as recalled. Where there is not,
no matrix of norm 1 has margins above ``margin``: the gradient along any W is at least its least
margin times the mean chance of a wrong answer.

``python -m recallbook table survives_minima STORE`` makes the rows, ``--export`` writes the
table."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from scipy.optimize import minimize
from scipy.special import softmax

from recallbook.sweeps.archive import load_results
from recallbook.theory import trained

load = partial(load_results, "survives_minima")  # the committed rows
SHAPES = (
    (64, 11),
    (128, 16),
    (256, 24),
    (512, 36),
    (1024, 52),
)  # V and d: twice the cap is about V
LOADS = (0.8, 0.9, 1.0, 1.1, 1.3, 2.0)  # in units of the largest that fits
SEEDS = range(8)
ENOUGH = 1e-5  # margin, of matrices of norm 1
STEPS = 20000


class Minimum(NamedTuple):
    """Share of the facts recalled, whether all are, the largest margin that a matrix of norm 1 can
    still have, and the matrix found."""

    recall: float
    fits: bool
    margin: float
    matrix: Float64[np.ndarray, "d d"]


def minimum(
    inputs: Float64[np.ndarray, "K d"],
    outputs: Float64[np.ndarray, "V d"],
    labels: Int64[np.ndarray, " K"],
    counts: Float64[np.ndarray, " K"],
    enough: float = ENOUGH,
) -> Minimum:
    """Minimise the cross-entropy of the facts over W, each as often as it is counted, until one of
    the two is proved: all fits, or margins are below ``enough``.

    Raises
    ------
    ArithmeticError
        If neither is, after 20,000 steps or where rounding ends the descent.
    """
    dim, rows, shares = inputs.shape[1], np.arange(len(labels)), counts / counts.sum()
    found = Minimum(0.0, False, np.inf, np.zeros((dim, dim)))

    def loss(flat: Float64[np.ndarray, " w"]) -> tuple[float, Float64[np.ndarray, " w"]]:
        nonlocal found
        matrix = flat.reshape(dim, dim).copy()
        logits = inputs @ matrix.T @ outputs.T  # (K, V)
        chances = softmax(logits, axis=1)
        right, own = logits[rows, labels], chances[rows, labels]
        logits[rows, labels] = -np.inf
        margins = right - logits.max(axis=1)
        chances[rows, labels] -= 1
        slope = outputs.T @ (chances * shares[:, None]).T @ inputs
        wrong = float(shares @ (1 - own))
        margin = float(np.linalg.norm(slope)) / max(wrong, 1e-300)
        found = Minimum(float((margins > 0).mean()), bool(margins.min() > 0), margin, matrix)
        return -float(shares @ np.log(np.maximum(own, 1e-300))), slope.ravel()

    def proved(_: object) -> None:
        if found.fits or found.margin < enough:
            raise StopIteration

    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "ftol": 0, "gtol": 0, "maxcor": 20}
    minimize(loss, np.zeros(dim**2), jac=True, method="L-BFGS-B", callback=proved, options=options)
    if not (found.fits or found.margin < enough):
        raise ArithmeticError(f"no minimum proved: margins to {found.margin:.0e}")
    return found


def keys() -> list[str]:
    """Every shape at every load, "V d K"."""
    return [
        f"{vocab} {dim} {round(share / trained.load(vocab, dim, 1))}"
        for vocab, dim in SHAPES
        for share in LOADS
    ]


def row(key: str) -> dict[str, Any]:
    """One shape and load: the mean over draws, its standard error, and what is predicted."""
    vocab, dim, facts = map(int, key.split())
    found = []
    for seed in SEEDS:
        rng = np.random.default_rng([12, vocab, dim, seed])
        inputs, outputs = rng.standard_normal((2, vocab, dim)) / dim**0.5
        found.append(minimum(inputs[:facts], outputs, np.arange(facts), np.ones(facts)))
    recall, fits, margin = np.array([one[:3] for one in found]).T
    return {
        "key": key, "vocab": vocab, "dim": dim, "facts": facts, "recall": recall.mean(),
        "error": recall.std(ddof=1) / len(SEEDS) ** 0.5, "fits": fits.mean(),
        "margin": margin[fits == 0].max(initial=0), "predicted": trained.share_held(vocab, dim, facts),
    }  # fmt: skip
