"""What reading costs: `python book/measure.py` prints words, open code lines, and page heights of
the built book.

Words are those of a notebook's text, without exercises, and of a page's Markdown. A code line is
open where the page shows it unasked. Heights are of a window 1280 pixels wide, as Chromium lays out
_build/html; they are left out where either is missing."""

import html
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


# Columns of values that a table is asked for, each with the digits it has.
CHOSEN = {"lock-on", "reading error c", "decay"}
NUMBER = re.compile(r"[−-]?[\d,]*\.?\d+(?: ?%)?")
TYPED = re.compile(r"(?<![\w.)\]])-\.?\d|\d[eE][+-]?\d|\^|\b(?:True|False|None|nan|inf)\b")


def faults_of_tables(notebook):
    """What of the stored tables is typed, not typeset, and columns whose digits differ."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for table in re.findall(
                "(?s)<table.*?</table>", output.get("data", {}).get("text/html", "")
            ):
                rows = [
                    [
                        html.unescape(text)
                        for text in re.findall(r"(?s)<t[dh][^>]*>(.*?)</t[dh]>", row)
                    ]
                    for row in re.findall("(?s)<tr.*?</tr>", table)
                ]
                caption = re.findall(r"(?s)<caption[^>]*>(.*?)</caption>", table)
                yield from (x for row in [caption, *rows] for x in row if TYPED.search(x))
                for name, *column in zip(*rows, strict=True):
                    digits = {len(text.rstrip(" %").partition(".")[2]) for text in column}
                    alike = name in CHOSEN or len(digits) < 2
                    if not alike and all(map(NUMBER.fullmatch, column)):
                        yield f"{name}: {column}"


GREEK = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell"
)
LETTER = re.compile(
    r"(?:\\(?:hat|tilde|bar|mathcal|mathbf)\s*\{?\s*)?"
    rf"(?:\\(?:{'|'.join(GREEK.split())})(?![A-Za-z])|(?<![\\A-Za-z])[A-Za-z](?![A-Za-z]))"
    r"\}?'?(?:_(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|\w))?"
)
WORDS = r"\\(?:text\w*|mathrm|operatorname\*?|begin|end|label|tag|href|ref)\s*\{[^{}]*\}|\\(?:mathbb|rm)\s*\w+"
# Indices, arguments, and what mathematics calls so everywhere.
EVERYWHERE = {*"abcdeijklnpstuvxyzABI", r"\pi", r"\Phi", r"\phi", r"\ell"}


def letters_of(tex):
    """The letters of a formula; of a subscript only capitals are part of the name."""
    found = (re.sub(r"[\s{}]", "", one) for one in LETTER.findall(re.sub(WORDS, " ", tex)))
    return {re.sub(r"_(?![A-Z]+$).*$", "_", one) for one in found}


def formulas(text):
    return [a or b for a, b in re.findall(r"(?s)\$\$(.*?)\$\$|(?<![\\$])\$([^$]+)\$", text)]


def registry(root=ROOT):
    """Letter, meaning and home (a page, or "" for the whole book), row by row of the notation."""
    home, local = "", False
    for line in (root / "book" / "notation.md").read_text(encoding="utf-8").splitlines():
        local = local or line == "## Local symbols"
        if line.startswith("| $") or line.startswith("|$"):
            symbols, *rest = line.strip("|").split(" | ")
            home = (re.findall(r"`([^`]*)`", rest[-1]) or [home])[0] if local else ""
            for tex in formulas(symbols):
                for letter in letters_of(tex.partition("=")[0]):
                    yield letter, rest[0], home.rpartition("/")[2]


def second_meanings(root=ROOT):
    """Homes and meanings of each letter that has two in the main line, which is the chapters."""
    rows = {}
    for letter, meaning, home in registry(root):
        if home == "" or (home[:1].isdigit() and "as in chapter" not in meaning):
            rows.setdefault(letter, {})[home] = meaning
    return {letter: found for letter, found in rows.items() if len(found) > 1}


def strangers(root=ROOT):
    """By chapter its letters that the notation does not have, for the whole book or the chapter."""
    known, found = list(registry(root)), {}
    for path in sorted((root / "notebooks").glob("[01]*.ipynb")):
        homes = {"", path.stem}
        notebook = nbformat.read(path, as_version=4)
        text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        used = set().union(*map(letters_of, formulas(text)))
        used -= {letter for letter, _, home in known if home in homes}
        found[path.stem[:2]] = {one for one in used if one.rstrip("'") not in EVERYWHERE}
    return found


def heights(folder, pages):
    """Height in pixels of each page, by name."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        found = {}
        for page in pages:
            tab.goto((folder / f"{page}.html").resolve().as_uri(), wait_until="load")
            tab.evaluate("() => window.MathJax?.startup?.promise")
            found[page] = tab.evaluate(
                "() => Math.round(document.querySelector('article').getBoundingClientRect().height)"
            )
        browser.close()
    return found


def main(root=ROOT):
    built = root / "_build" / "html"
    paths = sorted([*(root / "notebooks").glob("*.ipynb"), *(root / "book").rglob("*.md")])
    names = [path.relative_to(root).with_suffix("").as_posix() for path in paths]
    found = (
        heights(built, [n for n in names if (built / f"{n}.html").exists()])
        if built.is_dir()
        else {}
    )
    print(f"{'page':45} {'words':>6} {'code':>5} {'open':>5} {'pixels':>7}")
    for path, name in zip(paths, names, strict=True):
        total, shown = (
            code_lines(nbformat.read(path, as_version=4)) if path.suffix == ".ipynb" else ("", "")
        )
        print(f"{name:45} {words(path):6} {total:>5} {shown:>5} {found.get(name, ''):>7}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
