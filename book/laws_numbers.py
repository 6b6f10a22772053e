"""What the expressions on the pages of laws and on the landing page may name: the running settings,
predictions, laws, and committed tables as the sentences need them."""

# ruff: noqa: F401  (pages name what is imported)

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
from scipy.stats import gmean, poisson

import recallbook as rb
from recallbook_studies import error_map, grids, laws
from recallbook_studies.ch06 import product_form, sandwich
from recallbook_studies.ch07 import features
from recallbook_studies.ch09 import capacities
from recallbook_studies.ch12 import between
from recallbook_studies.laws import lock_on_at
from recallbook_studies.tables import significant as rounded
from recallbook_theory.bounds import closed_form
from recallbook_theory.bounds.necessary import mean_bias_samples
from recallbook_theory.symbolic.expressions import L, V, d, m, numeric
from recallbook_theory.values import sizes

VOCABS = (256, 4096, 65536)
RUNNING = rb.Setting(vocab=256, seq_len=128, dim=96, samples=2048, trigger_in_values=False)
LABELS = rb.Setting(vocab=256, seq_len=16, dim=512, samples=4096, trigger_in_values=True)
SMALL = ("fact interference", "bias noise", "unequal lengths", "uneven facts")  # of step 2
CLOSED = {"vocab": 10**5, "seq_len": 10**3, "dim": 10**4, "trigger_in_values": False}
relu = features.coefficients("relu")


def span(numbers: Sequence[float], form: str = ".1f") -> str:
    """The least and the largest number in words; one where both are written alike."""
    ends = (format(end, form) for end in (min(numbers), max(numbers)))
    return " to ".join(dict.fromkeys(ends))


def power(number: float) -> sp.Expr:
    """A large number to two digits, as a multiple of a power of ten."""
    return sp.Float(f"{number:.1e}", 2)


@cache
def slope() -> pd.Series:
    """Measured N of lock-on one half over L² √V / d^(3/2), at each of the stored sizes."""
    stored, out = rb.load_results("lock_on"), {"trigger_in_values": False}
    parts = (
        grids.critical(stored, ["seq_len", "dim"], vocab=256, **out).assign(vocab=256),
        grids.critical(stored, ["vocab"], seq_len=128, dim=32, **out).assign(seq_len=128, dim=32),
    )
    found = pd.concat(parts).drop_duplicates(["vocab", "seq_len", "dim"])
    product = found["seq_len"] ** 2 * found["vocab"] ** 0.5 / found["dim"] ** 1.5
    ratio: pd.Series = found["critical"] / product
    return ratio


def cured(cure: str, outcome: str) -> float:
    """What a cure of the slope gives in the running setting, in the mean over 60 draws."""
    rows = rb.load_results("cures").query("vocab == 256 and samples == 2048")
    return float(rows.set_index("cure").at[cure, outcome])


# Predictions


@cache
def predicted(setting: rb.Setting, **more: Any) -> rb.Prediction:
    """Accuracy and its parts."""
    return rb.predict(setting, warn=False, **more)


@cache
def critical(
    vocab: int, seq_len: int, dim: int, accuracy: float = 0.9, marked: bool = False
) -> float:
    """Predicted N for an accuracy; ``marked``: with the trigger in the values."""
    return rb.critical_samples(vocab, seq_len, dim, accuracy, trigger_in_values=marked, warn=False)


@cache
def wall(vocab: int, share: float = 0.9, marked: bool = False, value_steps: int = 1) -> int:
    """The least d for this share of the facts; several steps at a rate of half ln V."""
    rate = math.log(vocab) / 2 if value_steps > 1 else None
    return laws.least_dim(
        vocab, share, value_steps=value_steps, rate=rate, trigger_in_values=marked
    )


def constant(vocab: int, share: float) -> float:
    """The wall's d²/(V ln V)."""
    return wall(vocab, share) ** 2 / (vocab * math.log(vocab))


def over_labels(vocab: int, seq_len: int, dim: int, accuracy: float) -> float:
    """Predicted N over the law of label frequencies."""
    law = numeric(laws.label_frequencies())({V: vocab, d: dim})
    return critical(vocab, seq_len, dim, accuracy, True) / law


def over_the_law() -> list[float]:
    """Predicted N for accuracy 0.9 over the largest law, from twice the dimension of the wall
    on."""
    ratios = []
    for vocab, seq_len in ((256, 16), (256, 256), (4096, 1024)):
        for marked in (False, True):
            for dim in (2 * wall(vocab, marked=marked), 8 * wall(vocab, marked=marked)):
                at = {V: vocab, L: seq_len, d: dim}
                law = max(float(numeric(law)(at)) for law in laws.samples(marked).values())
                ratios.append(critical(vocab, seq_len, dim, marked=marked) / law)
    return ratios


# Formulas


drawn_lock_on = partial(laws.lock_on_at, variance=2)  # means over draws
drawn_ratio = partial(laws.ratio_for, variance=2)


def rivals() -> float:
    """How many different tokens are among the others of a sequence of the running setting, on average."""
    return RUNNING.vocab * (1 - (1 - 1 / RUNNING.vocab) ** (RUNNING.seq_len - 1))


