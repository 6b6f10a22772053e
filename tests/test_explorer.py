"""The page on which a reader moves the sizes: its table, its scripts, and what it does in
Chromium."""

import itertools
import json
import math
import re
import warnings
from dataclasses import replace
from urllib.parse import urlencode

import moves_data
import numpy as np
import pandas as pd
import pytest
import test_browser as browsing
from hypothesis import Phase, assume, given, settings as profile
from rounding import close
from scipy.stats import norm
from settings import EQUAL, across, settings, thorough
from sized import marked, sized

import recallbook as rb
from recallbook_studies import laws
from recallbook_studies.ch02 import retrieval
from recallbook_studies.error_map import QUANTITIES
from recallbook_studies.explorer import cases as of, scripts, table
from recallbook_theory import trained
from recallbook_theory.bounds.coverage import coverage_samples
from recallbook_theory.expected_errors import LARGE, expected_errors
from recallbook_theory.symbolic import expressions as symbols

CONTENT = table.load()
# Errors of the page against rb.predict of which it says how many of a hundred lie within them
NEAR, FAR = {90: 0.015, 100: 0.06}, {90: 0.05, 100: 0.2}  # without and with an MLP
APART = 0.05  # gains of two terms between which the page tells for certain which is larger
RUNNING = {"vocab": 256, "seq_len": 128, "dim": 96, "samples": 2048, "trigger_in_values": False}
REST = {"activation": "relu", "width": None, "learner": "three steps"}
SPAN = {"vocab": (32, 4096), "seq_len": (2, 1024), "dim": (16, 1024), "samples": (4, 4096000)}
PLAIN = {**EQUAL, "embeddings": "gaussian", "width": None, "activation": "relu"}
OF_PAGE = settings(**PLAIN, **{name: across(*ends) for name, ends in SPAN.items()}).filter(
    lambda s: s.vocab / 64 < s.samples < 1000 * s.vocab
)


def some(count):
    """So many settings of the page, over all that its table holds."""
    examples = profile(thorough, max_examples=count, derandomize=True, phases=[Phase.generate])
    return lambda test: examples(given(sizes=OF_PAGE)(test))


def fields(setting):
    """Those of a setting that the page has, by name."""
    return {name: getattr(setting, name) for name in of.FIELDS.split()}


def truth(sizes):
    """The package's own prediction, by name."""
    found = rb.predict(sizes, warn=False)
    return {name: getattr(found, name) for name in QUANTITIES}


# The table


def test_it_says_where_it_comes_from():
    provenance = CONTENT["provenance"]
    assert provenance["tables_sha256"] == table.digest(CONTENT["tables"])
    assert provenance["version"] == rb.__version__
    assert provenance["predictions"] == sum(1 for _ in of.cases())


@pytest.mark.slow
def test_what_is_made_from_expressions_is_up_to_date():
    assert (table.FOLDER / "formulas.js").read_text(encoding="utf-8") == scripts.formulas()
    made = scripts.facts()
    assert close(json.dumps(made), json.dumps({name: CONTENT[name] for name in made}))


@pytest.mark.slow
def test_rows_make_the_tables_that_the_page_holds():
    """Axes and fields are the committed ones, whatever is predicted."""
    rows = pd.DataFrame(of.cases()).assign(accuracy=0.4, lock_on=0.8, recall=0.5)
    for made, held in zip(table.data(rows)["tables"], CONTENT["tables"], strict=True):
        assert {*made} == {*held}
        for name, part in made.items():
            assert {**part, "data": ""} == {**json.loads(json.dumps(held[name])), "data": ""}, name


# The page in Chromium


@pytest.fixture(scope="module")
def tab(html, browser):
    """The page opened from the disk, with a clipboard, in a browser of 2020."""
    with browser.new_context(**browsing.LOOKS["desktop"]) as context:
        context.add_init_script("delete Array.prototype.at")
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


