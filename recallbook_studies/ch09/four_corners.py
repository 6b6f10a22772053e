r"""Small and large $d$ and $L$: predicted and observed critical $N$, for lock-on and for
accuracy."""

from __future__ import annotations

from recallbook_studies import grids
from recallbook_studies.running.point import Point

SEEDS = range(10)
VOCAB, DIMS, LENGTHS = 512, (128, 512), (8, 256)
SAMPLES = tuple(2**k for k in range(4, 19))
ENOUGH = 2**15  # without the trigger in the values all is learnt before


def points() -> list[Point]:
    """The four corners, with the trigger in and out of the values."""
    sizes = {"seq_len": LENGTHS, "dim": DIMS, "samples": SAMPLES, "trigger_in_values": grids.FLAGS}
    corners = grids.settings(vocab=VOCAB, **sizes)
    return grids.points((s for s in corners if s.trigger_in_values or s.samples <= ENOUGH), SEEDS)
