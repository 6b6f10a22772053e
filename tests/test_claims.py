"""Claims and verdicts: stored verdicts are what is measured, other data give others, damaged data are refused."""

import re
from functools import cache
from importlib import resources
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from docutils.nodes import make_id

from recallbook.analysis.intervals import Interval
from recallbook.claims import checks, findings, listing, register
from recallbook.experiments.verdicts import learned_embeddings

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
DATA = register.load_claims()
TEXT = (resources.files("recallbook.claims") / "claims.toml").read_text(encoding="utf-8")
BY_ID = {claim.id: claim for claim in DATA.claims}
GROUPS = list(dict.fromkeys(claim.group for claim in DATA.claims))


def headings(chapter):
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return {heading.strip() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


ORIGINAL = dict(checks.CHECKS)


@cache
def measured(check):
    return ORIGINAL[check].measure()


@pytest.mark.slow
@pytest.mark.parametrize("claim", DATA.claims, ids=lambda claim: claim.id)
def test_stored_verdict_is_the_one_measured(monkeypatch, claim):
    if claim.check:  # measured once for this test and the one below
        check = checks.CHECKS[claim.check]
        once = findings.Check(lambda: measured(claim.check), check.decide, check.rule)
        monkeypatch.setitem(checks.CHECKS, claim.check, once)
    found = register.recompute(claim)
    assert found.verdict == claim.verdict, found.measured
    assert bool(found.measured) == bool(claim.check)
    assert "nan" not in found.measured and not re.search(r"-\d", found.measured)
    decided = bool(claim.check) and claim.verdict in register.VERDICTS[:3]
    assert bool(found.rule) == decided, "a check that decides says by which rule, and no other does"


@pytest.mark.parametrize("claim", DATA.claims, ids=lambda claim: claim.id)
def test_claim_leads_to_a_section(claim):
    assert (NOTEBOOKS / f"{claim.chapter}.ipynb").is_file()
    if claim.section:
        assert claim.section in headings(claim.chapter)
        assert listing.anchor(claim.section) == make_id(claim.section.replace("$", ""))


def test_all_sources_checks_and_verdicts_are_used():
    assert {name for claim in DATA.claims for name in claim.sources} == set(DATA.sources)
    assert sorted(claim.check for claim in DATA.claims if claim.check) == sorted(checks.CHECKS)
    assert {claim.verdict for claim in DATA.claims} == set(register.VERDICTS)


def test_the_law_of_the_news_article_is_there():
    assert "N ~ d·L" in BY_ID["n-like-d-times-l"].text and BY_ID["n-like-d-times-l"].verdict == "refuted"


# How claims are shown


@pytest.fixture(scope="module")
def found():
    """Findings with the stored verdicts: what is shown does not depend on what was measured."""
    text = "d < V & N^2, a | b"
    return {claim.id: findings.Finding(text, claim.verdict, "Rule of " + claim.id) for claim in DATA.claims}


def flat(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("form", ["plain", "markdown", "html"])
def test_every_form_says_everything(found, form):
    page = ""
    for group in GROUPS:
        shown = listing.show(DATA, found, group)
        page += {"plain": repr, "markdown": shown.__class__._repr_markdown_, "html": shown.__class__._repr_html_}[form](
            shown
        )
    plain = {
        "plain": lambda text: text,
        "markdown": lambda text: re.sub(r"\\(.)", r"\1", text),
        "html": lambda text: (
            re.sub(r"<[^>]*>", "", text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        ),
    }[form](page)
    plain = flat(plain)
    for claim in DATA.claims:
        wanted = (claim.text, claim.remark, "Rule of " + claim.id, claim.verdict)
        for text in wanted:
            text = flat(re.sub(r"\^ ?(?=[−\d])", "", text)) if form == "html" else flat(text)
            assert text in plain, (claim.id, text)
    for word in ("From:", "Measured:", "Verdict:", "Why:", "See:"):
        assert plain.count(word) == len(DATA.claims), word
    assert plain.count("d < V & N") == len(DATA.claims)


def test_links_of_a_listing(found):
    shown = listing.pick(DATA, found, ["inseparable"])
    assert 'href="09_does_it_multiply.html#is-it-separable"' in shown._repr_html_()
    assert "](09_does_it_multiply.ipynb)" in shown._repr_markdown_()
    assert "<i>d</i> &lt; <i>V</i> &amp; <i>N</i><sup>2</sup>" in shown._repr_html_()


def test_overview_has_every_claim_in_every_form():
    table = listing.overview(DATA, "All of them")
    for claim in DATA.claims:
        row = next(line for line in repr(table).splitlines() if f"  {claim.short}  " in line)
        assert claim.verdict in row and row.endswith(str(int(claim.chapter[:2])))
    assert table._repr_html_().count("<tr>") == table._repr_markdown_().count("](") + 1 == len(DATA.claims) + 1
    assert len({claim.short for claim in DATA.claims}) == len(DATA.claims)


def test_changes_name_both_verdicts():
    rows = listing.changes(DATA)
    assert len(rows) == sum(bool(claim.was) for claim in DATA.claims) > 0
    assert [row for row in rows if not (row["was"] != row["is"] and row["because"])] == []


# The verdict follows from the measurement: other measurements give other verdicts


def at(number, half=0.01):
    return Interval(number, number - half, number + half)


def every(value):
    """The same table with another number everywhere."""
    return lambda found: dict.fromkeys(found, value)


def with_(**changed):
    return lambda found: found._replace(**changed)


def column(**changed):
    return lambda frame: frame.assign(**changed)


def row(name, value):
    return lambda found: {**found, name: value}


def above_none(cells):
    """Every activation and width at 0.95, no MLP at 0.1."""
    return {**every(at(0.95))(cells), ("none", 0): at(0.1)}


GRID = pd.MultiIndex.from_tuples([(128, 8), (128, 256), (512, 8), (512, 256)], names=["dim", "seq_len"])


def corner_table(*critical):
    frame = pd.DataFrame({"critical": critical}, index=GRID)
    return frame.assign(low=frame["critical"] * 0.9, high=frame["critical"] * 1.1)


IN_ORDER, NOT_IN_ORDER = corner_table(600, 5000, 300, 900), corner_table(900, 600, 5000, 300)

OTHERS = {  # by check: what would have to be measured for another verdict, and that verdict
    "two_problems": [(with_(facts=0.6), "true only where"), (with_(facts=0.6, place=0.6), "refuted")],
    "attention_locates": [(column(low=0.9), "confirmed"), (column(low=0.1), "refuted")],
    "interference": [(with_(lost=at(0)), "true only where"), (with_(lost=at(0), floor=1.0), "refuted")],
    "nearly_orthogonal": [
        (row("orthogonal, d = V + 2", at(0.5)), "confirmed"),
        (row("random, d = V", at(0.01)), "refuted"),
    ],
    "superposition": [(every(at(500)), "confirmed"), (every(at(9)), "refuted")],
    "nearly_optimal": [(row("one gradient", at(1.5)), "confirmed")],
    "smaller_dim_stores_more": [
        (lambda f: f._replace(held={32: at(500), 128: at(33)}), "confirmed"),
        (lambda f: f._replace(shared=dict.fromkeys(f.shared, at(0.8))), "refuted"),
    ],
    "hopfield": [
        (lambda f: f._replace(per_dim=dict.fromkeys(f.per_dim, at(0.3))), "true only where"),
        (lambda f: f._replace(per_parameter=dict.fromkeys(f.per_parameter, at(0.14))), "confirmed"),
    ],
    "learned_embeddings": [(every(at(0)), "refuted"), (every(at(0.3)), "confirmed")],
    "trade_off": [
        (lambda f: f._replace(dims=f.lengths), "refuted"),
        (lambda f: f._replace(lengths=f.dims), "confirmed"),
    ],
    "rates": [
        (lambda f: f._replace(gains=dict.fromkeys(f.gains, at(-0.1))), "confirmed"),
        (lambda f: f._replace(attention=dict.fromkeys(f.attention, at(0.9))), "refuted"),
    ],
    "early_direction": [(column(high=0.05), "confirmed"), (column(high=0.5), "refuted")],
    "early_decides": [(with_(share=at(0.02)), "confirmed"), (with_(share=at(0.3)), "true only where")],
    "oscillation": [
        (lambda f: f.assign(sum=f["sum"].where(f["law"] != "gaussian, d = 66", 0)), "refuted"),
        (lambda f: f.assign(sum=f["sum"].where(f["law"] != "gaussian, d = 66", 12)), "confirmed"),
        (lambda f: f.assign(sum=12), "refuted"),
    ],
    "longer_scaling": [
        (lambda f: f._replace(long=f.short), "confirmed"),
        (lambda f: f._replace(long={"dim": at(0.5), "seq_len": at(1)}), "refuted"),
        (with_(above=at(1.2)), "refuted"),
    ],
    "product_of_three": [
        (lambda f: f._replace(accuracy={**f.accuracy, "ratio": at(1)}), "confirmed"),
        (with_(misses=0.6), "refuted"),
    ],
    "inseparable": [
        (with_(misses=0.6, chances={0.5: 0.001}), "confirmed"),
        (lambda f: f._replace(exponents=dict.fromkeys(f.exponents, at(0))), "refuted"),
    ],
    "length_for_reviews": [
        (lambda f: f._replace(accuracy={**f.accuracy, "ratio": at(1)}), "confirmed"),
        (lambda f: f._replace(exponents=dict.fromkeys(f.exponents, at(0))), "refuted"),
    ],
    "thresholds": [
        (lambda f: f._replace(gains=dict.fromkeys(f.gains, at(0.1))), "confirmed"),
        (lambda f: f._replace(exponents=dict.fromkeys(f.exponents, at(0))), "refuted"),
    ],
    "more_data_helps": [
        (
            lambda f: f._replace(gains=dict.fromkeys(f.gains, at(0.1)), whole=dict.fromkeys(f.whole, at(0.5))),
            "confirmed",
        ),
        (lambda f: f._replace(whole=dict.fromkeys(f.whole, at(0))), "refuted"),
    ],
    "product_of_d_and_l": [(row("lock-on", at(1)), "confirmed"), (row("lock-on", at(0)), "true only where")],
    "vocabulary_harder": [(row("lock-on", at(0)), "true only where"), (every(at(0)), "refuted")],
    "larger_dim_helps": [(row("lock-on", at(0)), "true only where"), (every(at(0)), "refuted")],
    "length_harder": [
        (lambda f: f._replace(accuracy=dict.fromkeys(f.accuracy, at(3))), "confirmed"),
        (with_(exponent=at(0)), "refuted"),
    ],
    "exact_recall": [(with_(whole=9), "refuted"), (with_(small={1: at(0.5), 2: at(0.7)}), "confirmed")],
    "coverage": [
        (lambda f: f._replace(half=dict.fromkeys(f.half, at(2))), "confirmed"),
        (lambda f: f._replace(chances=dict.fromkeys(f.chances, 0.5)), "refuted"),
    ],
    "named_noise": [
        (lambda f: f._replace(without=dict.fromkeys(f.without, at(0.3))), "confirmed"),
        (with_(whole=at(0.3)), "refuted"),
    ],
    "optimism": [(every(at(2)), "confirmed"), (every(at(1)), "refuted")],
    "orthogonal_separates": [(with_(change=0.05), "true only where"), (with_(change=0.3), "refuted")],
    "interference_multiplies": [(row("random", at(1.3)), "true only where"), (row("random", at(0.9)), "refuted")],
    "table_order": [(every(IN_ORDER), "confirmed"), (every(NOT_IN_ORDER), "refuted")],
    "width_helps": [(every(at(0.1)), "refuted"), (lambda f: {**every(at(0.9))(f), ("none", 0): at(0.1)}, "confirmed")],
    "width_at_small_dim": [
        (lambda f: f._replace(out=f.inside), "refuted"),
        (lambda f: f._replace(out=above_none(f.out), inside=above_none(f.out)), "confirmed"),
    ],
    "mlp_harder": [
        (lambda f: type(f)(*(every(at(0.5))(cells) for cells in f)), "refuted"),
        (lambda f: type(f)(*({**every(at(0.1))(cells), ("none", 0): at(0.5)} for cells in f)), "confirmed"),
    ],
    "phase_diagram": [
        (lambda f: pd.concat([f, pd.Series({"gradient noise": 3})]), "confirmed"),
        (lambda f: f[["coverage", "own fact"]], "refuted"),
    ],
    "bound_holds": [
        (lambda f: f._replace(readers=f.readers.assign(low=1.0)), "refuted"),
        (with_(allowed=0.99), "confirmed"),
    ],
    "intrinsic": [
        (lambda f: f._replace(needs={32: 9.0, 66: 5.0, 128: 2.0}, beyond=f.beyond._replace(allowed=0.9)), "confirmed"),
        (lambda f: f._replace(needs=dict.fromkeys(f.needs, 5.0)), "refuted"),
    ],
    "same_order": [
        (lambda f: f._replace(gaps=f.gaps.assign(low=1.2, high=1.4)), "confirmed"),
        (lambda f: f._replace(gaps=f.gaps.assign(low=4.0, high=5.0)), "refuted"),
    ],
}


def test_every_check_that_decides_could_decide_otherwise():
    decides = {claim.check for claim in DATA.claims if claim.check and claim.verdict in register.VERDICTS[:3]}
    assert decides == set(OTHERS)
    assert decides == {name for name, check in checks.CHECKS.items() if check.rule}


@pytest.mark.slow
@pytest.mark.parametrize("check", OTHERS)
def test_other_data_give_another_verdict(check):
    stored = next(claim.verdict for claim in DATA.claims if claim.check == check)
    for change, verdict in OTHERS[check]:
        found = checks.CHECKS[check].decide(change(measured(check)))
        assert found.verdict == verdict != stored, (found, verdict)


def test_runs_of_one_seed_are_one_draw():
    """The share of rescued runs has its interval over seeds: it is wider than if runs were independent draws."""
    found = checks.CHECKS["early_decides"].measure()
    independent = (found.share.mean * (1 - found.share.mean) / found.failed) ** 0.5
    assert 0 < found.share.high - found.share.mean < 10 * independent


# Committed runs


def test_tables_of_runs_can_be_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(learned_embeddings, "STEPS", {"linear": 2})
    monkeypatch.setattr(learned_embeddings, "keys", lambda: ["random 8 0", "random 8 1"])
    store = tmp_path / "store.csv"
    learned_embeddings.fill(store, slice(0, 1))
    first = store.read_text(encoding="utf-8")
    learned_embeddings.fill(store, slice(None))
    assert store.read_text(encoding="utf-8").startswith(first)
    monkeypatch.setattr(learned_embeddings, "FILE", tmp_path / "table.csv")
    learned_embeddings.export([store])
    assert list(learned_embeddings.load()["key"]) == ["random 8 0", "random 8 1"]


# Damaged data


def change(old, new):
    assert TEXT.count(old) >= 1, old
    return TEXT.replace(old, new, 1)


DAMAGE = [
    ("= [", "claims"),
    ("x = 1\n" + TEXT, "claims=.*the two tables"),
    (change('verdict = "refuted"', 'verdict = "rejected"'), "verdict='rejected'.*confirmed, true only where"),
    (change('was = "confirmed"', 'was = "true"'), "was='true'.*confirmed, true only where"),
    (
        change('was = "confirmed"', 'was = "true only where"'),
        "attention-locates: was='true only where'.*another verdict",
    ),
    (change('was = "confirmed"\n', ""), "attention-locates: was=None.*because"),
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