# The least share of numbers, sliders and a chart that is inside the window.
IN_VIEW = """chart => {
  document.querySelector(chart).scrollIntoView({block: 'end'});
  return Math.min(...[...document.querySelectorAll(`output, input[data-size], ${chart}`)].map(e => {
  const box = e.getBoundingClientRect();
  return (Math.min(box.bottom, innerHeight) - Math.max(box.top, 0)) / box.height;
}))}"""
PIECES = {"wall", "shoulder", "slope", "floor"}
# Names on the map that a reader sees, and those of them that the dot touches or the line crosses.
NAMES = """() => {
  const line = document.querySelector('.explorer-level'), place = line.getScreenCTM(), length = line.getTotalLength();
  const dot = document.querySelector('.explorer-dot circle:last-child').getBoundingClientRect();
  const points = Array.from({length: 500}, (_, i) => line.getPointAtLength(i * length / 500).matrixTransform(place));
  const boxes = [dot, ...points.map(({x, y}) => ({left: x, right: x, top: y, bottom: y}))];
  return [...document.querySelectorAll('#explorer-map .explorer-name')]
    .filter(e => e.checkVisibility({checkVisibilityCSS: true}))
    .map(e => [e.textContent, e.getBoundingClientRect()]).map(([words, box]) => [words, boxes.some(other =>
      other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top)]);
}"""
# Numbers and words that are cut or broken, and where the sliders are.
ROOM = """() => [
  [...document.querySelectorAll('.explorer-panel :is(input, output)')].filter(e =>
    e.matches('input') ? e.scrollWidth > e.clientWidth + 1 : e.offsetHeight > 30).map(e => e.name),
  [...document.querySelectorAll('input[data-size]')].map(e => e.offsetTop)]"""
SMALL = """() => [...document.querySelectorAll('#explorer-page :is(input, select, button, summary, .explorer-dot)')]
  .filter(e => e.checkVisibility()).map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
  .filter(([, box]) => box.height < 44 || box.width < 44).map(([words]) => words)"""
WORDS = """() => [...document.querySelectorAll('article :is(p, li)')]
  .filter(e => e.checkVisibility() && !e.closest('svg, .explorer-legend, .explorer-values, .explorer-spoken'))
  .map(e => e.innerText).join(' ').split(/\\s+/).length"""
SET = """sizes => {
  for (const [name, value] of Object.entries(sizes)) {
    const field = document.querySelector(`[name="${name}"]:not(output)`);
    if (field.type === 'checkbox') field.checked = value; else field.value = value ?? '';
    field.dispatchEvent(new Event('input', {bubbles: true}));
    field.dispatchEvent(new Event('change', {bubbles: true}));
  }
  const read = name => document.querySelector(`output[name="${name}"]`).textContent;
  return Object.fromEntries(['accuracy', 'lock_on', 'recall', 'phase'].map(name => [name, read(name)]));
}"""


def shown(page, **change):
    """What the page shows at the running setting with other sizes."""
    sizes = {**RUNNING, **REST, **change}
    return page.evaluate(SET, sizes)


def value(page, name):
    return int(page.input_value(f"input[name={name}]"))


def in_chromium(function):
    for mark in browsing.pytestmark:
        function = mark(function)
    return function


def misses(page, every):
    """Errors of what the page's script predicts: in accuracy, lock-on and recall, ``(settings,
    3)``."""
    found = page.evaluate("all => all.map(explorer.predict)", [fields(sizes) for sizes in every])
    pairs = zip(found, map(truth, every), strict=True)
    return np.array([[abs(one[name] - two[name]) for name in QUANTITIES] for one, two in pairs])


@in_chromium
@pytest.mark.parametrize(
    ("kind", "near"),
    [("", NEAR), *(pytest.param(kind, FAR, marks=pytest.mark.nightly) for kind in of.ACTIVATIONS)],
)
def test_predictions_are_as_near_as_the_page_says(page, kind, near):
    ends = np.log([*list(SPAN.values())[:3], (1 / 32, 900), of.RATIOS]).T
    tried = np.exp(np.random.default_rng(5).uniform(*ends, (24 if kind else 90, 5))).tolist()
    kept = [
        (marked if i % 2 else sized)(int(v), int(n), int(d), max(3, round(v * q)))
        for i, (v, n, d, q, _) in enumerate(tried)
    ]
    if kind:
        widths = [round(sizes.dim * row[-1]) for sizes, row in zip(kept, tried, strict=True)]
        kept = [replace(s, width=m, activation=kind) for s, m in zip(kept, widths, strict=True)]
    found = misses(page, kept)
    for share, most in near.items():
        print(f"{kind or 'no MLP'}: {share} of 100 within", np.percentile(found, share, axis=0))
        assert np.percentile(found, share, axis=0).max() <= most
    read = shown(page, **fields(kept[0]))
    for name, share in page.evaluate("explorer.predict", fields(kept[0])).items():
        assert name not in QUANTITIES or abs(float(read[name]) - share) <= 0.0101, "two digits"


