"""What public summaries and reviews say about the paper, claim by claim, with a verdict on each.

The claims, in our words, are in ``claims.toml`` beside this file. :func:`load_claims` reads and
checks it,
:func:`recompute` measures again what a verdict rests on; :mod:`recallbook_studies.claims.listing` shows them.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any, NamedTuple

from recallbook.arguments import not_allowed
from recallbook_studies.claims.checks import CHECKS
from recallbook_studies.claims.findings import Finding

VERDICTS = (
    "confirmed",
    "true only where",
    "refuted",
    "contradicted by another summary",
    "not testable here",
)
CONTRADICTED, UNTESTED = VERDICTS[3:]
BIBLIOGRAPHIC = (
    "The paper"  # the group of claims about who, where and when: listed, and not counted
)
REQUIRED = ("id", "group", "short", "text", "sources", "verdict", "remark", "chapter")
FIELDS = (*REQUIRED, "section", "check", "against")


class Claim(NamedTuple):
    """One factual claim.

    ``text`` says it in our words, ``short`` in a few; ``sources`` are keys of
    :attr:`Claims.sources`. ``verdict`` is one of :data:`VERDICTS` and ``remark`` gives its reason
    or its range. ``chapter`` and ``section`` name the heading that shows it, ``check`` a function
    of :mod:`recallbook_studies.claims.checks`, ``against`` the claims of other sources that
    contradict it."""

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
    against: tuple[str, ...] = ()


class Claims(NamedTuple):
    """All claims, in order, and what each source is: key -> (short name, description)."""

    sources: dict[str, tuple[str, str]]
    claims: tuple[Claim, ...]


def load_claims(text: str | None = None) -> Claims:
    """Read the claims, from ``claims.toml`` or from text in its format.

    Raises
    ------
    ValueError
        Names the field, its value and what is allowed: unreadable text, an unknown or missing
        field, an unknown source, verdict or check, a claim twice, a contradiction without another
        source, a verdict that nothing measures.
    """
    if text is None:
        text = (resources.files("recallbook_studies.claims") / "claims.toml").read_text(
            encoding="utf-8"
        )
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise not_allowed("claims", str(error), "text in the TOML format") from None
    if set(data) != {"sources", "claim"}:
        raise not_allowed("claims", sorted(data), "the two tables sources and claim")
    sources = {key: _source(key, value) for key, value in data["sources"].items()}
    claims = tuple(_claim(row, sources) for row in data["claim"])
    by_id = {claim.id: claim for claim in claims}
    if len(by_id) != len(claims):
        raise not_allowed(
            "id",
            sorted(c.id for c in claims if by_id[c.id] is not c),
            "an id that no other claim has",
        )
    for claim in claims:
        _check_against(claim, by_id)
    return Claims(sources, claims)


def _source(key: str, value: Any) -> tuple[str, str]:
    if (
        not isinstance(value, dict)
        or set(value) != {"name", "what"}
        or not all(map(_filled, value.values()))
    ):
        raise not_allowed(f"sources.{key}", value, "two texts, name and what")
    return value["name"], value["what"]


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _claim(row: dict[str, Any], sources: dict[str, tuple[str, str]]) -> Claim:
    which = f"claim {row.get('id', '?')}: "
    for name in sorted(set(row) ^ set(REQUIRED)):
        if name in REQUIRED or name not in FIELDS:
            raise not_allowed(
                which + name,
                row.get(name),
                "a required field" if name in REQUIRED else "one of " + ", ".join(FIELDS),
            )
    for name, value in row.items():
        if name in ("sources", "against"):
            if not isinstance(value, list) or not value or not all(map(_filled, value)):
                raise not_allowed(which + name, value, "a list of at least one name")
        elif not _filled(value):
            raise not_allowed(which + name, value, "a text that is not empty")
    if unknown := [name for name in row["sources"] if name not in sources]:
        raise not_allowed(which + "sources", unknown, "one of " + ", ".join(sources))
    if row["verdict"] not in VERDICTS:
        raise not_allowed(which + "verdict", row["verdict"], "one of " + ", ".join(VERDICTS))
    if row.get("check", "") not in ("", *CHECKS):
        raise not_allowed(which + "check", row["check"], "one of " + ", ".join(CHECKS))
    lists = {name: tuple(row.get(name, ())) for name in ("sources", "against")}
    return Claim(**{**row, **lists})


def _check_against(claim: Claim, by_id: dict[str, Claim]) -> None:
    others = [by_id.get(name) for name in claim.against]
    for name, other in zip(claim.against, others, strict=True):
        if other is None or not set(other.sources) - set(claim.sources):
            raise not_allowed(
                f"claim {claim.id}: against", name, "the id of a claim with another source"
            )
    if claim.verdict == CONTRADICTED and not others:
        raise not_allowed(
            f"claim {claim.id}: against",
            [],
            f"the claims that contradict it, for the verdict {CONTRADICTED!r}",
        )
    if claim.verdict in VERDICTS[:3] and not claim.check:
        raise not_allowed(
            f"claim {claim.id}: check", "", f"a check, for the verdict {claim.verdict!r}"
        )


def counted(claims: Claims) -> dict[str, int]:
    """How many claims have each verdict, without those that are bibliographic."""
    found = [claim.verdict for claim in claims.claims if claim.group != BIBLIOGRAPHIC]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def recompute(claim: Claim) -> Finding:
    """Measure again: what is found, and the verdict that follows.

    Where a check decides, the verdict is the check's. Otherwise it is that another summary
    contradicts the claim, if one does, and that the claim cannot be tested here."""
    found = CHECKS[claim.check]() if claim.check else Finding("")
    return found._replace(verdict=found.verdict or (CONTRADICTED if claim.against else UNTESTED))
