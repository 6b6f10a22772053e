"""Chapters whose knobs a reader has moved still run, and say nothing of the old setting."""

import itertools
import re

import nbformat
import pytest
from execute import code_cells
from nbclient import NotebookClient
from nbformat import v4
from sampling import by_night
from test_notebooks import CHAPTERS, knobs, tags, texts

# The second is below the wall, and its sequences are too long for attention to lock on. In the third
# d > V > N; in the fourth L > V.
MOVES = {
    "above": {"V": 300, "L": 40, "d": 90, "N": 3100},
    "below": {"V": 310, "L": 200, "d": 40, "N": 700},
    "small": {"V": 70, "L": 4, "d": 81, "N": 50},
    "long": {"V": 61, "L": 90, "d": 46, "N": 1900},
}
FEWER = {"seeds": 3, "many_seeds": 40}
# By hand and by the package, as near as the page says.
BY_HAND = {
    "01": """
assert abs(bag - largest / L) < 0.01
assert np.isclose(coverage["seen"], coverage["expected"], atol=0.03).all()""",
    "04": "assert close",
    "05": """
from recallbook_theory import values
from recallbook_theory.symbolic import lock_terms as symbolic
from recallbook_theory.symbolic.expressions import numeric

assert np.allclose([*hand.values()], [sizes[name] for name in hand], rtol=0.05)
at = {**values.sizes(running), **dict.fromkeys(symbolic.SHARED, 1.0)}
signal = float(numeric(symbolic.trigger_score())(at))
assert abs(signal * L**2 * V - 1) < 0.05""",
    "06": "assert abs(recall - predicted.recall) < 0.1",
}


def by_move(case):
    """The small ones first, because they end soonest."""
    path, move = case
    return move != "small", path


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    by_night(sorted(itertools.product(CHAPTERS[:12], MOVES), key=by_move), day=2),
    ids=lambda case: f"{case[0].stem}-{case[1]}",
)
def test_a_chapter_survives_play(case, tmp_path):
    path, move = case
    notebook = nbformat.read(path, as_version=4)
    held = next(cell for cell in code_cells(notebook) if "knobs" in tags(cell))
    old = set(map(str, knobs(held.source).values()))
    for name, value in {**MOVES[move], **FEWER}.items():
        held.source = re.sub(rf"(?m)^{name} = \d+", f"{name} = {value}", held.source)
    if move in ("above", "below"):  # where the page's formulas hold
        notebook.cells.append(v4.new_code_cell(BY_HAND.get(path.stem[:2], "")))
    NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()
    for cell in code_cells(notebook):  # what it prints and draws, but for numbers at axes
        drawn = re.findall("<!-- ([^>]*[=a-z][^>]*) -->", str(cell.outputs))
        said = "\n".join([*texts(cell), *drawn]).replace(",", "")
        kept = old & {*re.findall(r"(?<![\d.])\d+(?![\d.])", said)}
        assert not kept or tags(cell) & {"own-sizes", "remove-cell"}, (kept, cell)
