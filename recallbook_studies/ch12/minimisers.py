r"""The least cross-entropy of facts in one matrix, found by descent and checked, beside what
:mod:`recallbook_studies.ch12.trained` says of its mean (chapter 12).

The loss is convex in $W$, so a small gradient proves a minimum nearly reached. Where a matrix with
all margins positive is found, there is none, and every fact counts as recalled. Where there is not,
no matrix of norm 1 has margins above ``margin``: the gradient along any W is at least its least
margin times the mean chance of a wrong answer.

``python -m recallbook table survives_minima STORE`` makes the rows, ``--export`` writes the
table."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from scipy.optimize import minimize
from scipy.special import softmax

from recallbook_studies.ch12 import trained
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_minima")  # the committed rows
SHAPES = (  # V and d
    *((64, 11), (128, 16), (256, 24), (512, 36), (1024, 52)),
    *((2048, 16), (2048, 64), (2048, 128), (2048, 256)),
)
LOADS = (0.2, 0.9, 1.0, 1.1, 1.3, 2.0, 4.0)  # in units of the largest that fits
# why near load 1 more is held than predicted: label vectors of each fact's own
CAUSE_SHAPES, CAUSE_LOADS, CAUSE_DRAWS = ((16, 6), (32, 8), *SHAPES[:3]), (0.9, 1.0, 1.1), 200
FEWEST, MOST, WORK = 8, 64, 2**21  # draws: at most 64, and about 2^21 numbers in all embeddings
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
    outputs: Float64[np.ndarray, "... V d"],
    labels: Int64[np.ndarray, " K"],
    counts: Float64[np.ndarray, " K"],
    enough: float = ENOUGH,
) -> Minimum:
    """Minimise the cross-entropy of the facts over W, each as often as it is counted, until one of
    the two is proved: all fits, or margins are below ``enough``. Each fact may have label vectors of
    its own.

    Raises
    ------
    ArithmeticError
        If neither is, after 20,000 steps or where rounding ends the descent.
    """
    dim, rows, shares = inputs.shape[1], np.arange(len(labels)), counts / counts.sum()
    found, apart = Minimum(0.0, False, np.inf, np.zeros((dim, dim))), outputs.ndim == 3

    def loss(flat: Float64[np.ndarray, " w"]) -> tuple[float, Float64[np.ndarray, " w"]]:
        nonlocal found
        matrix = flat.reshape(dim, dim).copy()
        moved = inputs @ matrix.T
        logits = (outputs @ moved[..., None])[..., 0] if apart else moved @ outputs.T  # (K, V)
        chances = softmax(logits, axis=1)
        right, own = logits[rows, labels], chances[rows, labels]
        logits[rows, labels] = -np.inf
        margins = right - logits.max(axis=1)
        chances[rows, labels] -= 1
        weighed = chances * shares[:, None]
        back = np.einsum("kvd,kv->dk", outputs, weighed) if apart else outputs.T @ weighed.T
        slope = back @ inputs
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
    """Every shape at every load that V facts reach, "V d load"; near load 1 also where each fact has
    label vectors of its own, "V d load own"."""
    every = [*product(SHAPES, LOADS, [""]), *product(CAUSE_SHAPES, CAUSE_LOADS, ["", " own"])]
    return list(
        dict.fromkeys(
            f"{vocab} {dim} {share}{own}"
            for (vocab, dim), share, own in every
            if round(share / trained.load(vocab, dim, 1)) <= vocab
        )
    )


def row(key: str) -> dict[str, Any]:
    """One shape and load: the mean over draws, its standard error, and what is predicted.

    ``fits``: share of the draws in which some matrix answers all; ``partial``: recall in the
    others."""
    sizes_of, own = key.removesuffix(" own").split(), key.endswith("own")
    vocab, dim, share = int(sizes_of[0]), int(sizes_of[1]), sizes_of[2]
    facts = round(float(share) / trained.load(vocab, dim, 1))
    found = []
    near = (vocab, dim) in CAUSE_SHAPES and float(share) in CAUSE_LOADS
    for seed in range(CAUSE_DRAWS if near else min(MOST, max(FEWEST, WORK // (vocab * dim)))):
        rng = np.random.default_rng([12, vocab, dim, seed])
        inputs, outputs = rng.standard_normal((2, vocab, dim)) / dim**0.5
        if own:
            rng = np.random.default_rng([121, vocab, dim, seed])
            outputs = rng.standard_normal((facts, vocab, dim)) / dim**0.5
        found.append(minimum(inputs[:facts], outputs, np.arange(facts), np.ones(facts))[:3])
    recall, fits, margin = np.array(found).T
    others = fits == 0
    return {
        "key": key, "vocab": vocab, "dim": dim, "load": float(share), "own": own, "facts": facts, "draws": len(found),
        "recall": recall.mean(), "error": recall.std(ddof=1) / len(found) ** 0.5, "fits": fits.mean(),
        "partial": recall[others].mean() if others.any() else math.nan,
        "margin": margin[others].max(initial=0), "predicted": trained.share_held(vocab, dim, facts),
    }  # fmt: skip
