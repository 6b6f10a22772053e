"""Plain notebooks: pages that are notebooks, in Markdown that Colab, JupyterLab, VS Code and GitHub
show, written from what the build has resolved, so with the numbers and titles of the pages.

JupyterLab shows no drawing in SVG before a reader trusts a notebook, Colab none in Markdown: so all
become PNG. A formula in a quote is one line, because each of them takes it to its next dollar."""

import base64
import html
import json
import posixpath
import re
import shutil
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib
import resvg_py
from archive import stamp  # which knows where the modules of the book lie
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
DROPPED = r"(?s)<(script|form)\b.*?</\1>|<(\w+)\b[^>]* hidden>.*?</\2>|<link.*?>"
MARKS = {"emphasis": "*", "strong": "**", "inline": "", "paragraph": "", "target": ""}
BREAK = object()  # between Markdown blocks: the next one starts a cell


class Page:
    """One page; `blocks` are texts, numbers of cells of its notebook, code of its own, breaks."""

    def __init__(self, env, name):
        self.env, self.name, self.level, self.in_table = env, name, 0, False
        self.pages = stamp.source()["pages"]
        self.numbers = defaultdict(dict, env.toc_fignumbers.get(name, {}))

    def number(self, kind, node):
        """What the page calls a figure, formula, statement or exercise."""
        return ".".join(
            str(part) for one in node["ids"] for part in self.numbers[kind].get(one, ())
        )

    def line(self, node):
        return "".join(map(self.inline, node))

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
        if kind == "raw":
            return self.raw(node.astext())
        if "reference" in kind:
            work = re.search(r"URL: (\S+?)\.?$", node.get("reftitle", ""))  # of one that is cited
            address = self.address(work[1] if work else node.get("refuri", ""))
            return f"[{self.line(node)}]({address})" if address else self.line(node)
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
        return self.pages and f"{self.pages}/{parts._replace(path=page).geturl()}"

    def raw(self, text):
        """HTML as it is but for what needs the page's scripts and styles."""
        text = re.sub(DROPPED, "", text)
        text = re.sub(r"(?s)<svg\b.*?</svg>", lambda drawing: picture(drawing[0]), text)
        for link in re.findall(r' href="([^"]*)"', text):
            address = self.address(html.unescape(link))
            text = text.replace(f' href="{link}"', address and f' href="{html.escape(address)}"')
        return text.strip()

    def blocks(self, node):
        return [block for child in node for block in self.block(child) if block != ""]

    def block(self, node):
        kind = type(node).__name__
        if kind in SILENT:
            return []
        if kind in ("section", "table", "bullet_list", "enumerated_list"):
            return getattr(self, kind)(node)
        if kind == "container" and "cell_index" in node:
            return [node["cell_index"], *map(self.caption, node.findall(nodes.figure))]
        if kind == "container":
            calls = node.findall(nodes.literal) if "stepper-text" in node["classes"] else []
            return self.blocks(node) + [(f"print({call.astext()})",) for call in calls]
        if kind == "math_block":
            number = self.number("displaymath", node)
            tag = f" \\tag{{{number}}}" if number else ""
            return [f"$${self.tex(node)}{tag}$$"]
        if isinstance(node, nodes.Admonition):
            return [BREAK, self.box(node)] if "label" in node else [self.box(node)]
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

    def bullet_list(self, node):
        found = []
        for number, item in enumerate(node, node.get("start", 1)):
            mark = "- " if "bullet" in node else f"{number}. "
            lines = "\n\n".join(self.blocks(item)).split("\n")
            found.append(mark + ("\n" + " " * len(mark)).join(lines))
        return [("\n\n" if any("\n" in item for item in found) else "\n").join(found)]

    enumerated_list = bullet_list

    def box(self, node):
        """A note, a statement, an exercise, a solution: in quotes, or folded where the page folds it."""
        text = "".join(self.line(child) for child in node if isinstance(child, nodes.title))
        kind = type(node).__name__
        name = "exercise" if kind.startswith("exercise") else ""
        if name := node.get("realtype", name):
            text = f"{name.title()} {self.number(node.get('countertype', name), node)} {text}"
        text, content = " ".join(text.split()) or kind.title(), self.blocks(node)
        if "dropdown" in node["classes"]:
            return "\n\n".join(["<details>", f"<summary>{text}</summary>", *content, "</details>"])
        return quoted([f"**{text}**", *content])

    def table(self, node):
        self.in_table = True
        rows = [list(map(self.line, row)) for row in node.findall(nodes.row)]
        self.in_table = False
        rows.insert(1, ["---"] * len(rows[0]))
        return ["\n".join(f"| {' | '.join(row)} |" for row in rows)]

    def caption(self, node):
        text = "".join(self.line(caption) for caption in node.findall(nodes.caption))
        return f"**Fig. {self.number('figure', node)}** {text}"


