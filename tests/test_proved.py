"""Every sentence on a page that calls something proved, necessary, sufficient, matched or sharp has
a theorem with hypotheses: in it, next to it, or in proved.toml."""

import json
import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.essential

ROOT = Path(__file__).parent.parent
REGISTRY = tomllib.loads((ROOT / "tests/proved.toml").read_text(encoding="utf-8"))
CLAIM = re.compile(r"\b(proved|necessary|sufficient|matched|sharp)\b", re.IGNORECASE)
STATEMENT = re.compile(r"^:::\{prf:.*?^:::$", re.DOTALL | re.MULTILINE)


def pages():
    """Each page's text without statements, which have their hypotheses, and headings."""
    for path in sorted((ROOT / "book").glob("*.md")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        said = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        yield path.name, "\n\n".join(said)


def claims(text):
    """Sentences with one of the words, of paragraphs without a link to a theorem."""
    text = re.sub(r"^#.*$", "", STATEMENT.sub("", text), flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*|:] )", text):
        if "{prf:ref}`" not in paragraph:
            sentences = re.split(r"(?<=[.:?!)])\s+(?=[A-Z*`{$])", paragraph)
            yield from (sentence for sentence in sentences if CLAIM.search(sentence))


TEXTS = dict(pages())
CLAIMS = [(name, claim) for name, text in TEXTS.items() for claim in claims(text)]
KNOWN = [*REGISTRY["theorems"], *REGISTRY["other"]["fragments"]]


def test_every_claim_has_a_theorem():
    assert [c for c in CLAIMS if not any(known in c[1] for known in KNOWN)] == []
    assert len(CLAIMS) > 60


def test_no_entry_is_left_over():
    assert [known for known in KNOWN if not any(known in claim for _, claim in CLAIMS)] == []


def test_the_theorems_exist():
    labels = set(re.findall(r"^:label: (\S+)$", "\n".join(TEXTS.values()), re.MULTILINE))
    assert set(REGISTRY["theorems"].values()) - labels == set()
    linked = re.findall(r"\{prf:ref\}`(?:[^`<]*<)?([\w-]+)>?`", "\n".join(TEXTS.values()))
    assert set(linked) - labels == set()


def test_a_claim_without_a_theorem_is_found():
    assert [*claims("It is sharp.\n\nSee {prf:ref}`x`: it is proved. So it is necessary.")] == [
        "It is sharp."
    ]
    assert [*claims(":::{prf:lemma}\n*Proved.* It is.\n:::\n# Proved\nHence.")] == []
