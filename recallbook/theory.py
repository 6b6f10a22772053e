r"""Predictions with no fitted constant: lock-on, recall and accuracy of three steps in the early-phase limit.

The expressions of :mod:`recallbook.symbolic` give signal and noise once the draw's own fluctuations are fixed; what is
left is an average over these, taken on a fixed low-discrepancy set of points.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, log_ndtr, ndtr, ndtri, roots_hermitenorm
from scipy.stats import beta, binom, gamma, qmc

from recallbook import symbolic
from recallbook.setting import Setting, bad, check_rate, check_size
from recallbook.symbolic import locking, retrieval

Array = NDArray[np.float64]
POINTS = 12  # log2 of the number of points of the average
AXES = (
    "trigger",
    "labels",
    "mean",
    "shift",
    "own",
    "count",
    "input",
    "output",
    "along",
    "across",
    "overlap",
    "thinning",
)
FAR = 1e9  # stands for d = infinity: orthogonal embeddings do not interfere
LARGEST_COUNT = 400.0  # mean count of a fact beyond which counts are taken as normal
TINY = 1e-30  # keeps 0/0 away where a fact was never seen and nothing interferes
LONGEST_SEARCH = 2**31 - 1
NODES, NODE_WEIGHTS = roots_hermitenorm(13)  # scores of a draw's tokens, in standard deviations
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()


class Term(NamedTuple):
    """One entry of the ledger: its size, its formula, and where it is derived."""

    size: float
    formula: str
    derived: str


@dataclass(frozen=True)
class Prediction:
    """Averages over embeddings, data and test sequences in the early-phase limit.

    ``ledger`` maps the name of each term to its size, its formula in LaTeX, and where it is derived. Sizes of the
    terms of step 2 are variances in units of the squared trigger score, at a typical draw; sizes of the terms of
    step 3 are mean squares of a wrong logit in units of the squared right one.
    """

    accuracy: float
    lock_on: float
    recall: float
    ledger: Mapping[str, Term]


def predict(setting: Setting, *, without: tuple[str, ...] = ()) -> Prediction:
    r"""Predict lock-on, recall and accuracy from $V,N,d,L$ and the setting's choices alone. Ours; no fitted constant.

    Derived to leading order, with the corrections in $1/L$, $1/d$, $1/N$ that matter. Checked for $V\ge150$,
    $d\ge20$, $N\ge V$, $L\le150$; outside $V\ge100$, $d\ge16$, $V\le N$, $L\le V$ it warns.

    Parameters
    ----------
    setting : Setting
        Attention-only.
    without : tuple of str
        Names of ledger terms to leave out, to see what each costs.

    Raises
    ------
    ValueError
        With an MLP, or an unknown name in ``without``.
    """
    _check(setting)
    names = (*locking.lock_terms(), *retrieval.SWITCHES, "coverage")
    for name in without:
        if name not in names:
            raise bad("without", name, "names of ledger terms: " + ", ".join(names))
    lock = _lock(setting, without)
    located, wrong = _located(setting, lock, without)
    right = _right(setting, located, wrong, lock, without)
    return Prediction(
        accuracy=float(np.mean(lock.token * right)),
        lock_on=float(np.mean(lock.token)),
        recall=float(np.mean(right)),
        ledger=_ledger(setting) if not without else {},
    )


def phase(setting: Setting) -> str:
    """The term whose removal would raise predicted accuracy most, by name."""
    base = predict(setting).accuracy
    names = predict(setting).ledger
    gains = {name: predict(setting, without=(name,)).accuracy - base for name in names}
    return max(gains, key=lambda name: gains[name])


def critical_samples(vocab: int, seq_len: int, dim: int, accuracy: float = 0.9, **setting: Any) -> float:
    """Smallest number of training sequences with at least this predicted accuracy; infinite where there is none.

    By doubling from ``vocab`` and bisection to a relative width of one part in a thousand.

    Raises
    ------
    ValueError
        If ``accuracy`` is not between 0 and 1, or a size is bad.
    """
    accuracy = check_rate("accuracy", accuracy, "a number between 0 and 1")
    if accuracy >= 1:
        raise bad("accuracy", accuracy, "a number between 0 and 1")
    low = check_size("vocab", vocab, smallest=2)

    def reached(samples: int) -> bool:
        return predict(Setting(vocab, seq_len, dim, samples, **setting)).accuracy >= accuracy

    if not reached(LONGEST_SEARCH):
        return math.inf
    if reached(low):
        return float(low)
    high = 2 * low
    while not reached(high):
        low, high = high, min(2 * high, LONGEST_SEARCH)
    while high > low + max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return float(high)


# The average


class _Lock(NamedTuple):
    """Lock-on probability of each point's own token, and of the tokens of its draw at ``NODES`` ``(points, nodes)``.

    ``caught`` is the share of all sequences in which the point's own token is located, and is not the informative one.
    """

    token: Array
    draw: Array
    caught: Array

    @property
    def mean(self) -> Array:
        """Lock-on of each draw."""
        return self.draw @ NODE_WEIGHTS

    @property
    def variance(self) -> Array:
        """Its variance from token to token."""
        return np.maximum(self.draw**2 @ NODE_WEIGHTS - self.mean**2, 0)


@cache
def _uniform() -> dict[str, Array]:
    """Low-discrepancy points in the open cube, by axis; unscrambled, so the same on every machine."""
    points = qmc.Sobol(len(AXES), scramble=False).random_base2(POINTS) + 0.5 / 2**POINTS
    return dict(zip(AXES, points.T, strict=True))


@cache
def _normal(axis: str) -> Array:
    return ndtri(_uniform()[axis])


@lru_cache(maxsize=256)
def _gamma(axis: str, variance: float) -> Array:
    r"""Gamma variable of mean 1 and this variance: $\chi^2_d/d$ at $2/d$; constant for variance 0."""
    if variance < 1e-8:
        return np.ones(2**POINTS)
    return gamma.ppf(_uniform()[axis], 1 / variance, scale=variance)


@lru_cache(maxsize=64)
def _cosine(dim: float) -> Array:
    """Cosine of two random directions."""
    half = max((dim - 1) / 2, 0.5)
    if half > 1e6:
        return _normal("overlap") / math.sqrt(dim)
    return 2 * beta.ppf(_uniform()["overlap"], half, half) - 1


def _lengths(setting: Setting, axis: str) -> Array:
    """Squared length of an embedding."""
    return _gamma(axis, 2 / setting.dim if setting.embeddings == "gaussian" else 0.0)


def _dim(setting: Setting) -> float:
    return FAR if setting.embeddings == "orthogonal" else float(setting.dim)


def _draw(setting: Setting) -> tuple[Array, Array, Array]:
    """What all tokens of a draw share: |t|^2, Q and M."""
    kappa = 1 / _dim(setting) + 1 / setting.vocab
    mean = _gamma("mean", min(2 / _dim(setting), 2.0))
    return _lengths(setting, "trigger"), _gamma("labels", 2 * kappa), mean


@cache
def _lock_functions() -> dict[str, tuple[Callable, Callable]]:
    symbols = (*locking.SIZES, *locking.SEED)
    terms = locking.lock_terms()
    return {k: (symbolic.numeric(t.token, *symbols), symbolic.numeric(t.trigger, *symbols)) for k, t in terms.items()}


@cache
def _skewness_function() -> Callable:
    return symbolic.numeric(locking.skewness(), *locking.SIZES, *locking.SCATTER)


def _skewness(lengths: Array, token: Array, *sizes: float) -> Array:
    return _skewness_function()(*sizes, lengths, token) * np.ones_like(token)


@cache
def _trigger_function() -> Callable:
    return symbolic.numeric(locking.trigger_score(), *locking.SIZES, *locking.SEED)


def _sizes(setting: Setting) -> tuple[float, ...]:
    return (setting.vocab, setting.samples, setting.seq_len, _dim(setting), float(setting.trigger_in_values))


def _lock(setting: Setting, without: tuple[str, ...]) -> _Lock:
    """Lock-on of every point: the mark must lift its token above L - 1 others."""
    shape = 2**POINTS
    if setting.seq_len == 1:
        return _Lock(np.ones(shape), np.ones((shape, NODES.size)), np.zeros(shape))
    arguments = (*_sizes(setting), *_draw(setting))
    token, trigger, lengths = np.full(shape, 1e-300), np.zeros(shape), 0.0
    for name, (of_token, of_trigger) in _lock_functions().items():
        if name in without or (name == "unequal lengths" and setting.embeddings != "gaussian"):
            continue
        token, trigger = token + of_token(*arguments), trigger + of_trigger(*arguments)
        lengths = of_token(*arguments) if name == "unequal lengths" else lengths
    skew = _skewness(np.asarray(lengths), token, *_sizes(setting))
    lift = (_trigger_function()(*arguments) + np.sqrt(trigger) * _normal("shift")) / np.sqrt(token)
    # only distinct tokens compete: a sequence of L tokens repeats some
    others = setting.vocab * -math.expm1((setting.seq_len - 1) * math.log1p(-1 / setting.vocab))
    own, nodes = _skewed(_normal("own"), skew), _skewed(NODES, skew[:, None])
    draw = np.exp(others * _log_below(nodes + lift[:, None], skew[:, None]))
    caught = others / setting.vocab * np.exp((others - 1) * _log_below(own, skew)) * ndtr(own - lift)
    return _Lock(np.exp(others * _log_below(own + lift, skew)), draw, caught)


def _skewed(normal: Array, skew: Array) -> Array:
    """A score in deviations from a standard normal variable: Cornish and Fisher's first correction."""
    return normal + skew * (normal**2 - 1) / 6


