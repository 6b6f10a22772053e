"""Public claims about the paper, and the check that decides each."""

from recallbook.claims.claim import (
    COLOURS,
    UNTESTED,
    VERDICTS,
    Claim,
    Claims,
    anchor,
    counts,
    load_claims,
    recompute,
    show,
)

__all__ = [
    "COLOURS",
    "UNTESTED",
    "VERDICTS",
    "Claim",
    "Claims",
    "anchor",
    "counts",
    "load_claims",
    "recompute",
    "show",
]
