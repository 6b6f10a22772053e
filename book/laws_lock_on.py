"""*Laws at a glance*, lock-on where scores are normal: what the ratio of mark to scatter must be."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import brentq
from scipy.special import log_ndtr

NODES, WEIGHTS = hermegauss(64)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
WIDEST_RATIO = 40.0


def lock_on_at(ratio: float, others: float) -> float:
    r"""$\mathbb E\,\Phi(g+r)^K$: normal scores, $K$ other tokens, $g$ the informative token's own
    score."""
    return float(WEIGHTS @ np.exp(others * log_ndtr(NODES + ratio)))


def ratio_for(share: float, others: float) -> float:
    r"""The ratio $r$ at which :func:`lock_on_at` is ``share``, a number between chance and 1."""
    return float(brentq(lambda ratio: lock_on_at(ratio, others) - share, 0, WIDEST_RATIO))
