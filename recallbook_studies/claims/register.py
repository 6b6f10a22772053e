"""What public summaries and reviews say about the paper, claim by claim, with a verdict on each.

The claims, in our words, are in ``claims.toml`` beside this file, with the sentence that says what
was measured and the rule of the verdict. :func:`load_claims` reads and checks it,
:func:`recompute` measures again what a verdict rests on; :mod:`recallbook_studies.claims.listing`
shows them.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any, NamedTuple

from recallbook.arguments import not_allowed
from recallbook_studies.claims.checks import CHECKS
from recallbook_studies.claims.findings import CONFIRMED, PARTLY, REFUTED, Sentence

CONTRADICTED, UNTESTED = "contradicted by another summary", "not testable here"
VERDICTS = (CONFIRMED, PARTLY, REFUTED, CONTRADICTED, UNTESTED)
BIBLIOGRAPHIC = "The paper"  # the group about who, where and when: listed, and not counted


class Claim(NamedTuple):
    """One factual claim.

    ``text`` says it in our words, ``short`` in a few; ``sources`` are keys of
    :attr:`Claims.sources`. ``verdict`` is one of :data:`VERDICTS` and ``remark`` gives its reason
    or its range. ``chapter`` and ``section`` name the heading that shows it. ``check`` is a name in
    :data:`recallbook_studies.claims.checks.CHECKS`, ``measured`` the sentence that it fills,
    ``rule`` how its verdict follows; ``against`` are the claims of other sources that contradict
    it."""

    id: str
    group: str
    short: str
    text: str
    sources: tuple[str, ...]
    verdict: str
    remark: str
    chapter: str
    section: str = ""
    check: str = ""
    measured: str = ""
    rule: str = ""
    against: tuple[str, ...] = ()


class Claims(NamedTuple):
    """All claims, in order, and what each source is: key -> (short name, description)."""

    sources: dict[str, tuple[str, str]]
    claims: tuple[Claim, ...]


class Finding(NamedTuple):
    """What was measured, in one line, and the verdict that follows."""

    measured: str
    verdict: str


def load_claims(text: str | None = None) -> Claims:
    """Read the claims, from ``claims.toml`` or from text in its format.

    Raises
    ------
    ValueError
        Names the field, its value and what is allowed: unreadable text, an unknown or missing
        field, an unknown source, verdict or check, a claim twice, a contradiction without another
        source, a verdict that nothing measures.
    """
    file = resources.files("recallbook_studies.claims") / "claims.toml"
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8") if text is None else text)
    except tomllib.TOMLDecodeError as error:
        raise not_allowed("claims", str(error), "text in the TOML format") from None
    if set(data) != {"sources", "claim"}:
        raise not_allowed("claims", sorted(data), "the two tables sources and claim")
    for key, value in data["sources"].items():
        if not isinstance(value, dict) or set(value) != {"name", "what"}:
            raise not_allowed(f"sources.{key}", value, "two texts, name and what")
    sources = {key: (value["name"], value["what"]) for key, value in data["sources"].items()}
    claims = tuple(_claim(row) for row in data["claim"])
    by_id = {claim.id: claim for claim in claims}
    for claim in claims:
        _check(claim, sources, by_id)
    return Claims(sources, claims)


def _claim(row: dict[str, Any]) -> Claim:
    """A claim whose fields have the names and types they should."""
    for name in (*Claim._fields, *row):
        default = Claim._field_defaults.get(name)
        value = row.get(name, default)
        kind = list if name in ("sources", "against") else str
        if name not in Claim._fields:
            allowed = "one of " + ", ".join(Claim._fields)
        elif value is default is None or (name in row and not (isinstance(value, kind) and value)):
            allowed = "a list of names" if kind is list else "a text that is not empty"
        else:
            continue
        raise not_allowed(f"claim {row.get('id', '?')}: {name}", value, allowed)
    lists = {name: tuple(row.get(name, ())) for name in ("sources", "against")}
    return Claim(**{**row, **lists})


def _check(claim: Claim, sources: dict[str, Any], by_id: dict[str, Claim]) -> None:
    """See that what a claim names is there, and that its verdict has what it rests on."""

    def need(name: str, wrong: Any, allowed: str) -> None:
        if wrong:
            value = wrong if isinstance(wrong, list) else getattr(claim, name)
            raise not_allowed(f"claim {claim.id}: {name}", value, allowed)

    verdict = claim.verdict
    need("id", by_id[claim.id] is not claim, "an id that no other claim has")
    need("sources", sorted({*claim.sources} - {*sources}), "one of " + ", ".join(sources))
    need("verdict", verdict not in VERDICTS, "one of " + ", ".join(VERDICTS))
    need("check", claim.check not in ("", *CHECKS), "one of " + ", ".join(CHECKS))
    need(
        "check",
        verdict in VERDICTS[:3] and not claim.check,
        f"a check, for the verdict {verdict!r}",
    )
    lone = [name for name in claim.against if {*by_id.get(name, claim).sources} <= {*claim.sources}]
    need("against", lone, "the id of a claim with another source")
    contradicts = f"the claims that contradict it, for the verdict {CONTRADICTED!r}"
    need("against", verdict == CONTRADICTED and not claim.against, contradicts)


def counted(claims: Claims) -> dict[str, int]:
    """How many claims have each verdict, without those that are bibliographic."""
    found = [claim.verdict for claim in claims.claims if claim.group != BIBLIOGRAPHIC]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def recompute(claim: Claim) -> Finding:
    """Measure again: what is found, and the verdict that follows.

    Where a check decides, the verdict is the check's. Otherwise it is that another summary
    contradicts the claim, if one does, and that the claim cannot be tested here."""
    otherwise = CONTRADICTED if claim.against else UNTESTED
    if not claim.check:
        return Finding("", otherwise)
    check = CHECKS[claim.check]
    found = check.measure()
    return Finding(
        Sentence().vformat(claim.measured, (), vars(found)), check.decide(found) or otherwise
    )
