"""The built pages in headless Chromium: what a reader sees.

One page of each kind is opened over a local server, shown in three looks (desktop, desktop in dark
mode, phone) and judged by axe; of half of the other chapters the mathematics, the console and the
width are recorded on a desktop. `make everything` shows and judges every page. Pages follow one
another in one tab, which keeps the scripts compiled: that is half of their time. With
SCREENSHOTS=1 a picture of every page in every look it is shown in goes to _build/screenshots.
Skipped, with a printed reason, where Chromium is absent (Debian: `apt-get install chromium`)."""

import functools
import http.server
import os
import re
import threading
import tomllib
from collections import Counter, defaultdict
from urllib.parse import urlencode, urlsplit

import measure
import pytest
from conftest import CHROMIUM, ROOT
from figures import text_sizes
from test_latex_outputs import MACROS, configured_macros, listed_macros
from test_main_line import DONE

AXE = ROOT / "tests" / "vendor" / "axe.min.js"
MATHJAX = ROOT / "book" / "_extra" / "_static" / "mathjax" / "tex-chtml-full.js"
# Off by default: they take as long as everything else here.
SCREENSHOTS = ROOT / "_build" / "screenshots" if os.environ.get("SCREENSHOTS", "0") != "0" else None
PATIENCE = 120_000  # milliseconds: a busy machine is no fault of the page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="Chromium is not installed (Debian: apt-get install chromium)"
    ),
]

