"""The predictions behind the page: a grid of settings, what removing terms does, MLPs, and
settings to check with.

Sizes are spaced evenly in their logarithm, closer where predictions turn fast: where L is of the
order of V, and from a quarter of a sequence for each fact to 64 of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from recallbook.setting import Setting
from recallbook_studies.prediction_errors import log_uniform

VOCABS = (32, 70, 150, 226, 343, 518, 784, 1792, 4096)
LENGTHS = (2, 3, 4, 8, 16, 32, 48, 64, 96, 128, 160, 205, 256)
DIMS = (16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024)
SHARES = tuple(2.0**k for k in (*np.arange(-6, 3, 0.5), *range(3, 10))) + (1020.0,)  # N over V
FEWEST = 3  # sequences that a reader may ask for
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
    (32, 150, 343, 1792, 4096),
    (2, 8, 32, 96, 256),
    (16, 45, 128, 362, 1024),
)
FEW_SHARES = (2.0**-6, 0.25, 1.0, 2.0, 4.0, 8.0, 32.0, 1020.0)

# What an MLP does to lock-on is added too. What it does to recall depends on the length only through
# the sequences that attention locates, so one token shows it.
ACTIVATIONS = ("relu", "he3", "gelu")
MLP_VOCABS, MLP_DIMS = (32, 84, 220, 580, 1540, 4096), (16, 37, 84, 194, 446, 1024)
MLP_LENGTHS = (2, 4, 8, 16, 32, 64, 128, 256)
LOCK_SHARES = (2.0**-6, 2.0**-4, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 12.0, 64.0, 1020.0)
LOCK_RATIOS = (0.5, 2.0, 8.0, 32.0)  # widths in units of d
SHARES_ALONE = (2.0**-6, 0.125, 0.5, 1.0, 2.0, 4.0, 8.0, 32.0, 1020.0)
RATIOS = (0.5, 1.5, 4.0, 11.0, 32.0)
MLP_DRAWS, MLP_EACH = 96, 5  # random pairs of dimension and width; random settings at each


class Sizes(NamedTuple):
    """A setting of the page."""

    vocab: int
    seq_len: int
    dim: int
    samples: int
    trigger_in_values: bool
    width: int | None = None
    activation: str = "relu"

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


def nodes(*sizes: Iterable[Any]) -> Iterator[Sizes]:
    """Settings at all these V, d, N/V and L, ordered so that what a prediction remembers of the last
    is of use."""
    for vocab, dim, share, seq_len, flag in product(*sizes, (False, True)):
        yield Sizes(vocab, seq_len, dim, samples_of(vocab, share), flag)


def samples_of(vocab: int, share: float) -> int:
    """The number of sequences at a node: a whole one, so the node's own share is this over
    ``vocab``."""
    return max(1, round(share * vocab))


def grid() -> Iterator[Case]:
    """The main grid."""
    for sizes in nodes(VOCABS, DIMS, SHARES, LENGTHS):
        yield Case("grid", sizes)


def checks() -> Iterator[Case]:
    """Random settings, sizes log-uniform over the range of the page."""
    rng, count = np.random.default_rng(5), 0
    while count < CHECKS:
        vocab, seq_len, dim = size(rng, 32, 4096), size(rng, 2, 257), size(rng, 16, 1024)
        samples, flag = size(rng, vocab / 64, 1000 * vocab), bool(rng.integers(2))
        if samples >= FEWEST:
            count += 1
            yield Case("check", Sizes(vocab, seq_len, dim, samples, flag))


def without() -> Iterator[Case]:
    """Every term removed that can bind, on fewer nodes."""
    for sizes in nodes(FEW_VOCABS, FEW_DIMS, FEW_SHARES, FEW_LENGTHS):
        for name in BINDING:
            # that one is nothing without the trigger in the values
            if sizes.trigger_in_values or name != "label frequencies":
                yield Case("without", sizes, name)


def alone() -> Iterator[Case]:
    """Recall of one token, which attention always locates."""
    for sizes in nodes(VOCABS, DIMS, SHARES, (1,)):
        yield Case("alone", sizes)


def mlp_nodes(
    activation: str, ratios: Iterable[float], shares: Iterable[float], lengths: Iterable[int]
) -> Iterator[Sizes]:
    """Settings with an MLP, ordered so that what its sizes draw is remembered."""
    for flag, vocab, dim, ratio in product((False, True), MLP_VOCABS, MLP_DIMS, ratios):
        for seq_len, share in product(lengths, shares):
            samples, width = samples_of(vocab, share), round(ratio * dim)
            yield Sizes(vocab, seq_len, dim, samples, flag, width, activation)


def mlps() -> Iterator[Case]:
    """Lock-on, and recall of one token, with an MLP."""
    for activation in ACTIVATIONS:
        for sizes in mlp_nodes(activation, LOCK_RATIOS, LOCK_SHARES, MLP_LENGTHS):
            yield Case("lock", sizes)
        for sizes in mlp_nodes(activation, RATIOS, SHARES_ALONE, (1,)):
            yield Case("neurons", sizes)


def mlp_checks() -> Iterator[Case]:
    """Random settings with an MLP."""
    rng = np.random.default_rng(6)
    for draw in range(MLP_DRAWS):
        dim, flag = size(rng, 16, 1024), bool(rng.integers(2))
        width, activation = size(rng, RATIOS[0] * dim + 1, RATIOS[-1] * dim), ACTIVATIONS[draw % 3]
        for _ in range(MLP_EACH):
            vocab, seq_len = size(rng, 32, 4096), size(rng, 2, 257)
            samples = max(FEWEST, size(rng, vocab / 64 + 1, 1000 * vocab))
            yield Case("width check", Sizes(vocab, seq_len, dim, samples, flag, width, activation))


@cache
def cases() -> tuple[Case, ...]:
    """All of them; a row of the store names one by its place here."""
    return (*checks(), *alone(), *mlps(), *mlp_checks(), *without(), *grid())
