"""The page on which a reader moves the sizes: its table, its scripts, and what it does in
Chromium."""

import itertools
import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import test_browser as browsing
from hypothesis import Phase, assume, example, given, settings as profile
from settings import EQUAL, across, settings, thorough

import recallbook as rb
from recallbook.bounds.closed_form import sufficient_samples_closed_form
from recallbook.bounds.coverage import coverage_samples
from recallbook.theory.caveats import doubts
from recallbook_studies.explorer import cases as of, scripts, still, table
from recallbook_studies.prediction_errors import QUANTITIES

CONTENT = table.load()
TABLES = table.tables(CONTENT)
CLOSE = 0.02  # what the page promises
RUNNING = {"vocab": 256, "seq_len": 128, "dim": 96, "samples": 2048, "trigger_in_values": False}


SPAN = {"vocab": (150, 4096), "seq_len": (2, 256), "dim": (16, 1024), "samples": (4, 4096000)}
PLAIN = {**EQUAL, "embeddings": "gaussian", "width": None, "activation": "relu"}
OF_PAGE = (
    settings(**PLAIN, **{name: across(*ends) for name, ends in SPAN.items()})
    .filter(lambda s: s.vocab / 64 < s.samples < 1000 * s.vocab)
    .map(lambda s: of.Sizes(*(getattr(s, name) for name in of.Sizes._fields)))
)


def some(count):
    """So many settings of the page, over all that its table holds."""
    examples = profile(thorough, max_examples=count, derandomize=True, phases=[Phase.generate])
    return lambda test: examples(given(sizes=OF_PAGE)(test))


def truth(sizes):
    """The package's own prediction, by name."""
    found = rb.predict(sizes.setting, warn=False)
    return {name: getattr(found, name) for name in QUANTITIES}


# The table


def test_it_says_where_it_comes_from_and_keeps_its_promise():
    provenance = CONTENT["provenance"]
    checks, phase = provenance["checks"], provenance["phase"]
    assert provenance["tables_sha256"] == table.digest(CONTENT["tables"])
    assert provenance["version"] == rb.__version__
    assert provenance["predictions"] == len(of.cases()) and checks["settings"] > 1000
    assert max(checks[name]["largest"] for name in QUANTITIES) <= CLOSE
    assert phase["settings"] > 80 and phase["same"] == phase["settings"]


@pytest.mark.slow
def test_what_is_made_from_expressions_is_up_to_date():
    assert (table.FOLDER / "formulas.js").read_text(encoding="utf-8") == scripts.formulas()
    assert {name: CONTENT[name] for name in scripts.facts()} == json.loads(
        json.dumps(scripts.facts())
    )


@pytest.mark.slow
def test_rows_are_what_the_package_predicts_now():
    nodes = [case for case in of.cases() if case.part == "grid" and case.sizes.samples > 100]
    for case in [nodes[i] for i in np.random.default_rng(1).integers(len(nodes), size=24)]:
        found = table.interpolated(TABLES, pd.DataFrame([case.sizes._asdict()]))
        for name, value in truth(case.sizes).items():
            assert found[name][0] == pytest.approx(value, abs=3e-3), (case, name)


@pytest.mark.slow
@some(60)
def test_between_the_nodes_it_is_close(sizes):
    found = table.interpolated(TABLES, pd.DataFrame([sizes._asdict()]))
    for name, value in truth(sizes).items():
        assert found[name][0] == pytest.approx(value, abs=CLOSE), name


def test_packing_keeps_a_spline():
    rng = np.random.default_rng(3)
    nodes = {"x": np.linspace(0, 1, 6), "y": np.array([0.0, 0.5, 0.6, 2.0])}
    values = rng.normal(size=(6, 4))
    spline = table.through(nodes, {"f": values})
    again = table.unpacked(json.loads(json.dumps(table.packed(spline))))
    corners = np.array(list(itertools.product(*nodes.values())))
    assert spline.at(corners)["f"] == pytest.approx(values.ravel(), abs=5e-3)
    inside = rng.uniform(0, 1, size=(50, 2)) * [1, 2]
    assert again.at(inside)["f"] == pytest.approx(spline.at(inside)["f"], abs=1e-9)


def test_the_closed_form_proves_nothing_for_small_embeddings_of_the_page():
    span = CONTENT["range"]
    for *sizes, flag in itertools.product(span["vocab"], span["seq_len"], (16, 500), (False, True)):
        assert sufficient_samples_closed_form(*sizes, 0.9, flag) == math.inf
    least = sufficient_samples_closed_form(span["vocab"][1], 2, span["dim"][1], 0.9, False)
    assert least < math.inf


