"""Claims and verdicts: stored verdicts are what is measured, other data give others, damaged data
are refused."""

import math
import re
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from docutils.nodes import make_id

from recallbook_studies.claims import checks, findings, listing, register
from recallbook_studies.intervals import Interval

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
    assert "" not in claim[:7] and claim.sources
    assert claim.check or register.recompute(claim) == ("", claim.verdict), "nothing decides it"
    if claim.section:
        assert claim.section in headings(claim.chapter)
        assert listing.anchor(claim.section) == make_id(claim.section.replace("$", ""))


def test_all_sources_checks_and_verdicts_are_used():
    assert {name for claim in DATA.claims for name in claim.sources} == set(DATA.sources)
    assert sorted(claim.check for claim in DATA.claims if claim.check) == sorted(checks.CHECKS)
    assert {claim.verdict for claim in DATA.claims} == set(register.VERDICTS)
    assert len(BY_ID) == len(DATA.claims), "names of their own"


# How claims are shown


@pytest.fixture(scope="module")
def found():
    """Findings with the stored verdicts: what is shown does not depend on what was measured."""
    text = "d < V & N^2, a | b"
    return {claim.id: register.Finding(text, claim.verdict) for claim in DATA.claims}


def flat(text):
    """On one line; lines may break after a hyphen."""
    return re.sub(r"\s+", " ", re.sub(r"(?<=\w-)\s+", "", text))


def test_every_form_says_everything(found):
    shown = [listing.show(DATA, found, group) for group in GROUPS]
    page = BeautifulSoup("".join(one._repr_html_() for one in shown), "html.parser").get_text()
    for form, text in {"plain": "".join(map(repr, shown)), "html": page}.items():
        plain = flat(text)
        for claim in DATA.claims:
            for wanted in (claim.text, claim.remark, claim.rule, claim.verdict):
                wanted = re.sub(r"\^ ?(?=[−\d])", "", wanted) if form == "html" else wanted
                assert flat(wanted) in plain, (form, claim.id)


# The verdict follows from the measurement: other measurements give other verdicts


def at(number, half=0.01):
    return Interval(number, number - half, number + half)


def cells(none, other):
    """Recall of every activation and width that is measured, and without an MLP."""
    return lambda found: {key: at(other if key[1] else none) for key in found}


def column(**changed):
    return lambda frame: frame.assign(**changed)


def always(law):
    """Every run with one law of embeddings oscillates, at every rate, and none with the other."""
    return lambda counts: counts.assign(
        oscillate=counts["runs"].where(counts.index.get_level_values("embeddings") == law, 0)
    )


def row(name, value):
    return lambda found: {**found, name: value}


def corners(*critical):
    return [Interval(n, 0.9 * n, 1.1 * n) for n in critical]


IN_ORDER, NOT_IN_ORDER = corners(600, 5000, 300, 900), corners(900, 600, 5000, 300)
MLPS = ("out", "inside", "locks", "large")
SIZES = {"dim": at(0), "seq_len": at(0), "vocab": at(0)}
SIGNS = {"dim": at(-1), "seq_len": at(1)}

