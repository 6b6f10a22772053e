r"""What the ladder is swept over: a cross of sizes through one base, the numbers of sequences, and
how long."""

from __future__ import annotations

from typing import NamedTuple

from recallbook.setting import Setting
from recallbook_studies.ch12.rungs import Rung

VOCAB, LENGTH, DIM = 64, 8, 32  # the base, through which one size at a time is varied
VOCABS, LENGTHS, DIMS = (32, 64, 128), (4, 8, 16), (16, 32, 64)
BUDGETS = (400, 1600, 6400)  # steps
SEEDS = range(10)
FRESH = (*SEEDS, *range(2000, 2010))  # at the base
PER_FACT = (0.5, 1, 2, 4, 8, 16)  # numbers of sequences, in units of V
MARKER_PER_FACT = (
    1,
    2,
    3,
    4,
    6,
    8,
    16,
)  # a marker token is found by two layers together, which takes more
TUNED_AT, MARKER_TUNED_AT = 2, 4  # where rate and decay are tuned, in the same units
# and also tuned at fewer
FEW = {"MLP": (64, 32), "four heads": (64, 32), "residual and norm": (64,)}


class Shape(NamedTuple):
    """V, L and d."""

    vocab: int
    seq_len: int
    dim: int


VARIED = {"vocab": VOCABS, "seq_len": LENGTHS, "dim": DIMS}
BASE = Shape(VOCAB, LENGTH, DIM)
LARGE = Shape(
    512, 32, 128
)  # beyond the toy: eight times the facts, four times the length and the dimension
LARGE_RUNGS = ("AdamW", "learned embeddings", "MLP")


def along(size: str) -> list[Shape]:
    """The base with one size varied."""
    return [BASE._replace(**{size: value}) for value in VARIED[size]]


def shapes() -> list[Shape]:
    """The base, and every shape that differs from it in one size."""
    return list(dict.fromkeys([BASE, *along("dim"), *along("seq_len"), *along("vocab")]))


def samples(rung: Rung, vocab: int) -> list[int]:
    """Numbers of sequences."""
    shares = MARKER_PER_FACT if rung.trigger == "marker" else PER_FACT
    return [round(share * vocab) for share in shares]


def shapes_of(rung: Rung) -> list[Shape]:
    """Every shape; the base alone for one layer and a marker token, which it cannot find at any
    number of sequences."""
    return [BASE] if rung.name == "marker token" else shapes()


def setting(shape: Shape, count: int, marked_values: bool = True, zipf: float = 0.0) -> Setting:
    """The setting of this shape with this number of sequences; a rung says itself what its values
    carry."""
    return Setting(**shape._asdict(), samples=count, trigger_in_values=marked_values, zipf=zipf)


def tuned_samples(rung: Rung, vocab: int) -> int:
    """Number of sequences at which the rung's rate and decay are tuned."""
    return vocab * (MARKER_TUNED_AT if rung.trigger == "marker" else TUNED_AT)
