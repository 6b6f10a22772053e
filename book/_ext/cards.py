"""What a link within the book leads to, in one script that the pages load when a reader first
points at such a link: definitions of terms, equations, captions of figures, statements, works.

sphinx-tippy does this too, but has had no release since April 2024, writes files of random names
(so that no two builds are equal) with a copy of each card for every page that needs it, and takes
its scripts from elsewhere.
"""

import json
import re
from pathlib import Path

FILE = "cards.js"
# By kind: what stands at the target, and which of its groups are shown.
KINDS = (
    r'(?s)<dt id="(?P<id>term-[^"]*)">(?=.*?<dd>(?P<body>.*?)</dd>)',
    r'(?s)<div class="math notranslate nohighlight" id="(?P<id>equation-[^"]*)">\s*(?P<body>.*?)</div>',
    r'(?s)<figure[^>]* id="(?P<id>[^"]*)">.*?(?P<image><img [^>]*>).*?<figcaption>(?P<body>.*?)</figcaption>',
    r'(?s)<div class="proof [^"]*" id="(?P<id>[^"]*)">(?P<body>.*?)</section>',
    r'(?s)<div class="citation" id="(?P<id>[^"]*)">(?P<body>.*?)</div>\s*(?=<div|</div>)',
)
DROPPED = r'(?s)<a class="headerlink".*?</a>|<span class="(?:eqno|label)">.*?</span>(?=\\\[|\s*<p>)|</?(?:a|section)\b[^>]*>'


def cards_of(text, folder):
    """The cards of a page: by id, what is shown."""
    found = {}
    for kind in KINDS:
        for match in re.finditer(kind, text):
            parts = match.groupdict()
            body = re.sub(DROPPED, "", parts["body"])
            body = re.sub(r' id="[^"]*"', "", body).strip()
            if image := parts.get("image"):
                source = re.search(r'src="([^"]*)"', image)[1]
                body = f'<img src="{(folder / source).as_posix()}" alt="">{body}'
            found[parts["id"]] = body
    return found


def symbols(text):
    """What the page of notation says of each symbol: by its name if it has one meaning in the whole
    book, else by the name of its page, or the number of its chapter, and its own."""
    everywhere, own = re.split('id="local-symbols"', text, maxsplit=1)
    found, local, page = {}, {}, ""
    for symbol, meaning, where in map(cells, re.findall(r"(?s)<tr.*?</tr>", own)[1:]):
        for link in re.findall(r'href="(?:\.\./notebooks/)?([^"]*)\.html"', where):
            page = link[:2] if link[:2].isdigit() else link
        said = re.split(r"(?<!&[lg]t)(?<!&amp); ", meaning)
        single = len(said) == len(names(symbol))
        for name, part in zip(names(symbol), said if single else [meaning] * 99, strict=False):
            local[f"{page} {name}"] = part if single else f"{symbol}: {part}"
    taken = {key.split(" ", 1)[1] for key in local}
    for section in ("sizes", "the-task", "embeddings", "the-model"):
        part = everywhere.partition(f'<section id="{section}">')[2].partition("</section>")[0]
        head = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"(?s)<th.*?</th>", part)]
        for row in map(cells, re.findall(r"(?s)<tr.*?</tr>", part)):
            if row:
                found |= dict.fromkeys(names(row[0]), row[head.index("Meaning")])
    return {name: meaning for name, meaning in found.items() if name not in taken} | local


def cells(row):
    return re.findall(r"(?s)<td[^>]*>(?:<p>)?(.*?)(?:</p>)?</td>", row)


def names(cell):
    """The symbols in a cell, as TeX."""
    found = re.findall(r"(?s)\\\((.*?)\\\)", cell)
    return [*dict.fromkeys(tex.partition("=")[0].strip() for tex in found)]


def asked_for(pages):
    """The targets that some page links to, as page and id."""
    found = set()
    for page, text in pages.items():
        for path, anchor in re.findall(r'(?<!headerlink" )href="([^"#:]*)#([^"]+)"', text):
            other = (page.parent / path if path else page).as_posix()
            found.add((re.sub(r"[^/]+/\.\./", "", other), anchor))
    return found


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    root = Path(app.outdir)
    files = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.relative_to(root): path.read_text(encoding="utf-8") for path in files}
    linked = asked_for(pages)
    cards = {
        f"{page.as_posix()}#{name}": body
        for page, text in pages.items()
        for name, body in cards_of(text, page.parent).items()
        if (page.as_posix(), name) in linked
    }
    cards |= {
        f"symbol {name}": meaning
        for name, meaning in symbols(pages[Path("book/notation.html")]).items()
    }
    content = json.dumps(cards, ensure_ascii=False, sort_keys=True)
    (root / "_static" / FILE).write_text(f"const CARDS = {content};\n", encoding="utf-8")


def setup(app):
    app.connect("build-finished", write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
