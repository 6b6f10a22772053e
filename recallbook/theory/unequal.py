r"""Lock-on, recall and accuracy where facts are not equally frequent, or embeddings have a
structure or are given.

Drawn are what few numbers describe: tables of embeddings, label counts, and the Gaussian noise of
the attention vector with its covariance; averaged exactly is over sequences. No constant is fitted,
and the cost does not depend on $N$ and $L$. Draws are added, each with its fixed seed, until the
standard error of their mean is at most :data:`ENOUGH`, or time is up: ``Averages.error`` says what
it is. Draws that fail may be too rare to be among them. With a weaker mark more of them fail, and
``Averages.frail`` says how much lock-on then differs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import sympy as sp
from jaxtyping import Float64

from recallbook.arguments import not_allowed
from recallbook.setting import Setting
from recallbook.theory.attention_vector import MEANS, NOISES, AttentionVector, Facts, square_root
from recallbook.theory.caveats import plain
from recallbook.theory.drawn_facts import DrawnFacts, OwnTables, drawn_facts
from recallbook.theory.located import Located, answer, locate, located_counts
from recallbook.theory.symbolic import unequal_terms as symbolic
from recallbook.theory.symbolic.expressions import N, V, tau, trace

STEP, ENOUGH = 16, 0.005  # draws between two looks at the error, standard error that is enough
CLEAR = 4  # standard errors from a level at which accuracy is clearly on one side of it
UNCERTAIN = 0.01  # standard error from which on a warning says so
WEAKER, FRAIL = (
    2 / 3,
    0.1,
)  # of the mark's score, and the deviation of lock-on then from which on a warning says so
WORK, MOST = (
    2**28,
    128,
)  # V^2 d summed over draws with noise, a second or two; and never more draws than this
TINY = 1e-12  # variance of outcomes that do not vary
LARGEST_VOCAB = 4096  # tables of V by V numbers, a dozen at a time
CHAPTER = "When facts are not equal"
OF_RECALL = ("coverage", "interference")
NAMES = (*MEANS, *NOISES, *OF_RECALL)


Outcomes = Float64[np.ndarray, " 3"]  # accuracy, lock-on, recall


class Averages(NamedTuple):
    """Means over draws, the largest of their standard errors, and the mean size of every term of
    the ledger.

    ``frail`` is the deviation of lock-on between draws where the mark scores :data:`WEAKER` of what
    it does."""

    accuracy: float
    lock_on: float
    recall: float
    error: float
    frail: float
    sizes: Mapping[str, float]


class Scores(NamedTuple):
    """One draw: scores of tokens ``(V,)`` and the mark's score."""

    tokens: Float64[np.ndarray, " V"]
    mark: float


def needs_sampled_theory(setting: Setting, own: OwnTables) -> bool:
    """Whether a prediction goes this way: all but equal facts with isotropic embeddings."""
    return bool(own) or not plain(setting)


def check(setting: Setting) -> None:
    """Refuse what has no theory here yet."""
    if setting.width is not None:
        raise not_allowed(
            "width", setting.width, "None with unequal facts or structured tables: no theory yet"
        )
    if setting.vocab > LARGEST_VOCAB:
        allowed = f"at most {LARGEST_VOCAB} with unequal facts or structured tables: each draw holds V by V numbers"
        raise not_allowed("vocab", setting.vocab, allowed)


def averages(
    setting: Setting,
    own: OwnTables,
    without: tuple[str, ...] = (),
    *,
    recall: bool = True,
    ledger: bool = False,
    level: float | None = None,
) -> Averages:
    """Over draws; without some terms, by name; with a ``level``, no more than say on which side of
    it accuracy is.

    Noise costs most and moves outcomes least: outcomes without it, of more draws, are a control
    variate."""
    check(setting)
    noisy: list[Outcomes] = []
    plain: list[Outcomes] = []  # at the mean of the attention vector
    sizes: list[dict[str, float]] = []
    weaker: list[float] = []

    def enough(count: int, most: int, part: str) -> bool:
        if count == 0 or count % STEP:
            return False
        so_far = Controlled.of(noisy, plain)
        clear = level is not None and abs(so_far.mean[0] - level) > CLEAR * so_far.errors[0]
        return count >= most or clear or float(getattr(so_far, part).max()) <= ENOUGH / math.sqrt(2)

    while not enough(len(noisy), _most(setting), "noise"):
        draw = drawn_facts(setting, len(plain), own)
        vector = AttentionVector(draw.facts)
        scores = attention_scores(draw, vector, without)
        noisy.append(_outcome(draw, scores, without, recall))
        weaker.append(
            float(draw.frequencies @ locate(scores.tokens, WEAKER * scores.mark, draw.facts).lock)
        )
        plain.append(
            _outcome(draw, attention_scores(draw, vector, without, noisy=False), without, recall)
        )
        if ledger and len(sizes) < STEP:
            sizes.append(_sizes(draw, vector))
    while not enough(len(plain), 8 * _most(setting), "draws"):
        draw = drawn_facts(setting, len(plain), own)
        scores = attention_scores(draw, AttentionVector(draw.facts), without, noisy=False)
        plain.append(_outcome(draw, scores, without, recall))
    found = Controlled.of(noisy, plain)
    accuracy, lock_on, recalled = np.clip(found.mean, 0, 1).tolist()
    return Averages(
        accuracy,
        lock_on,
        recalled,
        float(found.errors.max()),
        float(np.std(weaker)),
        _relative(sizes),
    )