@pytest.mark.slow
def test_the_numbers_of_its_text_are_predictions():
    text = (table.FOLDER.parents[1] / "explorer.md").read_text(encoding="utf-8")
    for row in still.curve([512, 2048, 8192, 32768]).to_dict("records"):
        cells = "".join(f"<td>{row[name]:.2f}</td>" for name in ("accuracy", "lock_on", "recall"))
        assert f"<td>{row['samples']:.0f}</td>{cells}" in text
    said = [
        ({}, "accuracy"),
        ({"samples": 16384}, "accuracy"),
        ({"dim": 192}, "accuracy"),
        ({"samples": 65536}, "accuracy"),
        *(({"dim": 192, "samples": 4096, "seq_len": 256}, name) for name in ("lock_on", "recall")),
        *(
            ({"trigger_in_values": marked}, name)
            for marked in (False, True)
            for name in ("lock_on", "recall")
        ),
    ]
    numbers = {f"{truth(of.Sizes(**{**RUNNING, **change}))[name]:.2f}" for change, name in said}
    assert numbers <= set(re.findall(r"\d\.\d\d", text)), (
        "predictions that the text of explorer.md does not name"
    )


# The page in Chromium


@pytest.fixture(scope="module")
def tab(html, browser):
    """The page opened from the disk, with a clipboard."""
    with browser.new_context(**browsing.LOOKS["desktop"]) as context:
        opened = browsing.Tab(context)
        opened.open((html.resolve() / "book/explorer.html").as_uri())
        opened.page.wait_for_selector("#explorer-page[data-ready]")
        yield opened
        assert opened.seen["console"] == []
        requests = opened.seen["requests"]
        assert [
            request for request in requests if not request.startswith(("file:", "data:", "blob:"))
        ] == []


@pytest.fixture(scope="module")
def page(tab):
    return tab.page


SET = """sizes => {
  for (const [name, value] of Object.entries(sizes)) {
    const field = document.querySelector(`input[name="${name}"]`);
    if (field.type === 'checkbox') field.checked = value; else field.value = value ?? '';
    field.dispatchEvent(new Event('input', {bubbles: true}));
    field.dispatchEvent(new Event('change', {bubbles: true}));
  }
  const read = name => document.querySelector(`output[name="${name}"]`).textContent;
  return Object.fromEntries(['accuracy', 'lock_on', 'recall', 'phase'].map(name => [name, read(name)]));
}"""


def shown(page, **change):
    """What the page shows at the running setting with other sizes."""
    return page.evaluate(SET, {**RUNNING, "width": None, **change})


def in_chromium(function):
    for mark in browsing.pytestmark:
        function = mark(function)
    return function


@in_chromium
@example(sizes=of.Sizes(**RUNNING))
@some(40)
def test_outputs_are_those_of_the_table(page, sizes):
    """And so as close to the prediction as the table is."""
    found = shown(page, **sizes._asdict())
    reference = table.interpolated(TABLES, pd.DataFrame([sizes._asdict()])).iloc[0]
    assert {name: float(found[name]) for name in QUANTITIES} == pytest.approx(
        {name: reference[name] for name in QUANTITIES}, abs=6e-4
    )
    assert found["phase"] == reference["phase"]


@in_chromium
@some(5)
def test_what_binds_is_what_the_package_says(page, sizes):
    names = rb.predict(sizes.setting, warn=False).ledger
    gains = {
        name: rb.predict(sizes.setting, without=(name,), warn=False).accuracy for name in names
    }
    first, second = sorted(gains.values(), reverse=True)[:2]
    assume(first - second > of.APART)
    assert shown(page, **sizes._asdict())["phase"] == max(gains, key=gains.get)


@in_chromium
def test_with_an_mlp_it_is_as_close_as_it_says(page):
    allowed = CONTENT["provenance"]["width_checks"]
    for width in (64, 400, 2000):
        found = shown(page, width=width)
        for name, value in truth(of.Sizes(**RUNNING, width=width)).items():
            assert float(found[name]) == pytest.approx(
                value, abs=allowed[name]["largest"] + 5e-3
            ), (width, name)


@in_chromium
@some(12)
def test_ledger_and_lower_bounds_are_those_of_the_package(page, sizes):
    said = lambda name: page.evaluate(f"s => explorer.{name}(s)", sizes._asdict())  # noqa: E731
    expected = {
        name: term.size for name, term in rb.predict(sizes.setting, warn=False).ledger.items()
    }
    assert {term["name"]: term["size"] for term in said("ledgerOf")} == pytest.approx(
        expected, rel=1e-6, abs=1e-12
    )
    need = rb.minimum_samples(sizes.vocab, sizes.seq_len, sizes.dim, 0.9)
    assert said("oneGradient") == pytest.approx(need, rel=1e-5)
    assert said("necessary") == pytest.approx(coverage_samples(sizes.vocab, 0.9), rel=1e-6)


@in_chromium
def test_marks_are_those_of_the_package(page):
    critical = page.evaluate("s => explorer.critical(s)", {**RUNNING, "width": None})
    assert critical == pytest.approx(
        rb.critical_samples(256, 128, 96, trigger_in_values=False), rel=0.05
    )
    proved = CONTENT["sufficient"][0]
    assert (
        page.evaluate("s => explorer.sufficient(s).sufficient", {**proved, "width": None})
        == proved["sufficient"]
    )


