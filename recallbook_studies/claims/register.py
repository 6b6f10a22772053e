"""What public summaries and reviews say about the paper, claim by claim, with a verdict on each.

The claims, in our words, are in ``claims.toml`` beside this file, with the sentence that says what
was measured and the rule of the verdict; and before them the quantities that sentences and rules
name. :func:`load_claims` reads it, :func:`recompute` measures again what a verdict rests on;
:mod:`recallbook_studies.claims.listing` shows them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import pandas as pd

from recallbook_studies.claims import statistics
from recallbook_studies.claims.findings import CONFIRMED, PARTLY, REFUTED, Sentence, decide
from recallbook_studies.running.archive import load_results

CONTRADICTED, UNTESTED = "contradicted by another summary", "not testable here"
VERDICTS = (CONFIRMED, PARTLY, REFUTED, CONTRADICTED, UNTESTED)


class Claim(NamedTuple):
    """One factual claim.

    ``text`` says it in our words, ``short`` in a few; ``sources`` are keys of
    :attr:`Claims.sources`. ``verdict`` is one of :data:`VERDICTS` and ``remark`` gives its reason
    or its range. ``chapter`` and ``section`` name the heading that shows it. ``measured`` is a
    sentence about quantities (:class:`recallbook_studies.claims.findings.Sentence`), ``rule`` says
    how the verdict follows, and ``parts`` the same to Python: a list of what has to hold, in
    :data:`recallbook_studies.claims.findings.WORDS`. ``invented`` has verdicts with quantities that
    would lead to them, for a test. ``against`` are the claims of other sources that contradict
    it."""

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
    parts: str = ""
    invented: Sequence[tuple[str, dict[str, Any]]] = ()
    against: Sequence[str] = ()


class Claims(NamedTuple):
    """All claims, in order, and where each source is: key -> [short name, address]."""

    sources: dict[str, list[str]]
    claims: tuple[Claim, ...]


class Finding(NamedTuple):
    """What was measured, in one line, and the verdict that follows."""

    measured: str
    verdict: str


@cache
def contents() -> dict[str, Any]:
    """Read ``claims.toml``."""
    file = resources.files("recallbook_studies.claims") / "claims.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def load_claims() -> Claims:
    """Read the claims; a test says whether they fit together."""
    return Claims(contents()["sources"], tuple(Claim(**row) for row in contents()["claim"]))


@cache
def quantity(name: str) -> Any:
    """Measure a quantity by its entry: a ``statistic``, a function of
    :mod:`recallbook_studies.claims.statistics`, of the ``rows`` of committed ``tables`` that its query
    chooses, or without tables of what else the entry gives. Where it says ``by``, the statistic of
    every value of a column, or of a list in the entry."""
    entry = dict(contents()["quantity"][name])
    statistic, by = getattr(statistics, entry.pop("statistic")), entry.pop("by", [])
    if "tables" in entry:
        rows = pd.concat(map(load_results, entry.pop("tables")))
        entry["rows"] = rows.query(entry["rows"], engine="python") if "rows" in entry else rows
    return _measure(statistic, by, entry)


def _measure(statistic: Callable[..., Any], by: list[str], options: dict[str, Any]) -> Any:
    if not by:
        return statistic(**options)
    name, *others = by
    if name in options:
        cases = {value: {name: value} for value in options[name]}
    else:
        cases = {value: {"rows": part} for value, part in options["rows"].groupby(name)}
    return {
        value: _measure(statistic, others, {**options, **case}) for value, case in cases.items()
    }


def measured(claim: Claim) -> dict[str, Any]:
    """Measure the quantities that the sentence and the rule of a claim name, by name."""
    names = {*re.findall(r"{(\w+)", claim.measured), *re.findall(r"\w+", claim.parts)}
    return {name: quantity(name) for name in names & {*contents()["quantity"]}}


def recompute(claim: Claim) -> Finding:
    """Measure again: what is found, and the verdict that follows.

    Without a rule the verdict is that another summary contradicts the claim, if one does, or that
    the claim cannot be tested here."""
    if not claim.rule:
        return Finding("", CONTRADICTED if claim.against else UNTESTED)
    numbers = measured(claim)
    sentence = Sentence().vformat(claim.measured, (), numbers)
    return Finding(sentence, decide(claim.parts, numbers))
