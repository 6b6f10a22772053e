"""Statistics that quantities of ``claims.toml`` are made of: each takes the rows of a committed table
and what else its entry gives, or simulates what its entry describes.

An entry names one of these functions; one that is not here yet is added here."""

from __future__ import annotations

import math
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
from recallbook_studies.ch09 import capacities
from recallbook_studies.intervals import Interval, seed_interval
from recallbook_theory.symbolic.expressions import d

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


# Critical N


def critical_samples(rows: DataFrame) -> Interval:
    """Critical N for accuracy one half."""
    (row,) = critical.critical_table(rows, ["vocab"], outcome="accuracy").itertuples()
    return Interval(row.critical, row.low, row.high)


def exponents(rows: DataFrame, sizes: list[str], outcome: str = "lock_on") -> dict[str, Interval]:
    """Exponents of critical N for one half in these sizes, fitted together."""
    table = critical.exponents(rows, sizes, outcome=outcome)
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


def product_of_sizes(rows: DataFrame) -> float:
    """By what share a function of d times a function of L misses critical N for lock-on at most."""
    table = critical.critical_table(rows, ["seq_len", "dim"])
    return math.exp(grids.interactions(table).abs().max(axis=None)) - 1


# Capacity: the largest V with accuracy 0.9


def capacity(rows: DataFrame) -> Interval:
    """The simulated capacity in one setting."""
    (row,) = capacities.simulated(rows).query("out_of == 0").itertuples()
    return Interval(row.simulated, row.low, row.high)


def capacity_factor(rows: DataFrame, of: str) -> Interval:
    """Capacity in the rows ``of`` over that in the others."""
    chosen = rows.eval(of)
    more, less = capacity(rows[chosen]), capacity(rows[~chosen])
    return Interval(more.mean / less.mean, more.low / less.high, more.high / less.low)


def product_cases() -> Numbers:
    """The rule of :mod:`recallbook_studies.ch09.capacities`: verdicts over the ``whole`` of the sizes,
    where a product of all three must hold; how many of all cases are at least ``fair``; and by what
    the best product misses the whole, by definition and tau."""
    table = capacities.verdicts()
    whole = table[table["where"] == "everywhere"]
    of_three = whole["verdict"].where(whole["factors"].map(len) == 3, "none")
    most = dict(zip(whole["definition"] + whole["tau"].astype(str), whole["most"], strict=True))
    fair = count(table, "verdict in ('holds', 'fair')")
    return {"whole": [*of_three], "fair": fair, **most}


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


def facts_in_sum(dim: int) -> Interval:
    """Facts of which a sum of outer products on the sphere returns 0.99, simulated."""

    def held(seed: int) -> float:
        return associative.capacity(
            lambda facts: float(associative.recalled(facts, dim, seed, "sphere").mean()), 0.99
        )

    return seed_interval([held(seed) for seed in range(8)])


def facts_in_matrix(rows: DataFrame) -> Interval:
    """Facts of which a trained matrix returns 0.9: between the last two numbers tried."""
    (row,) = rows.to_dict("records")
    middle = math.sqrt(row["facts"] * min(row["next"], 1024))  # the most that is tried
    return Interval(middle, row["facts"], row["next"])


# Chances


def all_seen(vocab: int, samples: int) -> float:
    """Probability that N sequences show all facts."""
    return float(seen_distribution(vocab, samples)[-1])


# Three steps


def simulated(outcome: str, seeds: int, test_samples: int = 2000, **sizes: Any) -> Interval:
    """Mean of an outcome of three steps over seeds."""
    return seed_interval(_draws(outcome, seeds, test_samples, **sizes))


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
