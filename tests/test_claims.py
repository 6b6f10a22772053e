"""Claims and verdicts: stored verdicts are what is measured, links lead somewhere, damaged data are refused."""

import re
from importlib import resources
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from docutils.nodes import make_id

from recallbook.analysis.intervals import Interval
from recallbook.claims import checks, checks_bounds, checks_memory, checks_scaling, findings, register

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
DATA = register.load_claims()
TEXT = (resources.files("recallbook.claims") / "claims.toml").read_text(encoding="utf-8")
BY_ID = {claim.id: claim for claim in DATA.claims}


def headings(chapter):
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return {heading.strip() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.slow
@pytest.mark.parametrize("claim", DATA.claims, ids=lambda claim: claim.id)
def test_stored_verdict_is_the_one_measured(claim):
    found = register.recompute(claim)
    assert found.verdict == claim.verdict, found.measured
    assert bool(found.measured) == bool(claim.check)
    assert "nan" not in found.measured and "-0.00" not in found.measured.replace("−", "-")


@pytest.mark.parametrize("claim", DATA.claims, ids=lambda claim: claim.id)
def test_claim_leads_to_a_section(claim):
    assert (NOTEBOOKS / f"{claim.chapter}.ipynb").is_file()
    if claim.section:
        assert claim.section in headings(claim.chapter)
        assert register.anchor(claim.section) == make_id(claim.section.replace("$", ""))


def test_all_sources_checks_and_verdicts_are_used():
    assert {name for claim in DATA.claims for name in claim.sources} == set(DATA.sources)
    assert {claim.check for claim in DATA.claims} - {""} == set(checks.CHECKS)
    assert {claim.verdict for claim in DATA.claims} == set(register.VERDICTS)


def test_the_law_of_the_news_article_is_there():
    assert "N ~ d·L" in BY_ID["n-like-d-times-l"].text and BY_ID["n-like-d-times-l"].verdict == "refuted"


def test_counts_add_up():
    found = {claim.id: findings.Finding("", claim.verdict) for claim in DATA.claims}
    table = register.counts(DATA, found)
    assert table.to_numpy().sum() == sum(len(claim.sources) for claim in DATA.claims)
    assert list(table.columns) == list(register.VERDICTS)
    assert table.loc["news article", "refuted"] == 1


def test_blocks_show_everything_and_escape():
    found = {claim.id: findings.Finding("d < V & N^2", claim.verdict) for claim in DATA.claims}
    groups = list(dict.fromkeys(claim.group for claim in DATA.claims))
    page = "".join(register.show(DATA, found, group) for group in groups)
    assert page.count("<em>From:</em>") == page.count("<em>See:</em>") == len(DATA.claims)
    assert "<i>d</i> &lt; <i>V</i> &amp; <i>N</i><sup>2</sup>" in page
    assert 'href="09_does_it_multiply.html#is-it-separable"' in page


# The verdict follows from the measurement: other measurements give other verdicts


def test_other_exponents_give_other_verdicts(monkeypatch):
    one = dict.fromkeys(("dim", "seq_len", "vocab"), Interval(1.0, 0.9, 1.1))
    for module in (checks_scaling, findings):
        monkeypatch.setattr(module, "fitted", lambda law: one)
    assert checks_scaling.product_of_d_and_l().verdict == "confirmed"
    assert checks_scaling.larger_dim_helps().verdict == "true only where"
    assert checks_scaling.vocabulary_harder().verdict == "confirmed"
    none = dict.fromkeys(("dim", "seq_len", "vocab"), Interval(0.0, -0.1, 0.1))
    for module in (checks_scaling, findings):
        monkeypatch.setattr(module, "fitted", lambda law: none)
    assert checks_scaling.vocabulary_harder().verdict == "true only where"
    assert checks_scaling.length_harder().verdict == "refuted"


def test_same_exponents_would_confirm_longer_training(monkeypatch):
    same = {"dim": Interval(-1.0, -1.1, -0.9), "seq_len": Interval(2.0, 1.9, 2.1)}
    monkeypatch.setattr(checks_memory, "fitted", lambda law: same)
    assert checks_memory.longer_scaling().verdict == "confirmed"


@pytest.mark.parametrize(
    ("inside", "verdict"), [((600, 5000, 300, 900), "confirmed"), ((900, 600, 5000, 300), "refuted")]
)
def test_corners_in_another_order(monkeypatch, inside, verdict):
    index = pd.MultiIndex.from_tuples([(128, 8), (128, 256), (512, 8), (512, 256)], names=["dim", "seq_len"])
    table = pd.DataFrame({"critical": inside}, index=index)
    monkeypatch.setattr(checks_scaling, "corners", lambda outcome, flag: table)
    assert checks_scaling.table_order().verdict == verdict


def test_a_looser_bound_would_not_refute(monkeypatch):
    monkeypatch.setattr(checks_bounds, "beyond_the_bound", lambda: (Interval(0.6, 0.55, 0.65), 0.7))
    assert checks_bounds.any_method().verdict == "true only where"


# Damaged data


def change(old, new):
    assert TEXT.count(old) >= 1, old
    return TEXT.replace(old, new, 1)


FIRST = 'id = "two-problems"\n'
DAMAGE = [
    ("= [", "claims"),
    ("x = 1\n" + TEXT, "claims=.*the two tables"),
    (change('verdict = "refuted"', 'verdict = "rejected"'), "verdict='rejected'.*confirmed, true only where"),
    (change('sources = ["news"]', "sources = []"), "affiliations: sources=.*at least one name"),
    (change('sources = ["news"]', 'sources = ["rumour"]'), "sources=.*rumour.*one of abstract"),
    (change('check = "two_problems"', 'check = "no_problems"'), "two-problems: check='no_problems'"),
    (change('check = "two_problems"\n', ""), "two-problems: check=''.*a check"),
    (change('against = ["task"]\n', ""), "real-data: against="),
    (change('against = ["task"]', 'against = ["nothing"]'), "real-data: against='nothing'"),
    (change('against = ["task"]', 'against = ["affiliations"]'), "real-data: against='affiliations'"),
    (change('id = "category"', 'id = "identity"'), "id=.*identity.*no other claim"),
    (change('id = "category"\n', ""), "claim .: id=None.*required"),
    (change('group = "The paper"', "group = 3"), "identity: group=3.*text"),
    (change('group = "The paper"', 'grupo = "The paper"'), "identity: group=None.*required"),
    (change('group = "The paper"', 'group = "The paper"\nnote = "x"'), "identity: note='x'.*one of id"),
    (change('text = "It is by', 'text = " "\nchapter2 = "'), "identity: chapter2="),
    (change('name = "news article", ', ""), "sources.news=.*name and what"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGE, ids=lambda value: value[:30] if len(value) < 90 else "")
def test_damaged_data_are_refused(text, message):
    with pytest.raises(ValueError, match="(?s)" + message):
        register.load_claims(text)