def _log_below(score: Array, skew: Array) -> Array:
    """Log probability that a token scores less; the inverse of :func:`_skewed` to the same order."""
    score = np.minimum(score, 8.0)  # beyond, the probability is 1
    return log_ndtr(score - skew * (score**2 - 1) / 6)


def _located(setting: Setting, lock: _Lock, without: tuple[str, ...]) -> tuple[Array, Array]:
    """How often the asked fact was located, and how many sequences located a wrong token."""
    samples, vocab = setting.samples, setting.vocab
    if "coverage" in without:
        count = np.full(2**POINTS, samples / vocab)
        return count * lock.token, samples * (1 - lock.mean)
    if samples / vocab > LARGEST_COUNT:
        mean = samples / vocab * lock.token
        return np.maximum(mean + np.sqrt(mean) * _normal("count"), 0), samples * (1 - lock.mean)
    count = binom.ppf(_uniform()["count"], samples, 1 / vocab)
    return binom.ppf(_uniform()["thinning"], count, lock.token), samples * (1 - lock.mean)


@cache
def _lookup_functions() -> tuple[Callable, ...]:
    terms = retrieval.lookup_terms()
    own = (retrieval.own_mean(), retrieval.own_variance())
    return (
        *(symbolic.numeric(term, *retrieval.LOOKUP) for term in terms),
        *(symbolic.numeric(term, *retrieval.LOOKUP, retrieval.k) for term in own),
    )