# By check, another verdict, and what would have to be measured for it: a value or a function of what
# was found, or a list of several such changes
OTHERS = {
    "two_problems": {"true only where": {"facts": 0.6}, "refuted": {"facts": 0.6, "place": 0.6}},
    "attention_locates": {
        "confirmed": {"low": pd.Series([0.9])},
        "refuted": {"low": pd.Series([0.1])},
    },
    "interference": {"true only where": {"lost": at(0)}, "refuted": {"lost": at(0), "floor": 1.0}},
    "nearly_orthogonal": {"confirmed": {"orthogonal": at(0.5)}, "refuted": {"random": at(0.01)}},
    "superposition": {
        "confirmed": {"sums": {"": at(2)}},
        "refuted": {"sums": {"": at(0.5)}, "trained": {"": at(1)}},
    },
    "nearly_optimal": {"confirmed": {"fixed": at(600)}, "refuted": {"learned_bits": 2.0}},
    "smaller_dim_stores_more": {
        "confirmed": {"held": {32: at(500), 128: at(33)}},
        "refuted": {"shared": {"first": at(0.8), "other": at(0.8)}},
    },
    "hopfield": {
        "refuted": {"lines": [{"1": at(0.1), "2": at(1)}] * 3},
        "confirmed": {"lines": [{"1": at(0.14), "2": at(0.14)}] * 3},
    },
    "learned_embeddings": {
        "true only where": {"lines": row("clustered", {8: at(0), 40: at(0)})},
        "refuted": {"lines": {"learned": {8: at(0)}, "clustered": {8: at(0)}}},
    },
    "trade_off": {
        "refuted": {"dims": {4: at(0.3), 16: at(0.2), 64: at(0.1)}},
        "confirmed": {"lengths": {4: at(0.1), 16: at(0.3), 64: at(0.2)}},
    },
    "rates": {
        "confirmed": {"out": [at(-0.1)], "inside": [at(-0.1)]},
        "refuted": {"small": at(0.9)},
    },
    "early_direction": {
        "confirmed": {"early": lambda table: table.assign(sum=table["size"])},
        "refuted": {"early": column(sum=0), "few": 0.9},
    },
    "early_decides": {
        "confirmed": {"shares": {"": at(0.02)}},
        "refuted": {"shares": {"": at(0.6)}},
    },
    "oscillation": {
        "refuted": [{"counts": column(oscillate=0)}, {"counts": column(oscillate=10)}],
        "confirmed": {"counts": always("gaussian")},
    },
    "longer_scaling": {
        "confirmed": {"short": SIGNS, "long": SIGNS, "rung": SIGNS},
        "true only where": {"rung": row("seq_len", at(0.2))},
    },
    "product_of_three": {"confirmed": {"ratio": at(1)}, "refuted": {"misses": 0.6}},
    "inseparable": {
        "confirmed": {"ratio": at(1)},
        "refuted": [{"misses": 0.6}, {"exponents": SIZES}],
    },
    "length_for_reviews": {"confirmed": {"ratio": at(1)}, "refuted": {"exponents": SIZES}},
    "thresholds": {"confirmed": {"gains": {16: at(0.1)}}, "refuted": {"exponents": SIZES}},
    "more_data_helps": {
        "confirmed": {"gains": {16: at(0.1)}, "whole": {16: at(0.5)}},
        "refuted": {"whole": {16: at(0)}},
    },
    "product_of_d_and_l": {
        "confirmed": [
            {"held": {"dim": at(1), "seq_len": at(1)}},
            {"needed": {"dim": {"lock-on": at(1)}, "seq_len": {"lock-on": at(1)}}},
        ],
        "true only where": {"held": {"dim": at(2.1), "seq_len": at(0.7)}},
    },
    "vocabulary_harder": {
        "true only where": {"exponents": row("lock-on", at(0))},
        "refuted": {"exponents": SIZES},
    },
    "larger_dim_helps": {
        "true only where": {"exponents": row("lock-on", at(0))},
        "refuted": {"exponents": SIZES},
    },
    "length_harder": {"confirmed": {"doubled": {"8": at(3)}}, "refuted": {"exponent": at(0)}},
    "exact_recall": {"refuted": {"whole": 9}, "confirmed": {"few": at(0.5), "many": at(0.7)}},
    "coverage": {"confirmed": {"needed": {"": at(2)}}, "refuted": {"half": 0.5}},
    "named_noise": {"confirmed": {"without": {"": at(0.3)}}, "refuted": {"whole": at(0.3)}},
    "optimism": {"confirmed": {"ratios": {"": at(2)}}, "refuted": {"ratios": {"": at(1)}}},
    "orthogonal_separates": {"true only where": {"change": 0.05}, "refuted": {"change": 0.3}},
    "interference_multiplies": {
        "confirmed": {"growth": at(0)},
        "refuted": [{"change": 0.3}, {"random": SIZES}],
    },
    "table_order": {
        "confirmed": {"out": IN_ORDER, "inside": IN_ORDER},
        "refuted": {"out": NOT_IN_ORDER, "inside": NOT_IN_ORDER},
    },
    "width_helps": {"refuted": {"large": cells(0.1, 0.1)}, "confirmed": {"large": cells(0.1, 0.9)}},
    "width_at_small_dim": {
        "refuted": {"out": cells(0.5, 0.5), "inside": cells(0.5, 0.5)},
        "confirmed": {"out": cells(0.1, 0.95), "inside": cells(0.1, 0.95)},
    },
    "mlp_harder": {
        "refuted": dict.fromkeys(MLPS, cells(0.5, 0.5)),
        "confirmed": dict.fromkeys(MLPS, cells(0.5, 0.1)),
    },
    "phase_diagram": {
        "confirmed": {"counts": row("gradient noise", 3)},
        "refuted": {"counts": {"coverage": 3}},
    },
}