LOOKS = {
    "desktop": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "tablet": {"viewport": {"width": 768, "height": 900}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
DAILY = (
    "desktop",
)  # one page of each kind is seen in every look; the others at night, or for pictures
# Scripts that wait for the mathematics get their turn too. Asked for again and again, because a
# call that waits for a promise of the page has no time limit of its own.
READY = """() => {
  const start = window.MathJax?.startup?.promise ?? Promise.resolve();
  window.drawn ??= start.then(() => setTimeout(() => { window.drawn = 'done'; }, 0));
  return window.drawn === 'done';
}"""
# What dark mode changes, and axe judges, is colour.
AXE_OPTIONS = {"desktop": {}, "dark": {"runOnly": ["color-contrast"]}, "phone": {}}
# After a change of look: media queries are asked again before a frame, and colours fade over.
SETTLE = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise((done, fail) => {
    requestAnimationFrame(done);
    setTimeout(fail, 60000, Error('no frame was drawn in a minute'));
  });
  for (const a of document.getAnimations()) if (a instanceof CSSTransition) a.finish();
}"""
# Text that a reader must not see: TeX that MathJax did not take.
RAW_TEX = re.compile(
    r"\$\$|\\\(|\\\)|\\\[|\\\]|\\(?:frac|mathbb|hat|tfrac|underbrace|begin|eta)(?![a-z])"
)
VISIBLE_TEXT = """() => {
  const copy = document.querySelector('article, main, body').cloneNode(true);
  for (const e of copy.querySelectorAll('script, style, pre, code, mjx-container')) e.remove();
  return copy.textContent;
}"""
UNRENDERED = """() => [...document.querySelectorAll('.math')]
  .filter(e => !e.querySelector('mjx-container') && !e.closest('mjx-container'))
  .map(e => e.textContent)"""
# MathJax complains in two ways: with an error, and with the name of an undefined macro in red. (A
# colour that the author asks for is on an element around the text.) The first of a pair is what is
# drawn.
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
# What ends beyond the box that clips it, by kind. On a phone a figure, table or formula may: it `scrolls`, if
# the keyboard reaches its box and a fading edge says that there is more.
CUT = """() => {
  const kinds = {figure: 'img, svg[role=img]', caption: 'figcaption, caption, .table-caption', table: 'table',
                 formula: 'mjx-container'};
  const found = [], clips = e => e === document.body || getComputedStyle(e).overflowX !== 'visible';
  const every = selector => document.querySelectorAll(`article :is(${selector})`);
  for (const [kind, selector] of Object.entries(kinds)) for (const e of every(selector)) {
    const drawn = e.querySelector('mjx-math') ?? e, box = drawn.getBoundingClientRect();
    let room = drawn.parentElement;
    while (!clips(room)) room = room.parentElement;
    const start = room.getBoundingClientRect().left + room.clientLeft - room.scrollLeft;
    const inside = box.right <= start + room.clientWidth + 1.5 && box.left >= start - 1.5;
    if (inside || !e.checkVisibility()) continue;
    const cued = room.tabIndex === 0 && getComputedStyle(room).maskImage !== 'none';
    const scrolls = innerWidth < 600 && cued && ['table', 'formula', 'figure'].includes(kind);
    const text = (e.closest('figure, table, p') ?? e).textContent.trim().slice(0, 60);
    found.push(`${scrolls ? 'scrolls' : 'cut'}: ${kind}: ${text}`);
  }
  return found;
}"""
SCROLLING = 35  # figures, tables and formulas in half of the pages
# Letters of drawings: of an image its address and width, of others the text and its size.
LETTERS = """() => [...document.querySelectorAll('article figure img[src$=".svg"], article svg text')]
  .filter(e => e.checkVisibility()).map(e => e.matches('img') ? [e.src, e.getBoundingClientRect().width]
    : [e.textContent, parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b)])"""
SMALLEST = 9  # pixels that a letter of a figure has on a phone
BOX = "() => document.querySelector('.admonition.box')?.getBoundingClientRect().height ?? 0"
WEIGHT = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""
HEAVIEST = 2_500_000  # bytes that the first view of a page takes, uncompressed
HEAVIER = {"book/explorer.html": 3_300_000}  # the table of its predictions is most of it
# The time of axe goes with the number of elements, and most are the insides of formulas and code,
# where it has nothing to judge. So the page is thinned before: what is drawn of a formula becomes
# an empty box of the same size, what is read aloud of it one piece of text, and of the code tokens
# with the same classes (their own and those around them, so the same colours in every look) the
# first stands for all. A formula with a link or with text in another font or in pieces, which may
# break within a line, and a token with more than a class, stay.
THIN = """() => {
  const inside = 'mjx-utext, [href], [id], [role], [tabindex]';
  const plain = [...document.querySelectorAll('mjx-container')]
    .filter(e => !e.querySelector(inside) && !e.closest('.pieces'));
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


class Tab:
    """One tab, in which pages are opened one after another; `seen` is what happened on the present
    one."""

    def __init__(self, context):
        self.seen, self.page = defaultdict(list), context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("request", lambda request: self.seen["requests"].append(request.url))
        self.page.on("pageerror", lambda error: self.seen["console"].append(str(error)))
        self.page.on("console", self.said)

    def said(self, message):
        if message.type in ("error", "warning"):
            self.seen["console"].append(f"{message.type}: {message.text}")

    def open(self, url):
        """Open `url` and wait until its mathematics is drawn."""
        self.seen = defaultdict(list)
        self.page.goto(url, wait_until="load")
        self.page.wait_for_function(READY, polling=50)
        return self.page

    def put_on(self, look):
        self.page.emulate_media(color_scheme=LOOKS[look]["color_scheme"])
        self.page.evaluate(SETTLE)
        # Last, because the page's own script acts when the size changes.
        self.page.set_viewport_size(LOOKS[look]["viewport"])
        self.page.evaluate(SETTLE)

    def visit(self, url, name, judged):
        """Open a page and look at it: in every look and with axe, or as its text is laid out. What
        is found, by kind.

        Complaints name the look.
        """
        page = self.page
        page.goto("about:blank")  # so that it is not the page before that changes its look
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(LOOKS["desktop"]["viewport"])
        self.open(url)
        seen = self.seen
        seen["raw TeX"] = RAW_TEX.findall(page.evaluate(VISIBLE_TEXT))
        seen["raw TeX"] += page.evaluate(UNRENDERED) + page.evaluate(MATH_ERRORS)
        seen["formulas"] = page.locator("mjx-container").count()
        seen["wide"] = page.evaluate(measure.LAID_OUT)
        seen["weight"] = page.evaluate(WEIGHT)
        for look in LOOKS if judged or SCREENSHOTS else DAILY:
            if look != "desktop":
                self.put_on(look)
            seen["sideways"] += [f"{look}: {line}" for line in page.evaluate(SIDEWAYS)]
            for line in page.evaluate(CUT):
                seen[line.split(": ")[0]].append(f"{look}: {line}")
            if look == "phone":
                seen["letters"] = [*self.small_letters()]
                seen["box"] = page.evaluate(BOX)
            seen["dark"] += [look] * (
                page.evaluate("() => document.documentElement.dataset.theme") == "dark"
            )
            if SCREENSHOTS:
                file = SCREENSHOTS / f"{name.removesuffix('.html').replace('/', '-')}-{look}.png"
                page.screenshot(path=file, full_page=True)
        if judged:
            page.evaluate(THIN)
            page.add_script_tag(path=AXE)
            # Backwards, because the page wears the last look.
            for look in reversed(AXE_OPTIONS):
                self.put_on(look)
                seen["violations"] += [
                    f"{look}: {line}" for line in page.evaluate(VIOLATIONS, AXE_OPTIONS[look])
                ]
        return seen

    def small_letters(self):
        """Drawings with letters that are too small to read, and their size in pixels."""
        for what, size in self.page.evaluate(LETTERS):
            sizes = [size]
            if what.endswith(".svg"):
                drawing = self.page.context.request.get(what).text()
                sizes = [share * size for share in text_sizes(drawing)]
            if sizes and min(sizes) < SMALLEST:
                yield f"{what}: {min(sizes):.1f}"


@pytest.fixture(scope="module")
def address(html):
    """A local server for the built book."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def page_names(html):
    """Every page, the largest first, without those at the top, which only lead to others."""
    paths = sorted(html.rglob("*.html"), key=lambda path: (-path.stat().st_size, path))
    names = [path.relative_to(html) for path in paths]
    kept = [name.as_posix() for name in names if "_static" not in name.parts]
    return [name for name in kept if name not in ("index.html", "404.html")]


def kind(name):
    """Pages of one kind are made by one template from sources of one form: they share what axe
    judges."""
    if name.startswith("notebooks/"):
        return "appendix" if "/appendix_" in name else "chapter"
    folder = name.rpartition("/")[0]
    # what Sphinx writes by itself, the landing page, and the page with a script of its own are
    # kinds of their own
    return folder if folder and name not in ("book/index.html", "book/explorer.html") else name


def one_of_each_kind(names):
    """The smallest page of each kind, of names that are sorted from the largest on."""
    return list({kind(name): name for name in names}.values())


@pytest.fixture(scope="class")
def visits(request, html, browser, address):
    """The pages of a class of tests, each opened once: what was seen, by page."""
    every = page_names(html)
    names = request.cls.choose(every, one_of_each_kind(every))
    assert names
    with browser.new_context() as context:
        tab = Tab(context)
        return {name: tab.visit(address + name, name, request.cls.judged) for name in names}


def complaints(visits, about):
    return {page: seen[about] for page, seen in visits.items() if seen[about]}


class Pages:
    judged = False

    def test_math_is_rendered(self, visits):
        assert complaints(visits, "raw TeX") == {}, "TeX that MathJax did not take"
        bare = [
            page
            for page, seen in visits.items()
            if page.startswith("notebooks/") and not seen["formulas"]
        ]
        assert bare == [], "chapters without a formula: does MathJax run?"

    def test_console_is_clean(self, visits):
        assert complaints(visits, "console") == {}

    def test_no_request_leaves_the_machine(self, visits):
        hosts = Counter(
            urlsplit(request).hostname for seen in visits.values() for request in seen["requests"]
        )
        # data: addresses have no host.
        assert set(hosts) - {None} == {"127.0.0.1"}, hosts

    def test_no_page_scrolls_sideways(self, visits):
        assert complaints(visits, "sideways") == {}, (
            "what is wider than its page needs overflow-x in recallbook.css"
        )

    def test_nothing_is_cut(self, visits):
        assert complaints(visits, "cut") == {}, "see recallbook.js: a formula or table that fits"
        scrolling = complaints(visits, "scrolls")
        assert sum(map(len, scrolling.values())) <= SCROLLING, scrolling

    def test_no_page_is_too_heavy(self, visits):
        heavy = {page: seen["weight"] for page, seen in visits.items()}
        assert {page for page in heavy if heavy[page] > HEAVIER.get(page, HEAVIEST)} == set(), heavy

    def test_a_picture_comes_early(self, visits):
        wide = {name: visits.get(f"notebooks/{name}.html", {}).get("wide") for name in DONE}
        assert {
            name: found for name, found in wide.items() if found and not 0 < found[1] <= DONE[name]
        } == {}


class JudgedPages(Pages):
    judged = True

    def test_no_serious_accessibility_violation(self, visits):
        assert {
            page: seen["dark"] for page, seen in visits.items() if seen["dark"] != ["dark"]
        } == {}
        assert complaints(visits, "violations") == {}, "look: rule of axe: element"

    def test_a_phone_shows_letters_and_answers(self, visits):
        assert complaints(visits, "letters") == {}, (
            "pixels, of which 9 can be read: book/_ext/figures.py"
        )
        half = LOOKS["phone"]["viewport"]["height"] / 2
        long = {page: seen["box"] for page, seen in visits.items()}
        assert {page for page in long if long[page] > half} == set(), long


# Classes, because pytest-xdist with `--dist loadscope` keeps a class, or what is left of a module,
# in one worker: two workers share the pages.


class TestOnePageOfEachKind(JudgedPages):
    choose = staticmethod(lambda every, chosen: chosen)


class TestHalfOfTheOtherChapters(Pages):
    choose = staticmethod(
        lambda every, chosen: [x for x in every if kind(x) == "chapter" and x not in chosen][::2]
    )


@pytest.mark.nightly
class TestOneHalfOfThePagesInEveryLook(JudgedPages):
    choose = staticmethod(lambda every, chosen: every[::2])


@pytest.mark.nightly
class TestOtherHalfOfThePagesInEveryLook(JudgedPages):
    choose = staticmethod(lambda every, chosen: every[1::2])


FIRST = (
    "() => [...document.querySelectorAll('#search-results li > a')].slice(0, 3).map(a => a.href)"
)


@pytest.mark.nightly
def test_search_shows_the_right_page_among_the_first_three(browser, address):
    wanted = tomllib.loads((ROOT / "tests" / "searches.toml").read_text(encoding="utf-8"))["wanted"]
    with browser.new_context() as context:
        tab, found = Tab(context), {}
        for words in wanted:
            page = tab.open(f"{address}search.html?{urlencode({'q': words})}")
            page.wait_for_function("() => Search.status?.innerText")  # all results are shown
            found[words] = [urlsplit(url).path[1:] for url in page.evaluate(FIRST)]
    assert len(wanted) >= 30
    assert {
        words: found[words] for words, page in wanted.items() if f"{page}.html" not in found[words]
    } == {}


def test_a_missing_page_leads_back_and_icons_are_drawn(html, browser, address):
    with browser.new_context() as context:
        context.route("**/nowhere.html", lambda route: route.fulfill(path=html / "404.html"))
        page = Tab(context).open(f"{address}notebooks/nowhere.html")
        page.get_by_role("link").click()
        page.wait_for_url(f"{address}book/index.html")
        drawn = page.evaluate(
            "() => [...document.querySelectorAll('i[class*=fa-]')].map(i => getComputedStyle(i, '::before').content)"
        )
        assert len(drawn) > 10 and "none" not in drawn
        assert page.evaluate("() => document.fonts.load('900 1rem \"Font Awesome 6 Free\"')")


@pytest.fixture(scope="module")
def from_disk(html, browser):
    """A page opened as a file, without any server, by a reader who prefers dark pages."""
    with browser.new_context(**LOOKS["dark"]) as context:
        tab = Tab(context)
        tab.open((html.resolve() / "book/notation.html").as_uri())
        yield tab


def test_pages_work_from_disk(from_disk):
    assert from_disk.page.locator("mjx-container").count() > 10
    assert from_disk.page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert [
        url for url in from_disk.seen["requests"] if urlsplit(url).scheme not in ("file", "data")
    ] == []


def test_listed_macros_are_those_of_mathjax(from_disk, tmp_path):
    found = set(from_disk.page.evaluate(MACRO_TABLES)) - configured_macros()
    fresh = tmp_path / MACROS.name
    comment = MACROS.read_text(encoding="utf-8").splitlines()[0]
    fresh.write_text("\n".join([comment, *sorted(found)]) + "\n", encoding="utf-8")
    assert found == listed_macros(), f"the list is stale: cp {fresh} {MACROS}"


def test_search_from_disk_shows_words_and_the_reference_last(html, from_disk):
    page = from_disk.open(f"{(html.resolve() / 'search.html').as_uri()}?q=recall")
    page.locator("#search-results p.context").first.wait_for()
    page.locator('#search-results a[href*="book/api/"]').first.wait_for()
    found = page.evaluate(
        "() => [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
    )
    last = ["book/api" not in address for address in found]
    assert last == sorted(last, reverse=True) and last[0]
    assert "\\" not in page.locator("#search-results").inner_text()


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
<img src="missing.png">
<svg viewBox="0 0 900 9"><text font-size="10">s</text></svg>
<table class="wide"><tr><td>t</td></tr></table><button></button>
<script>console.error("broken")</script></article></body></html>"""


def test_a_faulty_page_is_noticed(tmp_path, browser):
    path = tmp_path / "faulty.html"
    path.write_text(FAULTY.replace("MATHJAX", MATHJAX.as_uri()), encoding="utf-8")
    with browser.new_context() as context:
        seen = Tab(context).visit(path.as_uri(), path.name, judged=True)
    texts = [
        "$$",
        "\\frac",
        "x",
        "MathJax: red text",
        "MathJax: \\approxT",
        "MathJax: Extra \\left or missing \\right",
    ]
    assert set(texts) <= set(seen["raw TeX"])
    assert "broken" in "".join(seen["console"])
    assert [line[:3] for line in seen["letters"]] == ["s: "]
    assert {line[:12] for line in seen["cut"]} >= {"desktop: cut", "phone: cut: "}
    assert {line.split(": ")[0] for line in seen["sideways"]} == {"phone"}
    rules = ["image-alt", "button-name", "aria-hidden-focus", "scrollable-region-focusable"]
    found = {tuple(line.split(": ")[:2]) for line in seen["violations"]}
    assert {(look, rule) for look in ("desktop", "phone") for rule in rules} <= found
    assert [line for line in seen["violations"] if "dim" in line] == [
        'dark: color-contrast: <p class="dim">dim</p>'
    ]
    # Of equal code tokens one stands for all.
    token = 'color-contrast: <span class="faint">so</span>'
    assert {line for line in seen["violations"] if "faint" in line} == {
        f"{look}: {token}" for look in AXE_OPTIONS
    }