def quoted(blocks):
    return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(blocks).split("\n"))


def png(drawing):
    """A drawing in SVG as PNG in base64, in the page's bright colours."""
    styles = "".join(path.read_text(encoding="utf-8") for path in sorted(STYLES.rglob("*.css")))
    colours = dict(reversed(re.findall(r"(--[\w-]+):\s*(#\w+);", styles)))
    styles = re.sub(r"var\((--[\w-]+)(?:, )?(.*?)\)", lambda m: colours.get(m[1], m[2]), styles)
    image = resvg_py.svg_to_bytes(
        drawing,
        dpi=96,
        background="#ffffff",
        style_sheet=styles + " .in-values { display: none }",  # the switch is off
        sans_serif_family="DejaVu Sans",
        font_dirs=[FONTS] if "<text" in drawing else [],
        skip_system_fonts=True,
    )
    return base64.b64encode(image).decode()


def picture(drawing):
    words = html.unescape("".join(re.findall(r"(?s)<desc[^>]*>(.*?)</desc>", drawing)))
    return f'<img src="data:image/png;base64,{png(drawing)}" alt="{html.escape(words)}">'


def cells(blocks, source):
    """The cells of a plain notebook: code comes from `source`."""
    found, texts, done = [], [], 0
    for block in [*blocks, BREAK]:
        if texts and not isinstance(block, str):
            found.append({"cell_type": "markdown", "source": "\n\n".join(texts), "metadata": {}})
            texts = []
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, int):
            found += [code(cell) for cell in source[done : block + 1] if "outputs" in cell]
            done = block + 1
        elif block is not BREAK:
            found.append(code({"source": block[0], "metadata": {}, "outputs": []}))
    return [{"id": f"plain-{place:03d}", **cell} for place, cell in enumerate(found)]


def code(cell):
    tags = cell["metadata"].get("tags", [])
    folded = {"source_hidden": "hide-input" in tags}
    asked = "hide-cell" in tags  # an exercise, whose answer is not given away
    return {
        "cell_type": "code",
        "source": re.sub(r'(?m)^device = "cpu".*$', GPU, "".join(cell["source"])),
        "metadata": {"tags": tags + ["nbval-ignore-output"] * asked, "jupyter": folded},
        "execution_count": None if asked else cell.get("execution_count"),
        "outputs": [] if asked else cell["outputs"],
    }


def convert(app, doctree, name):
    if (path := Path(app.env.doc2path(name))).suffix != ".ipynb":
        return
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"] = cells(Page(app.env, name).blocks(doctree), notebook["cells"])
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", [])):
        if drawing := output.get("data", {}).pop("image/svg+xml", None):
            output["data"]["image/png"] = app.drawn.submit(png, "".join(drawing))
    app.plain[name] = notebook


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir).parent / "plain"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, notebook in app.plain.items():
        text = json.dumps(notebook, indent=1, ensure_ascii=False, default=lambda png: png.result())
        for path in (folder / Path(name).name, Path(app.outdir, "_sources", name)):
            path.with_suffix(".ipynb").write_text(text + "\n", encoding="utf-8")


def setup(app):
    app.plain, app.drawn = {}, ProcessPoolExecutor(1)  # beside the pages
    app.connect("doctree-resolved", convert, priority=990)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
