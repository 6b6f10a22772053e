"""Plain notebooks: each page that is a notebook, in Markdown that Colab, JupyterLab, VS Code and
GitHub show, written from the page that the build has resolved, so with its numbers and titles.

Colab shows neither pictures in SVG nor attachments, and all take a formula in a quote to its next
dollar: so drawings become PNG, and a formula one line.
"""

import base64
import html
import json
import posixpath
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib
import resvg_py
import stamp
from docutils import nodes
from sphinx.errors import ExtensionError

STYLES = Path(__file__).parents[1] / "_static"
FONTS = str(Path(matplotlib.get_data_path(), "fonts", "ttf"))
GPU = """\
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    print("computing on", torch.cuda.get_device_name())"""
SILENT = "comment target compound title caption".split()
MARKS = {"emphasis": "*", "strong": "**", "inline": "", "paragraph": "", "target": ""}
BREAK = object()  # between Markdown blocks: the next one starts a cell


class Page:
    """One page; `blocks` are texts, numbers of cells of its notebook, code of its own, breaks."""

    def __init__(self, env, name):
        self.env, self.name, self.level, self.in_table = env, name, 0, False
        self.numbers = env.toc_fignumbers.get(name, {})

    def number(self, kind, node):
        """What the page calls a figure, formula, statement or exercise: (3,) or (2, 3)."""
        found = [self.numbers.get(kind, {}).get(one) for one in node["ids"]]
        return ".".join(str(part) for one in found if one for part in one)

    # In a line

    def line(self, node):
        return "".join(map(self.inline, node.children))

    def inline(self, node):
        kind = type(node).__name__
        if kind == "Text":
            return re.sub(r"([\\`*_$<\[\]|])", r"\\\1", node.astext().replace("\n", " "))
        if kind in MARKS:
            return MARKS[kind] + self.line(node) + MARKS[kind]
        if kind == "math":
            return f"${self.tex(node)}$"
        if kind == "literal":
            return f"`{node.astext()}`"
        if kind in ("reference", "number_reference"):
            work = re.search(r"URL: (\S+?)\.?$", node.get("reftitle", ""))  # of one that is cited
            address = self.address(work[1] if work else node.get("refuri", ""))
            return f"[{self.line(node)}]({address})" if address else self.line(node)
        if kind == "raw":
            return self.raw(node.astext())
        raise ExtensionError(f"book/_ext/plain.py: no plain form of <{kind}> in {self.name}")

    def tex(self, node):
        tex = " ".join(node.astext().split())
        tex = re.sub(r"<(?=[A-Za-z])", "< ", tex)  # else the start of a tag
        return tex.replace(r"\|", r"\Vert ").replace("|", r"\vert ") if self.in_table else tex

    def address(self, link):
        """Where a link of the page leads from its notebook: "" if nowhere."""
        parts = urlsplit(link)
        if parts.scheme or not parts.path:
            return link if parts.scheme else ""
        page = posixpath.normpath(posixpath.join(posixpath.dirname(self.name), parts.path))
        if posixpath.dirname(page) == posixpath.dirname(self.name):
            return posixpath.basename(page).replace(".html", ".ipynb")
        pages = stamp.source()[2]
        return pages and f"{pages}/{parts._replace(path=page).geturl()}"

    def raw(self, text):
        """HTML as it is but for what needs the page's scripts and styles."""
        text = re.sub(
            r"(?s)<(script|form)\b.*?</\1>|<(\w+)\b[^>]* hidden>.*?</\2>|<link.*?>", "", text
        )
        text = re.sub(r"(?s)<svg\b.*?</svg>", lambda drawing: picture(drawing[0]), text)

        def relocated(match):
            address = self.address(html.unescape(match[1]))
            return address and f' href="{html.escape(address)}"'

        return re.sub(r' href="([^"]*)"', relocated, text).strip()

    # Blocks

    def blocks(self, node):
        found = [block for child in node.children for block in self.block(child)]
        return [block for block in found if block != ""]

    def block(self, node):
        kind = type(node).__name__
        if kind in SILENT:
            return []
        if kind in ("section", "container"):
            return getattr(self, kind)(node)
        if kind == "math_block":
            number = self.number("displaymath", node)
            tag = f" \\tag{{{number}}}" if number else ""
            return [f"$${self.tex(node)}{tag}$$"]
        if kind in ("bullet_list", "enumerated_list"):
            return [self.items(node, node.get("start", 1) if kind[0] == "e" else 0)]
        if kind == "block_quote":
            return [quoted(self.blocks(node))]
        if isinstance(node, (nodes.Admonition, nodes.sidebar)):
            return [BREAK, self.box(node)] if "label" in node else [self.box(node)]
        if kind == "table":
            return [self.table(node)]
        if kind == "figure":
            image = next(node.findall(nodes.image))
            drawing = Path(self.env.srcdir, image["uri"]).read_text(encoding="utf-8")
            return [picture(drawing, image.get("alt", "")), self.caption(node)]
        if kind == "literal_block":
            return [f"```{node['language']}\n{node.astext().strip()}\n```"]
        return [self.inline(node)]

    def section(self, node):
        if not isinstance(node.children[0], nodes.title):  # what a statement says
            return self.blocks(node)
        self.level += 1
        place = "" if self.level == 1 else f"#{node['ids'][0]}"
        number = self.env.toc_secnumbers.get(self.name, {}).get(place) or ()
        title = "".join(f"{part}." for part in number) + " " + self.line(node.children[0])
        found = [BREAK, f"{'#' * self.level} {title.strip()}", *self.blocks(node)]
        self.level -= 1
        return found

    def container(self, node):
        if "cell_index" in node:
            figures = [self.caption(figure) for figure in node.findall(nodes.figure)]
            return [node["cell_index"], *figures]
        found = self.blocks(node)
        if "stepper-text" in node["classes"]:
            found += [(f"print({call.astext()})",) for call in node.findall(nodes.literal)]
        return found

    def items(self, node, first):
        found = []
        for place, item in enumerate(node.children):
            mark = f"{first + place}. " if first else "- "
            blocks = "\n\n".join(self.blocks(item))
            found.append(mark + blocks.replace("\n", "\n" + " " * len(mark)))
        return ("\n\n" if any("\n" in item for item in found) else "\n").join(found)

    def box(self, node):
        """A note, a statement, an exercise, a solution: in quotes, or folded where the page folds it."""
        title = next(iter(node.findall(nodes.title)), None)
        text = self.line(title) if title else type(node).__name__.title()
        name = "exercise" if type(node).__name__.startswith("exercise") else ""
        if name := node.get("realtype", name):
            text = f"{name.title()} {self.number(node.get('countertype', name), node)} {text}"
        text, content = " ".join(text.split()), self.blocks(node)
        if "dropdown" in node["classes"]:
            return "\n\n".join(["<details>", f"<summary>{text}</summary>", *content, "</details>"])
        return quoted([f"**{text}**", *content])

    def table(self, node):
        self.in_table = True
        rows = [[self.line(entry) for entry in row.children] for row in node.findall(nodes.row)]
        self.in_table = False
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def caption(self, node):
        text = "".join(self.line(caption) for caption in node.findall(nodes.caption))
        return f"**Fig. {self.number('figure', node)}** {text}"


