"""What reading costs: `python book/measure.py` prints words and heights of the built book.

Words are those that a reader of the page sees, without formulas, code, tables and figures: in the
main line, which is what stands open, and in what is folded. Heights are in pixels, of a window 1280
wide, as Chromium lays out _build/html: of the page, and down to its first picture; they are left
out where Chromium is missing."""

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
NO_WORDS = ".math, table, figure, pre, .cell, .model-figure, .stepper-text, .headerlink, script, style, svg, form"
FOLDED = ".dropdown > :not(.admonition-title), details > :not(summary)"
WINDOW = {"width": 1280, "height": 900}
PATIENCE = 120_000  # milliseconds: a busy machine is no fault of the page


@dataclass
class Page:
    """What a reader meets on one page."""

    open_words: int
    folded_words: int
    paragraphs: list[str]  # of the main line, longest first
    tables: int  # in the main line
    figures: int


def words(text):
    """Words of a text as a reader counts them: what has a letter or a digit."""
    return len(re.findall(r"\S*\w\S*", text))


def looked_up(name):
    """Whether a page is of the API reference, which is looked up and not read."""
    return name.startswith("book/api")


def sources(root=ROOT):
    """Notebooks and pages of the book by name, as they are built."""
    paths = sorted([*(root / "notebooks").glob("*.ipynb"), *(root / "book").rglob("*.md")])
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in paths}


def page(source):
    """What stands open on a built page, and what is folded."""
    article = BeautifulSoup(source, "html.parser").article
    tables, figures = (
        sum(not one.find_parent(folded) for one in article.select(kind))
        for kind in ("table", "figure, .model-figure")
    )
    for one in article.select(NO_WORDS):
        one.decompose()
    total = words(article.get_text(" "))
    for one in article.select(FOLDED):
        one.extract()
    paragraphs = sorted((one.get_text(" ") for one in article.select("p")), key=words)
    stands_open = words(article.get_text(" "))
    return Page(stands_open, total - stands_open, paragraphs[::-1], tables, figures)


def folded(element):
    """Whether what it holds is seen only when asked for."""
    return element.name == "details" or "dropdown" in element.get("class", ())


# the height of the page, and how far down its first picture is (0: there is none)
LAID_OUT = """() => {
  const article = document.querySelector('article, main, body').getBoundingClientRect();
  const tops = [...document.querySelectorAll('article :is(figure img, figure svg, .model-figure svg, canvas)')]
    .filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().top + scrollY);
  return [Math.round(article.height), Math.round(Math.min(...tops, 1e6) % 1e6)];
}"""


def heights(browser, addresses):
    """(height, top of the first picture) in pixels of each page, by address."""
    tab = browser.new_page(viewport=WINDOW)
    tab.set_default_timeout(PATIENCE)
    found = {}
    for address in addresses:
        tab.goto(address, wait_until="load")
        tab.evaluate("() => window.MathJax?.startup?.promise")
        found[address] = tuple(tab.evaluate(LAID_OUT))
    tab.close()
    return found


def main(root=ROOT):
    folder = root / "_build" / "html"
    pages = {name: folder / f"{name}.html" for name in sources(root)}
    pages = {name: path.resolve() for name, path in pages.items() if path.exists()}
    sizes = {}
    if chromium := shutil.which("chromium") or shutil.which("google-chrome"):
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            sizes = heights(browser, [path.as_uri() for path in pages.values()])
            browser.close()
    line = "{:45} {:>6} {:>6} {:>7} {:>6} {:>7} {:>6} {:>7}"
    print(line.format(*"page words folded longest tables figures pixels picture".split()))
    total = 0  # of what is read: the API reference is looked up
    for name, path in pages.items():
        seen = page(path.read_text("utf-8"))
        total += 0 if looked_up(name) else seen.open_words
        longest = words(seen.paragraphs[0]) if seen.paragraphs else 0
        size = sizes.get(path.as_uri(), ("", ""))
        counts = seen.open_words, seen.folded_words, longest, seen.tables, seen.figures
        print(line.format(name, *counts, *size))
    print(f"open {total:,} words, without the API reference")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
