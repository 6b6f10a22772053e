"""The built pages in headless Chromium: what a reader sees.

Every page is opened once over a local server, on a desktop and on a phone, and its mathematics, its console and its
width are recorded; one page of each kind is shown in three looks (desktop, desktop in dark mode, phone) and judged by
axe, and `make everything` does so with every page. With SCREENSHOTS=1 a picture of every page in every look it is
shown in goes to _build/screenshots. Skipped, with a printed reason, where Chromium is absent (Debian: `apt-get install
chromium`).
"""

import functools
import http.server
import os
import re
import shutil
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup
from test_latex_outputs import MACROS, configured_macros, listed_macros

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / "tests" / "vendor" / "axe.min.js"
MATHJAX = ROOT / "book" / "_extra" / "_static" / "mathjax" / "tex-chtml-full.js"
# Off by default: they take as long as everything else here.
SCREENSHOTS = ROOT / "_build" / "screenshots" if os.environ.get("SCREENSHOTS", "0") != "0" else None
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt-get install chromium)"),
]

LOOKS = {
    "desktop": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
LAID_OUT = ("desktop", "phone")  # dark mode moves nothing
# What dark mode changes, and axe judges, is colour.
AXE_OPTIONS = {"desktop": {}, "dark": {"runOnly": ["color-contrast"]}, "phone": {}}
# After a change of look: media queries are asked again before a frame, and colours fade over.
SETTLE = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  for (const a of document.getAnimations()) if (a instanceof CSSTransition) a.finish();
}"""
# Text that a reader must not see: TeX that MathJax did not take.
RAW_TEX = re.compile(r"\$\$|\\\(|\\\)|\\\[|\\\]|\\(?:frac|mathbb|hat|tfrac|underbrace|begin|eta)(?![a-z])")
VISIBLE_TEXT = """() => {
  const copy = document.querySelector('article, main, body').cloneNode(true);
  for (const e of copy.querySelectorAll('script, style, pre, code, mjx-container')) e.remove();
  return copy.textContent;
}"""
UNRENDERED = """() => [...document.querySelectorAll('.math')]
  .filter(e => !e.querySelector('mjx-container') && !e.closest('mjx-container'))
  .map(e => e.textContent)"""
# MathJax complains in two ways: with an error, and with the name of an undefined macro in red. (A colour
# that the author asks for is on an element around the text.) The first of a pair is what is drawn.
MATH_ERRORS = """() => [...document.querySelectorAll(
    'mjx-merror, [data-mjx-error], mjx-mtext[style*="color"], mjx-container mtext[mathcolor]')]
  .map(e => 'MathJax: ' + (e.dataset.mjxError || e.textContent || 'red text'))"""
# The control words of every table that MathJax looks a macro up in.
MACRO_TABLES = """() => [...MathJax.startup.document.inputJax[0].parseOptions.handlers.get('macro')._configuration]
  .flatMap(({item}) => [...item.map.keys()].map(name => name.replace(/^\\\\/, '')))
  .filter(name => /^[A-Za-z]+$/.test(name))"""
SIDEWAYS = """() => {
  window.scrollTo(10000, 0);
  const moved = window.scrollX;
  window.scrollTo(0, 0);
  const widest = [...document.querySelectorAll('article *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .slice(0, 3).map(e => e.outerHTML.slice(0, 100));
  return moved > 0 ? [`scrolls by ${moved} pixels`, ...widest] : [];
}"""
HEIGHT = "() => document.querySelector('article, main, body').getBoundingClientRect().height"
TALLEST = 15_000  # pixels: a page is read, not scrolled
# The time of axe goes with the number of elements, and most are the insides of formulas and code, where it
# has nothing to judge. So the page is thinned before: what is drawn of a formula becomes an empty box of the
# same size, what is read aloud of it one piece of text, and of the code tokens with the same classes (their
# own and those around them, so the same colours in every look) the first stands for all. A formula with a
# link or with text in another font, and a token with more than a class, stay.
THIN = """() => {
  const inside = 'mjx-utext, [href], [id], [role], [tabindex]';
  const plain = [...document.querySelectorAll('mjx-container')].filter(e => !e.querySelector(inside));
  const drawn = plain.map(e => e.querySelector('mjx-math')).map(e => [e, e.getBoundingClientRect()]);
  for (const [e, box] of drawn) {
    e.style.cssText += `; display: inline-block; width: ${box.width}px; height: ${box.height}px`;
    e.replaceChildren();
  }
  for (const e of plain) {
    const math = e.querySelector('math');
    const text = document.createElementNS(math.namespaceURI, 'mtext');
    text.textContent = math.textContent;
    math.replaceChildren(text);
  }
  const classes = e => e ? `${classes(e.parentElement)}/${e.className}` : '';
  // Single characters and signs are too little for axe to judge, so they must not stand for words.
  const size = text => Math.min(text.length, 2);
  const kind = e => [classes(e), size(e.textContent.trim()), size(e.textContent.replace(/\\W/g, ''))].join();
  const tokens = [...document.querySelectorAll('pre span, code span, .sig span')].map(e => [e, kind(e)]);
  const seen = new Set();
  for (const [e, name] of tokens) {
    if (seen.has(name) && e.getAttributeNames().every(key => key === 'class')) e.replaceWith(...e.childNodes);
    seen.add(name);
  }
  document.body.normalize();
}"""
VIOLATIONS = """async options => (await axe.run(document, {resultTypes: ['violations'], ...options})).violations
  .filter(v => ['serious', 'critical'].includes(v.impact))
  .flatMap(v => v.nodes.slice(0, 5).map(node => `${v.id}: ${node.html.slice(0, 200)}`))"""


@dataclass
class Visit:
    """What happened when one page was opened and shown in some looks; complaints name the look."""

    page: str
    requests: list = field(default_factory=list)
    console: list = field(default_factory=list)
    raw_tex: list = field(default_factory=list)
    sideways: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    dark: list = field(default_factory=list)
    formulas: int = 0
    height: float = 0  # of the text, on a desktop


@pytest.fixture(scope="module")
def address(html):
    """A local server for the built book."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(html))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium refuses to run its sandbox as root, as in a container.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_page(context, url, visit):
    """Open `url`, wait until its math is drawn, and record requests and console in `visit`."""
    page = context.new_page()
    page.set_default_timeout(300_000)  # a busy machine is no fault of the page
    page.on("request", lambda request: visit.requests.append(request.url))
    page.on("pageerror", lambda error: visit.console.append(str(error)))
    page.on(
        "console",
        lambda message: (
            message.type in ("error", "warning") and visit.console.append(f"{message.type}: {message.text}")
        ),
    )
    page.goto(url, wait_until="load")
    page.evaluate("() => window.MathJax?.startup?.promise")
    # Scripts that wait for the math get their turn too.
    page.evaluate("() => new Promise(done => setTimeout(done, 0))")
    return page


def put_on(page, look):
    page.emulate_media(color_scheme=LOOKS[look]["color_scheme"])
    page.evaluate(SETTLE)
    # Last, because the page's own script acts when the size changes.
    page.set_viewport_size(LOOKS[look]["viewport"])
    page.evaluate(SETTLE)


def visited(context, url, name, pictures=None, judged=True):
    """Open a page and look at it: in every look and with axe, or as its text is laid out; pictures go to a folder."""
    visit = Visit(name)
    page = open_page(context, url, visit)
    for look in LOOKS if judged else LAID_OUT:
        put_on(page, look)
        visit.height = max(visit.height, page.evaluate(HEIGHT) if look == "desktop" else 0)
        raw_tex = RAW_TEX.findall(page.evaluate(VISIBLE_TEXT)) + page.evaluate(UNRENDERED) + page.evaluate(MATH_ERRORS)
        visit.raw_tex += [f"{look}: {text}" for text in raw_tex]
        visit.sideways += [f"{look}: {line}" for line in page.evaluate(SIDEWAYS)]
        visit.dark += [look] * (page.evaluate("() => document.documentElement.dataset.theme") == "dark")
        if pictures:
            file = pictures / f"{name.removesuffix('.html').replace('/', '-')}-{look}.png"
            page.screenshot(path=file, full_page=True)
    visit.formulas = page.locator("mjx-container").count()
    if judged:
        judge(page, visit)
    page.close()
    return visit


def judge(page, visit):
    """What axe says of a page in every look."""
    page.evaluate(THIN)
    page.add_script_tag(path=AXE)
    # Backwards, because the page wears the last look.
    for look in reversed(LOOKS):
        put_on(page, look)
        visit.violations += [f"{look}: {line}" for line in page.evaluate(VIOLATIONS, AXE_OPTIONS[look])]


def page_names(html):
    """Every page, the largest first; the top index.html is left out, it only forwards to book/index.html."""
    paths = sorted(html.rglob("*.html"), key=lambda path: (-path.stat().st_size, path))
    names = [path.relative_to(html) for path in paths]
    kept = [name.as_posix() for name in names if "_static" not in name.parts]
    return [name for name in kept if name != "index.html"]


def kind(name):
    """Pages of one kind are made by one template from sources of one form: they share what axe judges."""
    if name.startswith("notebooks/"):
        return "appendix" if "/appendix_" in name else "chapter"
    folder = name.rpartition("/")[0]
    # what Sphinx writes by itself, the landing page, and the page with a script of its own are kinds of their own
    return folder if folder and name not in ("book/index.html", "book/explorer.html") else name


def one_of_each_kind(names):
    """The smallest page of each kind, of names that are sorted from the largest on."""
    return list({kind(name): name for name in names}.values())


@pytest.fixture(scope="class")
def visits(request, html, browser, address):
    """The pages of a class of tests, each opened once."""
    context = browser.new_context(**LOOKS["desktop"])
    every = page_names(html)
    chosen = one_of_each_kind(every)
    judged, names = request.cls.judged, request.cls.choose(every, chosen)
    record = [visited(context, address + name, name, SCREENSHOTS, judged) for name in names]
    context.close()
    assert record
    return record


def complaints(visits, attribute):
    return {visit.page: found for visit in visits if (found := getattr(visit, attribute))}


class Pages:
    judged = False

    def test_math_is_rendered(self, visits):
        assert complaints(visits, "raw_tex") == {}
        assert [v.page for v in visits if v.page.startswith("notebooks/") and v.formulas == 0] == []

    def test_console_is_clean(self, visits):
        assert complaints(visits, "console") == {}

    def test_no_request_leaves_the_machine(self, visits):
        hosts = Counter(urlsplit(request).hostname for v in visits for request in v.requests)
        # data: addresses have no host.
        assert set(hosts) - {None} == {"127.0.0.1"}, hosts

    def test_no_page_scrolls_sideways(self, visits):
        assert complaints(visits, "sideways") == {}

    def test_no_page_is_too_long(self, visits):
        assert {visit.page: visit.height for visit in visits if not 0 < visit.height <= TALLEST} == {}


class JudgedPages(Pages):
    judged = True

    def test_no_serious_accessibility_violation(self, visits):
        assert {tuple(v.dark) for v in visits} == {("dark",)}
        assert complaints(visits, "violations") == {}


# Classes, because pytest-xdist with `--dist loadscope` keeps a class, or what is left of a module,
# in one worker: two workers share the pages.


class TestOnePageOfEachKind(JudgedPages):
    @staticmethod
    def choose(every, chosen):
        return chosen


class TestOneHalfOfTheOtherPages(Pages):
    @staticmethod
    def choose(every, chosen):
        return [name for name in every if name not in chosen][::2]


class TestOtherHalfOfTheOtherPages(Pages):
    @staticmethod
    def choose(every, chosen):
        return [name for name in every if name not in chosen][1::2]


@pytest.mark.nightly
class TestOneHalfOfThePagesInEveryLook(JudgedPages):
    @staticmethod
    def choose(every, chosen):
        return every[::2]


@pytest.mark.nightly
class TestOtherHalfOfThePagesInEveryLook(JudgedPages):
    @staticmethod
    def choose(every, chosen):
        return every[1::2]


def test_search_finds_a_word_of_each_chapter(html, browser, address):
    words = {}
    for path in sorted((html / "notebooks").glob("*.html")):
        article = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").article
        text = " ".join(p.get_text() for p in article.find_all("p"))
        words[path.stem] = set(re.findall(r"\b[a-z]{7,12}\b", text))
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(300_000)  # a busy machine is no fault of the page
    for stem, own in words.items():
        word = min(sorted(own), key=lambda one: (sum(one in other for other in words.values()), -len(one)))
        page.goto(f"{address}search.html?q={word}")
        link = page.locator(f'#search-results li a[href*="{stem}.html"]').first
        link.wait_for(timeout=10_000)
        assert link.is_visible(), word
    context.close()


@pytest.fixture(scope="module")
def from_disk(html, browser):
    """A page opened as a file, without any server, by a reader who prefers dark pages."""
    context = browser.new_context(**LOOKS["dark"])
    visit = Visit("book/notation.html")
    yield open_page(context, (html.resolve() / visit.page).as_uri(), visit), visit
    context.close()


def test_pages_work_from_disk(from_disk):
    page, visit = from_disk
    assert page.locator("mjx-container").count() > 10
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert [request for request in visit.requests if urlsplit(request).scheme not in ("file", "data")] == []


def test_listed_macros_are_those_of_mathjax(from_disk, tmp_path):
    found = set(from_disk[0].evaluate(MACRO_TABLES)) - configured_macros()
    fresh = tmp_path / MACROS.name
    comment = MACROS.read_text(encoding="utf-8").splitlines()[0]
    fresh.write_text("\n".join([comment, *sorted(found)]) + "\n", encoding="utf-8")
    assert found == listed_macros(), f"the list is stale, {fresh} is not"


# The looks themselves: a page with every fault is reported for each


FAULTY = r"""<!doctype html><html lang="en"><head><title>Faulty</title><style>
@media (max-width: 600px) { .wide { width: 2000px } }
@media (prefers-color-scheme: dark) { .dim { color: #777; background: #666 } }
.faint { color: #aaa }
</style><script>MathJax = {options: {enableMenu: false, ignoreHtmlClass: "raw"}}</script>
<script defer src="MATHJAX"></script></head><body><article>
<p class="raw">Raw $$ \frac12 $$</p><p class="math raw">x</p><p>\(w \approxT x\) and \(\left( x\)</p>
<div class="wide">wide</div><p class="dim">dim</p><p>\(\href{#}{x}\)</p>
<pre><span class="faint">=</span> <span class="faint">so</span> <span class="faint">on</span></pre>
<div style="width: 100px; overflow-x: auto">\[x + x + x + x + x + x + x + x + x\]</div>
<img src="missing.png"><button></button><div style="height: TALLESTpx"></div>
<script>console.error("broken")</script></article></body></html>"""


def test_a_faulty_page_is_noticed(tmp_path, browser):
    path = tmp_path / "faulty.html"
    path.write_text(FAULTY.replace("MATHJAX", MATHJAX.as_uri()).replace("TALLEST", str(TALLEST)), encoding="utf-8")
    context = browser.new_context(**LOOKS["desktop"])
    visit = visited(context, path.as_uri(), path.name)
    context.close()
    texts = ["$$", "\\frac", "x", "MathJax: red text", "MathJax: \\approxT", "MathJax: Extra \\left or missing \\right"]
    assert {f"{look}: {text}" for look in LOOKS for text in texts} <= set(visit.raw_tex)
    assert any("broken" in line for line in visit.console)
    assert visit.height > TALLEST
    assert {line.split(": ")[0] for line in visit.sideways} == {"phone"}
    rules = ["image-alt", "button-name", "aria-hidden-focus", "scrollable-region-focusable"]
    found = {tuple(line.split(": ")[:2]) for line in visit.violations}
    assert {(look, rule) for look in ("desktop", "phone") for rule in rules} <= found
    assert [line for line in visit.violations if "dim" in line] == ['dark: color-contrast: <p class="dim">dim</p>']
    # Of equal code tokens one stands for all.
    token = 'color-contrast: <span class="faint">so</span>'
    assert {line for line in visit.violations if "faint" in line} == {f"{look}: {token}" for look in LOOKS}
