"""A cause is tested like a number: each sentence that names one at a setting, by leaving out one law
after another; and no such sentence is missing from ``recallbook_studies/causes.toml``."""

import ast
import json
import math
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import recallbook as rb
from recallbook.arguments import LARGEST_SIZE
from recallbook_theory.search import bracket

ROOT = Path(__file__).resolve().parents[1]
TABLE = tomllib.loads((ROOT / "recallbook_studies/causes.toml").read_text("utf-8"))["cause"]
TESTED = [entry for entry in TABLE if "law" in entry]
STATUS = {"definition", "formula", "elsewhere"}
SMALL = {"vocab": 8, "seq_len": 2, "dim": 4, "samples": 8}


def names(width=None):
    return tuple(rb.predict(rb.Setting(**SMALL, width=width), warn=False).ledger)


@cache
def found(quantity, setting, without=()):
    """A quantity at a setting, with some laws left out."""
    sizes = dict(setting)
    if quantity in ("critical_samples", "critical_width", "capacity"):
        return getattr(rb, quantity)(**sizes, without=without, warn=False)
    if quantity == "wall":
        level = sizes.pop("accuracy")

        def reached(dim):
            unlimited = rb.Setting(**sizes, seq_len=1, dim=dim, samples=LARGEST_SIZE)
            return rb.predict(unlimited, without=without, warn=False).recall >= level

        return bracket(reached, 16, smallest=2).high
    return getattr(rb.predict(rb.Setting(**sizes), without=without, warn=False), quantity)


def change(entry, name):
    """The factor by which the quantity changes without this law."""
    asked = entry["quantity"], tuple(entry["setting"].items())
    return found(*asked, (name,)) / found(*asked)


def moves_as_much(entry, name, least):
    """Whether leaving out this law changes the quantity by as much as this factor."""
    if entry["quantity"] != "critical_samples":
        return abs(math.log(change(entry, name))) >= abs(math.log(least))
    # one prediction in place of thirty
    sizes = dict(entry["setting"])
    level = sizes.pop("accuracy")
    sizes["samples"] = round(least * found("critical_samples", tuple(entry["setting"].items())))
    return found("accuracy", tuple(sizes.items()), (name,)) >= level


def factors(entry):
    """What leaving out each law that the entry names changes."""
    named = {entry["law"]: entry["factor"], **entry.get("shared_with", {})}
    return named, {name: change(entry, name) for name in named}


each = pytest.mark.parametrize("entry", TESTED, ids=lambda entry: entry["says"][:60])


@pytest.mark.slow
@each
def test_the_named_law_moves_the_quantity(entry):
    named, moved = factors(entry)
    assert [name for name, (low, high) in named.items() if not low <= moved[name] <= high] == [], (
        moved
    )


@pytest.mark.nightly
@each
def test_no_other_law_moves_it_as_much(entry):
    named, moved = factors(entry)
    least = min(moved.values(), key=lambda factor: abs(math.log(factor)))
    others = set(names(8 if "activation" in entry["setting"] else None)) - set(named)
    assert [name for name in others if moves_as_much(entry, name, least)] == [], moved


# Every sentence that may name a cause

LAWS = re.compile(
    "|".join((*names(8), "label frequency", "superposition", "uneven counts", "lock-on law")), re.I
)
CUES = re.compile(
    r"\b(because|need(s|ed|ing)?|rul(e|es|ed|ing)|binds?|binding|limit(s|ed|ing)?"
    r"|slopes?|shoulders?|walls?|floors?)\b",
    re.I,
)


def flat(text):
    return " ".join(text.split())


def sentences(text):
    """Sentences on one line each; items, cells and paragraphs are their own."""
    for block in re.split(r"\n\s*\n|\n\s*(?=[-*|:>] |\d+\. |:::|#+ )", text):
        yield from re.split(r"(?<=[.!?])[*)\"'”]*\s+(?=[A-Z$*`\[{(\\<])", flat(block))


def plain(markup):
    """Without tags; a smaller-than sign is none."""
    return re.sub(r"</?[a-z]+\d?(\s[^<>]*)?/?>", " ", markup)


def texts_of_svg(svg):
    found = re.findall(r"<(text|desc|title)\b[^>]*>(.*?)</\1>|<!-- (.*?) -->", svg, re.S)
    return [plain(inside or comment) for _, inside, comment in found]


def texts_of_notebook(file):
    for cell in json.loads(file.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])
            continue
        shown = cell["metadata"].get("mystnb", {})
        yield from (*shown.get("figure", {}).values(), *shown.get("image", {}).values())
        for data in (output.get("data", {}) for output in cell["outputs"]):
            yield from texts_of_svg("".join(data.get("image/svg+xml", "")))
            page = "".join(data.get("text/html", ""))
            yield from map(plain, re.findall("<caption.*?</caption>", page, re.S))


def texts(file):
    if file.suffix == ".ipynb":
        return texts_of_notebook(file)
    text = file.read_text("utf-8")
    if file.suffix == ".svg":
        return texts_of_svg(text)
    if file.suffix == ".py":
        found = (getattr(node, "value", None) for node in ast.walk(ast.parse(text)))
        return [value for value in found if isinstance(value, str)]
    if file.suffix == ".js":
        return [a or b for a, b in re.findall(r'"([^"\n]*)"|`([^`]*)`', text)]
    if file.suffix == ".toml":
        return re.findall(r'"([^"\n]*)"', text)
    return [plain(text)]


PLACES = """README.md book/**/*.md book/*.md.in book/images/*.svg book/_static/explorer/*.js
    notebooks/*.ipynb recallbook_studies/claims/*.toml recallbook_studies/commands/*.py"""


@cache
def written():
    """All sentences, by file; a page and its source are one file."""
    found = {}
    files = [file for pattern in PLACES.split() for file in sorted(ROOT.glob(pattern))]
    for file in files:
        if file.name == "data.js":
            continue
        place = file.relative_to(ROOT).as_posix().removesuffix(".in")
        held = found.setdefault(place, [])
        held += [sentence for text in texts(file) for sentence in sentences(text)]
    return found


@pytest.mark.essential
def test_every_sentence_that_names_a_cause_is_in_the_table():
    said = {(entry["place"], flat(entry["says"])) for entry in TABLE}
    lacks = [
        f"{place}: {sentence}"
        for place, several in written().items()
        for sentence in several
        if LAWS.search(sentence) and CUES.search(sentence)
        if not any(where == place and piece in sentence for where, piece in said)
    ]
    assert lacks == [], "\n".join(("classify them in recallbook_studies/causes.toml:", *lacks))


@pytest.mark.essential
def test_every_entry_is_whole_and_its_sentence_stands_where_it_says():
    for entry in TABLE:
        several = written().get(entry["place"], [])
        assert any(flat(entry["says"]) in one for one in several), ("stands no more", entry)
        if "law" not in entry:
            assert entry["status"] in STATUS and entry["why"], entry


def test_the_scan_sees_a_cause_over_a_line_break():
    text = "One.\nIt needs *more*, because\ncoverage\nbinds. Two."
    assert [s for s in sentences(text) if LAWS.search(s) and CUES.search(s)] == [
        "It needs *more*, because coverage binds."
    ]
