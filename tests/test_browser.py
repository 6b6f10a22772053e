"""The built pages in headless Chromium: what a reader sees.

Every page is opened three times (desktop, phone, desktop in dark mode) over a local server, and
what happened is recorded; the tests then look at the record. Screenshots go to _build/screenshots.
Skipped, with a printed reason, where Chromium is absent (Debian: `apt-get install chromium`).
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

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / "tests" / "vendor" / "axe.min.js"
SCREENSHOTS = ROOT / "_build" / "screenshots"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt-get install chromium)")

LOOKS = {
    "desktop": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}
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
SIDEWAYS = """() => {
  window.scrollTo(10000, 0);
  const moved = window.scrollX;
  window.scrollTo(0, 0);
  const widest = [...document.querySelectorAll('article *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .slice(0, 3).map(e => e.outerHTML.slice(0, 100));
  return moved > 0 ? [`scrolls by ${moved} pixels`, ...widest] : [];
}"""


@dataclass
class Visit:
    """What happened when one page was opened in one look."""

    page: str
    look: str
    requests: list = field(default_factory=list)
    console: list = field(default_factory=list)
    raw_tex: list = field(default_factory=list)
    sideways: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    is_dark: bool = False
    formulas: int = 0


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


def look_at(page, visit):
    visit.raw_tex = RAW_TEX.findall(page.evaluate(VISIBLE_TEXT)) + page.evaluate(UNRENDERED)
    errors = page.locator("mjx-merror, [data-mjx-error]").all_text_contents()
    visit.raw_tex += [f"MathJax: {error}" for error in errors]
    visit.formulas = page.locator("mjx-container").count()
    visit.sideways = page.evaluate(SIDEWAYS)
    visit.is_dark = page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    page.add_script_tag(path=AXE)
    report = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    visit.violations = [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


def page_names(html):
    """Every page; the top index.html is left out because it only forwards to book/index.html."""
    names = (path.relative_to(html) for path in sorted(html.rglob("*.html")))
    kept = [name.as_posix() for name in names if "_static" not in name.parts]
    return [name for name in kept if name != "index.html"]


@pytest.fixture(scope="module")
def visits(html, browser, address):
    """Every page in every look, opened once."""
    record = []
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for look, settings in LOOKS.items():
        context = browser.new_context(**settings)
        for name in page_names(html):
            visit = Visit(name, look)
            page = open_page(context, address + name, visit)
            look_at(page, visit)
            picture = name.removesuffix(".html").replace("/", "-")
            page.screenshot(path=SCREENSHOTS / f"{picture}-{look}.png", full_page=True)
            page.close()
            record.append(visit)
        context.close()
    return record


def complaints(visits, attribute):
    return {f"{v.page} ({v.look})": found for v in visits if (found := getattr(v, attribute))}


def test_math_is_rendered(visits):
    assert complaints(visits, "raw_tex") == {}
    assert all(v.formulas > 0 for v in visits if v.page.startswith("notebooks/"))


def test_console_is_clean(visits):
    assert complaints(visits, "console") == {}


def test_no_request_leaves_the_machine(visits):
    hosts = Counter(urlsplit(request).hostname for v in visits for request in v.requests)
    # data: addresses have no host.
    assert set(hosts) - {None} == {"127.0.0.1"}, hosts


def test_no_page_scrolls_sideways(visits):
    assert complaints(visits, "sideways") == {}


def test_no_serious_accessibility_violation(visits):
    assert {v.look for v in visits if v.is_dark} == {"dark"}
    assert complaints(visits, "violations") == {}


def test_search_finds_a_word_of_each_chapter(html, browser, address):
    words = {}
    for path in sorted((html / "notebooks").glob("*.html")):
        article = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").article
        text = " ".join(p.get_text() for p in article.find_all("p"))
        words[path.stem] = set(re.findall(r"\b[a-z]{7,12}\b", text))
    context = browser.new_context()
    for stem, own in words.items():
        others = set().union(*(words[other] for other in words if other != stem))
        word = max(sorted(own - others), key=len)
        page = context.new_page()
        page.goto(f"{address}search.html?q={word}")
        link = page.locator(f'#search-results li a[href*="{stem}.html"]').first
        link.wait_for(timeout=10_000)
        assert link.is_visible(), word
        page.close()
    context.close()


def test_pages_work_from_disk(html, browser):
    """Opened as a file, without any server, math is drawn too."""
    context = browser.new_context()
    visit = Visit("book/notation.html", "file")
    page = open_page(context, (html.resolve() / visit.page).as_uri(), visit)
    assert page.locator("mjx-container").count() > 10
    assert all(urlsplit(request).scheme in ("file", "data") for request in visit.requests)
    context.close()


# The looks themselves: a page with every fault is reported for each


FAULTY = """<!doctype html><html lang="en"><head><title>Faulty</title></head><body><article>
<p>Raw $$ \\frac12 $$</p><p class="math">x</p><div style="width: 2000px">wide</div>
<img src="missing.png"><button></button>
<script>console.error("broken")</script></article></body></html>"""


def test_a_faulty_page_is_noticed(tmp_path, browser):
    path = tmp_path / "faulty.html"
    path.write_text(FAULTY, encoding="utf-8")
    context = browser.new_context(**LOOKS["phone"])
    visit = Visit("faulty.html", "phone")
    look_at(open_page(context, path.as_uri(), visit), visit)
    context.close()
    assert {"$$", "\\frac", "x"} <= set(visit.raw_tex)
    assert any("broken" in line for line in visit.console)
    assert visit.sideways
    assert {"image-alt", "button-name"} <= {line.split(":")[0] for line in visit.violations}
