r"""The text of every page in one script, from which the search takes excerpts and counts words
without a server, and the pages that the glossary names for a term.

Formulas are written as words and signs: a reader who looks for a sentence is not shown TeX.
"""

import json
import re
import unicodedata
from pathlib import Path

from docutils import nodes

FILE = "excerpts.js"
SKIPPED = (nodes.literal_block, nodes.raw, nodes.comment, nodes.target)
NAMES = (
    "le leq ge geq approx gtrsim lesssim times cdot to infty propto sum gg ll in log ln exp max min"
)
SIGNS = dict(
    zip(NAMES.split(), "≤ ≤ ≥ ≥ ≈ ≳ ≲ × · → ∞ ∝ Σ ≫ ≪ ∈ log ln exp max min".split(), strict=True)
)


def sign(match):
    """A letter or sign for a command, and nothing for one that only shapes."""
    name = match[1]
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.removeprefix('var')}")
    except KeyError:
        return SIGNS.get(name, "")


def readable(tex):
    """A formula in plain letters, as far as one line can show it."""
    tex = re.sub(r"\\(?:label|begin|end|text\w*|math\w*|operatorname)\b\*?", "", tex)
    tex = re.sub(r"\\[td]?frac\s*(\{[^{}]*\}|.)\s*(\{[^{}]*\}|.)", r"\1/\2", tex)
    tex = re.sub(r"\\([A-Za-z]+)", sign, tex)
    return re.sub(r"\s+", " ", re.sub(r"\\.|[{}&$]", " " if "\\\\" in tex else "", tex)).strip()


def words(doctree):
    """The text of a page as a reader sees it, without code."""
    found = []
    for node in doctree.findall(nodes.Text):
        above, parents = node.parent, []
        while above is not None:
            parents.append(above)
            above = above.parent
        if any(isinstance(parent, SKIPPED) for parent in parents):
            continue
        is_math = isinstance(node.parent, (nodes.math, nodes.math_block))
        found.append(readable(node.astext()) if is_math else node.astext())
        if isinstance(node.parent, (nodes.TextElement, nodes.math_block)) and not isinstance(
            node.parent, nodes.Inline
        ):
            found.append(" " * (node is node.parent.children[-1]))
    return re.sub(r"\s+", " ", "".join(found)).strip()


def collect(app, page, template, context, doctree):
    if page == "search":
        app.add_js_file(FILE)  # on this page alone
    if doctree is not None:
        app.page_texts[page] = words(doctree)
    if page == "book/glossary":
        app.term_pages = term_pages(doctree)


def term_pages(glossary):
    """The pages that the entry of a term names: where it is defined or predicted."""
    found = {}
    for entry in glossary.findall(nodes.definition_list_item):
        for link in entry.findall(nodes.reference):
            if match := re.fullmatch(r"(?:\.\./)?(\w+/\w+)\.html", link["refuri"]):
                found.setdefault(entry[0].astext().lower(), []).append(match[1])
    return found


def clear(app):
    """A page links to a script by its content, and must not by that of the last build."""
    Path(app.outdir, "_static", FILE).unlink(missing_ok=True)


def write(app, exception):
    if not exception and app.builder.format == "html":
        texts, pages = (
            json.dumps(table, ensure_ascii=False, sort_keys=True)
            for table in (app.page_texts, app.term_pages)
        )
        Path(app.outdir, "_static", FILE).write_text(
            f"const PAGE_TEXTS = {texts};\nconst TERM_PAGES = {pages};\n", encoding="utf-8"
        )


def every(app, env, *changes):
    """All pages, because the script needs all of them: also where few have changed."""
    return list(env.found_docs)


def setup(app):
    app.page_texts = {}
    app.connect("env-get-outdated", every)
    app.connect("builder-inited", clear)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
