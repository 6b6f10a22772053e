r"""Checks of claims about the MLP."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from recallbook.analysis.intervals import Interval
from recallbook.claims.findings import CONFIRMED, PARTLY, REFUTED, Finding, decided_by, ends, said
from recallbook.experiments.mlp import phase as plane
from recallbook.experiments.scaling import mlp_sizes
from recallbook.sweeps.archive import load_results

NAMES = {"none": "no MLP", "relu": "ReLU", "tanh": "tanh", "he2": "quadratic Hermite", "he3": "cubic Hermite"}
WIDEST = 4096
Cells = dict[tuple[str, int], Interval]  # by activation and width


def _cells(table: pd.DataFrame, samples: int) -> Cells:
    """Means with intervals by activation and width at one N; without MLP the width is 0."""
    rows = table[table["samples"] == samples]
    return {
        (r.activation, 0 if r.activation == "none" else int(r.features)): Interval(r.mean, r.low, r.high)
        for r in rows.itertuples(name="Row")
    }


def _large() -> Cells:
    return _cells(mlp_sizes.means(mlp_sizes.large(load_results("mlp_sizes")), "recall"), 8192)


@decided_by(
    _large,
    "An activation gains from width if recall at m = 4096 is above that without MLP, by intervals that do not"
    " overlap: width that stays below no MLP at all makes nothing easier. Confirmed if both activations gain, true"
    " only where if one does.",
)
def width_helps(found: Cells) -> Finding:
    """Recall against width for two activations."""
    none, parts, gains = found["none", 0], [], []
    for name in ("he3", "relu"):
        parts.append(f"{NAMES[name]} " + said(*((f"m = {m}:", found[name, m]) for m in (256, WIDEST))))
        gains.append(found[name, WIDEST].low > none.high)
    text = f"V = 1024, d = 64, recall: no MLP {ends(none)}; " + "; ".join(parts)
    return Finding(text, CONFIRMED if all(gains) else PARTLY if any(gains) else REFUTED)


class Small(NamedTuple):
    """Recall at d = 32 with the trigger out of and in the values, lock-on with few sequences; recall at V = 1024."""

    out: Cells
    inside: Cells
    locks: Cells
    large: Cells


def _small() -> Small:
    results = load_results("mlp_sizes")
    out, inside = (_cells(mlp_sizes.means(mlp_sizes.small(results, flag), "recall"), 8192) for flag in (False, True))
    return Small(out, inside, _cells(mlp_sizes.means(mlp_sizes.small(results, False), "lock_on"), 512), _large())


@decided_by(
    _small,
    "Capacity is kept if recall at m = 4096 is at least 0.9, the level that this book calls learnt, by the whole"
    " interval, where without MLP it is below. Confirmed if so for all four activations with the trigger in and"
    " out of the values, refuted if for none.",
)
def width_at_small_dim(found: Small) -> Finding:
    """Recall at d = 32 with and without an MLP, trigger out of and in the values."""
    text, kept = "V = 256, d = 32, N = 8192, recall without MLP and at m = 4096: ", []
    for where, cells in (("out of", found.out), ("in", found.inside)):
        shown = [(NAMES["none"], cells["none", 0])]
        for name in ("relu", "tanh", "he2", "he3"):
            shown.append((NAMES[name], cells[name, WIDEST]))
            kept.append(cells[name, WIDEST].low >= 0.9 > cells["none", 0].high)
        text += said(*shown) + f", with the trigger {where} the values; "
    return Finding(text.removesuffix("; "), CONFIRMED if all(kept) else PARTLY if any(kept) else REFUTED)


@decided_by(
    _small,
    "Harder: recall or lock-on with the MLP is below that without, by intervals that do not overlap. Confirmed if"
    " so for every activation and width tried, true only where if for some, refuted if for none.",
)
def mlp_harder(found: Small) -> Finding:
    """Recall and lock-on with an MLP, against those without."""
    cases = {"recall, trigger out of the values": found.out, "trigger in the values": found.inside}
    cases |= {"lock-on at N = 512": found.locks, "recall, V = 1024, d = 64": found.large}
    parts, count = [], [0, 0]
    for what, cells in cases.items():
        below = [key for key, x in cells.items() if x.high < cells["none", 0].low]
        count = [count[0] + len(below), count[1] + len(cells) - 1]
        names = [f"{NAMES[name]} at m = {_widths(below, name)}" for name in NAMES if _widths(below, name)]
        parts.append(f"{what}: {', '.join(names) or 'none'}")
    first, wide = found.out["none", 0], found.out["he3", WIDEST]
    text = f"V = 256, d = 32, below no MLP in {count[0]} of {count[1]} cases; " + "; ".join(parts)
    text += f"; above it most: cubic Hermite, m = 4096, {ends(wide)} against {ends(first)}"
    return Finding(text, CONFIRMED if count[0] == count[1] else PARTLY if count[0] else REFUTED)


def _widths(keys: list[tuple[str, int]], name: str) -> str:
    return ", ".join(str(m) for activation, m in sorted(keys) if activation == name)


def _regions() -> pd.Series:
    """Cells of the plane of N and L, by the term that asks for the width there."""
    return plane.plane()["term"].value_counts()


@decided_by(
    _regions,
    "A region is at least one cell of our plane of N and L in which that noise costs most accuracy at the"
    " critical width (90 cells, three models). Confirmed if all three named noises have one, true only where if"
    " some have.",
)
def phase_diagram(found: pd.Series) -> Finding:
    """Which noises have a region of their own in our diagram of the width that is needed?"""
    named = [name for name in ("mean bias", "gradient noise", "MLP noise") if found.get(name, 0)]
    text = f"V = 256, accuracy 0.9, the term that binds in {found.sum()} cells: "
    text += ", ".join(f"{term} {count}" for term, count in found.items())
    text += f"; gradient noise {found.get('gradient noise', 0)}" * ("gradient noise" not in found)
    return Finding(text, (REFUTED, PARTLY, PARTLY, CONFIRMED)[len(named)])
