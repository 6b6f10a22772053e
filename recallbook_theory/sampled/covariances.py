"""Square roots of covariances, which tables are drawn with."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

Square = Float64[np.ndarray, "n n"]


def square_root(covariance: Square) -> Square:
    """The symmetric root, which does not depend on how eigenvectors are chosen; rounding below zero
    is zero."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