def draw_law(
    setting: Setting, own: OwnTables, without: tuple[str, ...] = ()
) -> Float64[np.ndarray, "3 draws"]:
    """Outcomes of single draws in order, noise included, four times as many as :func:`averages` takes at
    most, up to 256."""
    check(setting)
    draws = (
        drawn_facts(setting, number, own) for number in range(min(4 * _most(setting), 2 * MOST))
    )
    scored = (
        (draw, attention_scores(draw, AttentionVector(draw.facts), without)) for draw in draws
    )
    found = np.array([_outcome(draw, scores, without, recall=True) for draw, scores in scored])
    # sums of frequencies may exceed 1 by rounding
    return np.asarray(np.sort(np.clip(found, 0, 1), axis=0).T)


class Controlled(NamedTuple):
    """Mean outcomes, and standard errors from what the noise changes and from draws without it."""

    mean: Outcomes
    noise: Outcomes
    draws: Outcomes

    @property
    def errors(self) -> Outcomes:
        """Of the means, both together."""
        return np.asarray(np.hypot(self.noise, self.draws))

    @classmethod
    def of(cls, noisy: list[Outcomes], plain: list[Outcomes]) -> Controlled:
        r"""$\bar y+\beta\,(\bar x_{\rm all}-\bar x)$ with
        $\beta=\mathrm{Cov}(x,y)/\mathrm{Var}\,x$, by outcome."""
        y, every = np.array(noisy), np.array(plain)
        x = every[: len(y)]
        spread = np.mean((x - x.mean(axis=0)) ** 2, axis=0)
        shared = np.mean((x - x.mean(axis=0)) * (y - y.mean(axis=0)), axis=0)
        slope = np.divide(shared, spread, out=np.zeros(3), where=spread > TINY)
        noise = np.std(y - slope * x, axis=0, ddof=1) / len(y) ** 0.5
        mean = y.mean(axis=0) + slope * (every.mean(axis=0) - x.mean(axis=0))
        return cls(mean, noise, np.abs(slope) * np.std(every, axis=0, ddof=1) / len(every) ** 0.5)


