"""How claims are shown: as HTML in the book and in notebooks, as plain text anywhere else, all
alike."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from recallbook_studies.claims.register import VERDICTS, Claim, Claims, Finding

# each dark enough for white letters on it, on a light page and on a dark one
COLOURS = dict(zip(VERDICTS, ("#1b6e3c", "#8a5a00", "#a3212b", "#6a3d8f", "#555555"), strict=True))
WIDTH = 88  # characters of a line of plain text


class Entry(NamedTuple):
    """One claim as it is shown: its text, labelled lines, and where it leads."""

    text: str
    verdict: str
    lines: tuple[tuple[str, str], ...]
    place: str


def anchor(section: str) -> str:
    """The address of a heading inside its page, as Sphinx makes it: letters and digits, joined by
    hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")


def entry(claim: Claim, found: Finding, claims: Claims) -> Entry:
    """What is shown of a claim: sources, measurement, verdict, rule, reason and place."""
    title = plain(claim.section or claim.chapter[3:].replace("_", " "))
    lines = {
        "From": ", ".join(claims.sources[name][0] for name in claim.sources),
        "Measured": found.measured,
        "Verdict": str(found.verdict),
        "Rule": claim.rule,
        "Why": claim.remark,
        "See": f"chapter {int(claim.chapter[:2])}, {title}",
    }
    chosen = tuple((name, _sentence(text)) for name, text in lines.items() if text)
    return Entry(claim.text, str(found.verdict), chosen, _place(claim))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else text + "."


@dataclass(frozen=True)
class Listing:
    """Claims one below the other. Notebooks show HTML, terminals and comparisons plain text."""

    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        return "\n\n".join(_plain_entry(each) for each in self.entries)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "\n".join(_html_entry(each) for each in self.entries)


def show(claims: Claims, findings: dict[str, Finding], group: str) -> Listing:
    """The claims of one group in full."""
    return Listing(
        tuple(
            entry(claim, findings[claim.id], claims)
            for claim in claims.claims
            if claim.group == group
        )
    )


def pick(claims: Claims, findings: dict[str, Finding], names: Iterable[str]) -> Listing:
    """Claims by their ids, in full."""
    by_id = {claim.id: claim for claim in claims.claims}
    return Listing(tuple(entry(by_id[name], findings[name], claims) for name in names))


@dataclass(frozen=True)
class Overview:
    """A table of all claims: group, claim in short, verdict, and the chapter that shows more."""

    rows: tuple[tuple[str, str, str, str, str], ...]
    caption: str

    def __str__(self) -> str:
        widths = [max(len(row[i]) for row in self.rows) for i in range(3)]
        lines = [self.caption]
        for group, short, verdict, chapter, _ in self.rows:
            cells = (
                cell.ljust(width)
                for cell, width in zip((group, short, verdict), widths, strict=True)
            )
            lines.append("  ".join((*cells, chapter)))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col">{name}</th>' for name in ("about", "claim", "verdict", "chapter")
        )
        rows = "\n".join(
            f"<tr><td>{group}</td><td>{marked(short)}</td><td>{badge(verdict)}</td>"
            f'<td><a href="{place}">{chapter}</a></td></tr>'
            for group, short, verdict, chapter, place in self.rows
        )
        caption = f'<caption style="caption-side: top">{html.escape(self.caption)}</caption>'
        label = html.escape(self.caption, quote=True)
        return (
            f'<div style="overflow-x: auto" tabindex="0" role="region" aria-label="{label}">\n'
            f'<table class="dataframe">\n{caption}\n<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
        )


def overview(claims: Claims, caption: str) -> Overview:
    """All claims with their stored verdicts as a table, in order."""
    return Overview(
        tuple(
            (c.group, c.short, c.verdict, str(int(c.chapter[:2])), _place(c)) for c in claims.claims
        ),
        caption,
    )


def _place(claim: Claim) -> str:
    return claim.chapter + ".html" + (f"#{anchor(claim.section)}" if claim.section else "")


def badge(verdict: str) -> str:
    """A verdict in white on its colour."""
    style = f"color: #ffffff; background: {COLOURS[verdict]}; padding: 0.1em 0.45em; border-radius: 0.3em"
    return f'<strong style="{style}">{verdict}</strong>'


def _html_entry(each: Entry) -> str:
    style = f"border-left: 5px solid {COLOURS[each.verdict]}; padding: 0 0 0 0.8em; margin: 0 0 1.4em 0; max-width: 46em"
    lines = [f'<div style="{style}">', f"<strong>{marked(each.text)}</strong>"]
    for name, text in each.lines:
        shown = badge(each.verdict) if name == "Verdict" else marked(text)
        if name == "See":
            shown = f'<a href="{each.place}">{html.escape(text.removesuffix("."), quote=False)}</a>'
        lines.append(f"<br><em>{name}:</em> {shown}")
    return "\n".join([*lines, "</div>"])


def _plain_entry(each: Entry) -> str:
    lines = textwrap.wrap(each.text, WIDTH)
    for name, text in each.lines:
        lines += textwrap.wrap(
            f"{name}: {text}", WIDTH, initial_indent="  ", subsequent_indent="    "
        )
    return "\n".join(lines)


def plain(heading: str) -> str:
    """A heading without the marks of its mathematics."""
    marks = {
        r"\eta": "η",
        r"\gamma": "γ",
        r"\approx": "≈",
        r"\gg": "≫",
        "_{KQ}": "_KQ",
        "^2": "²",
        "$": "",
    }
    for old, new in marks.items():
        heading = heading.replace(old, new)
    return heading


def marked(words: str) -> str:
    """Escaped text with single letters as symbols and exponents raised; an interval stays on the
    line."""
    words = html.escape(words, quote=False)
    words = re.sub(r"\^ ?([−-]?[0-9.]*[0-9])", r"<sup>\1</sup>", words)
    return re.sub(r"(?<![\w'/])([NVLdmnp])(?![\w'])", r"<i>\1</i>", words)
