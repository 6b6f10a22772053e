"""Every theorem that a page refers to exists; `python tests/writing.py` prints which sentences call
something proved and refer to none."""

import re

import pytest
from writing import texts

LABEL = re.compile(r"^:label: (\S+)$", re.MULTILINE)
LINK = re.compile(r"\{prf:ref\}`(?:[^`<]*<)?([\w-]+)>?`")


@pytest.mark.essential
def test_the_theorems_that_pages_refer_to_exist():
    text = "\n".join(texts().values())
    assert {*LINK.findall(text)} - {*LABEL.findall(text)} == set()
