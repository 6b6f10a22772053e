"""What others see of a page: its description where it is found or shared, and, once the book has an
address (pyproject.toml), canonical addresses and a picture."""

import base64
import html
import re
from pathlib import Path

from archive import stamp
from docutils import nodes
from excerpts import words
from plain import png

PICTURE = "_static/shared.png"
LENGTH = 200  # characters of a description: about what is shown
HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
{tags}
<meta http-equiv="Refresh" content="0; url={first}"></head><body><a href="{first}">{title}</a></body></html>
"""


def description(doctree):
    """The first paragraph that says something, cut after a word."""
    paragraphs = (words(node) for node in doctree.findall(nodes.paragraph))
    said = next((text for text in paragraphs if len(text) > 40 and "Belongs to." not in text), "")
    said = said.removeprefix("Question. ")
    return said if len(said) <= LENGTH else said[:LENGTH].rpartition(" ")[0] + " …"


def tags(title, said, address=""):
    """The tags of a page's head; `address` is that of the page, if it has one."""
    found = {"og:site_name": "Learning to recall", "og:type": "article", "og:title": title}
    if address:
        found |= {"og:url": address, "og:image": f"{stamp.source()['pages']}/{PICTURE}"}
    lines = [
        f'<meta property="{key}" content="{html.escape(value)}">' for key, value in found.items()
    ]
    if said:
        lines.append(
            f'<meta name="description" property="og:description" content="{html.escape(said)}">'
        )
    return "\n".join(lines)


def set_address(app, config):
    pages = stamp.source()["pages"]
    config.html_baseurl = f"{pages}/" * bool(pages)


def add_tags(app, page, template, context, doctree):
    if doctree is None:
        return
    title = re.sub("<[^>]*>", "", context["title"])
    context["metatags"] += tags(title, description(doctree), context.get("pageurl") or "")
    if page == app.config.root_doc:
        app.first_tags = tags(title, description(doctree), app.config.html_baseurl)


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    out, first = Path(app.outdir), f"{app.config.root_doc}.html"
    out.joinpath("index.html").write_text(
        HEAD.format(title="Learning to recall", tags=app.first_tags, first=first), encoding="utf-8"
    )
    if stamp.source()["pages"]:
        picture = Path(app.srcdir, "book/images/idea.svg").read_text(encoding="utf-8")
        out.joinpath(PICTURE).write_bytes(base64.b64decode(png(picture)))


def setup(app):
    app.connect("config-inited", set_address)
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", write, priority=400)  # before a bare page is put there
    return {"parallel_read_safe": True, "parallel_write_safe": True}
