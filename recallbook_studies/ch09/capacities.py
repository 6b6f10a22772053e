r"""Capacity: the largest vocabulary, which is the number of facts, that reaches accuracy 0.9 with
given $N$, $d$ and $L$; predicted, simulated, and as a product of powers.

``python -m recallbook table capacities STORE`` predicts it, and ``--export`` writes the table that
ships. The sweep ``capacity`` has four vocabularies around each prediction, or around the vocabulary
of the best accuracy where none reaches 0.9.

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
from functools import cache
from itertools import product as product_of
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.optimize import brentq

from recallbook.setting import Setting
from recallbook_studies import grids, laws, plotting
from recallbook_studies.ch09 import accuracy_sizes
from recallbook_studies.intervals import crossing
from recallbook_studies.running.archive import load_results
from recallbook_theory.critical import capacity
from recallbook_theory.prediction import phase
from recallbook_theory.symbolic.expressions import Array, L, d, numeric

LEVEL = 0.9
COLUMNS = {0.5: "capacity_50", LEVEL: "capacity", 0.99: "capacity_99"}  # by level
SAMPLES = (1000, 4000, 16000, 100_000)
OUT_OF = 1024  # facts of which the known ones are counted
MANY = 40  # seeds where draws scatter
RESAMPLES = 400
HOLDS, FAIR = 1.25, 1.5  # factors by which a product may miss
FEWEST, SPAN, FACTOR = 12, 10.0, 0.1
SIZES = ["trigger_in_values", "out_of", "width", "samples", "dim", "seq_len"]


class Resources(NamedTuple):
    """What the number of facts is sought for; width 0 is no MLP.

    ``out_of`` is the vocabulary of which known facts are counted, or 0 where the largest vocabulary
    is sought."""

    trigger_in_values: bool
    out_of: int
    width: int
    samples: int
    dim: int
    seq_len: int

    @property
    def fields(self) -> dict[str, Any]:
        """As fields of a setting."""
        mlp = {"width": self.width, "activation": "he3"} if self.width else {}
        sizes = {"samples": self.samples, "dim": self.dim, "seq_len": self.seq_len}
        return {**sizes, **mlp, "trigger_in_values": self.trigger_in_values}


def row(**key: Any) -> dict[str, Any]:
    """The predicted capacity, 0 where there is none, and what costs most accuracy there. Facts known
    out of a vocabulary have no level."""
    sizes = Resources(**key)
    if sizes.out_of:
        stored = {"capacity": capacity(**sizes.fields, vocab=sizes.out_of, warn=False)}
    else:
        stored = {
            column: capacity(**sizes.fields, accuracy=level, warn=False)
            for level, column in COLUMNS.items()
        }
    vocab = sizes.out_of or int(stored["capacity"])
    binds = phase(Setting(vocab=vocab, **sizes.fields)) if vocab else "none"
    return {**stored, "binds": binds}


@cache
def predicted() -> pd.DataFrame:
    """The committed predictions."""
    return load_results("capacities")


def largest_vocab(vocabs: Array, accuracy: Array, level: float = LEVEL) -> float:
    """Where mean accuracy falls through the level; 0 if it is below already at the smallest, and
    infinite if it is above still at the largest."""
    inverse = crossing(1 / vocabs[::-1], accuracy[::-1], level)
    return 0.0 if inverse == math.inf else math.inf if inverse == 0 else 1 / inverse


def simulated(frame: pd.DataFrame) -> pd.DataFrame:
    """The simulated capacity at all sizes of the sweep with the 95 % interval over seeds, and the
    prediction."""
    rows = []
    table = frame.assign(width=frame["width"].fillna(0).astype(int))
    draws = table.groupby(["vocab", *SIZES[:1], *SIZES[2:]])["seed"].transform("size")
    counted = (table["vocab"] == OUT_OF) & (draws == MANY)
    table["out_of"] = np.where(counted, OUT_OF, 0)
    for key, part in table.groupby(SIZES, sort=True):
        values = part.pivot(index="vocab", columns="seed", values="accuracy")
        vocabs, outcomes = values.index.to_numpy(float), values.to_numpy(float)
        of = OUT_OF if Resources(*key).out_of else None
        seeds = outcomes.shape[1]
        again = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
        means = [outcomes[:, drawn].mean(axis=1) for drawn in (*again, range(seeds))]
        *drawn, whole = [of * x[0] if of else largest_vocab(vocabs, x) for x in means]
        low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
        ends = {"simulated": whole, "low": low, "high": high}
        rows.append({**Resources(*key)._asdict(), **ends})
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


def cases(level: float = LEVEL) -> dict[tuple[str, str, int], tuple[pd.DataFrame, str, list[str]]]:
    """The sizes of the twelve cases of the rule, by set, definition and tau: rows, what is fitted, and
    which sizes may be factors. ``level``, one of :data:`COLUMNS`, is the accuracy that definition A
    asks for."""
    chosen: dict[tuple[str, str, int], tuple[pd.DataFrame, str, list[str]]] = {}
    needed = accuracy_sizes.predicted(level).loc[accuracy_sizes.regime()].reset_index()
    finite = needed["critical"] < math.inf
    needed = needed[finite & (needed["critical"] > needed["vocab"] * np.log(needed["vocab"]))]
    moved = ["samples", "dim", "seq_len"]
    rows = predicted().query("width == 0 and seq_len > 1 and dim >= 64")
    asked_for = rows["capacity"].where(rows["out_of"] > 0, rows[COLUMNS[level]]).astype(int)
    rows = rows.assign(capacity=asked_for).query("capacity >= 8")
    lengths = [longest(n, dim) for n, dim in zip(rows["samples"], rows["dim"], strict=True)]
    rows = rows.assign(longest=lengths)
    for tau, out_of in product_of(grids.FLAGS, (0, OUT_OF)):
        part = grids.at(rows, trigger_in_values=tau, out_of=out_of)
        part = part[part["capacity"] <= 0.7 * OUT_OF] if out_of else part
        kind = "B" if out_of else "A", int(tau)
        shorter = part.query("2 * seq_len <= longest")
        least = OUT_OF * math.log(OUT_OF)
        inside = part.query(f"samples >= {least} and seq_len < {OUT_OF}")
        chosen["everywhere", *kind] = part, "capacity", moved
        chosen["locked", *kind] = shorter, "capacity", moved
        asked = grids.at(needed, trigger_in_values=tau), "critical", ["vocab", "dim", "seq_len"]
        chosen["regime", *kind] = (inside, "capacity", moved) if out_of else asked
    return chosen


def verdicts() -> pd.DataFrame:
    """The rule applied to its twelve cases: how many sizes, the powers of the best product that are
    factors, its largest miss and that of nine in ten, and the verdict."""
    rows = []
    for (where, definition, tau), (table, column, powers) in cases().items():
        best = product(table, column, powers)
        factors = {name: x for name, x in best.powers.items() if abs(x) >= FACTOR}
        ends = {"most": best.misses.max(), "nine in ten": np.quantile(best.misses, 0.9)}
        row = {"where": where, "definition": definition, "tau": tau, "sizes": len(table)}
        verdict = judged(table, column, powers)
        rows.append(row | {"factors": factors, **ends, "verdict": verdict})
    return pd.DataFrame(rows)


VARIANTS = ((False, 0, r"$\tau=0$"), (True, 1, r"$\tau=1$"))  # with the colour's number
DRAWN = {64: ":", 128: "-", 512: "--"}  # d, and its line


def draw(table: pd.DataFrame) -> Figure:
    """Capacity by both definitions against N, at the shortest length, in both variants."""
    figure, axes = plt.subplots(2, 1, figsize=(5.4, 7.4), sharex=True)
    chosen = "width == 0 and seq_len == 8 and capacity > 0 and dim in @DRAWN"
    for ax, out_of in zip(axes, (0, OUT_OF), strict=True):
        for tau, index, _ in VARIANTS:
            kind, colour = {"trigger_in_values": tau, "out_of": out_of}, plotting.COLOURS[index]
            lines, points = (grids.at(x, **kind).query(chosen) for x in (predicted(), table))
            for dim, line in lines.sort_values("samples").groupby("dim"):
                ax.plot(line["samples"], line["capacity"], DRAWN[dim], color=colour)
            points = points[points["simulated"].between(1, math.inf, inclusive="left")]
            bars = [points["simulated"] - points["low"], points["high"] - points["simulated"]]
            ax.errorbar(points["samples"], points["simulated"], bars, fmt="o", ms=4, color=colour)
        name = f"facts known out of {out_of}" if out_of else "largest $V$ with accuracy 0.9"
        ax.set(xscale="log", yscale="log", ylabel=name)
    above, below = axes
    facts = np.geomspace(40, 900, 30)
    asked = 5 * facts * (facts + 512) * np.log(facts) / 512
    above.plot(SAMPLES, np.array(SAMPLES) / math.log(10), "k", lw=1, label=r"$N/\ln10$")
    above.plot(asked, facts, "k-.", lw=1, label=r"$512\,N=5K(K+512)\ln K$")
    below.set_xlabel("training sequences $N$")
    marks = [Line2D([], [], color=plotting.COLOURS[i], label=text) for _, i, text in VARIANTS]
    marks += [Line2D([], [], color="0.5", ls=ls, label=f"$d={dim}$") for dim, ls in DRAWN.items()]
    marks += above.get_legend_handles_labels()[0]
    figure.legend(handles=marks, loc="outside lower center", ncols=3)
    return figure


def longest(samples: float, dim: float) -> float:
    """The length up to which attention locks on in nine tenths of the sequences at the best
    vocabulary, from mean bias alone."""
    asked = numeric(laws.cliff() / laws.PRICE)

    def missing(length: float) -> float:
        return float(laws.ratio_for(LEVEL, length - 1) * asked({L: length, d: dim})) - samples

    return float(brentq(missing, 2, 1e6))


def collapsed(table: pd.DataFrame) -> pd.DataFrame:
    r"""What is left of the capacity at the shortest length, ``share``, against ``reach``, which is
    $Nd/(L^2\sqrt{\ln L})$."""
    short = table.query("seq_len == 8").set_index(SIZES[:-1])["capacity"].rename("flat")
    rows = table.query("width == 0 and seq_len > 8").join(short, on=SIZES[:-1])
    rows = rows[(rows["flat"] >= 20) & (rows["dim"] >= 64)]
    reach = rows["samples"] * rows["dim"] / rows["seq_len"] ** 2 / np.log(rows["seq_len"]) ** 0.5
    return rows.assign(reach=reach, share=rows["capacity"] / rows["flat"])
