"""How claims are shown: as HTML in the book and in notebooks, and as its text anywhere else."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from recallbook_studies.claims.register import VERDICTS, Claim, Claims, Finding

# each dark enough for white letters on it, on a light page and on a dark one
COLOURS = dict(zip(VERDICTS, ("#1b6e3c", "#8a5a00", "#a3212b", "#6a3d8f", "#555555"), strict=True))


@dataclass(frozen=True, repr=False)
class Listing:
    """Claims as HTML, which notebooks show; terminals show the text in it."""

    page: str

    def __repr__(self) -> str:
        return html.unescape(re.sub("<[^>]+>", "", self.page.replace("<sup>", "^")))

    def _repr_html_(self) -> str:
        return self.page


def show(claims: Claims, findings: dict[str, Finding], group: str = "") -> Listing:
    """Show the claims that have a finding in full, all or those of a group."""
    blocks = (
        _block(claim, findings[claim.id], claims)
        for claim in claims.claims
        if claim.id in findings and group in ("", claim.group)
    )
    return Listing("\n".join(blocks))


def _block(claim: Claim, found: Finding, claims: Claims) -> str:
    """A claim with its sources, measurement, verdict, rule, reason and place; on its side the colour
    of the verdict that was found."""
    lines = {
        "From": ", ".join(_source(*claims.sources[name]) for name in claim.sources),
        "Measured": marked(found.measured),
        "Verdict": badge(found.verdict),
        "Rule": marked(claim.rule),
        "Why": marked(claim.remark),
        "See": _link(claim, "appendix to chapter" if claim.chapter.startswith("a") else "chapter"),
    }
    style = f"border-left: 5px solid {COLOURS[found.verdict]}; padding: 0 0 0 0.8em; margin: 0 0 1.4em 0; max-width: 46em"
    said = [f"<br><em>{name}:</em> {text}" for name, text in lines.items() if text]
    return "\n".join(
        [f'<div style="{style}">', f"<strong>{marked(claim.text)}</strong>", *said, "</div>"]
    )


def _source(name: str, address: str) -> str:
    """A link to the text that makes a claim."""
    return f'<a href="{html.escape(address)}">{name}</a>'


def anchor(section: str) -> str:
    """The address of a heading inside its page, as Sphinx makes it: letters and digits, joined by
    hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")


def _link(claim: Claim, kind: str) -> str:
    """A link to the section that shows more, as the number of its chapter."""
    place = f"#{anchor(claim.section)}" if claim.section else ""
    number = claim.chapter.removeprefix("appendix_").split("_")[0].lstrip("0")
    return f'<a href="{claim.chapter}.html{place}">{kind} {number}</a>'


def badge(verdict: str) -> str:
    """A verdict in white on its colour."""
    style = f"color: #ffffff; background: {COLOURS[verdict]}; padding: 0.1em 0.45em; border-radius: 0.3em"
    return f'<strong style="{style}">{verdict}</strong>'


def marked(words: str) -> str:
    """Escaped text with single letters as symbols and exponents raised; an interval stays on the
    line."""
    words = html.escape(words, quote=False)
    words = re.sub(r"\^ ?([−-]?[0-9.]*[0-9])", r"<sup>\1</sup>", words)
    return re.sub(r"(?<![\w'/])([NVLdmnp])(?![\w'])", r"<i>\1</i>", words)
