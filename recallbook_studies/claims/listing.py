"""How claims are shown: as HTML in the book and in notebooks, as plain text anywhere else, all
alike."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from recallbook_studies.claims.register import VERDICTS, Claim, Claims, Finding
from recallbook_studies.tables import Table

# each dark enough for white letters on it, on a light page and on a dark one
COLOURS = dict(zip(VERDICTS, ("#1b6e3c", "#8a5a00", "#a3212b", "#6a3d8f", "#555555"), strict=True))
# of mathematics in headings
MARKS = {
    r"\eta": "η",
    r"\gamma": "γ",
    r"\approx": "≈",
    r"\gg": "≫",
    "_{KQ}": "_KQ",
    "^2": "²",
    "$": "",
}


@dataclass(frozen=True, repr=False)
class Listing:
    """Claims in two forms: notebooks show HTML, terminals and comparisons plain text."""

    text: str
    page: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.page


def pick(claims: Claims, findings: dict[str, Finding], names: Iterable[str]) -> Listing:
    """Claims by their ids, in full."""
    by_id = {claim.id: claim for claim in claims.claims}
    chosen = [(by_id[name], _lines(by_id[name], findings[name], claims)) for name in names]
    text = "\n\n".join(_plain(claim.text, lines) for claim, lines in chosen)
    return Listing(text, "\n".join(_html(claim, lines) for claim, lines in chosen))


def show(claims: Claims, findings: dict[str, Finding], group: str) -> Listing:
    """The claims of one group in full."""
    return pick(claims, findings, [claim.id for claim in claims.claims if claim.group == group])


def _numbered(claim: Claim) -> tuple[str, str]:
    """Number and name of the chapter, or of the appendix to it, that shows a claim."""
    number, _, name = claim.chapter.removeprefix("appendix_").partition("_")
    return str(int(number)), name


def _lines(claim: Claim, found: Finding, claims: Claims) -> dict[str, str]:
    """What is said of a claim: sources, measurement, verdict, rule, reason and place."""
    number, name = _numbered(claim)
    title = claim.section or name.replace("_", " ")
    for mark, plain in MARKS.items():
        title = title.replace(mark, plain)
    lines = {
        "From": ", ".join(claims.sources[name][0] for name in claim.sources),
        "Measured": found.measured,
        "Verdict": found.verdict,
        "Rule": claim.rule,
        "Why": claim.remark,
        "See": f"{'appendix' if claim.chapter.startswith('a') else 'chapter'} {number}, {title}",
    }
    return {
        name: text if text.endswith((".", "?")) else text + "."
        for name, text in lines.items()
        if text
    }


def _plain(title: str, said: dict[str, str]) -> str:
    lines = textwrap.wrap(title, 88)
    for name, text in said.items():
        lines += textwrap.wrap(f"{name}: {text}", 88, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


def _html(claim: Claim, said: dict[str, str]) -> str:
    # the colour is that of the verdict that was found
    colour = COLOURS[said["Verdict"].removesuffix(".")]
    style = f"border-left: 5px solid {colour}; padding: 0 0 0 0.8em; margin: 0 0 1.4em 0; max-width: 46em"
    shown = {name: marked(text) for name, text in said.items()}
    shown["Verdict"] = badge(said["Verdict"].removesuffix("."))
    shown["See"] = _link(claim, html.escape(said["See"].removesuffix("."), quote=False))
    lines = [f"<br><em>{name}:</em> {text}" for name, text in shown.items()]
    title = f"<strong>{marked(claim.text)}</strong>"
    return "\n".join([f'<div style="{style}">', title, *lines, "</div>"])


def overview(claims: Claims, caption: str) -> Listing:
    """All claims with their stored verdicts as a table, in order, with the chapter that shows
    more."""
    rows = [(c.group, c.short, c.verdict, _numbered(c)[0], c) for c in claims.claims]
    plain = [row[:-1] for row in rows]
    rich = [(g, marked(s), badge(v), _link(c, chapter)) for g, s, v, chapter, c in rows]
    head = ["about", "claim", "verdict", "chapter"]
    text, page = (Table(pd.DataFrame(x, columns=head), caption) for x in (plain, rich))
    return Listing(str(text), html.unescape(page._repr_html_()))


def anchor(section: str) -> str:
    """The address of a heading inside its page, as Sphinx makes it: letters and digits, joined by
    hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")


def _link(claim: Claim, text: str) -> str:
    place = f"#{anchor(claim.section)}" if claim.section else ""
    return f'<a href="{claim.chapter}.html{place}">{text}</a>'


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
