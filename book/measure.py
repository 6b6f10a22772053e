"""What reading costs: `python book/measure.py` prints words, letters, open code lines, and heights
of the built book.

Words are those that a reader of the page sees, without formulas, code, tables and figures: in the
main line, which is what stands open, and in what is folded. Letters are those of the formulas that
stand open. A code line is open where the page shows it unasked. Heights are in pixels, of a window
1440 wide, as Chromium lays out _build/html: of the page, and down to its first picture; they are
left out where Chromium is missing. The old count, printed last, is of the sources' pieces between
spaces, formulas included."""

import html
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
EXERCISES = re.compile(r"(?ms)^:::\{(?:exercise|solution)\}.*?^:::$")
NO_WORDS = ".math, table, figure, pre, .cell, .model-figure, .stepper-text, .headerlink, script, style, svg, form"
FOLDED = ".dropdown > :not(.admonition-title), details > :not(summary)"
WINDOW = {"width": 1440, "height": 900}
PATIENCE = 120_000  # milliseconds: a busy machine is no fault of the page


@dataclass
class Page:
    """What a reader meets on one page."""

    open_words: int
    folded_words: int
    paragraphs: list[str]  # of the main line, longest first
    tables: int  # in the main line
    figures: int
    letters: list[str]


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
    shown = [one.get_text() for one in article.select(".math") if not one.find_parent(folded)]
    found = set().union(*map(letters_of, shown))
    for one in article.select(NO_WORDS):
        one.decompose()
    total = words(article.get_text(" "))
    for one in article.select(FOLDED):
        one.extract()
    paragraphs = sorted((one.get_text(" ") for one in article.select("p")), key=words)
    stands_open = words(article.get_text(" "))
    return Page(stands_open, total - stands_open, paragraphs[::-1], tables, figures, sorted(found))


def folded(element):
    """Whether what it holds is seen only when asked for."""
    return element.name == "details" or "dropdown" in element.get("class", ())


def old_count(path):
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
            counts[1] += count * (not HIDDEN & set(cell.metadata.get("tags", [])))
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
                        html.unescape(re.sub("<[^>]*>", "", text))
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
DROPDOWN = re.compile(r"(?ms)^(:{3,})\{[^\n]*\n(?:^:\w[^\n]*\n)*?^:class: dropdown$.*?^\1$")
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


def chapters(root=ROOT):
    """By chapter the letters that stand open, and all of them."""
    for path in sorted((root / "notebooks").glob("[01]*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        shown = DROPDOWN.sub("", text.partition("## Exercises")[0])
        yield path.stem, *(set().union(*map(letters_of, formulas(one))) for one in (shown, text))


def second_meanings(root=ROOT):
    """Homes and meanings of each letter that has two in the main line of the chapters."""
    shown = {name: letters for name, letters, _ in chapters(root)}
    rows = {}
    for letter, meaning, home in registry(root):
        if not home or (letter in shown.get(home, ()) and "as in chapter" not in meaning):
            rows.setdefault(letter, {})[home] = meaning
    return {letter: found for letter, found in rows.items() if len(found) > 1}


def strangers(root=ROOT):
    """By chapter its letters that the notation does not have, for the whole book or the chapter."""
    known = list(registry(root))
    return {
        name: {
            one
            for one in used - {letter for letter, _, home in known if home in ("", name)}
            if one.rstrip("'") not in EVERYWHERE
        }
        for name, _, used in chapters(root)
    }


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
    built = {name: path for name in sources(root) if (path := folder / f"{name}.html").exists()}
    addresses = {name: path.resolve().as_uri() for name, path in built.items()}
    found = {}
    if chromium := built and (shutil.which("chromium") or shutil.which("google-chrome")):
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            found = heights(browser, addresses.values())
            browser.close()
    line = "{:45} {:>6} {:>6} {:>7} {:>6} {:>7} {:>7} {:>5} {:>5} {:>6} {:>7}"
    heads = "page words folded longest tables figures letters code open pixels picture"
    print(line.format(*heads.split()))
    total = {True: [0, 0], False: [0, 0]}  # of the API reference, and of what is read
    for name, path in sources(root).items():
        seen = page(built[name].read_text("utf-8")) if name in built else Page(0, 0, [], 0, 0, [])
        kind = total[looked_up(name)]
        kind[:] = kind[0] + seen.open_words, kind[1] + seen.folded_words
        code = code_lines(nbformat.read(path, 4)) if path.suffix == ".ipynb" else ("", "")
        longest = words(seen.paragraphs[0]) if seen.paragraphs else 0
        row = seen.open_words, seen.folded_words, longest, seen.tables, seen.figures
        size = found.get(addresses.get(name), ("", ""))
        print(line.format(name, *row, len(seen.letters), *code, *size))
    print("open {:,} words, folded {:,};".format(*total[False]), end=" ")
    print("API reference {:,}, folded {:,};".format(*total[True]), end=" ")
    print(f"old count: {sum(map(old_count, sources(root).values())):,}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
