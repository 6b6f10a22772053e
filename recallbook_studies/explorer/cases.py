"""The predictions behind the page: a grid of settings, what removing terms does, MLPs, and
settings to check with.

Sizes are spaced evenly in their logarithm, closer where predictions turn fast: where L is of the
order of V, and from a quarter of a sequence for each fact to 64 of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, product
from typing import Any

import numpy as np

VOCABS = (32, 48, 70, 150, 226, 343, 518, 784, 1792, 4096)
LENGTHS = (2, 3, 4, 8, 16, 32, 48, 64, 96, 128, 160, 205, 256, 320, 400, 512, 640, 800, 1024)
DIMS = (16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024)
SHARES = tuple(2.0**k for k in (*np.arange(-6, 3, 0.5), *range(3, 10))) + (1020.0,)  # N over V
FEWEST = 3  # sequences that a reader may ask for


# Removing any other of the terms raises accuracy by less than 0.02: measured at random settings
BINDING = (
    "mean bias",
    "gradient noise",
    "label frequencies",
    "interference",
    "label overlap",
    "own fact",
    "coverage",
)
ACTIVATIONS = ("relu", "he3")
RATIOS = (0.5, 32.0)  # the least and the largest width, in units of d


# The nodes of every grid. What removing a term does is added to the main grid's predictions, so fewer
# nodes do. With an MLP recall depends on the length only through the sequences that attention locates,
# so one token alone shows it (``neurons``).
AXES: dict[str, dict[str, tuple[float, ...]]] = {
    "lock": {
        "vocab": (32, 49, 75, 220, 580, 1400, 4096),
        "seq_len": (2, 4, 8, 16, 32, 64, 110, 180, 280, 440, 680, 1024),
        "dim": (16, 27, 48, 90, 180, 400, 1024),
        "ratio": (0.5, 2.0, 8.0, 32.0),
        "share": (1 / 64, 1 / 32, 1 / 16, 0.125, 0.25, 0.5, 1.2, 4, 8, 20, 64, 256, 1020),
    },
    "neurons": {
        "vocab": (32, 70, 160, 400, 1200, 4096),
        "dim": (16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024),
        "ratio": (0.5, 1.2, 2.8, 6.5, 14.5, 32.0),
        "share": (0.06, 0.16, 0.4, 1.0, 2.5, 8.0, 40.0, 180.0, 1020.0),
    },
    "without": {
        "vocab": (32, 150, 343, 1792, 4096),
        "seq_len": (2, 8, 32, 96, 128, 256, 512, 1024),
        "dim": (16, 45, 128, 362, 1024),
        "share": (2.0**-6, 0.25, 1.0, 2.0, 4.0, 8.0, 32.0, 1020.0),
    },
    "grid": {"vocab": VOCABS, "seq_len": LENGTHS, "dim": DIMS, "share": SHARES},
    # trained to the end beyond the largest load, in units of which ``load`` is
    "held": {
        "vocab": (32, 90, 300, 1100, 4096),
        "load": (1.01, 1.04, 1.12, 1.4, 2.2, 5.0, 30.0),
        "share": (0.5, 1.2, 2.5, 5.0, 12.0, 60.0),
    },
}


FIELDS = "vocab seq_len dim samples trigger_in_values width activation"  # of a setting of the page


def samples_of(vocab: int, share: float) -> int:
    """The number of sequences at a node: a whole one, so the node's own share is this over
    ``vocab``."""
    return max(1, round(share * vocab))


def cases() -> Iterator[dict[str, Any]]:
    """Every prediction, by columns: its place, which part of the table, the term left out if any,
    the load where it stands for the dimension, and the sizes, of which those of samples are whole."""
    places = count()
    for part, axes in AXES.items():
        kinds = ACTIVATIONS if "ratio" in axes else ("relu",)
        terms = BINDING if part == "without" else ("",)
        flags = (False,) if "load" in axes else (False, True)
        for kind, term in product(kinds, terms):
            for *values, flag in product(*axes.values(), flags):
                if term == "label frequencies" and not flag:
                    continue  # that one is nothing without the trigger in the values
                node = dict(zip(axes, values, strict=True))
                vocab, dim = int(node["vocab"]), int(node.get("dim", 1))
                width = round(node["ratio"] * dim) if "ratio" in node else None
                samples, seq_len = samples_of(vocab, node["share"]), int(node.get("seq_len", 1))
                sizes = vocab, seq_len, dim, samples, bool(flag), width, kind
                chosen = {"part": part, "without": term, "load": node.get("load", 0.0)}
                setting = dict(zip(FIELDS.split(), sizes, strict=True))
                yield {"index": next(places), **chosen, **setting}