# Settings, some with a learner of their own, what the package says of them, and how near
GOLDEN = [
    ((802, 80, 44, 9526), {"learner": "trained"}, 0.05),
    ((256, 128, 96, 2048), {}, 0.01),  # the start
    ((4096, 16, 512, 4096), {}, 0.01),  # the shelf, whose numbers the page names
    ((4096, 16, 512, 8192), {}, 0.01),
]


@in_chromium
@pytest.mark.parametrize(("sizes", "choice", "near"), GOLDEN)
def test_golden_settings(page, sizes, choice, near):
    setting = sized(*sizes)
    expected = (
        rb.predict_trained(setting, warn=False)
        if "learner" in choice
        else rb.predict(setting, warn=False)
    )
    found = page.evaluate("explorer.predict", {**fields(sized(*sizes)), **choice})
    assert found["accuracy"] == pytest.approx(expected.accuracy, abs=near)


@in_chromium
@some(4)
def test_what_binds_is_what_the_package_says(page, sizes):
    before = rb.predict(sizes, warn=False)
    gains = {
        name: rb.predict(sizes, without=(name,), warn=False).accuracy for name in before.ledger
    }
    first, second = sorted(gains.values(), reverse=True)[:2]
    phase = shown(page, **fields(sizes))["phase"]
    if first - before.accuracy < 0.003:
        assert phase == ("nothing binds" if before.accuracy > 0.9 else "nothing alone")
    assume(first - second > APART)
    assert phase == max(gains, key=gains.get)


@in_chromium
@some(12)
def test_ledger_logits_and_lower_bounds_are_those_of_the_package(page, sizes):
    names = "ledgerOf", "necessary", "logitsOf"
    asked = f"s => [{', '.join(f'explorer.{name}(s)' for name in names)}]"
    ledger, necessary, logits = page.evaluate(asked, fields(sizes))
    terms = rb.predict(sizes, warn=False).ledger
    expected = dict(terms)
    assert {term["name"]: term["size"] for term in ledger} == pytest.approx(
        expected, rel=1e-6, abs=1e-12
    )
    assert necessary == pytest.approx(coverage_samples(sizes.vocab, 0.9), rel=1e-6)
    spread = math.sqrt(sum(expected[name] for name in CONTENT["recall_terms"]))
    spread *= 1 - math.exp(-sizes.samples / sizes.vocab)  # of a fact that was seen
    reach = spread * norm.ppf(0.5 ** (1 / (sizes.vocab - 1)))
    assert logits["once"] <= 1
    assert [logits["spread"], logits["reach"]] == pytest.approx([spread, reach], rel=1e-3)


@in_chromium
def test_marks_are_those_of_the_package(page):
    critical = page.evaluate("s => explorer.critical(s)", {**RUNNING, "width": None})
    reached = truth(rb.Setting(**{**RUNNING, "samples": round(critical)}))["accuracy"]
    assert reached == pytest.approx(CONTENT["accuracy"], abs=0.01)
    proved = CONTENT["sufficient"][0]
    assert (
        page.evaluate("s => explorer.sufficient(s).sufficient", {**proved, "width": None})
        == proved["sufficient"]
    )
    marks = page.evaluate("s => explorer.marks(s)", {**RUNNING, "width": None})
    (attention,) = (mark["samples"] for mark in marks if mark["name"] == "attention")
    assert attention == pytest.approx(
        symbols.numeric(laws.cliff())({symbols.L: 128, symbols.d: 96}), rel=1e-6
    )