def quoted(blocks):
    return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(blocks).split("\n"))


def picture(drawing, alt=None):
    """A drawing in SVG as an image in PNG, in the page's bright colours, with its words."""
    styles = "".join(path.read_text(encoding="utf-8") for path in sorted(STYLES.rglob("*.css")))
    colours = dict(reversed(re.findall(r"(--[\w-]+):\s*(#\w+);", styles)))
    styles = re.sub(r"var\((--[\w-]+)(?:, )?(.*?)\)", lambda m: colours.get(m[1], m[2]), styles)
    image = resvg_py.svg_to_bytes(
        drawing,
        background="#ffffff",
        width=800,
        style_sheet=styles + " .in-values { display: none }",  # the switch is off
        sans_serif_family="DejaVu Sans",
        font_dirs=[FONTS],
        skip_system_fonts=True,
    )
    words = alt or html.unescape("".join(re.findall(r"(?s)<desc[^>]*>(.*?)</desc>", drawing)))
    data = base64.b64encode(image).decode()
    return f'<img src="data:image/png;base64,{data}" width="400" alt="{html.escape(words)}">'


def cells(blocks, source):
    """The cells of a plain notebook: code comes from `source`."""
    found, texts, done = [], [], 0
    for block in [*blocks, BREAK]:
        if isinstance(block, str):
            texts.append(block)
            continue
        if texts:
            found.append({"cell_type": "markdown", "source": "\n\n".join(texts), "metadata": {}})
            texts = []
        if isinstance(block, int):
            found += [code(cell) for cell in source[done : block + 1] if "outputs" in cell]
            done = block + 1
        elif block is not BREAK:
            found.append(code({"source": block[0], "metadata": {}, "outputs": []}))
    return [{"id": f"plain-{place:03d}", **cell} for place, cell in enumerate(found)]


def code(cell):
    tags, outputs = cell["metadata"].get("tags", []), cell["outputs"]
    if "hide-cell" in tags:  # an exercise's, whose answer is not given away
        tags, outputs = [*tags, "nbval-ignore-output"], []
    return {
        "cell_type": "code",
        "source": re.sub(r'(?m)^device = "cpu".*$', GPU, "".join(cell["source"])),
        "metadata": {"tags": tags} if tags else {},
        "execution_count": cell.get("execution_count") if outputs else None,
        "outputs": outputs,
    }


def convert(app, doctree, name):
    path = Path(app.env.doc2path(name))
    if path.suffix == ".ipynb" and app.builder.format == "html":
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"] = cells(Page(app.env, name).blocks(doctree), notebook["cells"])
        app.plain[name] = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir).parent / "plain"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in app.plain.items():
        folder.joinpath(f"{Path(name).name}.ipynb").write_text(text, encoding="utf-8")
        Path(app.outdir, "_sources", f"{name}.ipynb").write_text(text, encoding="utf-8")


def setup(app):
    app.plain = {}
    app.connect("doctree-resolved", convert, priority=990)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