def recall_of_counts() -> pd.DataFrame:
    """By how often a fact was shown with attention on it in the running setting: the ``share`` of
    such facts, and the chance that one is ``recalled``."""
    mean = RUNNING.samples / RUNNING.vocab
    counts = np.arange(int(4 * mean))
    signal = counts / mean
    squares = noise("interference", "own fact") + signal**2 * noise("label overlap")
    chances = [lock_on_at(float(r), RUNNING.vocab - 1) for r in signal / np.sqrt(squares)]
    share = poisson.pmf(counts, mean * predicted(RUNNING).lock_on)
    return pd.DataFrame({"share": share, "recalled": chances}, index=counts)


def mean_recall() -> float:
    """Recall by the formula: its mean over counts."""
    return float(recall_of_counts().prod(axis=1).sum())


def formula(name: str) -> sp.Expr:
    """The size of a noise, without the trigger in the values."""
    return {**laws.lock_on_noises(), **laws.recall_noises(False)}[name]


def mlp_load() -> tuple[sp.Expr, sp.Expr]:
    """What is 1 where half of the facts fit with an MLP, as two factors."""
    square = features.square - features.phi0**2
    price = 2 * V * sp.log(V) / (d * square**2)
    return price, sp.collect(
        sp.expand(sp.simplify(features.superposition() / price)), 1 / m, sp.factor
    )


# The running setting, and what would help in others


def noise(*names: str) -> float:
    """Noises of the running setting by the ledger, added."""
    return sum(predicted(RUNNING).ledger[name] for name in names)


def formulas_off() -> float:
    """The largest relative error of a formula at the running setting, those of small noises left
    out."""
    names = {*laws.lock_on_noises(), *laws.recall_noises(False)} - {*SMALL}
    at = sizes(RUNNING)
    return max(abs(numeric(formula(x))(at) / noise(x) - 1) for x in names if noise(x))


HELPED = (
    rb.Setting(vocab=1024, seq_len=32, dim=128, samples=16384, trigger_in_values=False),
    rb.Setting(vocab=1024, seq_len=256, dim=256, samples=2048, trigger_in_values=False),
    rb.Setting(vocab=256, seq_len=16, dim=768, samples=384, trigger_in_values=False),
    LABELS,
    replace(RUNNING, vocab=1024, seq_len=16, dim=64, samples=16384, width=256, activation="he3"),
    replace(RUNNING, seq_len=16, dim=128, samples=4096, width=512, activation="relu"),
)


def changes(setting: rb.Setting) -> dict[str, rb.Setting]:
    """What one can buy: twice of a size, half the length, or neurons."""
    more = {"width": 2 * setting.width} if setting.width else {}
    return {
        "$2N$": replace(setting, samples=2 * setting.samples),
        "$2d$": replace(setting, dim=2 * setting.dim),
        "$L/2$": replace(setting, seq_len=setting.seq_len // 2),
        "MLP": replace(setting, **(more or {"width": 8 * setting.dim, "activation": "he3"})),
    }


def helps(settings: Sequence[rb.Setting]) -> list[list[str]]:
    """Accuracy now and after each change, where different laws bind."""
    letters = "V, L, d, N, m" if settings[0].width else "V, L, d, N"
    rows = [["Binds", f"${letters}$", "now", *changes(LABELS)]]
    for setting in settings:
        variant = rf"$\tau={setting.trigger_in_values:d}$"
        kind = setting.activation if setting.width else variant
        sizes = (setting.vocab, setting.seq_len, setting.dim, setting.samples, setting.width)
        every = setting, *changes(setting).values()
        shown = ", ".join(str(size) for size in sizes if size)
        rows.append(
            [
                f"{rb.phase(setting)}, {kind}",
                shown,
                *(f"{predicted(x).accuracy:.2f}" for x in every),
            ]
        )
    return rows


# Committed tables


@cache
def constants() -> pd.DataFrame:
    """The wall's d²/(V ln V) of the committed table, ``simulated`` and ``predicted``, by V and
    number of steps."""
    rows = {}
    for vocab, part in rb.load_results("between_sizes").groupby("vocab"):
        for steps in between.STEPS:
            least = between.least_dims(part, steps)
            rows[vocab, steps] = np.square(least) / (vocab * math.log(vocab))
    return pd.DataFrame(rows, index=["simulated", "predicted"]).T


@cache
def fresh_map() -> pd.DataFrame:
    """The fresh map of errors, judged."""
    return error_map.judged(rb.load_results("fresh_map"))


def accuracy_off() -> pd.Series:
    """Errors of accuracy in the fresh map."""
    return (fresh_map()["predicted_accuracy"] - fresh_map()["accuracy"]).abs()


@cache
def steps_off() -> pd.Series:
    """Errors of accuracy after several value steps, where attention has locked."""
    locked = rb.load_results("between_map").query("value_steps > 1 and lock_on > 0.9")
    return between.misses(locked).abs()


@cache
def sufficient_over_critical() -> pd.Series:
    """What certificates ask for, over what is predicted."""
    cases = sandwich.load().query("by == 'certificates'")
    return cases["sufficient"] / cases["critical"]
