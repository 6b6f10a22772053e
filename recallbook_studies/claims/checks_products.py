r"""Checks of claims about products of sizes, thresholds in one of them, and what orthogonal
embeddings change."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd

from recallbook.analysis import critical
from recallbook.analysis.intervals import Interval, seed_interval
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.training.simulation import simulate
from recallbook_studies.ch09 import geometry, large_sizes, lock_on_sizes
from recallbook_studies.claims.findings import (
    CONFIRMED,
    LOCKS,
    OUT,
    PARTLY,
    REFUTED,
    Finding,
    corners,
    decided_by,
    ends,
    fitted,
    length_factors,
    rough,
    said,
    signed,
    times,
)

WITHIN = 0.25  # of a product: N itself is measured to about as much

# Products


def _product() -> SimpleNamespace:
    """Lock-on: how far a product of d and L misses N, over which span, exponents; price of a longer
    L in accuracy."""
    table = lock_on_sizes.critical(load_results("lock_on"), False, False)
    misses = (
        math.exp(float(np.abs(lock_on_sizes.interactions(table, "critical").to_numpy()).max())) - 1
    )
    span = table["critical"].max() / table["critical"].min()
    return SimpleNamespace(
        misses=misses, span=span, accuracy=length_factors(False), exponents=fitted(LOCKS)
    )


@decided_by(
    _product,
    "Multiplicative: N is a function of d times a function of L, up to a quarter, about what each N is known to,"
    " while N varies by a factor of a thousand. For accuracy: the price of a longer sequence at d = 512 over that"
    " at d = 128 is 1, which the interval must hold. Confirmed if so for lock-on and for accuracy, true only where"
    " if for one.",
)
def product_of_three(found: SimpleNamespace) -> Finding:
    """A function of d times a function of L: for lock-on, for accuracy?"""
    text = f"lock-on: a product of d and L misses N by at most {found.misses:.0%} while N varies {rough(found.span)}-fold "
    text += f"(d^ {ends(found.exponents['dim'])}, L^ {ends(found.exponents['seq_len'])}); accuracy 1/2, V = 512: L from 8 "
    text += f"to 256 costs {_prices(found)}"
    holds = [
        found.misses < WITHIN,
        found.accuracy["ratio"].low <= 1 <= found.accuracy["ratio"].high,
    ]
    return Finding(text, CONFIRMED if all(holds) else PARTLY if any(holds) else REFUTED)


def _prices(found: SimpleNamespace) -> str:
    prices = [f"{times(x)} at {name}" for name, x in found.accuracy.items() if name != "ratio"]
    return f"{' and '.join(prices)}; their ratio is {ends(found.accuracy['ratio'])}, a product would give 1"


@decided_by(
    _product,
    "Inseparable is what the sources' notes call multiplicative: each size matters, and N is their product. Each"
    " matters if no exponent's interval holds 0; a product is judged as in the claim on a product of N, d and L."
    " Confirmed if both for lock-on and for accuracy, true only where if for lock-on alone, refuted if not even there.",
)
def inseparable(found: SimpleNamespace) -> Finding:
    """Does each size matter, and do they multiply?"""
    text = f"lock-on: d^ {ends(found.exponents['dim'])}, L^ {ends(found.exponents['seq_len'])}, a product of the two "
    text += f"misses N by at most {found.misses:.0%}; accuracy 1/2: L from 8 to 256 costs {_prices(found)}"
    matter = all(x.low > 0 or x.high < 0 for x in found.exponents.values())
    locks = matter and found.misses < WITHIN
    both = locks and found.accuracy["ratio"].low <= 1 <= found.accuracy["ratio"].high
    return Finding(text, CONFIRMED if both else PARTLY if locks else REFUTED)


@decided_by(
    _product,
    "Each must multiply: exponents in V and L above 0 (whole intervals), and the price of a longer sequence in"
    " accuracy the same at both d. Confirmed if both, true only where if only the exponents are, refuted if they"
    " are not.",
)
def length_for_reviews(found: SimpleNamespace) -> Finding:
    """V and L in lock-on, and L in accuracy."""
    text = f"lock-on: N ∝ V^ {ends(found.exponents['vocab'])} · L^ {ends(found.exponents['seq_len'])}; accuracy 1/2: L "
    text += f"from 8 to 256 costs {_prices(found)}"
    grows = min(found.exponents["vocab"].low, found.exponents["seq_len"].low) > 0
    same = found.accuracy["ratio"].low <= 1 <= found.accuracy["ratio"].high
    return Finding(text, CONFIRMED if grows and same else PARTLY if grows else REFUTED)


def _thresholds() -> SimpleNamespace:
    """Recall gained by the last fourfold N, that at the last N, and the whole gain, by d; exponents
    of lock-on."""
    rows = large_sizes.grid(load_results("large_sizes"), "three decades of N").query(
        "not trigger_in_values"
    )
    gains, last, whole = {}, {}, {}
    for dim, part in rows.groupby("dim"):
        table = part.pivot(index="seed", columns="samples", values="recall")
        gains[int(dim)] = seed_interval(table.iloc[:, -1] - table.iloc[:, -2])
        whole[int(dim)] = seed_interval(table.iloc[:, -1] - table.iloc[:, 0])
        last[int(dim)] = seed_interval(table.iloc[:, -1])
    return SimpleNamespace(gains=gains, last=last, whole=whole, exponents=fitted(LOCKS))


FLAT = 0.02  # of recall: a fourfold N changes less


@decided_by(
    _thresholds,
    "A threshold in d alone: recall is below 0.9 and a fourfold N changes it by less than 0.02 (whole interval),"
    " so that data are no remedy. True only where if there is one for some d although lock-on follows products;"
    " confirmed if there is none; refuted if lock-on does not depend on d and L either.",
)
def thresholds(found: SimpleNamespace) -> Finding:
    """Is there a d below which no N is enough?"""
    text = "V = 256, L = 4, recall at N = 262144, and what the last fourfold N gained: "
    text += ", ".join(
        f"{found.last[d].mean:.2f} and {signed(found.gains[d])} at d = {d}" for d in found.gains
    )
    stuck = [_stuck(found, d) for d in found.gains]
    product = found.exponents["dim"].high < 0 < found.exponents["seq_len"].low
    return Finding(
        text, CONFIRMED if product and not any(stuck) else PARTLY if product else REFUTED
    )


def _stuck(found: SimpleNamespace, dim: int) -> bool:
    gain = found.gains[dim]
    return bool(found.last[dim].high < 0.9 and max(abs(gain.low), abs(gain.high)) < FLAT)


@decided_by(
    _thresholds,
    "Over a 256-fold range of N recall must rise, by the whole interval, and go on until 0.9. Confirmed if so at"
    " every d, true only where if at some d it stops below (a fourfold N changes it by less than 0.02), refuted if"
    " it never rises.",
)
def more_data_helps(found: SimpleNamespace) -> Finding:
    """Recall against N at three dimensions."""
    text = "V = 256, L = 4, recall gained from N = 256 to 262144: " + said(
        *((f"d = {d}", x) for d, x in found.whole.items())
    )
    text += "; by the last fourfold N: " + said(*((f"d = {d}", x) for d, x in found.gains.items()))
    rises = [x.low > 0 for x in found.whole.values()]
    stuck = [_stuck(found, d) for d in found.gains]
    return Finding(
        text, REFUTED if not any(rises) else CONFIRMED if all(rises) and not any(stuck) else PARTLY
    )


# Orthogonal embeddings

LAWS = {"random": "gaussian, d = 258", "orthogonal": "orthogonal, d = 258"}


def _optimism() -> dict[str, Interval]:
    """Critical N of random over that of orthogonal embeddings at equal d, by outcome and L."""
    results, found = load_results("geometry"), {}
    for name, outcome, flag in (
        ("lock-on", "lock_on", False),
        ("accuracy", "accuracy", False),
        ("accuracy with the trigger in the values", "accuracy", True),
    ):
        for row in geometry.ratios(results, flag, outcome).itertuples():
            found[f"{name} at L = {row.seq_len}"] = Interval(row.ratio, row.low, row.high)
    return found


@decided_by(
    _optimism,
    "Optimistic: random embeddings of the same d need at least a tenth more sequences, by the whole interval."
    " Confirmed if so in every case, true only where if in some, refuted if in none.",
)
def optimism(found: dict[str, Interval]) -> Finding:
    """Critical N of random over that of orthogonal embeddings at equal d."""
    text = "N random over orthogonal, V = 256, d = 258: " + said(*found.items())
    more = [x.low > 1.1 for x in found.values()]
    return Finding(text, CONFIRMED if all(more) else PARTLY if any(more) else REFUTED)


def growth(law: str) -> Interval:
    """Exponent of critical N for lock-on in L from 64 to 256, for one law of embeddings."""
    rows = geometry.labelled(
        load_results("geometry").query("not trigger_in_values and seq_len != 16")
    )
    rows = rows[rows["law"] == LAWS[law]]
    found = critical.exponents(rows, ["seq_len"]).iloc[0]
    return Interval(float(found["exponent"]), float(found["low"]), float(found["high"]))


@cache
def _separates() -> SimpleNamespace:
    """With orthogonal embeddings: largest change of an outcome between dimensions, draw by draw;
    growth of N with L."""
    runs = [
        [
            simulate(
                Setting(vocab=64, seq_len=32, dim=dim, samples=256, embeddings="orthogonal", **OUT),
                s,
            )
            for s in (0, 1)
        ]
        for dim in (66, 200)
    ]
    outcomes = np.array([[(run.accuracy, run.lock_on) for run in row] for row in runs])
    return SimpleNamespace(
        change=float(np.abs(np.diff(outcomes, axis=0)).max()), growth=growth("orthogonal")
    )


@decided_by(
    _separates,
    "Separate: N is a function of d times a function of L. If outcomes are the same at d and at three times d,"
    " draw by draw (within 0.001), the first function is a constant, and N cannot be anything else. True only"
    " where if they differ by up to 0.1, refuted if by more: d would then act in a way of its own.",
)
def orthogonal_separates(found: SimpleNamespace) -> Finding:
    """Does d matter at all for orthogonal embeddings, and how does N grow with L?"""
    text = f"orthogonal, V = 64, L = 32, N = 256: accuracy and lock-on differ by {found.change:.3f} at most between "
    text += f"d = 66 and 200, in two draws; V = 256: N for lock-on grows as L^ {ends(found.growth)} from L = 64 to 256"
    return Finding(
        text, CONFIRMED if found.change < 0.001 else PARTLY if found.change < 0.1 else REFUTED
    )


def _coupling() -> SimpleNamespace:
    """Exponents of N in d and L with random embeddings; with orthogonal ones growth with L and any
    change with d."""
    rows = geometry.gaussian(load_results("geometry"), False).query("seq_len != 16")
    table = critical.exponents(rows, ["dim", "seq_len"]).set_index("size")
    random = {size: Interval(*table.loc[size, ["exponent", "low", "high"]]) for size in table.index}
    return SimpleNamespace(random=random, **vars(_separates()))


@decided_by(
    _coupling,
    "Coupled: N changes with d and with L. The overlap makes it so for a size if the exponent of N in it has an"
    " interval without 0 for random embeddings, while for orthogonal ones nothing changes: outcomes by at most 0.001,"
    " draw by draw (d), an interval that holds 0 (L). Confirmed if so for both sizes, true only where if for one,"
    " refuted if for none.",
)
def interference_multiplies(found: SimpleNamespace) -> Finding:
    """How N depends on d and on L, with overlap and without."""
    text = "V = 256, d = 64 to 258, L = 64 and 256, N for lock-on: random embeddings "
    text += f"d^ {ends(found.random['dim'])}, L^ {ends(found.random['seq_len'])}; orthogonal ones L^ {ends(found.growth)},"
    text += f" and outcomes differ by {found.change:.3f} at most between two d"
    matter = {size: x.low > 0 or x.high < 0 for size, x in found.random.items()}
    gone = {"dim": found.change < 0.001, "seq_len": found.growth.low <= 0 <= found.growth.high}
    due = [matter[size] and gone[size] for size in gone]
    return Finding(text, CONFIRMED if all(due) else PARTLY if any(due) else REFUTED)


# The table of critical N


def _tables() -> dict[str, pd.DataFrame]:
    return {
        f"trigger {'in' if flag else 'out of'} the values": corners("accuracy", flag)[
            ["critical", "low", "high"]
        ]
        for flag in (False, True)
    }


ORDER = ((128, 8), (128, 256), (512, 8), (512, 256))


@decided_by(
    _tables,
    "Low, high, low, moderate: both short corners below the long one at large d, and that below the long one at"
    " small d, each by intervals that do not overlap. Confirmed if so with the trigger in and out of the values,"
    " true only where if in one case.",
)
def table_order(found: dict[str, pd.DataFrame]) -> Finding:
    """Low, high, low, moderate?"""
    text = "N for accuracy 1/2, V = 512, in the order of the table, " + "; ".join(
        f"{name}: " + ", ".join(_rounded(table.loc[corner]) for corner in ORDER)
        for name, table in found.items()
    )
    holds = [_ordered(table) for table in found.values()]
    return Finding(text, CONFIRMED if all(holds) else PARTLY if any(holds) else REFUTED)


def _rounded(row: pd.Series) -> str:
    return f"{rough(row['critical'])} [{rough(row['low'])}, {rough(row['high'])}]"


def _ordered(table: pd.DataFrame) -> bool:
    short = max(table.loc[corner, "high"] for corner in ((128, 8), (512, 8)))
    wide, narrow = table.loc[(512, 256)], table.loc[(128, 256)]
    return bool(short < wide["low"] and wide["high"] < narrow["low"])


def _predicted() -> pd.Series:
    found = pd.concat([corners("accuracy", flag) for flag in (False, True)])
    return found["predicted"] / found["critical"]


@decided_by(_predicted)
def table_match(found: pd.Series) -> Finding:
    """Our predictions against our observations in the corners."""
    return Finding(
        f"our predicted over our observed N, {len(found)} corners: {found.min():.2f} to {found.max():.2f}"
    )
