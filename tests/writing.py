"""What a writer looks at: `python tests/writing.py` prints letters of the chapters with two meanings,
letters that the notation does not have, minutes of reading, code that stands open or is long,
wide tables, entries of stored tables that are typed, not typeset,
sentences that call something proved and refer to no theorem, and sentences that may name a cause
and stand in no row of ``recallbook_studies/causes.toml``."""

import html
import re
import tomllib

import nbformat
from conftest import ROOT

LONGEST_CELL, MOST_COLUMNS = 20, 6
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def long_code(notebook):
    """Cells that are long, and whether more than a third of the lines of code stand open."""
    total = shown = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            count = sum(bool(line.strip()) for line in cell.source.splitlines())
            total += count
            shown += count * (not HIDDEN & set(cell.metadata.get("tags", [])))
            if count > LONGEST_CELL:
                yield f"a cell of {count} lines"
    if 3 * shown > total:
        yield f"{shown} of {total} lines of code stand open"


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
    """The formulas of a text in Markdown."""
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
                if len(rows[0]) > MOST_COLUMNS:
                    yield f"{len(rows[0])} columns"
                caption = re.findall(r"(?s)<caption[^>]*>(.*?)</caption>", table)
                yield from (x for row in [caption, *rows] for x in row if TYPED.search(x))
                for name, *column in zip(*rows, strict=True):
                    digits = {len(text.rstrip(" %").partition(".")[2]) for text in column}
                    alike = name in CHOSEN or len(digits) < 2
                    if not alike and all(map(NUMBER.fullmatch, column)):
                        yield f"{name}: {column}"


def texts(root=ROOT):
    """The text of each page, by file."""
    pages = {}
    for path in [
        *sorted((root / "book").glob("*.md")),
        *sorted((root / "notebooks").glob("*.ipynb")),
    ]:
        if path.suffix == ".md":
            pages[path.name] = path.read_text(encoding="utf-8")
            continue
        cells = nbformat.read(path, as_version=4).cells
        pages[path.name] = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
    return pages


STATEMENT = re.compile(r"^:::\{prf:.*?^:::$", re.DOTALL | re.MULTILINE)
PROVED = re.compile(r"\b(proved|necessary|sufficient|matched|sharp)\b", re.IGNORECASE)
CAUSE = re.compile(r"\b(because|binds?|limit(s|ed)?)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.:?!)])\s+(?=[A-Z*`{$])")


def paragraphs(text):
    """Paragraphs of a page without statements, which have their hypotheses, and headings."""
    text = re.sub(r"^#.*$", "", STATEMENT.sub("", text), flags=re.MULTILINE)
    return re.split(r"\n\s*\n|\n(?=\s*[-*|:] )", text)


def unsupported(text):
    """Sentences that call something proved, in paragraphs that refer to no theorem."""
    for paragraph in paragraphs(text):
        if "{prf:ref}`" not in paragraph:
            yield from (one for one in SENTENCE.split(paragraph) if PROVED.search(one))


def untested_causes(text, laws, tested):
    """Sentences that name a law and may call it a cause, and that no test removes."""
    for paragraph in paragraphs(text):
        for one in SENTENCE.split(" ".join(paragraph.split())):
            named = CAUSE.search(one) and any(law in one for law in laws)
            if named and not any(says in one for says in tested):
                yield one


def main():
    """Print what was found, by letter, chapter and notebook."""
    for letter, meanings in second_meanings().items():
        print(f"{letter} has {len(meanings)} meanings: {meanings}")
    for chapter, letters in strangers().items():
        if letters:
            print(f"{chapter}: not in the notation: {' '.join(sorted(letters))}")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        print(f"{path.stem}: {reading_minutes(notebook)} minutes at least, without exercises")
        for fault in long_code(notebook):
            print(f"{path.stem}: {fault}")
        for fault in faults_of_tables(notebook):
            print(f"{path.stem}: a table: {fault}")
    causes = tomllib.loads((ROOT / "recallbook_studies/causes.toml").read_text("utf-8"))["cause"]
    laws, tested = {row["law"] for row in causes}, [row["says"] for row in causes]
    for page, text in texts().items():
        for sentence in unsupported(text):
            print(f"{page}: no theorem: {sentence}")
        for sentence in untested_causes(text, laws, tested):
            print(f"{page}: a cause that no test removes? {sentence}")


if __name__ == "__main__":
    main()
