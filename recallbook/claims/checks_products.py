"""Checks of claims about products of sizes, and thresholds in one of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recallbook.analysis import product_law
from recallbook.analysis.intervals import Interval, seed_interval
from recallbook.claims.findings import (
    CONFIRMED,
    LOCKS,
    PARTLY,
    REFUTED,
    Finding,
    decided_by,
    ends,
    fitted,
    length_factors,
    rough,
    said,
    signed,
    times,
)
from recallbook.experiments.scaling import large_sizes, lock_on_sizes
from recallbook.sweeps.archive import load_results

WITHIN = 0.25  # of a product: N itself is measured to about as much

# Products


class Product(NamedTuple):
    """Lock-on against a product of d and L, at three levels; what it misses at one half; the price of L in accuracy."""

    chances: dict[float, float]
    misses: float
    span: float
    accuracy: dict[str, Interval]
    exponents: dict[str, Interval]


def _product() -> Product:
    rows = lock_on_sizes.sizes(load_results("lock_on"), False)
    tests = {level: product_law.separability(rows, "dim", "seq_len", level=level) for level in (0.25, 0.5, 0.75)}
    table = lock_on_sizes.critical(load_results("lock_on"), False, False)["critical"]
    misses = math.exp(float(np.abs(tests[0.5].interaction.to_numpy()).max())) - 1
    chances = {level: test.p_value for level, test in tests.items()}
    return Product(chances, misses, table.max() / table.min(), length_factors(False), fitted(LOCKS))


@decided_by(
    _product,
    "Multiplicative: N is a function of d times a function of L, up to a quarter, about what each N is known to,"
    " while N varies by a factor of a thousand. For accuracy: the price of a longer sequence at d = 512 over that"
    " at d = 128 is 1, which the interval must hold. Confirmed if so for lock-on and for accuracy, true only where"
    " if for one.",
)
def product_of_three(found: Product) -> Finding:
    """A function of d times a function of L: for lock-on, for accuracy?"""
    text = (
        f"lock-on: a product of d and L misses N by at most {found.misses:.0%} while N varies {rough(found.span)}-fold "
    )
    text += (
        f"(d^ {ends(found.exponents['dim'])}, L^ {ends(found.exponents['seq_len'])}); accuracy 1/2, V = 512: L from 8 "
    )
    text += f"to 256 costs {_prices(found)}"
    holds = [found.misses < WITHIN, found.accuracy["ratio"].low <= 1 <= found.accuracy["ratio"].high]
    return Finding(text, CONFIRMED if all(holds) else PARTLY if any(holds) else REFUTED)


def _prices(found: Product) -> str:
    prices = [f"{times(x)} at {name}" for name, x in found.accuracy.items() if name != "ratio"]
    return f"{' and '.join(prices)}; their ratio is {ends(found.accuracy['ratio'])}, a product would give 1"


@decided_by(
    _product,
    "Two readings. That each size matters: no exponent's interval holds 0. That N is no function of d times a"
    " function of L: an exact product is rejected (Hotelling's test, p below 0.05 at three levels of lock-on"
    " together: below 0.017 at one) and misses more than a quarter. Confirmed if both readings hold, refuted if"
    " neither.",
)
def inseparable(found: Product) -> Finding:
    """Distance from a product of a function of d and a function of L."""
    text = "lock-on: p for an exact product "
    text += ", ".join(f"{p:.3f} at level {level:g}" for level, p in found.chances.items())
    text += f"; what it misses is at most {found.misses:.0%}, while N varies {rough(found.span)}-fold"
    matter = all(x.low > 0 or x.high < 0 for x in found.exponents.values())
    apart = min(found.chances.values()) < 0.05 / len(found.chances) and found.misses > WITHIN
    return Finding(text, CONFIRMED if matter and apart else PARTLY if matter or apart else REFUTED)


@decided_by(
    _product,
    "Each must multiply: exponents in V and L above 0 (whole intervals), and the price of a longer sequence in"
    " accuracy the same at both d. Confirmed if both, true only where if only the exponents are, refuted if they"
    " are not.",
)
def length_for_reviews(found: Product) -> Finding:
    """V and L in lock-on, and L in accuracy."""
    text = f"lock-on: N ∝ V^ {ends(found.exponents['vocab'])} · L^ {ends(found.exponents['seq_len'])}; accuracy 1/2: L "
    text += f"from 8 to 256 costs {_prices(found)}"
    grows = min(found.exponents["vocab"].low, found.exponents["seq_len"].low) > 0
    same = found.accuracy["ratio"].low <= 1 <= found.accuracy["ratio"].high
    return Finding(text, CONFIRMED if grows and same else PARTLY if grows else REFUTED)


class Thresholds(NamedTuple):
    """Recall gained between the two largest N, by d, the recall there, and exponents of lock-on."""

    gains: dict[int, Interval]
    last: dict[int, Interval]
    whole: dict[int, Interval]
    exponents: dict[str, Interval]


def _thresholds() -> Thresholds:
    rows = large_sizes.grid(load_results("large_sizes"), "three decades of N").query("not trigger_in_values")
    gains, last, whole = {}, {}, {}
    for dim, part in rows.groupby("dim"):
        table = part.pivot(index="seed", columns="samples", values="recall")
        gains[int(dim)] = seed_interval(table.iloc[:, -1] - table.iloc[:, -2])
        whole[int(dim)] = seed_interval(table.iloc[:, -1] - table.iloc[:, 0])
        last[int(dim)] = seed_interval(table.iloc[:, -1])
    return Thresholds(gains, last, whole, fitted(LOCKS))


FLAT = 0.02  # of recall: a fourfold N changes less


@decided_by(
    _thresholds,
    "A threshold in d alone: recall is below 0.9 and a fourfold N changes it by less than 0.02 (whole interval),"
    " so that data are no remedy. True only where if there is one for some d although lock-on follows products;"
    " confirmed if there is none; refuted if lock-on does not depend on d and L either.",
)
def thresholds(found: Thresholds) -> Finding:
    """Is there a d below which no N is enough?"""
    text = "V = 256, L = 4, recall at N = 262144, and what the last fourfold N gained: "
    text += ", ".join(f"{found.last[d].mean:.2f} and {signed(found.gains[d])} at d = {d}" for d in found.gains)
    stuck = [_stuck(found, d) for d in found.gains]
    product = found.exponents["dim"].high < 0 < found.exponents["seq_len"].low
    return Finding(text, CONFIRMED if product and not any(stuck) else PARTLY if product else REFUTED)


def _stuck(found: Thresholds, dim: int) -> bool:
    gain = found.gains[dim]
    return found.last[dim].high < 0.9 and max(abs(gain.low), abs(gain.high)) < FLAT


@decided_by(
    _thresholds,
    "Over a 256-fold range of N recall must rise, by the whole interval, and go on until 0.9. Confirmed if so at"
    " every d, true only where if at some d it stops below (a fourfold N changes it by less than 0.02), refuted if"
    " it never rises.",
)
def more_data_helps(found: Thresholds) -> Finding:
    """Recall against N at three dimensions."""
    text = "V = 256, L = 4, recall gained from N = 256 to 262144: " + said(
        *((f"d = {d}", x) for d, x in found.whole.items())
    )
    text += "; by the last fourfold N: " + said(*((f"d = {d}", x) for d, x in found.gains.items()))
    rises = [x.low > 0 for x in found.whole.values()]
    stuck = [_stuck(found, d) for d in found.gains]
    return Finding(text, REFUTED if not any(rises) else CONFIRMED if all(rises) and not any(stuck) else PARTLY)