def _right(setting: Setting, located: Array, wrong: Array, lock: _Lock, without: tuple[str, ...]) -> Array:
    """Probability that the right logit exceeds all V - 1 others, at every point."""
    vocab, dim = setting.vocab, _dim(setting)
    tau, trigger = float(setting.trigger_in_values), _lengths(setting, "trigger")
    token = _lengths(setting, "input")
    overlap = np.sqrt(trigger * token) * _cosine(dim)  # t . z_v
    asked = token + tau * (trigger + 2 * overlap)
    share = setting.samples / vocab
    mean = np.maximum(share * lock.mean, 1e-9)
    across = _gamma("across", float(_stray(dim, vocab)))
    switches = [float(name not in without) for name in retrieval.SWITCHES]
    values = [
        located,
        mean,
        share**2 * lock.variance,
        wrong,
        setting.samples * lock.caught,
        token + tau * overlap,
        asked,
        tau * (trigger + overlap),
        _lengths(setting, "output"),
    ]
    arguments = (vocab, setting.samples, dim, *values, _normal("along"), across, *switches)
    signal, noise, pull, own_mean, own_variance = _lookup_functions()
    below = _all_below(
        signal(*arguments),
        noise(*arguments),
        np.maximum(share * lock.draw, 1e-9),
        lambda k: own_mean(*(_column(x) for x in arguments), k) * _column(pull(*arguments)),
        lambda k: own_variance(*(_column(x) for x in arguments), k) * _column(pull(*arguments)) ** 2,
        dim if setting.embeddings == "sphere" else FAR,
    )
    return np.exp((vocab - 1) * np.log(np.maximum(below, 1e-300)))


def _column(x: Any) -> Any:
    return x[:, None] if isinstance(x, np.ndarray) else x


