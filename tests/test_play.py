"""Chapters whose knobs a reader has moved still run, and say nothing of the old setting."""

import re

import nbformat
import play
import pytest
from execute import code_cells
from test_notebooks import CHAPTERS, images, tags, texts

# The second is below the wall, and its sequences are too long for attention to lock on.
MOVES = (
    {"V": 300, "L": 40, "d": 90, "N": 3100},
    {"V": 310, "L": 200, "d": 40, "N": 700},
)
FEWER = {"seeds": 3, "many_seeds": 40}
# By hand and by the package, as near as the page says.
BY_HAND = {
    "01": """
batch = rb.draw(running, seed=0)
labelled = batch.permutation.argsort()[batch.labels]
assert abs((batch.tokens == labelled[:, None]).sum() / V / own - 1) < 0.05
assert np.isclose(bag["mean"], bag["exact"], atol=0.03).all()""",
    "04": "assert close",
    "05": """
hand = by_hand(V, L, d, N)
assert np.allclose([*hand.values()], [sizes[name] for name in hand], rtol=0.005)
signal = scores.predicted(running)["score"]
assert abs(signal * L**2 * V - 1) < 0.05""",
    "06": "assert abs(located @ recalled - predicted.recall) < 0.1",
}
OWN = {"own-sizes", "remove-cell"}


def said(cell):
    """What a cell prints, and what its figures say but the numbers of their axes."""
    drawn = "".join(str(entry.get("image/svg+xml")) for entry in images(cell))
    return "\n".join([*texts(cell), *re.findall("<!-- (.*[=a-z].*) -->", drawn)])


def survives(path, move):
    notebook = nbformat.read(path, as_version=4)
    held = next(cell for cell in code_cells(notebook) if "knobs" in tags(cell))
    old = {f"{size:{style}}" for size in play.knobs(held.source).values() for style in ("d", ",")}
    found = play.moved(notebook, BY_HAND.get(path.stem[:2], ""), **move, **FEWER)
    for cell in code_cells(found):
        kept = old & set(re.findall(r"(?<![\d.,])\d[\d,]*(?![\d.])", said(cell)))
        assert tags(cell) & OWN or not kept, (kept, cell.source, said(cell))


@pytest.mark.slow
@pytest.mark.parametrize("path", [CHAPTERS[0], CHAPTERS[4]], ids=lambda path: path.stem)
def test_two_chapters_survive_play(path):
    survives(path, MOVES[1])


@pytest.mark.nightly
@pytest.mark.parametrize("move", MOVES, ids=("above", "below"))
@pytest.mark.parametrize("path", CHAPTERS[:12], ids=lambda path: path.stem)
def test_every_chapter_survives_play(path, move):
    survives(path, move)
