r"""How much one gradient at initialisation remembers: decoding against $Nd^2/(LV^2)$, the axis of
the bound.

No step is taken: labels are decoded from the gradient in the values at zero, by arg max and by
assignment."""

from __future__ import annotations

from recallbook_studies import grids
from recallbook_studies.running.point import Point

SEEDS = range(10)
METHODS = ("argmax", "assignment")
DOUBLINGS = range(-1, 8)  # of N d^2 / (L V^2), from 1/2 to 128
CASES = tuple(  # V, L, d and whether the values carry the trigger
    (vocab, seq_len, vocab // share, flag)
    for vocab, lengths in ((128, (16,)), (256, (4, 16, 64)), (512, (16,)))
    for seq_len in lengths
    for share in (8, 4, 2, 1)
    for flag in (False, True)
    if not flag or (vocab, seq_len) == (256, 16)
)


def points() -> list[Point]:
    """Each case at each doubling, with both decoders."""
    found = []
    for vocab, seq_len, dim, flag in CASES:
        counts = grids.octaves(seq_len * vocab**2 / dim**2, DOUBLINGS)
        sizes = {"vocab": vocab, "seq_len": seq_len, "dim": dim, "samples": counts}
        found += grids.settings(**sizes, trigger_in_values=flag)
    return [Point(s, seed, method=method) for s in found for seed in SEEDS for method in METHODS]
