"""Tables: what is written for each kind of entry, and that page and plain text say the same."""

import numpy as np
import pandas as pd
from bs4 import BeautifulSoup

from recallbook_studies.tables import significant, table


def test_entries_are_written_by_kind():
    rows = [
        {"name": "a", "N": 2048, "x": -0.001, "y": np.nan},
        {"name": "b & c", "N": np.int64(3), "x": 1.239, "y": np.inf},
    ]
    frame = table(rows, "Two rows.", digits={"x": 1}).frame
    assert frame.to_dict("list") == {
        "name": ["a", "b & c"],
        "N": ["2048", "3"],
        "x": ["0.0", "1.2"],
        "y": ["–", "∞"],
    }


def test_page_and_text_say_the_same():
    found = table(
        pd.DataFrame({"p<q": [0.5, 0.25], "k": [True, None]}, index=[7, 8]), 'A "caption" & more.'
    )
    page = BeautifulSoup(found._repr_html_(), "html.parser")
    assert page.caption.get_text() == found.caption == str(found).splitlines()[0]
    cells = [
        [cell.get_text() for cell in row.find_all(["th", "td"])] for row in page.find_all("tr")
    ]
    assert cells == [["p<q", "k"], ["0.50", "True"], ["0.25", "–"]]
    assert str(found).split()[-6:] == ["p<q", "k", "0.50", "True", "0.25", "–"]
    assert page.div["aria-label"] == found.caption and page.div["tabindex"] == "0"


def test_sizes_over_decades_keep_their_leading_digits():
    found = [significant(x) for x in (0.4, 7.26, 1452.0, 262144.0, np.inf)]
    assert found == ["0", "7", "1,500", "260,000", "∞"]
    assert significant(1452.0, 3) == "1,450"
