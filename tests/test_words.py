"""Half-done work: what a registry holds stands wherever else it has to, and the checklists name
what is there."""

import re

import pytest
import test_claims
import test_embedding_laws
import test_longer
import test_row_tables
from budgets import PACKAGES, ROOT

import recallbook as rb
from recallbook.activations import ACTIVATIONS
from recallbook.training.optimizers import OPTIMIZERS
from recallbook_studies.claims import findings
from recallbook_studies.running import archive
from recallbook_studies.sweeps import ROW_TABLES, SWEEPS

pytestmark = pytest.mark.essential

DECIDED = (findings.CONFIRMED, findings.PARTLY, findings.REFUTED)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def quoted(text):
    """Names that are written as a reader passes them, up to their numbers."""
    return set(re.findall(r'"(\w+)', text))


TABLES = set(ROW_TABLES) - {"explorer"}  # which writes a page
LAWS = test_embedding_laws.REGISTRY
# of each kind: its checklist, the names, and where a step wants them: the names that are there
WANTED = {
    "An embedding law": (
        LAWS,
        {
            "docstring of `Setting`": quoted(rb.Setting.__doc__),
            "`book/notation.md`": quoted(read("book/notation.md")),
            "`NUMBERS` of `tests/test_embedding_laws.py`": {
                name for name, law in LAWS.items() if not law.takes
            }.union(test_embedding_laws.NUMBERS),
        },
    ),
    "An activation": (
        ACTIVATIONS,
        {
            "docstring of `Setting`": quoted(rb.Setting.__doc__),
            "`book/notation.md`": quoted(read("book/notation.md")),
        },
    ),
    "An optimiser": (
        OPTIMIZERS,
        {
            "docstring of `descend`": quoted(rb.descend.__doc__),
            "`book/api.md`": quoted(read("book/api.md")),
            "`RATES` of `tests/test_longer.py`": test_longer.RATES,
        },
    ),
    "A claim": (
        [claim.id for claim in test_claims.DATA.claims if claim.verdict in DECIDED],
        {"`OTHERS` of `tests/test_claims.py`": test_claims.OTHERS},
    ),
    "A sweep": (
        set(SWEEPS) - {"trial"},
        {"`recallbook_studies/running/results`": archive.names()},
    ),
    "A table of rows": (
        TABLES,
        {
            "`recallbook_studies/running/results/tables`": archive.tables(),
            "`TABLES` of `tests/test_row_tables.py`": {
                **test_row_tables.TABLES,
                **test_row_tables.ELSEWHERE,
            },
        },
    ),
}


def step(checklist, place):
    """The number of the step that names this place."""
    section = read("CHECKLISTS.md").split(f"\n## {checklist}\n")[1].split("\n## ")[0]
    steps = re.findall(r"(?ms)^(\d)\. (.*?)(?=^\d\. |\Z)", section)
    (number,) = (number for number, text in steps if place in re.sub(r"\s+", " ", text))
    return number


@pytest.mark.parametrize("checklist", WANTED)
def test_every_name_stands_wherever_its_checklist_wants_it(checklist):
    names, places = WANTED[checklist]
    kind = checklist.split(" ", 1)[1]
    missing = [
        f"{kind} {name!r} is missing: {place} (CHECKLISTS.md, {checklist}, step {step(checklist, place)})"
        for place, there in places.items()
        for name in sorted(set(names) - set(there))
    ]
    assert missing == []


DOCUMENTS = ("ARCHITECTURE.md", "CHECKLISTS.md", "CONTRIBUTING.md", "WRITING.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_name_what_is_there(document):
    """Paths from the root or from the helper, names in a file, targets of make."""
    text, makefile = read(document), read("Makefile")
    paths = re.findall(r"`([a-z_./*\d]+/[a-z_./*\d]*)`", text)
    lost = [path for path in paths if not any(any((ROOT / r).glob(path)) for r in ("", "recallbook"))]
    for name, file in re.findall(r"`(\w+)`\s+(?:of|in)\s+`([\w./]+\.py)`", text):
        lost += [f"{name} of {file}"] * (name not in read(file))
    lost += [
        f"make {target}"
        for target in re.findall(r"\bmake ([a-z-]+)`", text)
        if not re.search(rf"(?m)^{target}:", makefile)
    ]
    assert lost == []
