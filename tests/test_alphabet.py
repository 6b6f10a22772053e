"""One alphabet: the letters of the chapters are in the notation, each with one meaning."""

import tomllib

import measure
import nbformat
from conftest import ROOT

# What is not mended yet: letters leave these lists, and none is added.
KNOWN = tomllib.loads((ROOT / "tests" / "letters.toml").read_text(encoding="utf-8"))


def test_no_letter_gets_a_second_meaning():
    found = measure.second_meanings()
    assert {letter: found[letter] for letter in found if letter not in KNOWN["two meanings"]} == {}


def test_each_letter_of_a_chapter_is_in_the_notation():
    found = measure.strangers()
    assert {number: letters - {*KNOWN["no home"][number]} for number, letters in found.items()} == {
        number: set() for number in KNOWN["no home"]
    }


def test_letters_are_read_as_they_are_written(tmp_path):
    assert measure.letters_of(r"\hat\pi(v)=W_V z_{x_{ij}}^\top \mathbb E\,\Gamma'_k+\text{so}") == {
        *(r"\hat\pi", "v", "W_V", "z_", r"\Gamma'_")
    }
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks").mkdir()
    rows = (
        "| $g$ | one | `g` |\n\n## Local symbols\n\n| $g=Wz$ | two | {doc}`../notebooks/02_e` |\n"
    )
    (tmp_path / "book" / "notation.md").write_text(rows)
    assert measure.second_meanings(tmp_path) == {"g": {"": "one", "02_e": "two"}}
    cells = [nbformat.v4.new_markdown_cell("The letters $g$ and $H_k$, at 5 \\$.")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / "02_e.ipynb")
    assert measure.strangers(tmp_path) == {"02": {"H_"}}
