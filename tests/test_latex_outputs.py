"""The formulas of the chapters, without a browser: every macro is one that MathJax defines.

MathJax shows an undefined macro as red text and goes on, and SymPy's printer is asked for pieces
that are joined by hand: a missing space (`\\approxT`) makes such a macro.
tests/vendor/mathjax_macros.txt is the list of those that exist; tests/test_browser.py compares it
with MathJax itself."""

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "notebooks").glob("*.ipynb")) + sorted((ROOT / "book").glob("*.md"))
MACROS = ROOT / "tests" / "vendor" / "mathjax_macros.txt"
# Fences and inline code: the same number of backticks on both sides.
CODE = re.compile(r"(?s)(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
# A backslash takes one character or a whole word: `\\beta` is a new line and five letters.
CONTROL = re.compile(r"(?s)\\([A-Za-z]+|.)")


def listed_macros():
    lines = MACROS.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if not line.startswith("#")}


def configured_macros():
    """Macros that the book defines for itself in _config.yml."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return set(config["sphinx"]["config"]["mathjax3_config"].get("tex", {}).get("macros", {}))


def joined(text):
    """A notebook stores text as one string or as a list of lines."""
    return text if isinstance(text, str) else "".join(text)


def formulas(notebook):
    """Text with formulas: LaTeX outputs, and markdown and captions without their code."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            yield CODE.sub("", joined(cell["source"]))
        yield CODE.sub("", cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", ""))
        for output in cell.get("outputs", []):
            yield joined(output.get("data", {}).get("text/latex", ""))


def undefined_macros(text):
    """Also outside of formulas, where there must be no TeX at all."""
    words = {word for word in CONTROL.findall(text) if word.isalpha()}
    return sorted("\\" + word for word in words - listed_macros() - configured_macros())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_macro_is_defined(path):
    text = path.read_text(encoding="utf-8")
    pieces = formulas(json.loads(text)) if path.suffix == ".ipynb" else [CODE.sub("", text)]
    assert undefined_macros("\n".join(pieces)) == []
