"""Claims and verdicts: what is stored fits together and is what the book shows, and other quantities
give other verdicts."""

import math
import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from docutils.nodes import make_id

from recallbook_studies.claims import findings, listing, register, statistics
from recallbook_studies.intervals import Interval

pytestmark = pytest.mark.essential

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
DATA = register.load_claims()
BY_ID = {claim.id: claim for claim in DATA.claims}
QUANTITIES = register.contents()["quantity"]
DECIDED = (findings.CONFIRMED, findings.PARTLY, findings.REFUTED)
each_claim = pytest.mark.parametrize("claim", DATA.claims, ids=lambda claim: claim.id)


def read(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def headings(chapter):
    text = "\n\n".join(cell.source for cell in read(chapter).cells if cell.cell_type == "markdown")
    return {heading.strip() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@each_claim
def test_claim_leads_to_a_section(claim):
    assert (NOTEBOOKS / f"{claim.chapter}.ipynb").is_file()
    assert "" not in claim[:7] and claim.sources
    if claim.section:
        assert claim.section in headings(claim.chapter)
        assert listing.anchor(claim.section) == make_id(claim.section.replace("$", ""))


@each_claim
def test_verdict_rests_on_a_rule_or_on_another_source(claim):
    fields = ("measured", "rule", "parts", "invented")
    given = {field: bool(getattr(claim, field)) for field in fields}
    decided = claim.verdict in DECIDED
    assert given == dict.fromkeys(fields, decided), f"{claim.id} (CHECKLISTS.md, A claim, step 1)"
    same = [name for name in claim.against if {*BY_ID[name].sources} <= {*claim.sources}]
    assert same == [], "a contradiction has another source"
    assert claim.against or claim.verdict != register.CONTRADICTED


def test_all_sources_quantities_and_verdicts_are_used():
    assert {name for claim in DATA.claims for name in claim.sources} == set(DATA.sources)
    assert {claim.verdict for claim in DATA.claims} == set(register.VERDICTS)
    assert len(BY_ID) == len(DATA.claims), "names of their own"
    named = {name for claim in DATA.claims for name in re.findall(r"{(\w+)", claim.measured)}
    words = {word for claim in DATA.claims for word in re.findall(r"\w+", claim.parts)}
    assert named <= set(QUANTITIES) <= named | words
    wanted = {entry["statistic"] for entry in QUANTITIES.values()}
    assert [name for name in wanted if not hasattr(statistics, name)] == []


# The verdict follows from the quantities: other quantities give other verdicts


def numbered(quantity):
    """With whole numbers for keys that are written as such."""
    if not isinstance(quantity, dict):
        return quantity
    return {int(k) if k.isdigit() else k: numbered(value) for k, value in quantity.items()}


@pytest.mark.parametrize(
    "claim", [claim for claim in DATA.claims if claim.rule], ids=lambda claim: claim.id
)
def test_invented_quantities_give_every_verdict(claim):
    """What is not said again is as in the first case; nothing else is measured."""
    first = claim.invented[0][1]
    for verdict, changes in claim.invented:
        assert findings.decide(claim.parts, numbered(first | changes)) == verdict, changes
    assert {verdict for verdict, _ in claim.invented} == {*DECIDED}


# What the book shows: the pages measured every claim when they were made, and nbval does so again


def shown():
    """What chapter 10 and its appendix say of every claim: its text, and the lines below it by name."""
    pages = [read(name) for name in ("10_claims_and_verdicts", "appendix_10_every_claim")]
    outputs = [out for page in pages for cell in page.cells for out in cell.get("outputs", [])]
    text = "\n".join(out.get("data", {}).get("text/plain", "") for out in outputs)
    blocks = re.findall(r"(?m)^(.+)\n(From: .*(?:\n[A-Z][a-z]+: .*)+)", text)
    return [
        (claim, dict(line.split(": ", 1) for line in lines.split("\n"))) for claim, lines in blocks
    ]


SHOWN = shown()


@each_claim
def test_the_stored_verdict_is_the_one_that_the_book_measured(claim):
    verdicts = [lines["Verdict"] for text, lines in SHOWN if text == flat(claim.text)]
    assert verdicts == [claim.verdict], (
        f"correct {claim.id} in claims.toml, or make notebooks (CHECKLISTS.md, A claim, step 3)"
    )


def test_measured_numbers_are_numbers():
    assert [lines for _, lines in SHOWN if re.search(r"nan|-\d", lines.get("Measured", ""))] == []


# Of claims that take an instant to measure
QUICK = "interference more-data-helps width-at-small-dim early-decides"


@pytest.mark.parametrize("name", QUICK.split())
def test_what_is_measured_is_what_the_book_shows(name):
    result, page = register.recompute(BY_ID[name]), dict(SHOWN)[BY_ID[name].text]
    assert (flat(result.measured), result.verdict) == (flat(page["Measured"]), page["Verdict"])


# How claims are shown


@pytest.fixture(scope="module")
def results():
    """Findings with the stored verdicts: what is shown does not depend on what was measured."""
    text = "d < V & N^2, a | b"
    return {claim.id: register.Finding(text, claim.verdict) for claim in DATA.claims}


def flat(text):
    """On one line, with exponents as they stand on a page."""
    return re.sub(r"\^ ?(?=[−\d])", "", re.sub(r"\s+", " ", text))


def test_every_form_says_everything(results):
    groups = dict.fromkeys(claim.group for claim in DATA.claims)
    lists = [listing.show(DATA, results, group) for group in groups]
    page = BeautifulSoup("".join(one._repr_html_() for one in lists), "html.parser").get_text()
    for form, text in {"plain": "".join(map(repr, lists)), "html": page}.items():
        plain = flat(text)
        for claim in DATA.claims:
            for wanted in (claim.text, claim.remark, claim.rule, claim.verdict):
                assert flat(wanted) in plain, (form, claim.id)


def test_words_of_rules():
    half, number = Interval(0.5, 0.4, 0.6), 0.5
    assert findings.above([half, 1], 0.3) and not findings.above({"a": half, "b": 1}, 0.45)
    assert findings.below(half, 0.7) and not findings.below([number, half], 0.55)
    assert findings.holds(half, number) and findings.holds(half, half)
    assert not findings.holds([half, 1], half)


def test_numbers_in_sentences():
    say = findings.Sentence().format
    assert (
        say("{0} {0:1} {0:+}", Interval(0.5, -0.25, 2))
        == "0.50 [−0.25, 2.00] 0.5 [−0.2, 2.0] +0.50 [−0.25, 2.00]"
    )
    assert say("{0:+} {1:+}", Interval(-1e-9, -1e-9, 0), -0.5) == "0.00 [0.00, 0.00] −0.5"
    assert say("{0:rough} {1:rough}", 12345.6, math.inf) == "12,000 infinite"
    assert say("{0[8]} {1:.1f} {2}", {8: Interval(1, 1, 1)}, -0.04, "lock-on") == (
        "1.00 [1.00, 1.00] 0.0 lock-on"
    )
