r"""SymPy expressions: the one source of every formula that a chapter prints and the package evaluates.

Each function returns expressions in the symbols of its module. Chapters print them with ``sympy.latex``, the
numerical modules call :func:`numeric` on them, and the tests compare both with simulation.
"""

from recallbook.symbolic import bounds, gradients, locking, retrieval
from recallbook.symbolic.expressions import numeric
from recallbook.symbolic.memory import (
    CompetitorVariance,
    Recall,
    a,
    b,
    coherence_floor,
    competitor_variance,
    d,
    n,
    r,
    recall_terms,
    squared_length_moment,
    stray_variance,
    xi,
)

__all__ = [
    "CompetitorVariance",
    "Recall",
    "a",
    "b",
    "bounds",
    "coherence_floor",
    "competitor_variance",
    "d",
    "gradients",
    "locking",
    "n",
    "numeric",
    "r",
    "recall_terms",
    "retrieval",
    "squared_length_moment",
    "stray_variance",
    "xi",
]