@in_chromium
@some(24)
def test_expected_errors_are_those_of_the_package(page, sizes):
    for lock_on, width in itertools.product((0.1, 0.5), (None, sizes.dim // 2 + 1, 4 * sizes.dim)):
        chosen = replace(sizes, width=width, activation="he3" if sizes.vocab % 2 else "relu")
        outcomes = {"accuracy": 0.6 * lock_on, "lock_on": lock_on, "recall": 0.6}
        given = [fields(chosen), outcomes]
        found = page.evaluate("([s, found]) => explorer.expectedErrors(s, found)", given)
        expected = expected_errors(chosen, outcomes)
        assert found == pytest.approx(expected, rel=1e-6)
        said = page.evaluate("([s, found]) => explorer.doubts(s, found)", given)
        few = 2 * chosen.samples < chosen.vocab
        assert (said != "") == (few or max(expected.values()) > LARGE), chosen


@in_chromium
@some(24)
def test_expected_errors_of_training_to_the_end_are_those_of_the_package(page, sizes):
    outcomes = {"accuracy": 0.5, "lock_on": 0.8, "recall": 0.6}
    given, chosen = trained.variables(0.6), fields(sizes) | {"learner": "trained"}
    ask = "([s, found, given]) => explorer.expectedErrors(s, found, given)"
    found = page.evaluate(ask, [chosen, outcomes, given])
    expected = expected_errors(sizes, outcomes, trained.TABLE, **given)
    assert found == pytest.approx(expected, rel=1e-6)


@in_chromium
@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((256, 64, 42, 1024), "near the load"),
        ((256, 128, 64, 160), "few, long"),
        ((256, 8, 128, 4096), ""),
    ],
)
def test_why_training_to_the_end_is_in_doubt(page, sizes, reason):
    setting = sized(*sizes)
    chosen = fields(setting) | {"learner": "trained"}
    said = page.evaluate("s => explorer.doubts(s, explorer.predict(s))", chosen)
    assert reason in said and bool(reason) == bool(said)
    errors = rb.predict_trained(setting, warn=False).expected_error
    size = max(errors.accuracy, errors.recall)
    assert (size > trained.LARGE) == bool(reason)
    assert not reason or float(re.search("by (0[.0-9]+)", said)[1]) == pytest.approx(size, abs=0.02)


@in_chromium
@pytest.mark.parametrize(("name", "size"), [("d", 2000), ("V", 20), ("N", 3), ("L", 1), ("m", 9)])
def test_outside_the_table_there_are_words_and_no_number(page, name, size):
    field = {**dict(zip("VLdN", RUNNING, strict=False)), "m": "width"}[name]
    assert set(shown(page, **{field: size}).values()) == {"outside"}
    assert page.evaluate(ROOM)[0] == []
    assert f"{name} = {size} is outside the table" in page.inner_text("#explorer-beyond")


@in_chromium
@pytest.mark.parametrize("text", ["", "0", "2.5"])
def test_bad_input_is_said_next_to_the_field(page, text):
    assert set(shown(page, dim=text).values()) == {"none"}
    assert "whole number" in page.inner_text("#explorer-dim-problem")
    assert page.get_attribute("input[name=dim]", "aria-invalid") == "true"
    assert page.is_disabled("#explorer-copy")
    shown(page)
    assert page.inner_text("#explorer-dim-problem") == ""


@in_chromium
def test_arrow_keys_move_every_size_by_one_at_least(page):
    press = page.keyboard.press
    for name, size in itertools.product([*RUNNING][:4], (33, 96, 250)):
        shown(page, **{name: size})
        page.focus(f"input[data-size={name}]")
        press("ArrowRight")
        assert size < value(page, name) <= 1.03 * size + 1, (name, size)
        press("ArrowLeft")
        assert value(page, name) == size
        press("ArrowLeft")
        assert value(page, name) < size, (name, size)


