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
    assert cells == [["p<q", "k"], ["0.50", "True"], ["0.25", "–"]]
    assert str(found).split()[-6:] == ["p<q", "k", "0.50", "True", "0.25", "–"]
    assert page.div["aria-label"] == found.caption and page.div["tabindex"] == "0"
