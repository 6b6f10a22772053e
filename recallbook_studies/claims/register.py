"""What public summaries and reviews say about the paper, claim by claim, with a verdict on each.

The claims, in our words, are in ``claims.toml`` beside this file, with the sentence that says what
was measured and the rule of the verdict. :func:`load_claims` reads it, :func:`recompute` measures
again what a verdict rests on; :mod:`recallbook_studies.claims.listing` shows them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from recallbook_studies.claims import checks_memory, checks_model, checks_scaling  # noqa: F401 (they fill CHECKS)
from recallbook_studies.claims.findings import CHECKS, CONFIRMED, PARTLY, REFUTED, Sentence, decide

CONTRADICTED, UNTESTED = "contradicted by another summary", "not testable here"
VERDICTS = (CONFIRMED, PARTLY, REFUTED, CONTRADICTED, UNTESTED)


class Claim(NamedTuple):
    """One factual claim.

    ``text`` says it in our words, ``short`` in a few; ``sources`` are keys of
    :attr:`Claims.sources`. ``verdict`` is one of :data:`VERDICTS` and ``remark`` gives its reason
    or its range. ``chapter`` and ``section`` name the heading that shows it. ``measured`` is the
    sentence that its check in :data:`recallbook_studies.claims.findings.CHECKS` fills and ``rule``
    how its verdict follows; ``against`` are the claims of other sources that contradict it."""

    id: str
    group: str
    short: str
    text: str
    sources: list[str]
    verdict: str
    remark: str
    chapter: str
    section: str = ""
    measured: str = ""
    rule: str = ""
    against: Sequence[str] = ()


class Claims(NamedTuple):
    """All claims, in order, and what each source is: key -> (short name, description)."""

    sources: dict[str, tuple[str, str]]
    claims: tuple[Claim, ...]


class Finding(NamedTuple):
    """What was measured, in one line, and the verdict that follows."""

    measured: str
    verdict: str


def load_claims() -> Claims:
    """Read the claims from ``claims.toml``; a test says whether they fit together."""
    file = resources.files("recallbook_studies.claims") / "claims.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    sources = {key: (value["name"], value["what"]) for key, value in data["sources"].items()}
    return Claims(sources, tuple(Claim(**row) for row in data["claim"]))


def recompute(claim: Claim) -> Finding:
    """Measure again: what is found, and the verdict that follows.

    Without a check the verdict is that another summary contradicts the claim, if one does, or that
    the claim cannot be tested here."""
    if claim.id not in CHECKS:
        return Finding("", CONTRADICTED if claim.against else UNTESTED)
    found = CHECKS[claim.id].measure()
    sentence = Sentence().vformat(claim.measured, (), found)
    return Finding(sentence, decide(claim.id, found))