@in_chromium
def test_the_keyboard_is_enough(page):
    press = page.keyboard.press
    shown(page)
    page.focus("#explorer-curve")
    for key in ("PageUp", "ArrowDown", "ArrowUp", "PageDown"):
        press(key)
    assert value(page, "samples") == 2048
    page.focus("#explorer-map .explorer-dot")
    high = page.evaluate("scrollY")
    press("Home")
    assert (value(page, "dim"), page.evaluate("scrollY")) == (16, high)
    shown(page)
    press("ArrowUp")
    press("ArrowRight")
    page.evaluate("() => new Promise(requestAnimationFrame)")  # pictures follow once a frame
    assert "d = 102, N = 2,151" in page.inner_text("#explorer-map-values")
    page.focus("input[name=trigger_in_values]")
    press("Space")
    assert float(page.inner_text("output[name=accuracy]")) < 0.3
    assert "samples=2151" in page.url and "trigger_in_values=true" in page.url


@in_chromium
def test_the_task_is_solved_by_one_size(page):
    """By V, d or N, and not by L."""
    for change in ({"vocab": 80}, {"dim": 150}, {"samples": 8192}):
        shown(page, **change)
        assert "Done" in page.inner_text("#explorer-task"), change
        assert truth(rb.Setting(**{**RUNNING, **change}))["accuracy"] > 0.9
    for change in ({"seq_len": 2}, {"dim": 100}):
        shown(page, **change)
        assert "accuracy 0." in page.inner_text("#explorer-task"), change
    shown(page, vocab=200, dim=200)
    assert "V and d have changed" in page.inner_text("#explorer-task")
    page.click("#explorer-reset")
    assert value(page, "samples") == 2048 and "0.69" in page.inner_text("#explorer-task")
    page.wait_for_timeout(700)  # what follows a pause can be taken back
    shown(page, dim=400)
    page.click("#explorer-undo")
    page.wait_for_function("document.querySelector('input[name=dim]').value === '96'")


@in_chromium
def test_the_dot_is_dragged_and_values_show_under_the_pointer(page):
    shown(page)
    dot = page.locator("#explorer-map .explorer-dot")
    dot.scroll_into_view_if_needed()
    page.evaluate(browsing.SETTLE)
    x, y, width, height = dot.bounding_box().values()
    at = x + width / 2
    for shift, up, dim in ((60, 4, 150), (-57, 4, 96)):  # near to its start the dot snaps to it
        page.mouse.move(at, y + height / 2)
        page.mouse.down()
        page.mouse.move(at + shift, y + height / 2 + up)
        page.mouse.up()
        at += shift
        assert (value(page, "dim"), value(page, "samples")) == (pytest.approx(dim, abs=5), 2048)
    page.evaluate(browsing.SETTLE)
    page.mouse.move(x, y)
    assert "d = 96," not in page.inner_text("#explorer-map-values")


@in_chromium
@pytest.mark.parametrize("look", ["phone", "desktop"])
def test_regions_and_the_line_have_names(tab, page, look):
    tab.put_on(look)
    for sizes in ({}, {"dim": 140}, {"vocab": 1024, "dim": 160}):
        phase = shown(page, **sizes)["phase"]
        page.evaluate(browsing.SETTLE)
        assert page.inner_text("#explorer-map-values").endswith((f"; {phase}", "; solved"))
        names = dict(page.evaluate(NAMES))
        assert {"wall"} <= {*names} <= PIECES and not any(names.values()), sizes
        assert f"{phase}:" in page.inner_text("#explorer-map-legend") or phase == "nothing binds"


@in_chromium
def test_pieces_of_the_line_are_what_they_are_called(page):
    line = page.evaluate("explorer.level(explorer.START, 44)")
    pieces = {at["piece"]: at for at in reversed(line)}
    assert {*pieces} >= PIECES
    assert pieces["floor"]["samples"] == pytest.approx(coverage_samples(256, 0.9), rel=0.1)
    left = sized(256, 128, int(0.95 * pieces["wall"]["dim"]), 256_000)
    assert truth(left)["accuracy"] < 0.9
    fixed = {"trigger_in_values": False, "warn": False}
    longer = {
        piece: rb.critical_samples(256, 128, dim, **fixed)
        / rb.critical_samples(256, 2, dim, **fixed)
        for piece, dim in ((name, round(pieces[name]["dim"])) for name in ("shoulder", "slope"))
    }
    assert longer["shoulder"] < 1.1 < longer["slope"]


