"""The predictions behind the page: a grid of settings, what removing terms does, widths, and
settings to check with.

Sizes are spaced evenly in their logarithm, closer where predictions turn fast: where L is of the
order of V, and from a quarter of a sequence for each fact to 64 of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from recallbook.setting import Setting
from recallbook.theory.prediction import term_names
from recallbook_studies.prediction_errors import log_uniform

VOCABS = (150, 226, 343, 518, 784, 1792, 4096)
LENGTHS = (2, 3, 4, 8, 16, 32, 48, 64, 96, 128, 160, 205, 256)
DIMS = (16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024)
SHARES = tuple(2.0**k for k in (*np.arange(-6, 3, 0.5), *range(3, 10))) + (1020.0,)  # N over V
PLENTY, FEW_LONG = 64, (2, 3, 4, 8, 16, 32, 64, 128, 256)  # from that share on only these lengths
FEWEST = 3  # sequences that a reader may ask for
APART = 0.05  # gains of two terms between which the page tells for certain which is larger
CHECKS = 1600  # random settings off the grid

# What removing a term does is added to the main grid's predictions, so fewer nodes do.
BINDING = (
    "mean bias",
    "gradient noise",
    "label frequencies",
    "interference",
    "label overlap",
    "own fact",
    "coverage",
)  # removing any other of the terms raises accuracy by less than 0.02: measured at random settings
FEW_VOCABS, FEW_LENGTHS, FEW_DIMS = (
    (150, 343, 1792, 4096),
    (2, 8, 32, 96, 256),
    (16, 45, 128, 362, 1024),
)
FEW_SHARES = (2.0**-6, 0.25, 1.0, 2.0, 4.0, 8.0, 32.0, 1020.0)

# So is what the MLP does, at widths of so many times d.
RATIOS = (0.5, 1.0, 2.0, 8.0, 32.0)
MLP_VOCABS, MLP_LENGTHS, MLP_DIMS = (
    (150, 784, 4096),
    (2, 8, 32, 96, 160, 256),
    (16, 45, 128, 362, 1024),
)
MLP_SHARES = (2.0**-6, 0.0625, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 32.0, 128.0, 1020.0)
MLP_DRAWS, MLP_EACH = 24, 12  # random pairs of dimension and width; random settings at each


class Sizes(NamedTuple):
    """A setting of the page."""

    vocab: int
    seq_len: int
    dim: int
    samples: int
    trigger_in_values: bool
    width: int | None = None

    @property
    def setting(self) -> Setting:
        """As the package takes it."""
        return Setting(**self._asdict())


class Case(NamedTuple):
    """One prediction of the table: which part of it, the sizes, and the term left out, if any."""

    part: str
    sizes: Sizes
    without: str = ""


def size(rng: np.random.Generator, low: float, high: float) -> int:
    """A size, log-uniform."""
    return int(log_uniform(rng, low, high))


def nodes(*sizes: Iterable[Any]) -> Iterator[tuple[float, Sizes]]:
    """Settings at all these V, d, N/V and L, ordered so that what a prediction remembers of the last
    is of use; with their N/V."""
    for vocab, dim, share, seq_len, flag in product(*sizes, (False, True)):
        yield share, Sizes(vocab, seq_len, dim, samples_of(vocab, share), flag)


def samples_of(vocab: int, share: float) -> int:
    """The number of sequences at a node: a whole one, so the node's own share is this over
    ``vocab``."""
    return max(1, round(share * vocab))


def grid() -> Iterator[Case]:
    """The main grid.

    Where there are many sequences predictions turn slowly and take long: some lengths are left out
    there."""
    for share, sizes in nodes(VOCABS, DIMS, SHARES, LENGTHS):
        if share < PLENTY or sizes.seq_len in FEW_LONG:
            yield Case("grid", sizes)


def checks() -> Iterator[Case]:
    """Random settings, sizes log-uniform over the range of the page."""
    rng, count = np.random.default_rng(5), 0
    while count < CHECKS:
        vocab, seq_len, dim = size(rng, 150, 4096), size(rng, 2, 257), size(rng, 16, 1024)
        samples, flag = size(rng, vocab / 64, 1000 * vocab), bool(rng.integers(2))
        if samples >= FEWEST:
            count += 1
            yield Case("check", Sizes(vocab, seq_len, dim, samples, flag))


def without() -> Iterator[Case]:
    """Every term removed that can bind, on fewer nodes."""
    for _, sizes in nodes(FEW_VOCABS, FEW_DIMS, FEW_SHARES, FEW_LENGTHS):
        for name in BINDING:
            # that one is nothing without the trigger in the values
            if sizes.trigger_in_values or name != "label frequencies":
                yield Case("without", sizes, name)


def widths() -> Iterator[Case]:
    """Widths, on fewer nodes; what an MLP of these sizes draws is remembered."""
    for dim, ratio, flag in product(MLP_DIMS, RATIOS, (False, True)):
        for vocab, share, seq_len in product(MLP_VOCABS, MLP_SHARES, MLP_LENGTHS):
            samples = samples_of(vocab, share)
            yield Case("width", Sizes(vocab, seq_len, dim, samples, flag, round(ratio * dim)))


def width_checks() -> Iterator[Case]:
    """Random settings with an MLP."""
    rng = np.random.default_rng(6)
    for _ in range(MLP_DRAWS):
        dim, flag = size(rng, 16, 1024), bool(rng.integers(2))
        width = size(rng, RATIOS[0] * dim + 1, RATIOS[-1] * dim)
        for _ in range(MLP_EACH):
            vocab = size(rng, 258, 4096)  # from here on the vocabulary does not enter the draw
            seq_len, samples = size(rng, 2, 257), size(rng, vocab / 64, 1000 * vocab)
            yield Case("width check", Sizes(vocab, seq_len, dim, samples, flag, width))


def all_gains() -> Iterator[Case]:
    """Every term removed at the first random settings: what binds there."""
    for case in islice(checks(), 240):
        for name in term_names(case.sizes.setting):
            yield Case("gains", case.sizes, name)


@cache
def cases() -> tuple[Case, ...]:
    """All of them; a row of the store names one by its place here."""
    return (*checks(), *grid(), *without(), *all_gains(), *widths(), *width_checks())
