r"""Checks of claims about the task, the overlap of embeddings, training and budgets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import stats

from recallbook.setting import Setting
from recallbook.theory.symbolic.expressions import d
from recallbook.training.simulation import simulate
from recallbook_studies import grids
from recallbook_studies.ch01 import baselines
from recallbook_studies.ch02 import coherence
from recallbook_studies.ch02.retrieval import coherence_floor, n
from recallbook_studies.ch03 import rates as three_rates
from recallbook_studies.ch12 import (
    between_map,
    between_sizes,
    ladder_laws,
    order,
    oscillation as oscillations,
    runs,
    sizes,
)
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_studies.claims.findings import Found, holds, measure
from recallbook_studies.intervals import Interval, over_seeds, seed_interval
from recallbook_studies.running.archive import load_results

RUNNING = Setting(vocab=256, seq_len=128, dim=96, samples=2048)
TOTAL = 256 * 8 * 16 * 96  # N L d of N = 8 V at L = 16, d = 96


def _accuracy(setting: Setting) -> Interval:
    return seed_interval([simulate(setting, s, test_samples=2000).accuracy for s in range(10)])


# Task and model


@measure(two_problems=lambda facts, place, both: [x < both.low / 2 for x in (facts, place)])
def two_problems() -> Found:
    """Accuracy with all facts and no place, with the place and no fact, and of the model that does
    both."""
    facts = baselines.bag_of_words_accuracy(RUNNING.vocab, RUNNING.seq_len)
    return {"facts": facts, "place": 1 / RUNNING.vocab, "both": _accuracy(RUNNING)}


@measure(attention_locates=lambda low: [(low > 0.5).mean() > 0.5, (low > 0.5).all()])
def attention_locates() -> Found:
    """Lock-on at the largest N of every setting without MLP in five committed sweeps, with its
    interval."""
    fields = ["vocab", "seq_len", "dim", "embeddings", "trigger_in_values"]
    names = ("lock_on", "four_corners", "geometry", "large_sizes", "accuracy")
    rows = pd.concat(map(load_results, names)).drop_duplicates([*fields, "samples", "seed"])
    table = over_seeds(rows, [*fields, "samples"], "lock_on").sort_values("samples")
    table = table.groupby(fields).tail(1)
    short = table[table["low"] <= 0.5]
    ends = {name: short[name].agg(["min", "max"]) for name in fields[1:3]}
    return {
        "low": table["low"],
        "settings": len(table),
        "there": len(table) - len(short),
        **ends,
    }


# Overlap


@measure(interference=lambda typical, floor, lost: [typical.low >= floor, lost.low > 0])
def interference() -> Found:
    """Typical overlap, what no choice of directions avoids, and lock-on of orthogonal minus random
    embeddings."""
    typical = seed_interval([coherence.cosines(256, 128, seed).std() for seed in range(10)])
    rows = grids.at(load_results("geometry"), seq_len=256, dim=258, trigger_in_values=False)
    means = rows.groupby(["embeddings", "seed"])["lock_on"].mean().unstack(0)
    lost = seed_interval(means["orthogonal"] - means["gaussian"])
    floor = float(coherence_floor().subs({n: 256, d: 128}))
    return {"typical": typical, "floor": floor, "lost": lost}


@measure(
    nearly_orthogonal=lambda random, wide, orthogonal: [
        far := random.high >= 0.1 > wide.high,
        far and orthogonal.high >= 0.1,
    ]
)
def nearly_orthogonal() -> Found:
    """Squared overlaps of one token with all others, for random and for orthogonal embeddings."""

    def overlap(dim: int, law: str = "gaussian") -> Interval:
        sums = [2 * (coherence.cosines(256, dim, s, law) ** 2).sum() / 256 for s in range(5)]
        return seed_interval(sums)

    chosen = overlap(258, "orthogonal")
    return {"random": overlap(256), "wide": overlap(4096), "orthogonal": chosen}


# Three steps


@measure(
    rates=lambda small, large, out, inside: [
        small.high < 0.5 < large.low,
        all(x.low <= 0 for x in (*out, *inside)),
    ]
)
def rates() -> Found:
    """Accuracy gained by a finite first rate over LV, with the trigger out of and in the values;
    attention by second rate."""

    def at_both(table: pd.DataFrame, rate: str, column: str) -> list[Interval]:
        return [seed_interval(table.loc[table[rate] == ratio, column]) for ratio in (0.1, 10.0)]

    attention = at_both(three_rates.over_gamma(False, range(5)), "saturation", "attention")
    gains = (three_rates.over_eta(flag, range(5), etas=(0.1, 10.0)) for flag in (False, True))
    out, inside = (at_both(table, "eta", "gain") for table in gains)
    return {"out": out, "inside": inside, "small": attention[0], "large": attention[1]}


# The first steps and the last


LATE = "many steps"  # of chapter 12: this model, 400 steps at the book's own rates


@measure(
    early_direction=lambda early, few, most: [
        *(early["sum"] == early["size"]),
        few < 0.25 and most > 0.75,
    ]
)
def early_direction() -> Found:
    """Runs of the rung of many steps with lock-on half of the way after three, by N; mean weight on
    the informative token when lock-on is there, and at the end."""
    times = order.load().query("rung == @LATE")
    early = (times["step_lock_on"] <= 3).groupby(times["samples"]).agg(["sum", "size"])
    ample = sizes.setting(sizes.BASE, 4 * sizes.VOCAB)
    looks = train(RUNGS[LATE], ample, sizes.SEEDS, steps=40, looks=2).history
    curve = looks.drop(columns="seed").groupby("step", as_index=False).mean()
    first = curve[curve["lock_on"] > 0.9].iloc[0]
    ended = grids.at(ladder_laws.at_base(runs.load()), rung=LATE, samples=ample.samples)
    by_samples = {f"N = {row.Index}": f"{row.sum} of {row.size}" for row in early.itertuples()}
    weights = {"few": first["attention"], "most": ended["attention"].mean()}
    return {"early": early, "by_samples": by_samples, "step": int(first["step"]), **weights}


@measure(
    early_decides=lambda shares: [
        all(x.high < 0.05 for x in shares.values()),
        not all(x.low > 0.5 for x in shares.values()),
    ]
)
def early_decides() -> Found:
    """Of the draws without lock-on after three steps the share with lock-on after 400, below N = V
    and from there on; draws with it, and still."""
    by = ["vocab", "seq_len", "dim", "samples", "seed"]
    table = runs.load().pivot(index=by, columns="rung", values="lock_on")
    table = table[["three steps", LATE]].dropna().reset_index()
    failed, late = table["three steps"] < 0.5, table[LATE] > 0.9
    fewer = table["samples"] < table["vocab"]
    # runs of one seed share their draws
    means = late[failed].groupby([fewer, table["seed"]]).mean()
    found = {"N < V": seed_interval(means[True]), "N ≥ V": seed_interval(means[False])}
    shares = {name: Interval(x.mean, max(x.low, 0), min(x.high, 1)) for name, x in found.items()}
    counts = {"failed": failed.sum(), "locked": (~failed).sum(), "kept": (~failed & late).sum()}
    return {"shares": shares, **counts}


@measure(
    value_steps=lambda powers: [
        harder := all(x.low > 0 for x in powers.values()),
        harder and all(holds(x, powers[1].mean) for x in powers.values()),
    ]
)
def more_value_steps() -> Found:
    """By number of value steps the power of V in d² for nine tenths of the facts, with its interval
    over facts, and that of V ln V; and how far predictions are off where N and L vary, too."""
    table, powers = between_sizes.load(), {}
    vocabs = np.array(sorted(table["vocab"].unique()))
    size, spread = np.log(vocabs), 1.96 * (0.9 * 0.1 / between_sizes.FACTS) ** 0.5
    weights = np.linalg.pinv([np.ones_like(size), size])[:, 1]
    for steps in (1, 4, 16):
        low, found, high = (
            2 * np.log([_wall(table.query("vocab == @v"), steps, level) for v in vocabs])
            for level in (0.9 - spread, 0.9, 0.9 + spread)
        )
        power, error = weights @ found, np.linalg.norm(weights * (high - low) / 2)
        powers[steps] = Interval(power, power - error, power + error)
    several = between_map.load().query("value_steps > 1 and lock_on > 0.9")
    off = between_map.misses(several).abs().quantile(0.9)
    law = weights @ (size + np.log(size))
    ends = {"least": vocabs[0], "most": vocabs[-1]}
    return {"powers": powers, "law": law, "settings": len(several), "off": off, **ends}


def _wall(rows: pd.DataFrame, steps: int, level: float) -> float:
    """The least d at the best rate, of one V."""
    rates = (part.sort_values("dim") for _, part in rows.groupby("unit"))
    return min(between_sizes.crossing(x["dim"], x[f"recall_{steps}"], level) for x in rates)


@measure(
    oscillation=lambda chances: [
        any(p < 0.01 for p in chances.values()),
        chances[min(chances)] < 0.01,
    ]
)
def oscillation() -> Found:
    """Runs whose accuracy falls on the way with random and with orthogonal fixed embeddings, and
    Fisher's one-sided p, by factor of the rate."""
    table = oscillations.load().query("rung == 'AdamW'").pivot(index="factor", columns="embeddings")
    shown, chances = {}, {}
    for factor, row in table.iterrows():
        random, orthogonal = row["oscillate", "gaussian"], row["oscillate", "orthogonal"]
        runs_ = row["runs", "gaussian"]
        shown[f"at {factor} times the rate"] = f"{random:g} and {orthogonal:g} of {runs_:g}"
        both = [[random, runs_ - random], [orthogonal, runs_ - orthogonal]]
        chances[factor] = float(stats.fisher_exact(both, alternative="greater").pvalue)
    return {"shown": shown, "chances": chances}


