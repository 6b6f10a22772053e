r"""Accuracy where label frequencies bind: with the trigger in the values $N$ must grow like
$V^2\log V/d$.

Sequences are so short that attention always locks on. Without the trigger in the values the same
sizes need no more than coverage, so both are there."""

from __future__ import annotations

from recallbook_studies import grids
from recallbook_studies.running.point import Point

SEEDS = range(10)
LENGTH = 8
# Nearest power of two to the predicted N for accuracy 1/2 with the trigger in the values, by (V,
# d).
CENTRES = {
    (128, 64): 16384,
    (128, 128): 2048,
    (128, 256): 2048,
    (128, 512): 1024,
    (256, 128): 16384,
    (256, 256): 8192,
    (256, 512): 4096,
    (256, 1024): 4096,
    (512, 256): 16384,
    (512, 512): 16384,
    (512, 1024): 8192,
    (1024, 512): 32768,
    (1024, 1024): 32768,
}
OCTAVES = range(-7, 4)  # around the centre; at least a quarter of V


def points() -> list[Point]:
    """Each case from far below coverage to eight times the centre, with the trigger in and out of
    the values."""
    found = []
    for (vocab, dim), centre in CENTRES.items():
        counts = [n for n in grids.octaves(centre, OCTAVES) if n >= vocab / 4]
        sizes = {"vocab": vocab, "seq_len": LENGTH, "dim": dim, "samples": counts}
        found += grids.settings(**sizes, trigger_in_values=grids.FLAGS[::-1])
    # without the trigger in the values, more is saturated
    return grids.points(
        (s for s in found if s.trigger_in_values or s.samples <= 16 * s.vocab), SEEDS
    )
