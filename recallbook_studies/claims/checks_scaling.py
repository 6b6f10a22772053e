r"""Checks of claims about exponents, products, orthogonal embeddings, and signal and noise."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.theory.prediction import predict
from recallbook.training.simulation import simulate
from recallbook_studies import critical, grids
from recallbook_studies.ch01 import baselines
from recallbook_studies.ch09 import capacities, geometry, large_sizes, lock_on_sizes
from recallbook_studies.ch12 import ladder_laws, runs
from recallbook_studies.claims.findings import Found, holds, measure
from recallbook_studies.intervals import Interval, seed_interval
from recallbook_studies.running.archive import load_results

LOCKS = "lock-on"
LABELS, ONE, SHORT, LONG = (
    "label frequencies",
    "one gradient",
    "three steps (V = 64)",
    "400 steps (V = 64)",
)
RUNGS = {SHORT: "three steps", LONG: "many steps"}  # of chapter 12, at the book's own rates
Intervals = dict[str, Interval]
SEEN = "width == 0 and not trigger_in_values and out_of == 0"  # tau = 0, largest V with 0.9

# Exponents and their signs


def _intervals(table: pd.DataFrame) -> Intervals:
    return {r.size: Interval(r.exponent, r.low, r.high) for r in table.itertuples()}


def _exponents(rows: pd.DataFrame, *sizes: str, outcome: str = "lock_on") -> pd.DataFrame:
    return critical.exponents(rows, list(sizes), outcome=outcome)


def _rung(name: str, level: float = 0.5) -> pd.DataFrame:
    return ladder_laws.fitted(runs.load().query("rung == @name"), level)


@cache
def exponent_table() -> pd.DataFrame:
    """Exponents of measured critical N with intervals, by law and size: lock-on, label frequencies,
    one gradient, and accuracy one half after three and 400 steps."""
    locks = load_results("lock_on")
    labels = load_results("label_frequencies").query("trigger_in_values")
    one = load_results("one_step").query("method == 'argmax' and not trigger_in_values")
    fits = [
        (LOCKS, _exponents(lock_on_sizes.sizes(locks, False), "dim", "seq_len")),
        (LOCKS, _exponents(lock_on_sizes.vocabularies(locks, False), "vocab")),
        (LABELS, _exponents(labels, "vocab", "dim", outcome="accuracy")),
        (ONE, _exponents(one, "vocab", "seq_len", "dim", outcome="recall")),
        *((law, _rung(name)) for law, name in RUNGS.items()),
    ]
    table = pd.concat([found.assign(law=law) for law, found in fits], ignore_index=True)
    return table[["law", "size", "exponent", "low", "high"]]


def fitted(law: str) -> Intervals:
    """Exponents of one law, by size."""
    return _intervals(grids.at(exponent_table(), law=law))


def _in(size: str, *laws: str) -> Intervals:
    return {law: fitted(law)[size] for law in laws}


@measure(
    vocabulary_harder=lambda vocab: [x.low > 0 for x in vocab.values()],
    larger_dim_helps=lambda dim: [x.high < 0 for x in dim.values()],
)
def directions() -> Found:
    """Exponents of N in V and in d."""
    return {size: _in(size, LOCKS, LABELS, ONE) for size in ("vocab", "dim")}


@measure(
    length_harder=lambda exponent, doubled: [
        harder := exponent.low > 0,
        harder and all(x.low > 1 for x in doubled.values()),
    ]
)
def length_harder() -> Found:
    """Exponent of N for lock-on in L; factors in N for accuracy 1/2 where L doubles, by the shorter
    L."""
    rows = load_results("envelope").query("dim == 128")
    doubled = Intervals()
    for length, double in pairwise(sorted(rows["seq_len"].unique())):
        part = rows[rows["seq_len"].isin([length, double])]
        doubled |= grids.factors(part, **{str(length): part["seq_len"] == double})
    return {"exponent": fitted(LOCKS)["seq_len"], "doubled": doubled}


@measure(
    longer_training=lambda short, long, rung: [
        kept := all(x["dim"].low <= 0 <= x["seq_len"].high for x in (long, rung)),
        kept and all(holds(long[size], short[size].mean) for size in ("dim", "seq_len")),
    ]
)
def longer_scaling() -> Found:
    """Exponents of N for accuracy one half after three and 400 steps, and for 0.9 after 400."""
    return {
        "short": fitted(SHORT),
        "long": fitted(LONG),
        "rung": _intervals(_rung(RUNGS[LONG], level=0.9)),
    }


@measure(capacity_grows_with_l=lambda growth: [x.low > 1 for x in growth.values()])
def facts_stored() -> Found:
    """By which factor the simulated capacity grows from N = 1000 to 16,000, from d = 64 to 256 and
    from L = 8 to 256, the two other sizes at d = 256, L = 8, N = 16,000."""
    facts = capacities.simulated(load_results("capacity")).query(SEEN)
    facts = facts.set_index(["samples", "dim", "seq_len"])[["simulated", "low", "high"]]
    last = facts.loc[16000, 256, 8]
    more = {
        "N": (last, facts.loc[1000, 256, 8]),
        "d": (last, facts.loc[16000, 64, 8]),
        "L": (facts.loc[16000, 256, 256], last),
    }
    growth = {
        name: Interval(
            high.iloc[0] / low.iloc[0], high["low"] / low["high"], high["high"] / low["low"]
        )
        for name, (high, low) in more.items()
    }
    return {"growth": growth, "past": facts.loc[16000, 256, 1024]["simulated"]}


@measure(
    n_like_d_times_l=lambda readings: [
        exact := any(all(holds(x, 1) for x in line) for line in readings),
        exact or any(all(x.low > 0.5 for x in line) for line in readings),
    ]
)
def product_of_d_and_l() -> Found:
    """Exponents of the N that is needed, by size and law; those of the facts stored; and both as
    ``readings``, exponents in d and in L."""
    needed = {
        "dim": _in("dim", LOCKS, LABELS, ONE, LONG),
        "seq_len": _in("seq_len", LOCKS, ONE, LONG),
    }
    held, growth = {}, facts_stored()["growth"]
    for name, ratio in (("d", 256 / 64), ("L", 256 / 8)):
        held[name] = Interval(*(np.log(growth[name]) / math.log(ratio)))
    readings = [[needed["dim"][law], x] for law, x in needed["seq_len"].items()]
    return {"needed": needed, "held": held, "readings": [*readings, [*held.values()]]}


# Products


@measure(
    product_of_three=lambda whole, verdicts: [
        all(case == ("holds", 3) for case in whole),
        bool({"holds", "fair"} & {*verdicts}),
    ]
)
def product_of_three() -> Found:
    """The rule of :mod:`recallbook_studies.ch09.capacities`: verdict and number of factors over all
    sizes, every verdict, where the product is at least fair, and by what it is off at most over all
    sizes."""
    table = capacities.verdicts()
    named = table["where"] + " " + table["definition"] + ", tau = " + table["tau"].astype(str)
    whole = table[table["where"] == "everywhere"]
    fair = named[table["verdict"].isin(["holds", "fair"])]
    return {
        "whole": [*zip(whole["verdict"], whole["factors"].map(len), strict=True)],
        "verdicts": [*table["verdict"]],
        "fair": "; ".join(fair) or "none",
        "most": dict(
            zip(whole["definition"] + whole["tau"].astype(str), whole["most"], strict=True)
        ),
    }


@measure(
    v_and_l_multiply=lambda exponents, ratio: [
        dearer := min(exponents["vocab"].low, exponents["seq_len"].low) > 0,
        dearer and holds(ratio, 1),
    ],
    inseparable=lambda misses, exponents, ratio: [
        joined := misses < 0.25 and not any(map(holds, exponents.values())),
        joined and holds(ratio, 1),
    ],
)
def product() -> Found:
    """Lock-on: how far a product of d and L misses N, over which span, exponents. Price of a longer L,
    N for accuracy 1/2 at L = 256 over L = 8, by d; and their ratio, 1 for a product."""
    rows = lock_on_sizes.sizes(load_results("lock_on"), False)
    table = critical.critical_table(rows, ["seq_len", "dim"])
    missed = np.abs(lock_on_sizes.interactions(table).to_numpy()).max()
    frame = load_results("four_corners").query("not trigger_in_values")
    long, wide = frame["seq_len"] == 256, frame["dim"] == 512
    parts = {128: ~wide, 512: wide}
    return {
        "misses": math.exp(missed) - 1,
        "span": table["critical"].max() / table["critical"].min(),
        "exponents": fitted(LOCKS),
        "prices": {dim: grids.factors(frame[x], long=long[x])["long"] for dim, x in parts.items()},
        "ratio": grids.factors(frame, long=long, wide=wide, both=long & wide)["both"],
    }


@measure(
    coupled_not_thresholds=lambda exponents, last, gains: [
        coupled := exponents["dim"].high < 0 < exponents["seq_len"].low,
        coupled and not stuck(last, gains),
    ],
    more_data_helps=lambda whole, last, gains: [
        any(x.low > 0 for x in whole.values()),
        all(x.low > 0 for x in whole.values()) and not stuck(last, gains),
    ],
)
def more_data() -> Found:
    """Recall gained by the last fourfold N, that at the last N, and the whole gain, by d; exponents
    of lock-on."""
    rows = large_sizes.grid(load_results("large_sizes"), "three decades of N")
    rows = rows.query("not trigger_in_values")
    recall = rows.pivot(index=["dim", "seed"], columns="samples", values="recall").to_numpy()
    dims = sorted(rows["dim"].unique())
    by_dim = recall.reshape(len(dims), -1, recall.shape[1]).transpose(2, 0, 1)
    ends = {"last": 0.0, "gains": by_dim[-2], "whole": by_dim[0]}
    found = {
        name: dict(zip(dims, map(seed_interval, by_dim[-1] - before), strict=True))
        for name, before in ends.items()
    }
    return {**found, "exponents": fitted(LOCKS)}


def stuck(last: dict[int, Interval], gains: dict[int, Interval]) -> bool:
    """Whether at some d recall stops below 0.9: a fourfold N changes it by less than 0.02."""
    return any(
        last[d].high < 0.9 and -0.02 < gain.low and gain.high < 0.02 for d, gain in gains.items()
    )


# Orthogonal embeddings


@measure(orthogonal_optimism=lambda ratios: [x.low > 1.1 for x in ratios.values()])
def optimism() -> Found:
    """Critical N of random over that of orthogonal embeddings at equal d, by outcome and L."""
    results, ratios = load_results("geometry"), {}
    for name, outcome, flag in (
        ("lock-on", "lock_on", False),
        ("accuracy", "accuracy", False),
        ("accuracy with the trigger in the values", "accuracy", True),
    ):
        for row in geometry.ratios(results, flag, outcome).itertuples():
            ratios[f"{name} at L = {row.seq_len}"] = Interval(row.ratio, row.low, row.high)
    return {"ratios": ratios}


@measure(
    orthogonal_separates=lambda change: [change < 0.1, change < 0.001],
    interference_multiplies=lambda change, growth, random: [
        change < 0.001 and not holds(random["dim"]),
        holds(growth) and not holds(random["seq_len"]),
    ],
)
def coupling() -> Found:
    """Exponents of N in d and L with random embeddings; with orthogonal ones the exponent in L, and
    the largest change of an outcome between dimensions, draw by draw."""

    def outcomes(dim: int) -> list[tuple[float, float]]:
        setting = Setting(vocab=64, seq_len=32, dim=dim, samples=256, embeddings="orthogonal")
        return [(run.accuracy, run.lock_on) for run in (simulate(setting, s) for s in (0, 1))]

    change = float(np.abs(np.subtract(outcomes(66), outcomes(200))).max())
    rows = load_results("geometry").query("not trigger_in_values and seq_len != 16")
    growth = _intervals(_exponents(grids.at(rows, embeddings="orthogonal"), "seq_len"))
    random = _intervals(_exponents(grids.at(rows, embeddings="gaussian"), "dim", "seq_len"))
    return {"change": change, "growth": growth["seq_len"], "random": random}


# The table of critical N


@cache
def corners(trigger_in_values: bool) -> dict[tuple[int, int], Interval]:
    """Critical N for accuracy 1/2 in the four corners of small and large d and L."""
    rows = grids.at(load_results("four_corners"), trigger_in_values=trigger_in_values)
    table = critical.critical_table(rows, ["dim", "seq_len"], outcome="accuracy")
    return {(r.dim, r.seq_len): Interval(r.critical, r.low, r.high) for r in table.itertuples()}


@measure(
    table_order=lambda out, inside: [
        max(low.high, small.high) < moderate.low and moderate.high < high.low
        for low, high, small, moderate in (out, inside)
    ]
)
def table_order() -> Found:
    """Critical N for accuracy 1/2 by d and L, with the trigger out of and in the values."""
    order = ((128, 8), (128, 256), (512, 8), (512, 256))
    out, inside = ([corners(flag)[size] for size in order] for flag in grids.FLAGS)
    return {"out": out, "inside": inside}


# All facts


@measure(
    coverage=lambda half, needed: [
        rare := half < 0.01,
        rare and all(x.high >= 1 for x in needed.values()),
    ]
)
def coverage() -> Found:
    """Chance that all facts are seen, by multiple of V log V; N for accuracy 1/2 over V log V, by
    corner."""
    least = 512 * math.log(512)
    half, one, two = (
        float(baselines.seen_distribution(512, round(k * least))[-1]) for k in (0.5, 1.0, 2.0)
    )
    needed = {
        f"d = {dim}, L = {length}": Interval(*(x / least for x in found))
        for (dim, length), found in corners(False).items()
    }
    return {"half": half, "one": one, "two": two, "needed": needed}


# Signal and noise


@measure(named_noise=lambda whole, without: [holds(whole) and x.low > 0 for x in without.values()])
def named_noise() -> Found:
    """Predicted minus simulated lock-on, a mean over settings with its interval over seeds; and
    without each term."""
    by = ["vocab", "seq_len", "dim", "samples"]
    rows = lock_on_sizes.sizes(load_results("lock_on"), False)
    means = rows.groupby(by)["lock_on"].mean()
    # where a wrong noise shows; every third is enough
    chosen = means[means.between(0.25, 0.75)].index[::3]
    settings = [
        Setting(vocab=int(v), seq_len=int(length), dim=int(d), samples=int(n))
        for v, length, d, n in chosen
    ]
    # draws of one seed are alike
    simulated = rows.set_index(by).loc[chosen].groupby("seed")["lock_on"].mean()

    def excess(*without: str) -> Interval:
        predicted = [predict(setting, without=without, warn=False).lock_on for setting in settings]
        return seed_interval(sum(predicted) / len(predicted) - simulated)

    terms = ("mean bias", "gradient noise", "trigger overlap", "frequency noise")
    without = {term: excess(term) for term in terms}
    return {"settings": len(settings), "whole": excess(), "without": without}
