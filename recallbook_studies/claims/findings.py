r"""What decides a claim: a measurement, a rule, and the verdict that follows; measurements that
checks share.

Every check of :mod:`recallbook_studies.claims.checks` is a :class:`Check`: it measures, then
decides. The decision sees nothing but what was measured, so other data can be put in its place, and
a test does. Measurements are committed results, predictions, or simulations of a few seconds. A
check that can only illustrate a claim returns no verdict (``None``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recallbook.analysis import critical
from recallbook.analysis.intervals import Interval, seed_interval
from recallbook.sweeps.archive import load_results
from recallbook_studies.ch02.associative import capacity, recalled
from recallbook_studies.ch09 import four_corners, lock_on_sizes
from recallbook_studies.ch12 import ladder_laws, runs

CONFIRMED, REFUTED, PARTLY = "confirmed", "refuted", "true only where"
OUT: dict[str, Any] = {"trigger_in_values": False}
LOCKS = "lock-on"
LABELS, ONE, SHORT, LONG = (
    "label frequencies",
    "one gradient",
    "three steps (V = 64)",
    "400 steps (V = 64)",
)
RUNGS = {SHORT: "three steps", LONG: "many steps"}  # of chapter 12
SYMBOLS = {"vocab": "V", "dim": "d", "seq_len": "L"}
HELD = 0.99  # of the facts: what counts as held, as in the public code on trained memories


class Finding(NamedTuple):
    """What a check measured, in one line, the verdict that follows, if any, and the rule by which
    it follows."""

    measured: str
    verdict: str | None = None
    rule: str = ""


@dataclass(frozen=True)
class Check:
    """A measurement and what follows from it.

    ``decide`` is a function of what ``measure`` returns; ``rule`` says its thresholds and why they
    are where they are."""

    measure: Callable[[], Any]
    decide: Callable[[Any], Finding]
    rule: str = ""

    def __call__(self) -> Finding:
        return self.decide(self.measure())._replace(rule=self.rule)


def decided_by(
    measure: Callable[[], Any], rule: str = ""
) -> Callable[[Callable[[Any], Finding]], Check]:
    """Make a check of a function that decides."""
    return lambda decide: Check(measure, decide, rule)


def number(x: float, digits: int = 2) -> str:
    """A number with a proper minus sign, and no sign at zero."""
    text = f"{x:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "\u2212")


def ends(found: Interval, digits: int = 2) -> str:
    """A number with its 95 % interval."""
    mean, low, high = (number(x, digits) for x in found)
    return f"{mean} [{low}, {high}]"


def times(found: Interval, digits: int = 1) -> str:
    """A factor with its 95 % interval."""
    return "a factor " + ends(found, digits)


def signed(found: Interval) -> str:
    """A difference with its 95 % interval, with its sign."""
    return ("" if number(found.mean)[0] in "\u22120" and found.mean <= 0 else "+") + ends(found)


def said(*found: tuple[str, Interval]) -> str:
    """Several numbers with their names."""
    return ", ".join(f"{name}{':' * name[-1].isdigit()} {ends(x)}" for name, x in found)


def powers(size: str, found: dict[str, Interval]) -> str:
    """How exponents of measured critical N in one size are said, by law."""
    return f"exponent of N in {SYMBOLS[size]}: " + said(*found.items())


def rough(size: float) -> str:
    """A critical size with two digits: its interval is wider than that."""
    return f"{float(f'{size:.2g}'):,.0f}".replace("inf", "infinite")


@cache
def fitted(law: str) -> dict[str, Interval]:
    """Exponents of measured critical N, by size: lock-on, label frequencies, one gradient, and
    accuracy one half after three and 400 steps."""
    if law == LOCKS:
        rows = lock_on_sizes.sizes(load_results("lock_on"), False)
        by_vocab = critical.exponents(
            lock_on_sizes.vocabularies(load_results("lock_on"), False), ["vocab"]
        )
        table = pd.concat([critical.exponents(rows, ["dim", "seq_len"]), by_vocab])
    elif law == LABELS:
        rows = load_results("label_frequencies").query("trigger_in_values")
        table = critical.exponents(rows, ["vocab", "dim"], outcome="accuracy")
    elif law == ONE:
        rows = load_results("one_step").query("method == 'argmax' and not trigger_in_values")
        table = critical.exponents(rows, ["vocab", "seq_len", "dim"], outcome="recall")
    else:
        frame = runs.load()
        table = ladder_laws.fitted(frame[frame["rung"] == RUNGS[law]])
    return {row.size: Interval(row.exponent, row.low, row.high) for row in table.itertuples()}


def exponents_in(size: str, *laws: str) -> Callable[[], dict[str, Interval]]:
    """A measurement: exponents of critical N in one size, by law."""
    return lambda: {law: fitted(law)[size] for law in laws}


@cache
def corners(outcome: str, trigger_in_values: bool) -> pd.DataFrame:
    """Critical N in the four corners of small and large d and L."""
    return four_corners.critical(
        load_results("four_corners"), trigger_in_values, outcome
    ).set_index(["dim", "seq_len"])


def factor(frame: pd.DataFrame, chosen: pd.Series, outcome: str, level: float = 0.5) -> Interval:
    """Critical N of the chosen rows over that of the others, with its 95 % interval; seeds are
    resampled together."""
    # the exponent of a size that is 1 and e is the logarithm of the ratio
    rows = frame.assign(size=np.where(chosen, math.e, 1.0))
    found = critical.exponents(rows, ["size"], outcome=outcome, level=level)
    return Interval(*np.exp(found[["exponent", "low", "high"]].iloc[0].to_numpy(float)).tolist())


def length_factors(trigger_in_values: bool) -> dict[str, Interval]:
    """Price of a longer sequence in the corners: N for accuracy 1/2 at L = 256 over L = 8, by d;
    and their ratio.

    The ratio is 1 if N is a function of d times a function of L.
    """
    frame = load_results("four_corners")
    frame = frame[frame["trigger_in_values"] == trigger_in_values]
    long, wide = frame["seq_len"] == 256, frame["dim"] == 512
    found = {
        f"d = {d}": factor(frame[frame["dim"] == d], long[frame["dim"] == d], "accuracy")
        for d in (128, 512)
    }
    sizes = {"long": long, "wide": wide, "both": long & wide}
    rows = frame.assign(**{name: np.where(where, math.e, 1.0) for name, where in sizes.items()})
    table = critical.exponents(rows, list(sizes), outcome="accuracy").set_index("size")
    both = table.loc["both", ["exponent", "low", "high"]].to_numpy(float)
    return {**found, "ratio": Interval(*np.exp(both).tolist())}


@cache
def facts_held(dim: int, accuracy: float = HELD) -> Interval:
    """Facts that a sum of outer products holds, simulated: the mean of eight draws on the
    sphere."""

    def held(seed: int) -> int:
        return capacity(lambda n: float(recalled(n, dim, seed, "sphere").mean()), accuracy)

    return seed_interval([held(seed) for seed in range(8)])