def test_every_check_that_decides_could_decide_otherwise():
    """List in OTHERS what would have to be measured for another verdict."""
    decides = {claim.check for claim in DATA.claims if claim.check}
    assert decides == set(OTHERS) == {claim.check for claim in DATA.claims if claim.rule}
    assert decides == {claim.check for claim in DATA.claims if claim.parts}


# What takes seconds to measure: chapter 10 and its appendices measure everything, and nbval
# compares what they print.
LONG = "product_of_d_and_l rates named_noise trade_off table_order longer_scaling exact_recall superposition"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly if name in LONG.split() else pytest.mark.slow)
        for name in checks.CHECKS
    ],
)
def test_the_stored_verdict_is_measured_and_other_data_give_another(monkeypatch, name):
    measured = checks.CHECKS[name]()  # once
    monkeypatch.setitem(checks.CHECKS, name, lambda: measured)
    claim = next(claim for claim in DATA.claims if claim.check == name)
    found = register.recompute(claim)
    assert found.verdict == claim.verdict, (
        f"{found.measured}: correct claims.toml, or the check {name}"
    )
    assert found.measured and not re.search(r"nan|-\d", found.measured)
    others = [
        (verdict, changed)
        for verdict, some in OTHERS[name].items()
        for changed in (some if isinstance(some, list) else [some])
    ]
    for verdict, changed in others:
        new = {
            key: value(getattr(measured, key)) if callable(value) else value
            for key, value in changed.items()
        }
        assert set(new) <= set(vars(measured))
        found = SimpleNamespace(**{**vars(measured), **new})
        assert findings.decide(claim.parts, found) == verdict != claim.verdict


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


# Damaged data


def change(old, new):
    assert TEXT.count(old) >= 1, old
    return TEXT.replace(old, new, 1)


DAMAGE = [
    ("= [", "Invalid|Expected"),
    (
        change('verdict = "refuted"', 'verdict = "rejected"'),
        "verdict='rejected'.*confirmed, true only where",
    ),
    (change('sources = ["news"]', 'sources = ["rumour"]'), "sources=.*rumour.*one of abstract"),
    (
        change('check = "two_problems"', 'check = "no_problems"'),
        "two-problems: check='no_problems'",
    ),
    (change('check = "two_problems"\n', ""), "two-problems: check=''.*a check, for"),
    (
        change('verdict = "confirmed"', 'verdict = "not testable here"'),
        "two-problems: check='two_problems'.*no check, for",
    ),
    (
        change('against = ["task"]', 'against = ["n-is-capacity"]'),
        r"real-data: against=\['n-is-capacity'\]",
    ),
]


@pytest.mark.parametrize(
    ("text", "message"), DAMAGE, ids=lambda value: value[:30] if len(value) < 90 else ""
)
def test_damaged_data_are_refused(text, message):
    with pytest.raises(ValueError, match="(?s)" + message):
        register.load_claims(text)
