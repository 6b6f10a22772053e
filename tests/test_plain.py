"""Plain notebooks: what each construct becomes, and that each has what its page has."""

import html as entities
import json
import re

import pytest
import stamp
from nbformat import v4
from sphinx.application import Sphinx
from test_book import parsed

pytestmark = pytest.mark.slow
# What stands on a page, "--", and what of it stands in the notebook.
CONSTRUCTS = r"""
# Title
--
# Title
==
$$a<b$$ (eq-one)
--
$$a< b \tag{1}$$
==
By {eq}`eq-one`, {prf:ref}`def-x`, {ref}`ex-x`, {cite:t}`a`, {doc}`next`, {doc}`sub/other`
--
By (1), Definition 1, Exercise 1, Vural and Bietti \[[2026](https://a.org/1)\], [Next](next.ipynb), [Other](https://b.org/sub/other.html)
==
**bold** *it* `x_y` 2\*3 \$5
--
**bold** *it* `x_y` 2\*3 \$5
==
:::{admonition} In *this* chapter
- one

  $$
  x
  $$
- two
:::
--
> **In *this* chapter**
>
> - one
>
>   $$x$$
>
> - two
==
:::{admonition} More
:class: dropdown
so
:::
--
<details>

<summary>More</summary>

so

</details>
==
:::{prf:definition} Name
:label: def-x
1. one
2. two
:::
--
> **Definition 1 (Name)**
>
> 1. one
> 2. two
==
| $\|x\|$ | b |
|---|---|
| c | d |
--
| $\vert x\vert $ | b |
| --- | --- |
| c | d |
==
:::{raw} html
<svg viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg"><desc>A "box"</desc></svg><script>x</script>
<p hidden>x</p>See <a href="sub/other.html?a=1">it</a>.
:::
--
" alt="A &quot;box&quot;">
See <a href="https://b.org/sub/other.html?a=1">it</a>.
==
:::{stepper}
Run `1 + 1`.
:::
--
Run `1 + 1`.
==
:::{exercise}
:label: ex-x
Why?
:::
--
> **Exercise 1**
>
> Why?
==
:::{solution} ex-x
:class: dropdown
So.
:::
--
<details>

<summary>Solution to Exercise 1</summary>

So.

</details>
"""
SETTINGS = {
    "extensions": "myst_nb sphinx_proof sphinx_exercise sphinxcontrib.bibtex interactive plain".split(),
    "root_doc": "page",
    "myst_enable_extensions": ["colon_fence", "dollarmath"],
    "bibtex_reference_style": "author_year",
    "bibtex_bibfiles": ["a.bib"],
    "nb_execution_mode": "off",
    "numfig": True,
}


def test_each_construct_has_a_plain_form(tmp_path, monkeypatch):
    monkeypatch.setattr(stamp, "source", lambda: {"pages": "https://b.org"})
    pairs = [pair.split("\n--\n") for pair in CONSTRUCTS.strip().split("\n==\n")]
    asked = v4.new_code_cell('device = "cpu"', metadata={"tags": ["hide-cell"]})
    asked.outputs.append(v4.new_output("stream"))
    cells = [v4.new_markdown_cell("\n\n".join(source for source, _ in pairs)), asked]
    (tmp_path / "sub").mkdir()
    files = {
        "page.ipynb": json.dumps(v4.new_notebook(cells=cells)),
        "next.md": "# Next",
        "sub/other.md": "# Other\n\n:::{bibliography}\n:::",
        "a.bib": "@misc{a, author = {Vural, N. and Bietti, A.}, year = 2026, title = {T}, url = {https://a.org/1}}",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    Sphinx(
        tmp_path, None, tmp_path / "html", tmp_path / "trees", "html", SETTINGS, status=None
    ).build()
    cells = json.loads((tmp_path / "plain" / "page.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join(cell["source"] for cell in cells)
    assert [plain for _, plain in pairs if f"{plain}\n" not in text] == [], text
    assert "print(1 + 1)" in text and "cuda" in text and cells[-1]["outputs"] == []


HEADS = "h1, h2, h3, h4, figcaption, .table-caption"
SHOWN = f":is({HEADS}, table.table tbody, .math):not(:is({HEADS}) .math, .tag_hide-cell :not(figcaption))"
WRITTEN = re.compile(
    r"(?ms)^#+ (.*?)$|\$\$(.*?)\$\$|(?<!\\)\$(.+?)(?<!\\)\$|^\*\*(Fig\. .*?)$|<caption[^>]*>(.*?)</caption>|^(?:> )?\|( ---) "
)
RAW = re.compile(r":::|\{[a-z:]+\}`|\$\$ \(eq|^:[a-z]+:|```\{", re.M)


def letters(text):
    """Letters of a text and its formulas, a formula's number first; no table's, and no addresses."""
    text = re.sub(
        r"^Table \d+\.\d+\. |(?<=\])\([^)]*\)|\\(begin|end)\{split\}", "", entities.unescape(text)
    )
    text = re.sub(r"(?s)(.*) \\tag\{(.*)\}", r"\2\1", text)
    return re.sub(r"[\\\[\]()$#*`\s]", "", text)


def written(cell):
    parts = [cell["source"]] if cell["cell_type"] == "markdown" else []
    for data in (output.get("data", {}) for output in cell.get("outputs", [])):
        parts += data.get("text/latex", [])
        parts += re.findall("(?s)<caption.*?</caption>", "".join(data.get("text/html", "")))
    return "".join(parts)


def test_a_plain_notebook_has_what_its_page_has(html):
    pages = sorted((html / "notebooks").glob("*.html"))
    for page, path in zip(pages, sorted((html.parent / "plain").iterdir()), strict=True):
        text = "\n\n".join(map(written, json.loads(path.read_text("utf-8"))["cells"]))
        assert RAW.findall(text) == [], path.name
        shown = parsed(page).article.select(SHOWN)
        shown = ["---" if one.name == "tbody" else letters(one.get_text()) for one in shown]
        found = [letters(one[one.lastindex]) for one in WRITTEN.finditer(text)]
        assert found == shown, path.name