# Budgets


@measure(
    budget=lambda dims, lengths: [
        any(x.low > max(first.high, last.high) for x in between)
        for first, *between, last in (dims.values(), lengths.values())
    ]
)
def trade_off() -> Found:
    """Accuracy at one budget N L d, along d at one L and along L at one d."""

    def accuracy(length: int, dim: int) -> Interval:
        samples = round(TOTAL / length / dim)
        return _accuracy(replace(RUNNING, seq_len=length, dim=dim, samples=samples))

    dims = {dim: accuracy(16, dim) for dim in (48, 96, 192, 384, 768)}
    lengths = {length: accuracy(length, 192) for length in (4, 16, 64, 256)}
    return {"total": TOTAL, "dims": dims, "lengths": lengths}


@measure(
    exact_recall=lambda whole, draws, few, many: [
        kept := whole == draws,
        kept and not (many.high < 0.9 and abs(many.mean - few.mean) < 0.02),
    ]
)
def exact_recall() -> Found:
    """Draws in which all facts came back, of how many; recall at a small d with two large N."""
    base = replace(RUNNING, seq_len=16, dim=192, samples=16384)

    def recall(setting: Setting, draws: int) -> list[float]:
        return [simulate(setting, seed, test_samples=100).recall for seed in range(draws)]

    few, many = (
        seed_interval(recall(replace(base, dim=64, samples=samples), 5))
        for samples in (32768, 131072)
    )
    return {"whole": recall(base, 10).count(1), "draws": 10, "few": few, "many": many}
