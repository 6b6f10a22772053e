"""Tables: what is written for each kind of entry, and that page and plain text say the same."""

import pandas as pd
from bs4 import BeautifulSoup

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
    entries = [
        "-1/8, 1/4",
        "0.05 [-0.02, 1]",
        "lock-on 0-9",
        "2.3e-07",
        "1e-06; 1e+02 %",
        "N^3",
        -0.5,
    ]
    found = table([{"10^-6 x": entry} for entry in entries], "From -1 on.")
    assert found.caption == "From −1 on." and [*found.frame] == ["10⁻⁶ x"]
    shown = [
        "−1/8, 1/4",
        "0.05 [−0.02, 1]",
        "lock-on 0-9",
        "2.3·10⁻⁷",
        "10⁻⁶; 100 %",
        "N³",
        "−0.50",
    ]
    assert [*found.frame["10⁻⁶ x"]] == shown