@in_chromium
def test_settings_to_start_from_are_as_their_words_say(page):
    """The two whose words have numbers, and all lie inside the table."""
    links = page.evaluate(
        "[...document.querySelectorAll('#explorer-page a[href^=\"explorer.html\"]')].map(a => a.search)"
    )
    assert len(links) == 6
    for said, before, change in (
        (
            "0.29 to 0.91",
            {"samples": 8192, "trigger_in_values": True},
            {"trigger_in_values": False},
        ),
        (
            "0.60 to 0.66",
            {"vocab": 4096, "seq_len": 16, "dim": 512, "samples": 4096},
            {"samples": 8192},
        ),
    ):
        found = [float(shown(page, **now)["accuracy"]) for now in (before, {**before, **change})]
        assert [float(x) for x in said.split(" to ")] == pytest.approx(found, abs=0.0051)
        assert said in page.content()


@in_chromium
def test_what_makes_no_difference_cannot_be_chosen(page):
    shown(page, width=200, activation="he3")
    assert page.is_disabled("option[value=trained]") and page.is_hidden("#explorer-steps")
    assert "without an MLP" in page.inner_text("#explorer-no-steps")
    shown(page)
    assert page.is_disabled("input[name=width]") and page.is_visible("#explorer-steps")
    shown(page, learner="trained")
    assert page.is_disabled("select[name=activation]")


@in_chromium
def test_n_stays_inside_the_table_when_v_moves(page):
    shown(page, samples=200_000)
    page.focus("input[data-size=vocab]")
    page.keyboard.press("Home")
    assert (value(page, "vocab"), value(page, "samples")) == (32, 32_000)
    page.select_option("select[name=activation]", "he3")
    assert value(page, "width") == 384 and page.is_visible("#explorer-charts")


@in_chromium
def test_the_address_holds_the_state(html, tab):
    address = (html.resolve() / "book/explorer.html").as_uri()
    sizes = {"vocab": 64, "samples": 900, "width": 300}
    said = urlencode({**sizes, "trigger_in_values": "true", "activation": "he3"})
    other = tab.page.context.new_page()
    for sign in "?#":
        other.goto(address + sign + said)
        other.wait_for_selector("#explorer-page[data-ready]")
        assert {name: value(other, name) for name in sizes} == sizes
        assert "?" not in other.url and "true&width=300&activation=he3" in other.url
    other.close()


@in_chromium
def test_on_a_phone_controls_stay_beside_the_charts(html, browser):
    with browser.new_context(**browsing.LOOKS["phone"]) as context:
        phone = context.new_page()
        phone.goto((html.resolve() / "book/explorer.html").as_uri())
        phone.wait_for_selector("#explorer-page[data-ready]")
        for chart in ("map", "curve", "cloud"):
            assert phone.evaluate(IN_VIEW, f"#explorer-{chart}") > 0.9, chart
        assert phone.evaluate(SMALL) == []
        assert phone.evaluate(WORDS) <= 300
        places = phone.evaluate(ROOM)[1]
        for sizes in ({"samples": 8192}, {"vocab": 4096, "samples": 4_096_000}):
            assert shown(phone, **sizes) and phone.evaluate(ROOM) == [[], places]


@in_chromium
def test_copied_code_gives_what_is_shown(page, capsys):
    for change in ({}, {"width": 200, "activation": "he3"}):
        found = shown(page, **change)
        page.click("#explorer-copy")
        page.wait_for_function("document.getElementById('explorer-copied').textContent !== ''")
        code = page.inner_text("#explorer-code")
        namespace = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, namespace)
        assert namespace["setting"] == rb.Setting(**{**RUNNING, **change})
        printed = capsys.readouterr().out.split()
        assert float(printed[0]) == pytest.approx(float(found["accuracy"]), abs=0.06)


@in_chromium
def test_without_scripts_there_is_the_call(html, browser):
    with browser.new_context(java_script_enabled=False) as context:
        still_page = context.new_page()
        still_page.goto((html.resolve() / "book/explorer.html").as_uri())
        assert "rb.predict" in still_page.inner_text("noscript pre")
        assert not still_page.is_visible("#explorer-page")


