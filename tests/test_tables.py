"""Tables: what is written for each kind of entry, and that page and plain text say the same."""

import json
import re

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT

from recallbook_studies.tables import table


def test_page_and_text_say_the_same():
    found = table(
        pd.DataFrame({"p<q": [0.5, 0.25], "k": [True, None]}, index=[7, 8]), 'A "caption" & more.'
    )
    page = BeautifulSoup(found._repr_html_(), "html.parser")
    assert page.caption.get_text() == found.caption == str(found).splitlines()[0]
    cells = [
        [cell.get_text() for cell in row.find_all(["th", "td"])] for row in page.find_all("tr")
    ]
    assert cells == [["p<q", "k"], ["0.50", "yes"], ["0.25", "–"]]
    assert str(found).split()[-6:] == ["p<q", "k", "0.50", "yes", "0.25", "–"]
    assert page.div["aria-label"] == found.caption and page.div["tabindex"] == "0"


def test_signs_and_powers_are_those_of_print():
    entries = ["-1/8, 1/4", "0.05 [-0.02, 1]", "lock-on 0-9", "2.3e-07", "1e-06; 1e+02 %", -0.5]
    found = table([{"10^-6 x": entry} for entry in entries], "From -1 on.")
    assert found.caption == "From −1 on." and [*found.frame] == ["10⁻⁶ x"]
    shown = ["−1/8, 1/4", "0.05 [−0.02, 1]", "lock-on 0-9", "2.3·10⁻⁷", "10⁻⁶; 100 %", "−0.50"]
    assert [*found.frame["10⁻⁶ x"]] == shown


CHOSEN = {"lock-on", "reading error c", "decay"}  # columns of values that the table is asked for
NUMBER = re.compile(r"[−-]?[\d,]*\.?\d+(?: ?%)?")
TYPED = re.compile(r"(?<![\w.)\]])-\.?\d|\d[eE][+-]?\d|\^|\b(?:True|False|None|nan|inf)\b")


def faults(table):
    """What of a stored table is typed, not typeset, and columns whose digits differ."""
    rows = [[cell.get_text() for cell in row.find_all(["td", "th"])] for row in table("tr")]
    found = [text for row in [[table.caption.get_text()], *rows] for text in row if TYPED.search(text)]
    for name, *column in zip(*rows, strict=True):
        digits = {len(text.rstrip(" %").partition(".")[2]) for text in column}
        if name not in CHOSEN and all(map(NUMBER.fullmatch, column)) and len(digits) > 1:
            found.append(f"{name}: {column}")
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_stored_tables_are_typeset(path):
    outputs = [o for cell in json.loads(path.read_text("utf-8"))["cells"] for o in cell.get("outputs", [])]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    tables = [one for page in pages for one in BeautifulSoup(page, "html.parser")("table")]
    assert [fault for table in tables for fault in faults(table)] == []
