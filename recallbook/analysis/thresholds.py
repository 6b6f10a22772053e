r"""Which ratio of the mark's score to the scatter of tokens gives a lock-on, and which dimension a recall."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import brentq
from scipy.special import log_ndtr

from recallbook.arguments import LARGEST_SIZE, check_rate, not_allowed
from recallbook.setting import Setting
from recallbook.theory.prediction import predict
from recallbook.theory.search import bracket

NODES, WEIGHTS = hermegauss(64)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
WIDEST_RATIO = 40.0


def lock_on_at(ratio: float, others: float) -> float:
    r"""$\mathbb E\,\Phi(g+r)^K$: normal scores, $K$ other tokens, $g$ the informative token's own score."""
    return float(WEIGHTS @ np.exp(others * log_ndtr(NODES + ratio)))


def ratio_for(share: float, others: float) -> float:
    r"""The ratio $r$ at which :func:`lock_on_at` is ``share``.

    Raises
    ------
    ValueError
        If ``share`` is not between chance, $1/(K+1)$, and 1.
    """
    allowed = f"a number between chance, {1 / (others + 1):.3g}, and 1"
    share = check_rate("share", share, allowed)
    if not 1 / (others + 1) < share < 1:
        raise not_allowed("share", share, allowed)
    return float(brentq(lambda ratio: lock_on_at(ratio, others) - share, 0, WIDEST_RATIO))


@cache
def least_dim(vocab: int, accuracy: float, **setting: Any) -> int:
    """The smallest dimension whose predicted recall at perfect attention and unlimited N is this accuracy."""

    def reached(dim: int) -> bool:
        sizes = Setting(vocab=vocab, seq_len=1, dim=dim, samples=LARGEST_SIZE, **setting)
        return predict(sizes, warn=False).recall >= accuracy

    return int(bracket(reached, 16, smallest=2).high)