@in_chromium
@some(24)
def test_doubts_are_those_of_the_package(page, sizes):
    for lock_on, width in itertools.product((0.1, 0.5), (None, sizes.dim // 2 + 1, 4 * sizes.dim)):
        chosen = sizes._replace(width=width)
        found = page.evaluate(
            "([s, lock]) => explorer.doubts(s, lock)", [chosen._asdict(), lock_on]
        )
        expected = doubts(chosen.setting, lock_on)
        assert (found != "") == bool(expected), chosen
        for doubt in expected:
            assert [
                name for name in doubt.about if f"{name.replace('_', '-')} by about" not in found
            ] == []


@in_chromium
@pytest.mark.parametrize(
    ("name", "size", "symbol"),
    [
        ("dim", 2000, "d"),
        ("vocab", 100, "V"),
        ("samples", 3, "N"),
        ("seq_len", 1, "L"),
        ("width", 9, "m"),
    ],
)
def test_outside_the_table_there_are_words_and_no_number(page, name, size, symbol):
    assert set(shown(page, **{name: size}).values()) == {"outside"}
    assert f"{symbol} = {size} is outside the table" in page.inner_text("#explorer-beyond")
    shown(page)
    assert not page.is_visible("#explorer-beyond")


@in_chromium
@pytest.mark.parametrize("text", ["", "0", "-3", "2.5"])
def test_bad_input_is_said_next_to_the_field(page, text):
    assert set(shown(page, dim=text).values()) == {"none"}
    assert "whole number" in page.inner_text("#explorer-dim-problem")
    assert page.get_attribute("input[name=dim]", "aria-invalid") == "true"
    assert page.is_disabled("#explorer-copy")
    shown(page)
    assert page.inner_text("#explorer-dim-problem") == "" and not page.is_disabled("#explorer-copy")


@in_chromium
def test_the_keyboard_is_enough(page):
    shown(page)
    page.focus("input[name=samples]")
    page.keyboard.press("ArrowUp")
    assert page.input_value("input[name=samples]") == "2049"
    before = page.inner_text("output[name=accuracy]")
    page.keyboard.press("Tab")  # to its slider
    for _ in range(15):
        page.keyboard.press("ArrowRight")
    assert int(page.input_value("input[name=samples]")) > 2150
    assert float(page.inner_text("output[name=accuracy]")) > float(before)
    page.focus("input[name=trigger_in_values]")
    page.keyboard.press("Space")
    assert float(page.inner_text("output[name=accuracy]")) < 0.3
    page.focus("input[name=dim]")
    page.keyboard.press("Control+A")
    page.keyboard.type("128")
    assert "dim=128" in page.url and "trigger_in_values=true" in page.url


@in_chromium
def test_the_address_holds_the_state(page):
    found = shown(page, vocab=500, samples=9000, trigger_in_values=True, width=300)
    address = page.url
    other = page.context.new_page()
    other.goto(address)
    other.wait_for_selector("#explorer-page[data-ready]")
    assert other.url == address
    assert other.inner_text("output[name=accuracy]") == found["accuracy"]
    held = [other.input_value(f"input[name={name}]") for name in ("vocab", "samples", "width")]
    assert held == ["500", "9000", "300"]
    assert other.is_checked("input[name=trigger_in_values]")
    other.close()


@in_chromium
def test_copied_code_gives_what_is_shown(page, capsys):
    for change in ({}, {"width": 200, "trigger_in_values": True}):
        found = shown(page, **change)
        page.click("#explorer-copy")
        page.wait_for_function("document.getElementById('explorer-copied').textContent !== ''")
        code = page.inner_text("#explorer-code")
        namespace = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, namespace)
        assert namespace["setting"] == of.Sizes(**{**RUNNING, **change}).setting
        printed = capsys.readouterr().out.split()
        allowed = CONTENT["provenance"]["width_checks"]["accuracy"]["largest"] if change else CLOSE
        assert float(printed[0]) == pytest.approx(float(found["accuracy"]), abs=allowed)


@in_chromium
def test_complaints_are_accessible_too(html, page):
    tab = browsing.Tab(page.context)
    other = tab.open(
        (html.resolve() / "book/explorer.html").as_uri() + "#vocab=x&dim=2000&seq_len=300&width=9"
    )
    other.wait_for_selector("#explorer-page[data-ready]")
    assert "whole number" in other.inner_text("#explorer-vocab-problem")
    other.add_script_tag(path=browsing.AXE)
    for look in ("phone", "dark", "desktop"):
        tab.put_on(look)
        assert other.evaluate(browsing.VIOLATIONS, browsing.AXE_OPTIONS[look]) == [], look
    other.close()


@in_chromium
def test_without_scripts_there_is_a_picture_and_a_table(html, browser):
    with browser.new_context(java_script_enabled=False) as context:
        still_page = context.new_page()
        still_page.goto((html.resolve() / "book/explorer.html").as_uri())
        assert still_page.is_visible("noscript img") and still_page.is_visible("noscript table")
        assert "rb.predict" in still_page.inner_text("noscript pre")
        assert not still_page.is_visible("#explorer-page")
