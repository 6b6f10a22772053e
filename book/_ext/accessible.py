"""Repairs of the finished pages that the theme and docutils leave to us.

Each is a violation that axe-core reports as serious (tests/test_browser.py), and each goes when the
package that causes it does better.
"""

import itertools
import re
from pathlib import Path

from contents import chapters

REPAIRS = (
    # docutils: a list whose entries have a role that lists may not hold.
    (r'<div role="list" class="citation-list">', '<div class="citation-list">'),
    (r' role="doc-biblioentry"', ""),
    # sphinx-proof and sphinx-exercise: the same id for each, and a space before the link.
    (r'(<section[^>]*) id="(?:proof|exercise|solution)-content">', r"\1>"),
    (r"Solution to(<a [^>]*>) ", r"Solution to \1"),
    # Sphinx: the landing page has the title of the book, twice.
    (r"<title>(.*?) (?:&#8212;|-) \1</title>", r"<title>\1</title>"),
    # Theme: the name read aloud must contain the text that is seen.
    (r'(<i class="theme-switch[^>]*?) title="[^"]*"', r"\1"),
    (r'(<button class="btn search-button-field[^>]*?) aria-label="Search"', r"\1"),
    # Theme: what unfolds the pages below one has no name.
    (
        r'<summary><span class="toctree-toggle" role="presentation">',
        '<summary aria-label="Pages below"><span class="toctree-toggle" role="presentation">',
    ),
    # A caption inside its table would scroll away with it.
    (
        r'(<div style="overflow-x: auto"[^>]*>\s*<table[^>]*>)\s*<caption [^>]*>(.*?)</caption>',
        r'<p class="table-caption">\2</p>\1',
    ),
    # The box at the head of a page has a look of its own; what it costs to compute folds, if it does not yet.
    (
        r'<div class="([^"]*)">(\s*<p class="admonition-title">In this (?:chapter|appendix)</p>)',
        r'<div class="\1 box">\2',
    ),
    (
        r'(?s)(<p class="admonition-title">In this (?:chapter|appendix)</p>\s*<ul [^>]*>(?:(?!</ul>).)*?)'
        r"(<li><p><strong>Reading\.(?:(?!</ul>).)*?<strong>Computing\..*?</ul>)",
        r'\1</ul><details class="costs"><summary>Time, memory, what it builds on</summary>'
        r'<ul class="simple">\2</details>',
    ),
    # A sign after a formula would start the next line.
    (
        r'(\(?<span class="math notranslate nohighlight">[^<]*</span>[.,;:!?)’”]+)',
        r'<span class="kept">\1</span>',
    ),
    # A figure that a phone shows small opens alone, where two fingers enlarge it.
    (r'(<figure [^>]*>\s*)(<img [^>]*?src="([^"]*)"[^>]*>)', r'\1<a href="\3">\2</a>'),
    # Theme: Colab opens the plain notebook, of the branch that holds nothing else.
    (r'(https://colab\.[^"]*?/blob/)[^"]*/', r"\1plain-notebooks/"),
    # MyST-NB: the same, for the code that folds away.
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
)


def with_numbers(text, chapter, count):
    """The text of a page, with its tables numbered by chapter."""

    def numbered(match):
        number = next(count)
        name = f"table-{chapter}-{number}"
        return f'<p class="table-caption" id="{name}"><strong>Table {chapter}.{number}.</strong> '

    return re.sub('<p class="table-caption">', numbered, text)


def repair(app, exception):
    if exception or app.builder.format != "html":
        return
    out, places = Path(app.outdir), {}
    for number, chapter in enumerate(chapters(app.env), start=1):
        place = (number, itertools.count(1))  # a chapter's appendices go on counting
        for page in (chapter, *app.env.toctree_includes.get(chapter, [])):
            places[out / f"{page}.html"] = place
    for path in [*places, *(other for other in out.rglob("*.html") if other not in places)]:
        text = path.read_text(encoding="utf-8")
        repaired = text
        for pattern, replacement in REPAIRS:
            repaired = re.sub(pattern, replacement, repaired)
        if path in places:
            repaired = with_numbers(repaired, *places[path])
        if repaired != text:
            path.write_text(repaired, encoding="utf-8")


def setup(app):
    app.connect("build-finished", repair)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