def _most(setting: Setting) -> int:
    """Draws with noise that there is time for, a multiple of ``STEP``."""
    count = WORK // (setting.vocab**2 * min(setting.dim, setting.vocab))
    return STEP * max(1, min(count, MOST) // STEP)


def _outcome(draw: DrawnFacts, scores: Scores, without: tuple[str, ...], recall: bool) -> Outcomes:
    """Accuracy, lock-on and recall of one draw."""
    located = locate(scores.tokens, scores.mark, draw.facts)
    accuracy, found = _answered(draw, located, without) if recall else (0.0, 0.0)
    return np.array([accuracy, float(draw.frequencies @ located.lock), found])


def _answered(draw: DrawnFacts, located: Located, without: tuple[str, ...]) -> tuple[float, float]:
    """Accuracy and recall; without interference every fact is right that was located, without
    coverage if unseen."""
    facts = draw.facts
    if "coverage" in without:  # every label is seen once
        facts = facts._replace(counts=np.maximum(facts.counts, 1.0))
    hits, wrong = located_counts(located, facts, draw.generator(2))
    if "interference" in without:
        right = (hits > 0).astype(float)
        return float(draw.frequencies @ (located.lock * right)), float(right.mean())
    found = answer(located, hits, wrong, facts, draw.frequencies)
    return found.accuracy, found.recall


def attention_scores(
    draw: DrawnFacts, vector: AttentionVector, without: tuple[str, ...] = (), *, noisy: bool = True
) -> Scores:
    """Mean and, if ``noisy``, one draw of the noise, some parts left out."""
    facts, size = draw.facts, len(draw.facts.trigger)
    tokens, mark = np.zeros(len(facts.tokens)), 0.0
    for name, part in vector.means.items():
        if name not in without:
            tokens = tokens + facts.tokens @ part
        # without these tokens score alike, but the mark remains
        if name not in without or name == "uneven facts":
            mark += float(facts.trigger @ part)
    if not noisy:
        return Scores(tokens, mark)
    noises = [noise for name, noise in vector.noises.items() if name not in without]
    if not {"value noise", "key noise"} & {*without}:
        noises.append(vector.shared_noise)
    standard = draw.generator(1).standard_normal(size)
    noise = square_root(sum(noises, start=np.zeros((size, size)))) @ standard
    return Scores(tokens + facts.tokens @ noise, mark + float(facts.trigger @ noise))


# The ledger


def _sizes(draw: DrawnFacts, vector: AttentionVector) -> dict[str, float]:
    """Mean square over tokens as they occur, about their mean, of each part of a score; and the
    mark's."""
    sizes = {name: float(part @ vector.C @ part) for name, part in vector.means.items()}
    for name, noise in vector.noises.items():  # rounding may leave a zero below zero
        sizes[name] = max(0.0, float(np.sum(noise * vector.C)))
    missing = float(draw.frequencies @ (draw.facts.counts == 0))
    right, wrong = _logits(draw.facts)
    mark = sum(float(draw.facts.trigger @ part) for part in vector.means.values())
    return {**sizes, "coverage": missing, "interference": wrong, "mark": mark**2, "right": right}


def _logits(facts: Facts) -> tuple[float, float]:
    """Mean square of the right logit, of its own fact alone, and of a wrong one, where all locate
    their token."""
    marked = facts.tokens + facts.tau * facts.trigger
    logits = marked @ ((facts.counts[:, None] * marked).T @ facts.residuals) @ facts.labels.T
    own = facts.counts * np.sum(marked**2, axis=1) * np.sum(facts.residuals * facts.labels, axis=1)
    size = len(own)
    return float(np.mean(own**2)), float(
        (np.sum(logits**2) - np.sum(np.diag(logits) ** 2)) / (size * (size - 1))
    )


def _relative(sizes: list[dict[str, float]]) -> dict[str, float]:
    """Terms of step 2 in units of the squared mark, interference of the squared right logit; NaN
    without."""
    if not sizes:
        return {}
    mean = {name: float(np.mean([row[name] for row in sizes])) for name in sizes[0]}
    units = {
        **dict.fromkeys((*MEANS, *NOISES), mean["mark"]),
        "interference": mean["right"],
        "coverage": 1.0,
    }
    return {name: mean[name] / units[name] if units[name] else math.nan for name in NAMES}


def ledger(setting: Setting, sizes: Mapping[str, float]) -> dict[str, tuple[float, str, str]]:
    """Size, formula in LaTeX and chapter of every term, by name."""
    formulas = leading_formulas(label_choice(setting))
    return {name: (sizes[name], sp.latex(formulas[name]), CHAPTER) for name in NAMES}


def label_choice(setting: Setting) -> str:
    """Which labels of :mod:`recallbook.theory.symbolic.unequal_terms` the setting has, every
    fact covered."""
    if setting.loss_weights == "inverse":
        return "inverse"
    return "balanced" if setting.balanced else setting.output_bias


@cache
def leading_formulas(bias: str) -> dict[str, sp.Expr]:
    r"""What leads each term for a token of frequencies $f$ as a fact and $q$ elsewhere, not yet
    divided by the mark's.

    Those of step 3: chance that a fact is missing, and mean square of a wrong logit over that of
    the right one."""
    means, spread = symbolic.token_scores(bias), trace(2)
    wrong = V * spread * (tau**2 + (1 + tau) * spread) / (1 + tau) ** 2 + spread
    return {
        "frequent tokens": symbolic.bias_pull(bias) ** 2,
        "uneven facts": means["uneven facts"] ** 2,
        "own sequence": symbolic.own_sequence(bias)["token"] ** 2,
        **symbolic.noises(bias),
        "coverage": sp.exp(-N * symbolic.f),
        "interference": wrong,
    }
