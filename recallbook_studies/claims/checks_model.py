r"""Checks of claims about the task, the overlap of embeddings, training and budgets."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
from scipy import stats

from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.symbolic.expressions import d
from recallbook.training.simulation import simulate
from recallbook_studies.ch01 import baselines
from recallbook_studies.ch02 import coherence
from recallbook_studies.ch02.retrieval import coherence_floor, n
from recallbook_studies.ch03 import rates as three_rates
from recallbook_studies.ch09 import geometry
from recallbook_studies.ch12 import order, oscillation as oscillations, runs, sizes
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_studies.claims.findings import measures
from recallbook_studies.intervals import Interval, over_seeds, seed_interval

RUNNING = Setting(vocab=256, seq_len=128, dim=96, samples=2048)
TOTAL = 256 * 8 * 16 * 96  # N L d of N = 8 V at L = 16, d = 96


def _accuracy(setting: Setting) -> Interval:
    return seed_interval([simulate(setting, s, test_samples=2000).accuracy for s in range(10)])


# Task and model


@measures()
def two_problems() -> SimpleNamespace:
    """Accuracy with all facts and no place, with the place and no fact, and of the model that does
    both."""
    facts = baselines.bag_of_words_accuracy(RUNNING.vocab, RUNNING.seq_len)
    return SimpleNamespace(facts=facts, place=1 / RUNNING.vocab, both=_accuracy(RUNNING))


@measures()
def attention_locates() -> SimpleNamespace:
    """Lock-on at the largest N of every setting without MLP in five committed sweeps, with its
    interval."""
    sizes = ["vocab", "seq_len", "dim", "embeddings", "trigger_in_values"]
    names = ("lock_on", "four_corners", "geometry", "large_sizes", "accuracy")
    rows = pd.concat(map(load_results, names)).drop_duplicates([*sizes, "samples", "seed"])
    table = over_seeds(rows, [*sizes, "samples"], "lock_on").sort_values("samples")
    table = table.groupby(sizes).tail(1)
    short = table[table["low"] <= 0.5]
    return SimpleNamespace(
        low=table["low"],
        there=len(table) - len(short),
        settings=len(table),
        vocab=table["vocab"].agg(["min", "max"]),
        seq_len=short["seq_len"].agg(["min", "max"]),
        most=short[["dim", "samples"]].max(),
    )


# Overlap


@measures()
def interference() -> SimpleNamespace:
    """Typical overlap, what no choice of directions avoids, and lock-on of orthogonal minus random
    embeddings."""
    typical = seed_interval([coherence.cosines(256, 128, seed).std() for seed in range(10)])
    rows = load_results("geometry").query("seq_len == 256 and dim == 258 and not trigger_in_values")
    means = geometry.labelled(rows).groupby(["embeddings", "seed"])["lock_on"].mean().unstack(0)
    lost = seed_interval(means["orthogonal"] - means["gaussian"])
    floor = float(coherence_floor().subs({n: 256, d: 128}))
    return SimpleNamespace(typical=typical, floor=floor, lost=lost)


@measures()
def nearly_orthogonal() -> SimpleNamespace:
    """Squared overlaps of one token with all others, for random and for orthogonal embeddings."""

    def overlap(dim: int, law: str = "gaussian") -> Interval:
        sums = [2 * (coherence.cosines(256, dim, s, law) ** 2).sum() / 256 for s in range(5)]
        return seed_interval(sums)

    chosen = overlap(258, "orthogonal")
    return SimpleNamespace(random=overlap(256), wide=overlap(4096), orthogonal=chosen)


# Three steps


@measures()
def rates() -> SimpleNamespace:
    """Accuracy gained by a finite first rate over LV, with the trigger out of and in the values;
    attention by second rate."""

    def gained(flag: bool) -> dict[float, Interval]:
        table = three_rates.over_eta(flag, range(5))
        return {eta: seed_interval(table.loc[table["eta"] == eta, "gain"]) for eta in (0.1, 10.0)}

    table = three_rates.over_gamma(False, range(5))
    small, large = (
        seed_interval(table.loc[table["saturation"] == rate, "attention"]) for rate in (0.1, 10.0)
    )
    out, inside = (list(gained(flag).values()) for flag in (False, True))
    return SimpleNamespace(out=out, inside=inside, small=small, large=large)


# The first steps and the last


LATE = "many steps"  # of chapter 12: this model, 400 steps at the book's own rates
LAWS = ("gaussian", "orthogonal")


@measures()
def early_direction() -> SimpleNamespace:
    """Runs of the rung of many steps with lock-on half of the way after three, by N; mean weight on
    the informative token when lock-on is there, and at the end."""
    times = order.load().query("rung == @LATE")
    early = (times["step_lock_on"] <= 3).groupby(times["samples"]).agg(["sum", "size"])
    ample = sizes.setting(sizes.BASE, 4 * sizes.VOCAB)
    looks = train(RUNGS[LATE], ample, sizes.SEEDS).history.drop(columns="seed")
    curve = looks.groupby("step", as_index=False).mean()
    first, last = curve[curve["lock_on"] > 0.9].iloc[0], curve.iloc[-1]
    return SimpleNamespace(
        early=early,
        by_samples=", ".join(f"{r.sum} of {r.size} at {r.Index}" for r in early.itertuples()),
        step=int(first["step"]),
        few=first["attention"],
        most=last["attention"],
    )


@measures()
def early_decides() -> SimpleNamespace:
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
    kept = (~failed & late).sum()
    return SimpleNamespace(failed=failed.sum(), shares=shares, locked=(~failed).sum(), kept=kept)


@measures()
def oscillation() -> SimpleNamespace:
    """Runs whose accuracy falls on the way, by factor of the rate and law, with fixed
    embeddings."""
    table = oscillations.load().query("rung == 'AdamW'").set_index(["factor", "embeddings"])
    counts = table[["oscillate", "runs"]]
    cells = counts.unstack()
    rates = ", ".join(
        f"{' and '.join(str(cells.at[rate, ('oscillate', law)]) for law in LAWS)} of "
        f"{cells.at[rate, ('runs', LAWS[0])]} at {rate} times the rate"
        for rate in cells.index
    )
    largest = cells.index.max()
    return SimpleNamespace(
        counts=counts,
        rates=rates,
        largest=largest,
        chance=p_value(counts, largest),
        p_value=p_value,
    )


def p_value(counts: pd.DataFrame, rate: float) -> float:
    """Fisher's one-sided p, random against orthogonal embeddings at one factor of the rate."""
    cells = counts.loc[[(rate, law) for law in LAWS]]
    table = cells.assign(runs=cells["runs"] - cells["oscillate"]).to_numpy(int)
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


# Budgets


@measures()
def trade_off() -> SimpleNamespace:
    """Accuracy at one budget N L d, along d at one L and along L at one d."""

    def accuracy(length: int, dim: int) -> Interval:
        samples = round(TOTAL / length / dim)
        return _accuracy(replace(RUNNING, seq_len=length, dim=dim, samples=samples))

    dims = {dim: accuracy(16, dim) for dim in (48, 96, 192, 384, 768)}
    lengths = {length: accuracy(length, 192) for length in (4, 16, 64, 256)}
    return SimpleNamespace(total=TOTAL, dims=dims, lengths=lengths)


@measures()
def exact_recall() -> SimpleNamespace:
    """Draws in which all facts came back, of how many; recall at a small d with two large N."""
    base = replace(RUNNING, seq_len=16, dim=192, samples=16384)

    def recall(setting: Setting, draws: int) -> list[float]:
        return [simulate(setting, seed, test_samples=100).recall for seed in range(draws)]

    few, many = (
        seed_interval(recall(replace(base, dim=64, samples=samples), 5))
        for samples in (32768, 131072)
    )
    return SimpleNamespace(whole=recall(base, 10).count(1), draws=10, few=few, many=many)
