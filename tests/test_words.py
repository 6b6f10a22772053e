"""Half-done work: what a registry holds stands wherever else it has to, and the checklists name
what is there."""

import re

import pytest
import settings
import test_embedding_laws
import test_row_tables
from budgets import ROOT

import recallbook as rb
from recallbook.activations import ACTIVATIONS
from recallbook.setting import LATER
from recallbook_studies.commands import predicting
from recallbook_studies.running import archive
from recallbook_studies.sweeps import ROW_TABLES, SWEEPS

pytestmark = pytest.mark.essential


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def quoted(text):
    """Names that are written as a reader passes them, up to their numbers."""
    return set(re.findall(r'"(\w+)', text))


LAWS = test_embedding_laws.REGISTRY
TABLES = set(ROW_TABLES) - {"explorer"}  # which writes a page
TESTED = {*test_row_tables.TABLES}
SETTING, NOTATION = quoted(rb.Setting.__doc__), quoted(read("book/notation.md"))
RESULTS = "`recallbook_studies/running/results"
# a checklist, the names it is about, where one of its steps wants them, and the names there
WANTED = [
    ("An embedding law", LAWS, "the docstring of `Setting`", SETTING),
    ("An embedding law", LAWS, "`book/notation.md`", NOTATION),
    (
        "An embedding law",
        [name for name, law in LAWS.items() if law.takes],
        "`NUMBERS` of `tests/test_embedding_laws.py`",
        test_embedding_laws.NUMBERS,
    ),
    ("An activation", ACTIVATIONS, "the docstring of `Setting`", SETTING),
    ("An activation", ACTIVATIONS, "`book/notation.md`", NOTATION),
    ("A committed table", set(SWEEPS) - {"trial"}, f"{RESULTS}`", archive.sweeps()),
    ("A committed table", TABLES, f"{RESULTS}/tables`", archive.tables()),
    ("A committed table", TABLES, "`TABLES` of `tests/test_row_tables.py`", TESTED),
    (
        "A remedy for unequal facts",
        LATER,
        "`FIELDS` of `recallbook_studies/commands/predicting.py`",
        predicting.FIELDS,
    ),
    ("A remedy for unequal facts", LATER, "`EQUAL` of `tests/settings.py`", settings.EQUAL),
]


def step(checklist, place):
    """The number of the step that names this place."""
    section = read("CHECKLISTS.md").split(f"\n## {checklist}\n")[1].split("\n## ")[0]
    steps = re.findall(r"(?ms)^(\d)\. (.*?)(?=^\d\. |^`make|\Z)", section)
    (number,) = (number for number, text in steps if place in re.sub(r"\s+", " ", text))
    return number


@pytest.mark.parametrize(
    ("checklist", "names", "place", "there"),
    WANTED,
    ids=[f"{checklist}: {place}" for checklist, _, place, _ in WANTED],
)
def test_every_name_stands_where_its_checklist_wants_it(checklist, names, place, there):
    kind, number = checklist.split(" ", 1)[1], step(checklist, place)
    missing = [
        f"{kind} {name!r} is missing in {place} (CHECKLISTS.md, {checklist}, step {number})"
        for name in sorted(set(names) - set(there))
    ]
    assert missing == [], "; ".join(missing)


def test_every_public_name_is_on_the_overview_and_has_an_entry():
    """Sphinx, which links the names of the overview to their entries, warns of one that has none."""
    overview, public = read("book/api.md"), set(rb.__all__) - {"reference"}
    entries = "".join(page.read_text("utf-8") for page in (ROOT / "book" / "api").glob("*.md"))
    listed = re.findall(r"[<~]recallbook\.(\w+)[>`]", overview)
    described = re.findall(r"\.\. auto(?:class|function):: (\w+)\n", entries)
    assert sorted(public - set(listed)) == sorted(public - set(described)) == []


DOCUMENTS = ("ARCHITECTURE.md", "CHECKLISTS.md", "CONTRIBUTING.md", "WRITING.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_name_what_is_there(document):
    """Paths from the root or from the helper, names in a file, targets of make."""
    text, makefile = read(document), read("Makefile")
    paths = re.findall(r"`([a-z][a-z_./*\d]*/[a-z_./*\d]*)`", text)
    lost = [
        path for path in paths if not any(any((ROOT / r).glob(path)) for r in ("", "recallbook"))
    ]
    for name, file in re.findall(r"`(\w+)`\s+(?:of|in)\s+`([\w./]+\.py)`", text):
        lost += [f"{name} of {file}"] * (name not in read(file))
    lost += [
        f"make {target}"
        for target in re.findall(r"\bmake ([a-z-]+)`", text)
        if not re.search(rf"(?m)^{target}:", makefile)
    ]
    assert lost == []
