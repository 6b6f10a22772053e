"""The report for a writer reads letters as they are written."""

import nbformat
import writing


def test_letters_are_read_as_they_are_written(tmp_path):
    assert writing.letters_of(r"\hat\pi(v)=W_V z_{x_{ij}}^\top \mathbb E\,\Gamma'_k+\text{so}") == {
        *(r"\hat\pi", "v", "W_V", "z_", r"\Gamma'_")
    }
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks").mkdir()
    rows = (
        "| $g$ | one | `g` |\n\n## Local symbols\n\n| $g=Wz$ | two | {doc}`../notebooks/02_e` |\n"
    )
    (tmp_path / "book" / "notation.md").write_text(rows, encoding="utf-8")
    folded = ":::{note} Three\n:class: dropdown\nOf $H_k$.\n:::"
    cells = [nbformat.v4.new_markdown_cell(one) for one in ("The letter $g$, at 5 \\$.", folded)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / "02_e.ipynb")
    assert writing.second_meanings(tmp_path) == {"g": {"": "one", "02_e": "two"}}
    assert writing.strangers(tmp_path) == {"02_e": {"H_"}}