@cache
def _stray(dim: float, vocab: int) -> float:
    function = symbolic.numeric(symbolic.stray_variance(), symbolic.n, symbolic.d)
    return float(function(vocab, dim))


def _all_below(
    signal: Array, noise: Array, means: Array, own_mean: Callable, own_variance: Callable, dim: float
) -> Array:
    """Probability that one wrong logit stays below the right one, averaged over how often its fact was located.

    ``means`` ``(points, nodes)`` are the mean counts of the draw's tokens. A logit is normal, or a coordinate on the
    sphere of dimension ``dim``.
    """
    largest = float(means.max())
    if largest > LARGEST_COUNT:  # counts as normal: three-point rule of the normal law
        mean = means @ NODE_WEIGHTS
        scatter = np.sqrt(mean + means**2 @ NODE_WEIGHTS - mean**2)
        counts = mean[:, None] + np.sqrt(3) * scatter[:, None] * np.array([-1.0, 0.0, 1.0])
        chances = np.array([1 / 6, 2 / 3, 1 / 6])
    else:
        counts = np.arange(int(largest + 7 * math.sqrt(largest) + 8))[None, :]
        chances = _count_chances(counts, means)
    ratio = (signal[:, None] - own_mean(counts)) / np.sqrt(noise[:, None] + own_variance(counts) + TINY)
    if dim == FAR:
        return np.sum(chances * ndtr(ratio), axis=1)
    half = (dim - 1) / 2  # (1 + coordinate) / 2 is a beta variable
    return np.sum(chances * betainc(half, half, np.clip((1 + ratio / np.sqrt(dim)) / 2, 0, 1)), axis=1)


def _count_chances(counts: NDArray[np.int64], means: Array) -> Array:
    """A mixture of Poisson laws over the nodes, ``(points, counts)``; one law where all nodes agree."""
    if np.ptp(means, axis=1).max() < 1e-3 * means.max():
        laws = [(1.0, means[:, 0])]
    else:
        laws = list(zip(NODE_WEIGHTS, means.T, strict=True))
    factorial = gammaln(counts + 1)
    chances = sum(weight * np.exp(counts * np.log(m)[:, None] - m[:, None] - factorial) for weight, m in laws)
    return chances / chances.sum(axis=1, keepdims=True)


# The ledger


@cache
def _ledger_formulas() -> dict[str, tuple[str, str, Callable]]:
    """Formula, where it is derived, and its size at the typical draw, |t|^2 = Q = M = 1, by name."""
    typical = dict.fromkeys(locking.SEED, 1)
    score = locking.trigger_score().subs(typical)
    formulas = {}
    for name, term in locking.lock_terms().items():
        size = symbolic.numeric(term.token.subs(typical) / score**2, *locking.SIZES)
        formulas[name] = (sp.latex(term.token), "When attention locks on", size)
    for name, expression in retrieval.mean_squares().items():
        size = symbolic.numeric(expression, *locking.SIZES)
        formulas[name] = (sp.latex(expression), "When facts can be recalled", size)
    missing = sp.exp(-locking.N / locking.V)
    formulas["coverage"] = (sp.latex(missing), "The task", symbolic.numeric(missing, *locking.SIZES))
    return formulas


def _ledger(setting: Setting) -> dict[str, Term]:
    """Every term at this setting; not a number where there is no attention to lock (L = 1)."""
    terms = {}
    for name, (formula, derived, size) in _ledger_formulas().items():
        alone = setting.seq_len == 1 and name in locking.lock_terms()
        terms[name] = Term(math.nan if alone else float(size(*_sizes(setting))), formula, derived)
    return terms


def _check(setting: Any) -> None:
    if not isinstance(setting, Setting):
        raise bad("setting", setting, "a recallbook.Setting")
    if setting.width is not None:
        raise bad("width", setting.width, "None: predictions are for the Attention-only model")
    outside = [
        text
        for text, wrong in (
            (f"vocab={setting.vocab} below 100", setting.vocab < 100),
            (f"dim={setting.dim} below 16", setting.dim < 16),
            (f"samples={setting.samples} below vocab={setting.vocab}", setting.samples < setting.vocab),
            (f"seq_len={setting.seq_len} above vocab={setting.vocab}", setting.seq_len > setting.vocab),
        )
        if wrong
    ]
    if outside:
        warnings.warn("outside the range where predictions were checked: " + ", ".join(outside), stacklevel=3)
