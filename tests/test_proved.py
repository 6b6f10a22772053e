"""Every theorem that a page refers to exists; `python tests/writing.py` prints which sentences call
something proved and refer to none."""

import re

import pytest
from writing import texts, unsupported

LABEL = re.compile(r"^:label: (\S+)$", re.MULTILINE)
LINK = re.compile(r"\{prf:ref\}`(?:[^`<]*<)?([\w-]+)>?`")


@pytest.mark.essential
def test_the_theorems_that_pages_refer_to_exist():
    text = "\n".join(texts().values())
    assert {*LINK.findall(text)} - {*LABEL.findall(text)} == set()


def test_a_claim_without_a_theorem_is_found():
    said = "It is sharp.\n\nSee {prf:ref}`x`: it is proved. So it is necessary."
    assert [*unsupported(said)] == ["It is sharp."]
    assert [*unsupported(":::{prf:lemma}\n*Proved.* It is.\n:::\n# Proved\nHence.")] == []
