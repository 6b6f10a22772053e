"""Print the whole book to _build/recallbook.pdf: `make pdf`.

The articles of the built pages, in the order of _toc.yml, are put into one page, and headless
Chromium prints that (Debian: `apt-get install chromium`; elsewhere set CHROMIUM to its path).
Sphinx's own single-page builder does not know theorem boxes. Folded code and hidden solutions are
printed open.
"""

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
TARGET = ROOT / "_build" / "recallbook.pdf"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPEN_EVERYTHING = """() => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const box of document.querySelectorAll('.toggle-hidden')) {
    box.classList.remove('toggle-hidden');
  }
}"""
FOOTER = '<div style="font-size: 8px; width: 100%; text-align: center"><span class="pageNumber"></span></div>'


def reading_order():
    """The built page of every entry of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [entry for part in toc["parts"] for entry in part["chapters"]]
    files = [toc["root"]] + [
        page["file"] for entry in chapters for page in (entry, *entry.get("sections", []))
    ]
    return [HTML / f"{Path(file).with_suffix('')}.html" for file in files]


def article(path, pages, folder):
    """The article of one page, with ids and links that hold in one page kept in `folder`."""
    content = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").article
    for element in content.find_all(id=True):
        element["id"] = f"{path.stem}-{element['id']}"
    for image in content.find_all("img", src=True):
        del image["loading"]
        image["src"] = os.path.relpath((path.parent / image["src"]).resolve(), folder)
    for link in content.find_all("a", href=True):
        parts = urlsplit(link["href"])
        target = (path.parent / parts.path).resolve() if parts.path else path
        if not parts.scheme and target in pages:
            link["href"] = (
                f"#{target.stem}-{parts.fragment}" if parts.fragment else f"#{target.stem}"
            )
    content["id"] = path.stem
    content["style"] = "break-before: page"
    return content


def whole_book(pages):
    """One page with every article, on the first page's styles and scripts."""
    folder = pages[0].parent
    book = BeautifulSoup(pages[0].read_text(encoding="utf-8"), "html.parser")
    articles = [article(path, pages, folder) for path in pages]
    del articles[0]["style"]
    first = book.article
    for content in reversed(articles):
        first.insert_after(content)
    first.decompose()
    return str(book)


def print_page(url, chromium):
    with sync_playwright() as playwright:
        # Chromium refuses to run its sandbox as root, as in a container.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(color_scheme="light")
        page.goto(url, wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")
        page.evaluate(OPEN_EVERYTHING)
        if not page.locator("mjx-container").count():
            sys.exit("The math of the page was not drawn")
        page.pdf(
            path=TARGET,
            format="A4",
            margin=dict.fromkeys(("top", "right", "bottom", "left"), "18mm"),
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            print_background=True,
            outline=True,
            tagged=True,
        )
        browser.close()


def main():
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium)")
    pages = reading_order()
    # Beside the first page, so that the addresses of styles and scripts hold.
    single = pages[0].with_name("print.html")
    single.write_text(whole_book(pages), encoding="utf-8")
    try:
        print_page(single.as_uri(), chromium)
    finally:
        single.unlink()
    print(f"Wrote {TARGET.relative_to(ROOT)} ({TARGET.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
