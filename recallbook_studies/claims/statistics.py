"""Statistics that quantities of ``claims.toml`` are made of: each takes the rows of a committed table
and what else its entry gives, or simulates what its entry describes.

An entry names one of these functions; one that is not here yet is added here."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from pandas import DataFrame

from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies import critical, grids
from recallbook_studies.ch01.baselines import bag_of_words_accuracy, seen_distribution
from recallbook_studies.ch02 import associative, retrieval
from recallbook_studies.ch02.retrieval import cosines
from recallbook_studies.ch03 import rates
from recallbook_studies.ch07.features import alone, drawn, perfect_recall
from recallbook_studies.ch09 import capacities
from recallbook_studies.ch12 import between, ladder
from recallbook_studies.intervals import Interval, over_seeds, seed_interval
from recallbook_theory.prediction import theory_of
from recallbook_theory.symbolic.expressions import Array, d

__all__ = ["bag_of_words_accuracy"]  # used as it is

Numbers = dict[str, Any]

# Means and counts over rows


def mean(rows: DataFrame, outcome: str) -> Interval:
    """Mean of a fraction over seeds, with its interval cut at 0 and 1."""
    interval = seed_interval(rows.groupby("seed")[outcome].mean())
    return Interval(interval.mean, max(interval.low, 0), min(interval.high, 1))


def gain(rows: DataFrame, outcome: str, of: str) -> Interval:
    """Mean of an outcome in the rows ``of`` less that in the others, with seeds paired."""
    chosen = rows.eval(of)
    means = [part.groupby("seed")[outcome].mean() for part in (rows[chosen], rows[~chosen])]
    return seed_interval(means[0] - means[1])


def count(rows: DataFrame, of: str) -> Numbers:
    """In how many rows a condition is ``there``, and ``of`` how many."""
    return {"there": int(rows.eval(of).sum()), "of": len(rows)}


def cells(rows: DataFrame, column: str, values: list[str]) -> Numbers:
    """How often a column has each of these values, and how many ``cells`` there are."""
    return {value: int((rows[column] == value).sum()) for value in values} | {"cells": len(rows)}


# Critical N


def critical_samples(rows: DataFrame, over_coverage: bool = False) -> Interval:
    """Critical N for accuracy one half, or its multiple of V log V."""
    (row,) = critical.critical_table(rows, ["vocab"], outcome="accuracy").itertuples()
    unit = row.vocab * math.log(row.vocab) if over_coverage else 1
    return Interval(row.critical / unit, row.low / unit, row.high / unit)


def exponents(rows: DataFrame, sizes: list[str], outcome: str = "lock_on") -> dict[str, Interval]:
    """Exponents of critical N for one half in these sizes, fitted together."""
    return _by_size(critical.exponents(rows, sizes, outcome=outcome))


def ladder_exponents(rows: DataFrame, level: float = 0.5) -> dict[str, Interval]:
    """Exponents of critical N for this accuracy of one variant of chapter 12, size by size."""
    return _by_size(ladder.fitted(rows, level))


def _by_size(table: DataFrame) -> dict[str, Interval]:
    return {row.size: Interval(row.exponent, row.low, row.high) for row in table.itertuples()}


def factor(
    rows: DataFrame, of: str, outcome: str = "accuracy", depends_on: str | None = None
) -> Interval:
    """Critical N for one half in the rows ``of`` over that in the others; or the ratio of this factor
    where the second condition holds to the factor where it does not."""
    chosen = {"of": rows.eval(of)}
    if depends_on:
        chosen["condition"] = rows.eval(depends_on)
        chosen["both"] = chosen["of"] & chosen["condition"]
    return [*grids.factors(rows, outcome, **chosen).values()][-1]


def doublings(rows: DataFrame) -> dict[int, Interval]:
    """Factors in critical N for accuracy one half where L doubles, by the shorter L."""
    pairs = [*pairwise(sorted(rows["seq_len"].unique()))]
    parts = [rows[rows["seq_len"].isin(pair)] for pair in pairs]
    return {
        short: factor(part, f"seq_len == {long}")
        for (short, long), part in zip(pairs, parts, strict=True)
    }


def product_of_sizes(rows: DataFrame) -> Numbers:
    """By what share a function of d times a function of L ``misses`` critical N for lock-on at most,
    and the ``span`` of N."""
    table = critical.critical_table(rows, ["seq_len", "dim"])
    missed = grids.interactions(table).abs().max(axis=None)
    samples = table["critical"]
    return {"misses": math.exp(missed) - 1, "span": samples.max() / samples.min()}


# Capacity: the largest V with accuracy 0.9


def capacity(rows: DataFrame) -> Interval:
    """The simulated capacity in one setting."""
    (row,) = capacities.simulated(rows).query("out_of == 0").itertuples()
    return Interval(row.simulated, row.low, row.high)


def capacity_growth(
    rows: DataFrame, size: str, at: dict[str, int], exponent: bool = False
) -> Interval:
    """Capacity at the larger of two values of a size over that at the smaller, ``at`` these other
    sizes; or its exponent in the size."""
    line = grids.at(rows, **{name: value for name, value in at.items() if name != size})
    less, more = (capacity(part) for _, part in line.groupby(size))
    ratios = np.array([more.mean / less.mean, more.low / less.high, more.high / less.low])
    if exponent:
        ratios = np.log(ratios) / math.log(line[size].max() / line[size].min())
    return Interval(*ratios.tolist())


def product_cases() -> Numbers:
    """The rule of :mod:`recallbook_studies.ch09.capacities`: verdicts over the ``whole`` of the sizes,
    where a product of all three must hold, and in ``every`` case; which are at least ``fair``; and by
    what the best product misses the whole, by definition and tau."""
    table = capacities.verdicts()
    named = table["where"] + " " + table["definition"] + ", tau = " + table["tau"].astype(str)
    whole = table[table["where"] == "everywhere"]
    of_three = whole["verdict"].where(whole["factors"].map(len) == 3, "none")
    most = dict(zip(whole["definition"] + whole["tau"].astype(str), whole["most"], strict=True))
    fair = "; ".join(named[table["verdict"].isin(["holds", "fair"])]) or "none"
    return {"whole": [*of_three], "every": [*table["verdict"]], "fair": fair, **most}


# Embeddings and memories


def typical_overlap(vocab: int, dim: int) -> Interval:
    """Standard deviation of the cosines of random embeddings."""
    return seed_interval([cosines(vocab, dim, seed).std() for seed in range(10)])


def least_overlap(vocab: int, dim: int) -> float:
    """What no choice of directions gets below."""
    return float(retrieval.coherence_floor().subs({retrieval.n: vocab, d: dim}))


def squared_overlaps(vocab: int, dim: int, embeddings: str) -> Interval:
    """Sum of the squared cosines of one token with all others, in the mean over tokens."""
    tables = [cosines(vocab, dim, seed, embeddings) for seed in range(5)]
    return seed_interval([2 * (table**2).sum() / vocab for table in tables])


@cache
def facts_in_sum(dim: int) -> Interval:
    """Facts of which a sum of outer products on the sphere returns 0.99, simulated."""

    def held(seed: int) -> float:
        return associative.capacity(
            lambda facts: float(associative.recalled(facts, dim, seed, "sphere").mean()), 0.99
        )

    return seed_interval([held(seed) for seed in range(8)])


def facts_in_sum_per_dim(dim: int) -> Interval:
    """The same for each dimension."""
    return Interval(*(end / dim for end in facts_in_sum(dim)))


def facts_in_matrix(rows: DataFrame, per_dim: bool = False) -> Interval:
    """Facts of which a trained matrix returns 0.9: between the last two numbers tried; or the same
    for each dimension."""
    (row,) = rows.to_dict("records")
    middle = math.sqrt(row["facts"] * min(row["next"], 1024))  # the most that is tried
    unit = row["dim"] if per_dim else 1
    return Interval(middle / unit, row["facts"] / unit, row["next"] / unit)


def bits_per_weight(rows: DataFrame, weights: int) -> float:
    """Bits that come back from a trained matrix, for each of its trained weights."""
    (row,) = rows.to_dict("records")
    return float(row["facts"] * row["recall"] * np.log2(row["facts"]) / weights)


def perfect_memory(facts: int, dim: int, width: int | None = None) -> Interval:
    """Recall with perfect attention and unlimited data, with an MLP of cubic features or none."""
    memory = alone(facts, dim, width, "he3", embeddings="sphere")
    return seed_interval([perfect_recall(drawn(memory, seed)) for seed in range(8)])


LABELS = {"relu": "ReLU", "tanh": "tanh", "he2": "quadratic Hermite", "he3": "cubic Hermite"}


def below_no_mlp(rows: DataFrame, cases: dict[str, dict[str, str]]) -> Numbers:
    """Activations and widths whose outcome lies below that without MLP, by whole intervals: in words
    for each case, and how many are ``below``, ``of`` how many."""
    words, below, of = {}, 0, 0
    for name, case in cases.items():
        part = rows.query(case["rows"]).fillna({"width": 0}).astype({"width": int})
        means = over_seeds(part, ["activation", "width"], case["outcome"], within=(0, 1))
        none = means["width"] == 0
        lower = means[means["high"] < float(means.loc[none, "low"].iloc[0])]
        widths = lower.astype({"width": str}).groupby("activation")["width"]
        listed = [f"{LABELS[key]} at m = {', '.join(part)}" for key, part in widths]
        words[name] = ", ".join(listed) or "none"
        below, of = below + len(lower), of + int((~none).sum())
    return {**words, "below": below, "of": of}


# Chances


def guessing(vocab: int) -> float:
    """Accuracy of a guess among all labels."""
    return 1 / vocab


def all_seen(vocab: int, samples: int) -> float:
    """Probability that N sequences show all facts."""
    return float(seen_distribution(vocab, samples)[-1])


# Three steps


def simulated(outcome: str, seeds: int, test_samples: int = 2000, **sizes: Any) -> Interval:
    """Mean of an outcome of three steps over seeds."""
    return seed_interval(_draws(outcome, seeds, test_samples, **sizes))


def exact_draws(seeds: int, **sizes: Any) -> int:
    """Number of draws in which every fact comes back."""
    return _draws("recall", seeds, 100, **sizes).count(1)


def _draws(outcome: str, seeds: int, test_samples: int, **sizes: Any) -> list[float]:
    runs = (simulate(Setting(**sizes), s, test_samples=test_samples) for s in range(seeds))
    return [getattr(run, outcome) for run in runs]


def within_budget(budget: int, seq_len: int, dim: int) -> Interval:
    """Accuracy at V = 256 with the N that the budget N L d leaves."""
    samples = round(budget / seq_len / dim)
    return simulated("accuracy", 10, vocab=256, seq_len=seq_len, dim=dim, samples=samples)


def largest_change(dims: list[int], **sizes: Any) -> float:
    """By how much accuracy or lock-on of a draw differs between two dimensions, at most."""
    draws = [
        [_draws(name, 2, 4000, dim=dim, **sizes) for name in ("accuracy", "lock_on")]
        for dim in dims
    ]
    return float(np.ptp(draws, axis=0).max())


def gain_at_first_rate(trigger_in_values: bool, eta: float) -> Interval:
    """Accuracy gained over a first rate near zero, by one in units of L V."""
    return seed_interval(rates.over_eta(trigger_in_values, range(5), etas=[eta])["gain"])


def attention_at_second_rate(saturation: float) -> Interval:
    """Attention on the informative token, at a second rate in units of what tips the softmax."""
    frame = rates.over_gamma(False, range(5))
    return seed_interval(grids.at(frame, saturation=saturation)["attention"])


def lock_on_at_largest_samples(rows: DataFrame) -> Numbers:
    """In how many settings lock-on at the largest N is above one half, by the whole interval, ``of``
    how many; and the range of sizes where it is not."""
    fields = ["vocab", "seq_len", "dim", "embeddings", "trigger_in_values"]
    runs = rows.drop_duplicates([*fields, "samples", "seed"])
    means = over_seeds(runs, [*fields, "samples"], "lock_on").sort_values("samples")
    last = means.groupby(fields).tail(1)
    short = last[last["low"] <= 0.5].agg({"seq_len": ["min", "max"], "dim": ["min", "max"]})
    return {**count(last, "low > 0.5"), **short.to_dict()}


def excess_of_prediction(rows: DataFrame, terms: list[str]) -> Numbers:
    """Predicted less simulated lock-on, a mean over every third setting where it is near one half:
    of the ``whole`` prediction, and without each term; and how many ``settings``."""
    by = ["vocab", "seq_len", "dim", "samples"]
    means = rows.groupby(by)["lock_on"].mean()
    chosen = means[means.between(0.25, 0.75)].index[::3]
    settings = [
        Setting(vocab=int(v), seq_len=int(length), dim=int(k), samples=int(n))
        for v, length, k, n in chosen
    ]
    # draws of one seed are alike
    simulated = rows.set_index(by).loc[chosen].groupby("seed")["lock_on"].mean()

    def excess(*without: str) -> Interval:
        predicted = [theory_of(s).averages(s, without, recall=False).lock_on for s in settings]
        return seed_interval(np.mean(predicted) - simulated)

    return {"settings": len(settings), "whole": excess(), **{term: excess(term) for term in terms}}


# After three steps


def rescued(rows: DataFrame) -> Numbers:
    """Draws by lock-on after three steps: how many ``failed``, which share of them has it after 400
    with ``fewer`` sequences than facts and with ``more``; how many ``locked``, and ``kept`` it."""
    draws = ["vocab", "seq_len", "dim", "samples", "seed"]
    table = rows.pivot(index=draws, columns="rung", values="lock_on").dropna().reset_index()
    table["late"] = table["many steps"] > 0.9
    failed, fewer = table["three steps"] < 0.5, table["samples"] < table["vocab"]
    return {
        "failed": int(failed.sum()),
        "fewer": mean(table[failed & fewer], "late"),
        "more": mean(table[failed & ~fewer], "late"),
        "locked": int((~failed).sum()),
        "kept": int(table.loc[~failed, "late"].sum()),
    }


def wall_power(rows: DataFrame, steps: int) -> Interval:
    """Power of V in d² for nine tenths of the facts after so many value steps, with its interval over
    facts."""
    parts = [part for _, part in rows.groupby("vocab")]
    weights = _slope_weights(rows["vocab"].unique())
    spread = 1.96 * math.sqrt(0.9 * 0.1 / between.FACTS)
    low, middle, high = (
        2 * np.log([between.least_dims(part, steps, level).simulated for part in parts])
        for level in (0.9 - spread, 0.9, 0.9 + spread)
    )
    power, error = weights @ middle, np.linalg.norm(weights * (high - low) / 2)
    return Interval(power, power - error, power + error)


def _slope_weights(vocabs: Any) -> Array:
    """Weights of the least-squares slope against log V."""
    logs = np.log(vocabs)
    return np.asarray(np.linalg.pinv([np.ones_like(logs), logs])[:, 1])


def power_of_v_log_v(rows: DataFrame) -> float:
    """Power of V in V ln V over the same V."""
    vocabs = rows["vocab"].unique()
    return float(_slope_weights(vocabs) @ np.log(vocabs * np.log(vocabs)))


def prediction_error(rows: DataFrame) -> Numbers:
    """How many ``settings``, and how far ``nine_in_ten`` of the predicted accuracies are off at most."""
    misses = between.misses(rows).abs()
    return {"settings": len(misses), "nine_in_ten": misses.quantile(0.9)}