# Figures that move in chapters: the numbers of each, by the package


def lock_on(page, N, L, d, V):
    setting = rb.Setting(vocab=V, seq_len=L, dim=d, samples=N, trigger_in_values=False)
    r = rb.predict(setting, warn=False).ratio
    others, (own, weight) = V * (1 - (1 - 1 / V) ** (L - 1)), np.polynomial.hermite_e.hermegauss(99)
    won = weight @ norm.cdf(math.sqrt(2) * own + r) ** others / weight.sum()
    return {"r": r, "threshold": math.sqrt(2 * math.log(others)), "lockOn": won}


def memory(page, n, d):
    tables = page.evaluate("Object.values(moves.figures.memory.tables()).map(x => Array.from(x))")
    Z, U = (np.reshape(table, (-1, 128))[:n, :d] / math.sqrt(d) for table in tables)
    logits = U @ (U.T @ Z) @ Z.T
    terms = retrieval.competitor_variance("gaussian")
    spread = math.sqrt(sum(term.subs({retrieval.n: n, symbols.d: d}) for term in terms.values()))
    known = sum(logits.argmax(axis=0) == range(n))
    return {"right": logits[0, 0], "largest": logits[1:, 0].max(), "known": known, "spread": spread}


def product(page, L, d):
    dims, at = moves_data.DIMS, moves_data.DIMS.index(d)
    near = dims[at + 1 if d < dims[-1] else at - 1]
    places = (L, d), (L, near), (2 * L, d)
    here, *others = (moves_data.critical("accuracy", *at) for at in places)
    a, b = np.log(np.divide(others, here)) / np.log([near / d, 2])
    return {"N": here, "a": a, "b": b}


def neurons(page, activation, m):
    overlap = moves_data.NEURONS_DIM**-0.5
    recall = moves_data.recall_of(activation, m)
    return {"typical": overlap ** int(activation[-1]), "recall": recall}


def frequent(page, exponent, bias):
    share = rb.predict(moves_data.zipf(exponent, bias), warn=False).lock_on
    return {"first": moves_data.token_scores(exponent, bias)[0], "lockOn": share}


MOVING = [  # chapter, figure, its numbers, two places of its sliders
    ("05_when_attention_locks_on", lock_on, [[2048, 128, 96, 256], [256, 8, 24, 64]]),
    ("02_embeddings_that_interfere", memory, [[256, 96], [777, 32]]),
    ("09_does_it_multiply", product, [[8, 56], [8, 512]]),
    ("07_the_mlp_as_memory", neurons, [["he3", 512], ["he2", 64]]),
    ("11_when_facts_are_not_equal", frequent, [[1, "none"], [0.5, "trained"]]),
]
AT = """([name, places]) => { const {sliders, numbers} = moves.figures[name], letters = Object.keys(sliders);
  return places.map(place => numbers(Object.fromEntries(letters.map((letter, i) => [letter, place[i]]))));
}"""


@in_chromium
@pytest.mark.parametrize(
    ("chapter", "numbers", "places"),
    [MOVING[0], *(pytest.param(*one, marks=pytest.mark.nightly) for one in MOVING[1:])],
)
def test_a_figure_moves_and_says_what_the_package_does(html, browser, chapter, numbers, places):
    with browser.new_context(**browsing.LOOKS["phone"]) as context:
        tab = browsing.Tab(context)
        page = tab.open((html.resolve() / f"notebooks/{chapter}.html").as_uri())
        for place, found in zip(
            places, page.evaluate(AT, [numbers.__name__.replace("_", "-"), places]), strict=True
        ):
            right = numbers(page, *place)
            assert {name: found[name] for name in right} == pytest.approx(
                right, abs=0.005, rel=0.001
            )
        words = page.locator(".moves-words")
        before = words.inner_text()
        page.locator(".moves input").first.press("ArrowLeft")
        page.evaluate(browsing.SETTLE)
        assert (
            words.inner_text() != before and not page.locator("figure:has(.moves) img").is_visible()
        )
        page.get_by_role("button", name="As printed").click()
        assert page.locator("figure:has(.moves) img").is_visible() and not words.is_visible()
