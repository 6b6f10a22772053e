r"""Capacity: the largest vocabulary, which is the number of facts, that reaches accuracy 0.9 with
given $N$, $d$ and $L$; predicted, simulated, and as a product of powers.

``python -m recallbook table capacities STORE`` predicts it, and ``--export`` writes the table that
ships. From it the sweep ``capacity`` takes its vocabularies: four around each prediction, or around
the vocabulary of the best accuracy where none reaches 0.9.

**When a product claim holds.** This rule was committed before the numbers that it judges were made.

A product of powers of some sizes, its constant and powers fitted by least squares in logarithms to
the very sizes it is judged at, *holds* there if it misses none by more than a factor
:data:`HOLDS`; it is *fair* if it misses nine in ten by at most :data:`FAIR`; else there is *none*.
The set must have :data:`FEWEST` sizes or more, over which what is fitted varies at least
:data:`SPAN`-fold: on less, every smooth function is a product. A size is a factor of the product
if its power is at least :data:`FACTOR`; with a smaller one the product is one of the other sizes.

It is asked in both variants, tau = 0 and 1, by both definitions of capacity, A, the largest
vocabulary with accuracy 0.9, and B, the facts known out of a vocabulary that does not move
(between 8 and seven tenths of it), and over three sets of sizes:

- *everywhere* that facts are stored, N, d and L moved;
- *locked*: L at most half of where attention's cliff is predicted for the best vocabulary;
- *regime*, the one that reviews of the paper name: L = V^c with c below 1, d from the root of V
  to V, N at least V log V. There A is read as the condition on N at given V, d and L, wherever it
  is more than V log V, and B as K against N, d and L.

The claim that capacity is a product of N, d and L is confirmed if the product holds everywhere,
in both variants and by both definitions, and N, d and L are factors; refuted if it is not even
fair in any of the twelve cases; else it is true only where it holds or is fair."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recallbook.setting import Setting
from recallbook.theory.critical import capacity
from recallbook.theory.prediction import phase, predict
from recallbook.theory.symbolic.expressions import Array
from recallbook_studies import grids, plotting
from recallbook_studies.intervals import crossing
from recallbook_studies.running.archive import load_results
from recallbook_studies.running.point import Point

LEVEL = 0.9
SAMPLES = (1000, 4000, 16000, 100_000)
DIMS = (16, 32, 64, 128, 256, 512)
LENGTHS = (8, 64, 128, 256, 512, 1024)
MOST_TOKENS = 2e7  # N L
UNLIMITED = 10**9  # so many sequences show all facts equally often
NEURONS = {32: (128, 512), 64: (256, 1024), 128: (512,)}  # widths by d, with he3
MLP_SAMPLES, MLP_LENGTHS = (2000, 16000), (8, 32, 128)
OCTAVES = (-0.45, -0.15, 0.15, 0.45)  # around the prediction
WIDE_OCTAVES = (-1.5, -0.5, 0.5, 1.5)  # around the best vocabulary
SEEDS, TEST_SAMPLES = range(10), 2000
RESAMPLES = 400
HOLDS, FAIR = 1.25, 1.5  # factors by which a product may miss
FEWEST, SPAN, FACTOR = 12, 10.0, 0.1
BELOW = "samples == 16000"  # of the lower panel
SIZES = ["width", "samples", "dim", "seq_len"]


class Resources(NamedTuple):
    """What the number of facts is sought for; width 0 is no MLP."""

    width: int
    samples: int
    dim: int
    seq_len: int

    @property
    def fields(self) -> dict[str, Any]:
        """As fields of a setting."""
        mlp = {"width": self.width, "activation": "he3"} if self.width else {}
        return {"samples": self.samples, "dim": self.dim, "seq_len": self.seq_len, **mlp}


def keys() -> list[Resources]:
    """All sizes, with at most :data:`MOST_TOKENS` in the batch; then those with an MLP, and what
    fits into each dimension with unlimited data and perfect attention."""
    plain = [Resources(0, n, d, length) for n in SAMPLES for d in DIMS for length in LENGTHS]
    mlp = [
        Resources(m, n, d, length)
        for d, widths in NEURONS.items()
        for m in widths
        for n in MLP_SAMPLES
        for length in MLP_LENGTHS
    ]
    ceilings = [Resources(0, UNLIMITED, d, 1) for d in DIMS]
    swept = [sizes for sizes in plain + mlp if sizes.samples * sizes.seq_len <= MOST_TOKENS]
    return swept + ceilings


def row(key: tuple[int, int, int, int]) -> dict[str, Any]:
    """The predicted capacity, 0 where there is none, and what costs most accuracy there; or the
    vocabulary with the best predicted accuracy, and that accuracy."""
    sizes = Resources(*key)
    found = capacity(**sizes.fields, accuracy=LEVEL, warn=False)
    best = found or max(_tried(sizes.samples), key=lambda vocab: _accuracy(vocab, sizes))
    there = Setting(vocab=best, **sizes.fields)
    return {
        **sizes._asdict(),
        "capacity": found,
        "vocab": best,
        "accuracy": _accuracy(best, sizes),
        "binds": phase(there),
    }


def _tried(samples: int) -> Iterator[int]:
    return (round(2 ** (k / 2)) for k in range(2, int(2 * math.log2(samples)) - 1))


def _accuracy(vocab: int, sizes: Resources) -> float:
    return predict(Setting(vocab=vocab, **sizes.fields), warn=False).accuracy


@cache
def predicted() -> pd.DataFrame:
    """The committed predictions."""
    return load_results("capacities")


def points() -> list[Point]:
    """Four vocabularies at all sizes up to the first length with no capacity, which is one of
    them."""
    found: list[Point] = []
    for _, line in predicted().query("seq_len > 1").groupby(SIZES[:3], sort=False):
        past = line["capacity"].eq(0).cumsum()
        for case in line[past <= 1].itertuples():
            sizes = Resources(case.width, case.samples, case.dim, case.seq_len)
            octaves = OCTAVES if case.capacity else WIDE_OCTAVES
            vocabs = {max(size, 2) for size in grids.octaves(case.vocab, octaves)}
            settings = [Setting(vocab=vocab, **sizes.fields) for vocab in sorted(vocabs)]
            found += grids.points(settings, SEEDS, TEST_SAMPLES)
    return found


def largest_vocab(vocabs: Array, accuracy: Array, level: float = LEVEL) -> float:
    """Where mean accuracy falls through the level; 0 if it is below already at the smallest, and
    infinite if it is above still at the largest."""
    found = crossing(1 / vocabs[::-1], accuracy[::-1], level)
    return 0.0 if found == math.inf else math.inf if found == 0 else 1 / found


def simulated(frame: pd.DataFrame) -> pd.DataFrame:
    """The simulated capacity at all sizes of the sweep with the 95 % interval over seeds, and the
    prediction.

    Where the prediction is 0, ``accuracy`` is the mean at the best of the tried vocabularies."""
    rows = []
    table = frame.assign(width=frame["width"].fillna(0).astype(int))
    for key, part in table.groupby(SIZES, sort=True):
        values = part.pivot(index="vocab", columns="seed", values="accuracy")
        vocabs, outcomes = values.index.to_numpy(float), values.to_numpy(float)
        again = np.random.default_rng(0).integers(len(SEEDS), size=(RESAMPLES, len(SEEDS)))
        drawn = [largest_vocab(vocabs, outcomes[:, seeds].mean(axis=1)) for seeds in again]
        low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
        mean = outcomes.mean(axis=1)
        rows.append(
            {
                **Resources(*key)._asdict(),
                "simulated": largest_vocab(vocabs, mean),
                "low": low,
                "high": high,
                "best": mean.max(),
            }
        )
    return pd.DataFrame(rows).merge(predicted(), on=SIZES)


class Product(NamedTuple):
    """Powers by size, and the factor by which the product misses each row, at least 1."""

    powers: dict[str, float]
    misses: np.ndarray


def product(table: pd.DataFrame, column: str, powers: list[str]) -> Product:
    """The best product of powers of these sizes for a positive column."""
    design = np.log(table[powers].to_numpy(float))
    design = np.column_stack([np.ones(len(design)), design])
    logs = np.log(table[column].to_numpy(float))
    fitted = np.linalg.lstsq(design, logs, rcond=None)[0]
    misses = np.exp(np.abs(design @ fitted - logs))
    return Product(dict(zip(powers, fitted[1:].tolist(), strict=True)), misses)


def judged(table: pd.DataFrame, column: str, powers: list[str]) -> str:
    """Whether the best product of powers ``"holds"`` for a positive column, is ``"fair"``, or there is
    ``"none"``; ``"too few"`` sizes, or too alike, to tell."""
    wide = len(table) >= FEWEST and table[column].max() >= SPAN * table[column].min()
    if not wide:
        return "too few"
    misses = product(table, column, powers).misses
    if misses.max() <= HOLDS:
        return "holds"
    return "fair" if np.quantile(misses, 0.9) <= FAIR else "none"


def draw(table: pd.DataFrame) -> Figure:
    """Capacity against N at the shortest length, and against L at the third N; simulated without
    MLP."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.2, 7.2))
    fit = predicted().query("seq_len == 1").set_index("dim")["capacity"]
    for index, dim in enumerate(DIMS[1:]):
        colour = plotting.COLOURS[index]
        for ax, along, fixed in ((above, "samples", "seq_len == 8"), (below, "seq_len", BELOW)):
            line = predicted().query(f"width == 0 and dim == {dim} and {fixed}")
            line = line[line["capacity"] > 0]
            ax.plot(line[along], line["capacity"], color=colour, label=f"$d={dim}$")
            found = table.query(f"dim == {dim} and {fixed}")
            known = found[found["simulated"].between(1, math.inf, inclusive="left")]
            bars = [known["simulated"] - known["low"], known["high"] - known["simulated"]]
            ax.errorbar(known[along], known["simulated"], bars, fmt="o", ms=5, color=colour)
            none = found[found["simulated"] == 0]
            ax.plot(none[along] * (0.92 + 0.04 * index), 0 * none[along] + 12, "x", color=colour)
        above.axhline(fit[dim], color=colour, linestyle=":", linewidth=1)
    samples = np.array(SAMPLES[:: len(SAMPLES) - 1], float)
    above.plot(samples, samples / -math.log(1 - LEVEL), "k--", label=r"$N/\ln10$")
    proved = load_results("sufficient").query(
        "accuracy == 0.9 and seq_len == 32 and vocab == 256 and embeddings == 'gaussian'"
    )
    proved = proved[~proved["trigger_in_values"] & proved["dim"].isin(DIMS)]
    above.plot(proved["sufficient"], proved["vocab"], "kv", ms=6, label="proved")
    above.set(xlabel="training sequences $N$")
    below.set(xlabel="length $L$")
    for ax in (above, below):
        ax.set(xscale="log", yscale="log", ylabel="capacity $K$", ylim=(10, 2e4))
    plotting.plain_ticks(below, LENGTHS)
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
