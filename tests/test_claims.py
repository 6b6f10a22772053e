"""Claims and verdicts: what is stored fits together and is what is measured, and other data give
other verdicts."""

import math
import re
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from docutils.nodes import make_id

from recallbook_studies.claims import findings, listing, register
from recallbook_studies.intervals import Interval

pytestmark = pytest.mark.essential

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
DATA = register.load_claims()
BY_ID = {claim.id: claim for claim in DATA.claims}
GROUPS = list(dict.fromkeys(claim.group for claim in DATA.claims))


def read(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def headings(chapter):
    text = "\n\n".join(cell.source for cell in read(chapter).cells if cell.cell_type == "markdown")
    return {heading.strip() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("claim", DATA.claims, ids=lambda claim: claim.id)
def test_claim_leads_to_a_section(claim):
    assert (NOTEBOOKS / f"{claim.chapter}.ipynb").is_file()
    assert "" not in claim[:7] and claim.sources
    if claim.section:
        assert claim.section in headings(claim.chapter)
        assert listing.anchor(claim.section) == make_id(claim.section.replace("$", ""))


@pytest.mark.parametrize("claim", DATA.claims, ids=lambda claim: claim.id)
def test_verdict_rests_on_a_check_or_on_another_source(claim):
    decided = claim.verdict in (findings.CONFIRMED, findings.PARTLY, findings.REFUTED)
    given = (claim.id in findings.CHECKS, bool(claim.rule), bool(claim.measured))
    assert {*given} == {decided}
    same = [name for name in claim.against if {*BY_ID[name].sources} <= {*claim.sources}]
    assert same == [], "a contradiction has another source"
    assert claim.against or claim.verdict != register.CONTRADICTED


def test_all_sources_checks_and_verdicts_are_used():
    assert {name for claim in DATA.claims for name in claim.sources} == set(DATA.sources)
    assert set(findings.CHECKS) <= set(BY_ID)
    assert {claim.verdict for claim in DATA.claims} == set(register.VERDICTS)
    assert len(BY_ID) == len(DATA.claims), "names of their own"


# How claims are shown


@pytest.fixture(scope="module")
def found():
    """Findings with the stored verdicts: what is shown does not depend on what was measured."""
    text = "d < V & N^2, a | b"
    return {claim.id: register.Finding(text, claim.verdict) for claim in DATA.claims}


def flat(text):
    """On one line, with exponents as they stand on a page."""
    return re.sub(r"\^ ?(?=[−\d])", "", re.sub(r"\s+", " ", text))


def test_every_form_says_everything(found):
    shown = [listing.show(DATA, found, group) for group in GROUPS]
    page = BeautifulSoup("".join(one._repr_html_() for one in shown), "html.parser").get_text()
    for form, text in {"plain": "".join(map(repr, shown)), "html": page}.items():
        plain = flat(text)
        for claim in DATA.claims:
            for wanted in (claim.text, claim.remark, claim.rule, claim.verdict):
                assert flat(wanted) in plain, (form, claim.id)


# The verdict follows from the measurement: other measurements give other verdicts


def at(number, half=0.01):
    return Interval(number, number - half, number + half)


def cells(none, other):
    """Recall of every activation and width that is measured, and without an MLP."""
    return lambda found: {key: at(other if key[1] else none) for key in found}


def column(**changed):
    return lambda frame: frame.assign(**changed)


def row(name, value):
    return lambda found: {**found, name: value}


def corners(*critical):
    return [Interval(n, 0.9 * n, 1.1 * n) for n in critical]


IN_ORDER, NOT_IN_ORDER = corners(600, 5000, 300, 900), corners(900, 600, 5000, 300)
MLPS = ("out", "inside", "locks", "large")
SIZES = {"dim": at(0), "seq_len": at(0), "vocab": at(0)}
SIGNS = {"dim": at(-1), "seq_len": at(1)}

# By claim, another verdict, and what would have to be measured for it: a value or a function of what
# was found, or a list of several such changes
OTHERS = {
    "two-problems": {"true only where": {"facts": 0.6}, "refuted": {"facts": 0.6, "place": 0.6}},
    "attention-locates": {
        "confirmed": {"low": pd.Series([0.9])},
        "refuted": {"low": pd.Series([0.1])},
    },
    "interference": {"true only where": {"lost": at(0)}, "refuted": {"lost": at(0), "floor": 1.0}},
    "nearly-orthogonal": {"confirmed": {"orthogonal": at(0.5)}, "refuted": {"random": at(0.01)}},
    "superposition": {
        "confirmed": {"sums": {"": at(2)}},
        "refuted": {"sums": {"": at(0.5)}, "trained": {"": at(1)}},
    },
    "nearly-optimal": {"confirmed": {"fixed": at(600)}, "refuted": {"learned_bits": 2.0}},
    "smaller-dim-stores-more": {
        "confirmed": {"held": {32: at(500), 128: at(33)}},
        "refuted": {"shared": {"d = 96, no MLP": at(0.8), "other": at(0.8)}},
    },
    "budget": {
        "refuted": {"dims": {4: at(0.3), 16: at(0.2), 64: at(0.1)}},
        "confirmed": {"lengths": {4: at(0.1), 16: at(0.3), 64: at(0.2)}},
    },
    "rates": {
        "confirmed": {"out": [at(-0.1)], "inside": [at(-0.1)]},
        "refuted": {"small": at(0.9)},
    },
    "early-direction": {
        "confirmed": {"early": lambda table: table.assign(sum=table["size"])},
        "refuted": {"early": column(sum=0), "few": 0.9},
    },
    "early-decides": {
        "confirmed": {"shares": {"": at(0.02)}},
        "refuted": {"shares": {"": at(0.6)}},
    },
    "oscillation": {
        "refuted": {"chances": {1: 1.0, 10: 0.5}},
        "confirmed": {"chances": {1: 0.001, 10: 0.001}},
    },
    "longer-training": {
        "confirmed": {"short": SIGNS, "long": SIGNS, "rung": SIGNS},
        "true only where": {"rung": row("seq_len", at(0.2))},
    },
    "value-steps": {
        "confirmed": {"powers": {1: at(1), 16: at(1)}},
        "refuted": {"powers": {1: at(1), 16: at(0)}},
    },
    "product-of-three": {
        "confirmed": {"whole": [("holds", 3)] * 4},
        "refuted": {"verdicts": ["none", "too few"]},
    },
    "capacity-grows-with-l": {
        "confirmed": {"growth": {"": at(2)}},
        "refuted": {"growth": {"": at(1)}},
    },
    "inseparable": {
        "confirmed": {"ratio": at(1)},
        "refuted": [{"misses": 0.6}, {"exponents": SIZES}],
    },
    "v-and-l-multiply": {"confirmed": {"ratio": at(1)}, "refuted": {"exponents": SIZES}},
    "coupled-not-thresholds": {
        "confirmed": {"gains": {16: at(0.1)}},
        "refuted": {"exponents": SIZES},
    },
    "more-data-helps": {
        "confirmed": {"gains": {16: at(0.1)}, "whole": {16: at(0.5)}},
        "refuted": {"whole": {16: at(0)}},
    },
    "n-like-d-times-l": {
        "confirmed": {"readings": [[at(-1), at(0)], [at(1), at(1)]]},
        "true only where": {"readings": [[at(-1), at(0)], [at(2.1), at(0.7)]]},
    },
    "vocabulary-harder": {
        "true only where": {"vocab": row("lock-on", at(0))},
        "refuted": {"vocab": SIZES},
    },
    "larger-dim-helps": {
        "true only where": {"dim": row("lock-on", at(0))},
        "refuted": {"dim": SIZES},
    },
    "length-harder": {"confirmed": {"doubled": {"8": at(3)}}, "refuted": {"exponent": at(0)}},
    "exact-recall": {"refuted": {"whole": 9}, "confirmed": {"few": at(0.5), "many": at(0.7)}},
    "coverage": {"confirmed": {"needed": {"": at(2)}}, "refuted": {"half": 0.5}},
    "named-noise": {"confirmed": {"without": {"": at(0.3)}}, "refuted": {"whole": at(0.3)}},
    "orthogonal-optimism": {
        "confirmed": {"ratios": {"": at(2)}},
        "refuted": {"ratios": {"": at(1)}},
    },
    "orthogonal-separates": {"true only where": {"change": 0.05}, "refuted": {"change": 0.3}},
    "interference-multiplies": {
        "confirmed": {"growth": at(0)},
        "refuted": [{"change": 0.3}, {"random": SIZES}],
    },
    "table-order": {
        "confirmed": {"out": IN_ORDER, "inside": IN_ORDER},
        "refuted": {"out": NOT_IN_ORDER, "inside": NOT_IN_ORDER},
    },
    "width-helps": {"refuted": {"large": cells(0.1, 0.1)}, "confirmed": {"large": cells(0.1, 0.9)}},
    "width-at-small-dim": {
        "refuted": {"out": cells(0.5, 0.5), "inside": cells(0.5, 0.5)},
        "confirmed": {"out": cells(0.1, 0.95), "inside": cells(0.1, 0.95)},
    },
    "mlp-harder": {
        "refuted": dict.fromkeys(MLPS, cells(0.5, 0.5)),
        "confirmed": dict.fromkeys(MLPS, cells(0.5, 0.1)),
    },
    "phase-diagram": {
        "confirmed": {"counts": row("gradient noise", 3)},
        "refuted": {"counts": {"coverage": 3}},
    },
}


def test_a_part_asks_for_nothing_but_what_was_measured():
    with pytest.raises(KeyError, match="place"):
        findings.decide("two-problems", {"both": at(0.5), "facts": 0.1})


# Of checks that take more than an instant to measure: chapter 10 and its appendix measure every
# claim, and nbval compares what they print.
QUICK = "product_of_three more_data nearly_optimal mlps oscillation early_decides interference phase_diagram more_value_steps"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=() if check.measure.__name__ in QUICK.split() else pytest.mark.nightly
        )
        for name, check in findings.CHECKS.items()
    ],
)
def test_the_stored_verdict_is_measured_and_other_data_give_another(name):
    claim, check = BY_ID[name], findings.CHECKS[name]
    found, measured = register.recompute(claim), check.measure()
    assert found.verdict == claim.verdict, (
        f"{found.measured}: correct claims.toml, or the check {check.measure.__name__}"
    )
    assert found.measured and not re.search(r"nan|-\d", found.measured)
    for verdict, some in OTHERS[name].items():
        for changed in some if isinstance(some, list) else [some]:
            new = {k: x(measured[k]) if callable(x) else x for k, x in changed.items()}
            assert findings.decide(name, {**measured, **new}) == verdict != claim.verdict


