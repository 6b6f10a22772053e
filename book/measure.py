"""What reading costs: `python book/measure.py` prints words, open code lines, and page heights of
the built book.

Words are those of a notebook's text, without exercises, and of a page's Markdown. A code line is
open where the page shows it unasked. Heights are of a window 1280 pixels wide, as Chromium lays out
_build/html; they are left out where either is missing."""

import re
import shutil
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
EXERCISES = re.compile(r"(?ms)^:::\{(?:exercise|solution)\}.*?^:::$")


def words(path):
    """Words of the text without exercises; mathematics counts by the pieces that spaces leave."""
    if path.suffix == ".md":
        return len(path.read_text(encoding="utf-8").split())
    notebook = nbformat.read(path, as_version=4)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return len(EXERCISES.sub("", text).split())


def code_lines(notebook):
    """(all, open) lines of code that are not empty."""
    counts = [0, 0]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            count = sum(bool(line.strip()) for line in cell.source.splitlines())
            counts[0] += count
            counts[1] += count * (not FOLDED & set(cell.metadata.get("tags", [])))
    return tuple(counts)


def reading_minutes(notebook):
    """Estimated, with a pencil: 80 words or a displayed formula a minute, 90 s for a figure or
    table; no exercises."""
    cells = notebook.cells
    end = next(
        (i for i, cell in enumerate(cells) if cell.source.startswith("## Exercises")), len(cells)
    )
    text = "\n".join(cell.source for cell in cells[:end] if cell.cell_type == "markdown")
    shown = sum("data" in output for cell in cells[:end] for output in cell.get("outputs", []))
    minutes = len(text.split()) / 80 + text.count("$$") / 2 + 1.5 * shown
    return 5 * round(minutes / 5)


def heights(html, pages):
    """Height in pixels of each page, by name."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        found = {}
        for page in pages:
            tab.goto((html / f"{page}.html").resolve().as_uri(), wait_until="load")
            tab.evaluate("() => window.MathJax?.startup?.promise")
            found[page] = tab.evaluate(
                "() => Math.round(document.querySelector('article').getBoundingClientRect().height)"
            )
        browser.close()
    return found


def main(root=ROOT):
    html = root / "_build" / "html"
    paths = sorted([*(root / "notebooks").glob("*.ipynb"), *(root / "book").rglob("*.md")])
    names = [path.relative_to(root).with_suffix("").as_posix() for path in paths]
    found = (
        heights(html, [n for n in names if (html / f"{n}.html").exists()]) if html.is_dir() else {}
    )
    print(f"{'page':45} {'words':>6} {'code':>5} {'open':>5} {'pixels':>7}")
    for path, name in zip(paths, names, strict=True):
        total, shown = (
            code_lines(nbformat.read(path, as_version=4)) if path.suffix == ".ipynb" else ("", "")
        )
        print(f"{name:45} {words(path):6} {total:>5} {shown:>5} {found.get(name, ''):>7}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
