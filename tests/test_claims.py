"""Claims and verdicts: stored verdicts are what is measured, other data give others, damaged data
are refused."""

import re
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from docutils.nodes import make_id

from recallbook.analysis.intervals import Interval
from recallbook_studies.claims import checks, findings, listing, register

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
DATA = register.load_claims()
TEXT = (resources.files("recallbook_studies.claims") / "claims.toml").read_text(encoding="utf-8")
BY_ID = {claim.id: claim for claim in DATA.claims}
GROUPS = list(dict.fromkeys(claim.group for claim in DATA.claims))


def headings(chapter):
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return {heading.strip() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


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


def test_bibliographic_claims_are_listed_and_not_counted():
    counts, group = (
        register.counted(DATA),
        [c for c in DATA.claims if c.group == register.BIBLIOGRAPHIC],
    )
    assert len(group) > 0 and sum(counts.values()) == len(DATA.claims) - len(group)
    assert {claim.verdict for claim in group} == {register.UNTESTED}
    assert counts["refuted"] == sum(claim.verdict == "refuted" for claim in DATA.claims)


def test_one_standard_for_the_claims_that_our_bound_is_about():
    """The paper's bound is not available: ours is printed beside each of the four and decides none
    of them."""
    for name in ("any-method", "bound-holds", "same-order", "intrinsic"):
        assert (
            BY_ID[name].verdict in (register.CONTRADICTED, register.UNTESTED) and BY_ID[name].check
        ), name


# How claims are shown


@pytest.fixture(scope="module")
def found():
    """Findings with the stored verdicts: what is shown does not depend on what was measured."""
    text = "d < V & N^2, a | b"
    return {
        claim.id: findings.Finding(text, claim.verdict, "Rule of " + claim.id)
        for claim in DATA.claims
    }


def flat(text):
    return re.sub(r"\s+", " ", text)


def test_every_form_says_everything(found):
    shown = [listing.show(DATA, found, group) for group in GROUPS]
    page = BeautifulSoup("".join(one._repr_html_() for one in shown), "html.parser").get_text()
    for form, text in {"plain": "".join(map(repr, shown)), "html": page}.items():
        plain = flat(text)
        for claim in DATA.claims:
            for wanted in (claim.text, claim.remark, "Rule of " + claim.id, claim.verdict):
                wanted = re.sub(r"\^ ?(?=[−\d])", "", wanted) if form == "html" else wanted
                assert flat(wanted) in plain, (form, claim.id)
        counts = [
            plain.count(word)
            for word in ("From:", "Measured:", "Verdict:", "Why:", "See:", "d < V & N")
        ]
        assert counts == [len(DATA.claims)] * 6, form


# The verdict follows from the measurement: other measurements give other verdicts


def at(number, half=0.01):
    return Interval(number, number - half, number + half)


def every(value):
    """The same table with another number everywhere."""
    return lambda found: dict.fromkeys(found, value)


def with_(**changed):
    """The same measurements with others in the place of some: values, or functions of what was
    found."""

    def change(found):
        new = {
            name: value(getattr(found, name)) if callable(value) else value
            for name, value in changed.items()
        }
        return SimpleNamespace(**{**vars(found), **new})

    return change


def column(**changed):
    return lambda frame: frame.assign(**changed)


def row(name, value):
    return lambda found: {**found, name: value}


def above_none(cells):
    """Every activation and width at 0.95, no MLP at 0.1."""
    return {**every(at(0.95))(cells), ("none", 0): at(0.1)}


def below_none(cells):
    """Every activation and width at 0.1, no MLP at 0.5."""
    return {**every(at(0.1))(cells), ("none", 0): at(0.5)}


GRID = pd.MultiIndex.from_tuples(
    [(128, 8), (128, 256), (512, 8), (512, 256)], names=["dim", "seq_len"]
)


def corner_table(*critical):
    frame = pd.DataFrame({"critical": critical}, index=GRID)
    return frame.assign(low=frame["critical"] * 0.9, high=frame["critical"] * 1.1)


IN_ORDER, NOT_IN_ORDER = corner_table(600, 5000, 300, 900), corner_table(900, 600, 5000, 300)

OTHERS = {  # by check: what would have to be measured for another verdict, and that verdict
    "two_problems": [
        (with_(facts=0.6), "true only where"),
        (with_(facts=0.6, place=0.6), "refuted"),
    ],
    "attention_locates": [(column(low=0.9), "confirmed"), (column(low=0.1), "refuted")],
    "interference": [
        (with_(lost=at(0)), "true only where"),
        (with_(lost=at(0), floor=1.0), "refuted"),
    ],
    "nearly_orthogonal": [
        (row("orthogonal, d = V + 2", at(0.5)), "confirmed"),
        (row("random, d = V", at(0.01)), "refuted"),
    ],
    "superposition": [
        (with_(sums=every(at(2))), "confirmed"),
        (with_(sums=every(at(0.5)), trained=every(at(1))), "refuted"),
    ],
    "nearly_optimal": [
        (with_(fixed=at(600)), "confirmed"),
        (with_(learned_bits=2.0), "refuted"),
    ],
    "smaller_dim_stores_more": [
        (with_(held={32: at(500), 128: at(33)}), "confirmed"),
        (with_(shared=every(at(0.8))), "refuted"),
    ],
    "hopfield": [
        (lambda f: {name: {1: at(0.1), 2: at(1)} for name in f}, "refuted"),
        (row("facts for each dimension", {32: at(0.14), 64: at(0.14)}), "confirmed"),
    ],
    "learned_embeddings": [
        (row("clustered", {8: at(0), 40: at(0)}), "true only where"),
        (every({8: at(0), 40: at(0)}), "refuted"),
    ],
    "trade_off": [
        (lambda f: with_(dims=f.lengths)(f), "refuted"),
        (lambda f: with_(lengths=f.dims)(f), "confirmed"),
    ],
    "rates": [
        (with_(gains=every(at(-0.1))), "confirmed"),
        (with_(attention=every(at(0.9))), "refuted"),
    ],
    "early_direction": [
        (with_(early=lambda f: f.assign(sum=f["size"])), "confirmed"),
        (with_(early=lambda f: f.assign(sum=0), weights=(0.9, 0.9)), "refuted"),
    ],
    "early_decides": [
        (with_(shares=every(at(0.02))), "confirmed"),
        (with_(shares=every(at(0.6))), "refuted"),
    ],
    "oscillation": [
        (lambda f: f.assign(oscillate=0), "refuted"),
        (
            lambda f: f.assign(oscillate=f["oscillate"].where(f["embeddings"] == "orthogonal", 10)),
            "confirmed",
        ),
        (lambda f: f.assign(oscillate=10), "refuted"),
    ],
    "longer_scaling": [
        (lambda f: with_(rung=f.short, long=f.short)(f), "confirmed"),
        (with_(rung=row("seq_len", at(0.2))), "true only where"),
    ],
    "product_of_three": [
        (with_(accuracy=row("ratio", at(1))), "confirmed"),
        (with_(misses=0.6), "refuted"),
    ],
    "inseparable": [
        (with_(accuracy=row("ratio", at(1))), "confirmed"),
        (with_(misses=0.6), "refuted"),
        (with_(exponents=every(at(0))), "refuted"),
    ],
    "length_for_reviews": [
        (with_(accuracy=row("ratio", at(1))), "confirmed"),
        (with_(exponents=every(at(0))), "refuted"),
    ],
    "thresholds": [
        (with_(gains=every(at(0.1))), "confirmed"),
        (with_(exponents=every(at(0))), "refuted"),
    ],
    "more_data_helps": [
        (with_(gains=every(at(0.1)), whole=every(at(0.5))), "confirmed"),
        (with_(whole=every(at(0))), "refuted"),
    ],
    "product_of_d_and_l": [
        (with_(held={"dim": at(1), "seq_len": at(1)}), "confirmed"),
        (with_(held={"dim": at(2.1), "seq_len": at(0.7)}), "true only where"),
        (
            with_(needed=lambda f: {size: row("lock-on", at(1))(line) for size, line in f.items()}),
            "confirmed",
        ),
    ],
    "vocabulary_harder": [(row("lock-on", at(0)), "true only where"), (every(at(0)), "refuted")],
    "larger_dim_helps": [(row("lock-on", at(0)), "true only where"), (every(at(0)), "refuted")],
    "length_harder": [
        (with_(doubled=every(at(3))), "confirmed"),
        (with_(exponent=at(0)), "refuted"),
    ],
    "exact_recall": [
        (with_(whole=9), "refuted"),
        (with_(small={1: at(0.5), 2: at(0.7)}), "confirmed"),
    ],
    "coverage": [(with_(half=every(at(2))), "confirmed"), (with_(chances=every(0.5)), "refuted")],
    "named_noise": [
        (with_(without=every(at(0.3))), "confirmed"),
        (with_(whole=at(0.3)), "refuted"),
    ],
    "optimism": [(every(at(2)), "confirmed"), (every(at(1)), "refuted")],
    "orthogonal_separates": [
        (with_(change=0.05), "true only where"),
        (with_(change=0.3), "refuted"),
    ],
    "interference_multiplies": [
        (with_(growth=at(0)), "confirmed"),
        (with_(change=0.3), "refuted"),
        (with_(random=every(at(0))), "refuted"),
    ],
    "table_order": [(every(IN_ORDER), "confirmed"), (every(NOT_IN_ORDER), "refuted")],
    "width_helps": [
        (every(at(0.1)), "refuted"),
        (lambda f: {**every(at(0.9))(f), ("none", 0): at(0.1)}, "confirmed"),
    ],
    "width_at_small_dim": [
        (lambda f: with_(out=f.inside)(f), "refuted"),
        (with_(out=above_none, inside=above_none), "confirmed"),
    ],
    "mlp_harder": [
        (with_(**dict.fromkeys(("out", "inside", "locks", "large"), every(at(0.5)))), "refuted"),
        (with_(**dict.fromkeys(("out", "inside", "locks", "large"), below_none)), "confirmed"),
    ],
    "phase_diagram": [
        (lambda f: pd.concat([f, pd.Series({"gradient noise": 3})]), "confirmed"),
        (lambda f: f[["coverage", "own fact"]], "refuted"),
    ],
}


def test_every_check_that_decides_could_decide_otherwise():
    decides = {
        claim.check
        for claim in DATA.claims
        if claim.check and claim.verdict in register.VERDICTS[:3]
    }
    assert decides == set(OTHERS), (
        "list in OTHERS what would have to be measured for another verdict"
    )
    assert decides == {name for name, check in checks.CHECKS.items() if check.rule}


# What takes seconds to measure: chapter 10 and its appendices measure everything, and nbval
# compares what they print.
LONG = "product_of_d_and_l rates named_noise trade_off table_order longer_scaling exact_recall superposition"
MEASURED = [
    pytest.param(name, marks=[pytest.mark.nightly] if name in LONG.split() else [pytest.mark.slow])
    for name in checks.CHECKS
]


@pytest.mark.parametrize("name", MEASURED)
def test_the_stored_verdict_is_measured_and_other_data_give_another(monkeypatch, name):
    check = checks.CHECKS[name]
    measured = check.measure()  # once
    monkeypatch.setitem(
        checks.CHECKS, name, findings.Check(lambda: measured, check.decide, check.rule)
    )
    claim = next(claim for claim in DATA.claims if claim.check == name)
    found = register.recompute(claim)
    assert found.verdict == claim.verdict, (
        f"{found.measured}: correct claims.toml, or the check {name}"
    )
    assert found.measured and "nan" not in found.measured and not re.search(r"-\d", found.measured)
    assert bool(found.rule) == (name in OTHERS), (
        "a check that decides says by which rule, and no other does"
    )
    for change, verdict in OTHERS.get(name, ()):
        other = check.decide(change(measured))
        assert other.verdict == verdict != claim.verdict, other


@pytest.mark.parametrize(
    "claim", [claim for claim in DATA.claims if not claim.check], ids=lambda claim: claim.id
)
def test_claims_without_a_check_are_not_decided(claim):
    assert register.recompute(claim) == findings.Finding("", claim.verdict)


# Damaged data


def change(old, new):
    assert TEXT.count(old) >= 1, old
    return TEXT.replace(old, new, 1)


DAMAGE = [
    ("= [", "claims"),
    ("x = 1\n" + TEXT, "claims=.*the two tables"),
    (
        change('verdict = "refuted"', 'verdict = "rejected"'),
        "verdict='rejected'.*confirmed, true only where",
    ),
    (change('sources = ["news"]', 'sources = ["rumour"]'), "sources=.*rumour.*one of abstract"),
    (
        change('check = "two_problems"', 'check = "no_problems"'),
        "two-problems: check='no_problems'",
    ),
    (
        change('against = ["task"]', 'against = ["affiliations"]'),
        "real-data: against='affiliations'",
    ),
    (change('id = "category"', 'id = "identity"'), "id=.*identity.*no other claim"),
    (change('group = "The paper"', "group = 3"), "identity: group=3.*text"),
    (
        change('group = "The paper"', 'group = "The paper"\nnote = "x"'),
        "identity: note='x'.*one of id",
    ),
    (change('name = "news article", ', ""), "sources.news=.*name and what"),
]


@pytest.mark.parametrize(
    ("text", "message"), DAMAGE, ids=lambda value: value[:30] if len(value) < 90 else ""
)
def test_damaged_data_are_refused(text, message):
    with pytest.raises(ValueError, match="(?s)" + message):
        register.load_claims(text)