def test_the_appendix_shows_every_claim_that_the_chapter_does_not():
    chapter, appendix = (
        "\n".join(cell.source for cell in read(name).cells if cell.cell_type == "code")
        for name in ("10_claims_and_verdicts", "appendix_10_every_claim")
    )
    measured = {
        name for name in BY_ID if re.search(rf'^measure\(.*"{name}"', chapter, re.MULTILINE)
    }
    assert measured == {name for name in BY_ID if f'"{name}"' in appendix}


def test_numbers_in_sentences():
    say = findings.Sentence().format
    assert (
        say("{0} {0:1} {0:+}", Interval(0.5, -0.25, 2))
        == "0.50 [−0.25, 2.00] 0.5 [−0.2, 2.0] +0.50 [−0.25, 2.00]"
    )
    assert say("{0:+} {1:+}", at(-1e-9, 0), at(-0.5, 0)) == "0.00 [0.00, 0.00] −0.50 [−0.50, −0.50]"
    assert say("{0:rough} {1:rough}", 12345.6, math.inf) == "12,000 infinite"
    assert say("{0} {1:.1f} {2}", {"d = 8": at(1, 0), "m": at(2, 0)}, -0.04, "lock-on") == (
        "d = 8: 1.00 [1.00, 1.00], m 2.00 [2.00, 2.00] 0.0 lock-on"
    )
