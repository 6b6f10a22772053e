r"""Lock-on, recall and accuracy by sampling draws: where facts are not equally frequent, where
embeddings have a structure or are given, and for quantiles of every setting.

Drawn are what few numbers describe: tables of embeddings, label counts, and the Gaussian noise of
the attention vector with its covariance; averaged exactly is over sequences. No constant is fitted,
and the cost does not depend on $N$ and $L$. Draws are added, each with its fixed seed, until the
standard error of their mean is at most :data:`ENOUGH`, or time is up: ``Averages.error`` says what
it is. Draws that fail may be too rare to be among them: with a weaker mark more of them fail, and
``Averages.remarks`` say how much lock-on then differs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from jaxtyping import Float64

from recallbook.arguments import NUMPY, not_allowed
from recallbook.data.embeddings import Embeddings, own_tables
from recallbook.memory_needs import Need, require_memory, table
from recallbook.setting import Setting
from recallbook_theory.caveats import FEW_SEQUENCES, Doubt
from recallbook_theory.sampled import unequal_terms as symbolic
from recallbook_theory.sampled.attention_vector import (
    MEANS,
    NOISES,
    AttentionVector,
    Facts,
    Square,
)
from recallbook_theory.sampled.drawn_facts import DrawnFacts, drawn_facts
from recallbook_theory.sampled.located import (
    AnswerShares,
    PlaceChances,
    answer,
    locate,
    located_counts,
)
from recallbook_theory.symbolic.expressions import N, V, tau, trace
from recallbook_theory.theories import OUTCOMES, Asked, Averages, DrawLaw, Term, Theory

STEP, ENOUGH = 16, 0.005  # draws between two looks at the error, standard error that is enough
CLEAR = 4  # standard errors from a level at which accuracy is clearly on one side of it
UNCERTAIN = 0.01  # standard error from which on a warning says so
WEAKER = 2 / 3  # of the mark's score
FRAIL = 0.1  # deviation of lock-on with such a mark from which on a warning says so
WORK = 2**28  # V^2 d summed over draws with noise, a second or two
MOST = 128  # draws with noise, whatever time there is
TINY = 1e-12  # variance of outcomes that do not vary
LARGEST_VOCAB = 4096
SQUARES = 14  # V by V tables that a prediction holds
CHAPTER = "When facts are not equal"
NAMES = (*MEANS, *NOISES, "coverage", "interference")

Outcomes = Float64[np.ndarray, " 3"]  # accuracy, lock-on, recall


class TokenScores(NamedTuple):
    """One draw: scores of tokens ``(V,)`` and the mark's score."""

    tokens: Float64[np.ndarray, " V"]
    mark: float


class SampledTheory(Theory):
    """Averages over draws of facts, of the setting's embeddings or with the caller's own."""

    sampled = True
    # Nothing is off in their map (recallbook_studies/ch11/unequal_map.py), from which these are
    # drawn: it goes no further.
    doubts = (
        Doubt("few tokens", lambda s: s.vocab < 64, lambda s: f"vocab={s.vocab} below 64"),
        Doubt("few dimensions", lambda s: s.dim < 12, lambda s: f"dim={s.dim} below 12"),
        FEW_SEQUENCES,
        Doubt(
            "long sequences",
            lambda s: s.seq_len > max(128, s.vocab),
            lambda s: f"seq_len={s.seq_len} above 128 and vocab={s.vocab}",
        ),
    )

    def __init__(
        self, setting: Setting, embeddings: Embeddings | Mapping[str, Any] | None = None
    ) -> None:
        self.own = own_tables(embeddings, setting)

    def names(self, setting: Setting) -> tuple[str, ...]:
        """Names of the ledger's terms."""
        return NAMES

    def needs(self, setting: Setting) -> list[Need]:
        """Tables of embeddings, and of V by V numbers; no MLP, and no larger vocabulary yet."""
        if setting.width is not None:
            allowed = "None with unequal facts, structured tables or quantiles: no theory yet"
            raise not_allowed("width", setting.width, allowed)
        if setting.vocab > LARGEST_VOCAB:
            kinds = "unequal facts, structured tables or quantiles"
            allowed = f"at most {LARGEST_VOCAB} with {kinds}: each draw holds V by V numbers"
            raise not_allowed("vocab", setting.vocab, allowed)
        return [table(setting, 6, "vocab", "dim"), table(setting, SQUARES, "vocab", "vocab")]

    @np.errstate(**NUMPY)
    def averages(self, setting: Setting, asked: Asked = OUTCOMES) -> Averages:
        """Means over draws.

        Noise costs most and moves outcomes least: outcomes without it, of more draws, are a control
        variate."""
        require_memory(self.needs(setting), "a prediction")
        noisy: list[Outcomes] = []
        quiet: list[Outcomes] = []  # at the mean of the attention vector
        weaker: list[float] = []  # lock-on with a weaker mark
        sizes: list[dict[str, float]] = []
        most, with_noise = _most(setting), True

        def enough(count: int, most: int, part: str) -> bool:
            if count % STEP:
                return False
            so_far = Controlled.of(noisy, quiet)
            error = float(getattr(so_far, part).max())
            return count >= most or so_far.clear(asked.level) or error <= ENOUGH / math.sqrt(2)

        while with_noise or not enough(len(quiet), 8 * most, "draws"):
            draw = drawn_facts(setting, len(quiet), self.own)
            vector = AttentionVector(draw.facts)
            scores = attention_scores(draw, vector, asked.without, noisy=False)
            quiet.append(_outcome(draw, scores, asked))
            if with_noise:
                scores = attention_scores(draw, vector, asked.without)
                noisy.append(_outcome(draw, scores, asked))
                weak = locate(scores.tokens, WEAKER * scores.mark, draw.facts)
                weaker.append(float(draw.frequencies @ weak.lock))
                if asked.ledger and len(sizes) < STEP:
                    sizes.append(_sizes(draw, vector))
                with_noise = not enough(len(noisy), most, "noise")
        averaged = Controlled.of(noisy, quiet)
        error = float(averaged.errors.max())
        terms = _ledger(setting, sizes) if asked.ledger else {}
        remarks = _remarks(error, float(np.std(weaker)))
        accuracy, lock_on, recall = np.clip(averaged.mean, 0, 1).tolist()
        return Averages(accuracy, lock_on, recall, error, terms, remarks)

    @np.errstate(**NUMPY)
    def draws(self, setting: Setting, without: tuple[str, ...]) -> DrawLaw:
        """Single draws, noise included: four times as many as the averages take at most, up to
        256."""
        require_memory(self.needs(setting), "quantiles")
        outcomes = []
        for number in range(min(4 * _most(setting), 2 * MOST)):
            draw = drawn_facts(setting, number, self.own)
            scores = attention_scores(draw, AttentionVector(draw.facts), without)
            outcomes.append(_outcome(draw, scores, Asked(without)))
        # sums of frequencies may exceed 1 by rounding
        return DrawLaw(*np.sort(np.clip(outcomes, 0, 1), axis=0).T)


class Controlled(NamedTuple):
    """Mean outcomes, and standard errors from what the noise changes and from draws without it."""

    mean: Outcomes
    noise: Outcomes
    draws: Outcomes

    @property
    def errors(self) -> Outcomes:
        """Of the means, both together."""
        return np.asarray(np.hypot(self.noise, self.draws))

    def clear(self, level: float | None) -> bool:
        """Whether mean accuracy lies clearly on one side of the level, if there is one."""
        return level is not None and abs(self.mean[0] - level) > CLEAR * self.errors[0]

    @classmethod
    def of(cls, noisy: list[Outcomes], quiet: list[Outcomes]) -> Controlled:
        r"""$\bar y+\beta\,(\bar x_{\rm all}-\bar x)$ with
        $\beta=\mathrm{Cov}(x,y)/\mathrm{Var}\,x$, by outcome."""
        y, every = np.array(noisy), np.array(quiet)
        x = every[: len(y)]
        spread = np.mean((x - x.mean(axis=0)) ** 2, axis=0)
        shared = np.mean((x - x.mean(axis=0)) * (y - y.mean(axis=0)), axis=0)
        slope = np.divide(shared, spread, out=np.zeros(3), where=spread > TINY)
        noise = np.std(y - slope * x, axis=0, ddof=1) / len(y) ** 0.5
        mean = y.mean(axis=0) + slope * (every.mean(axis=0) - x.mean(axis=0))
        return cls(mean, noise, np.abs(slope) * np.std(every, axis=0, ddof=1) / len(every) ** 0.5)


def _remarks(error: float, frail: float) -> tuple[str, ...]:
    """Whether draws differ too much for the time there is, or lock-on would with a weaker mark."""
    if error > UNCERTAIN:
        known = f"their mean is known to {2 * error:.2f} only"
        return (f"outcomes differ from draw to draw, and {known}",)
    if frail > FRAIL:
        weaker = f"with a mark weaker by a third lock-on differs by {frail:.1f} from draw to draw"
        return (f"draws that fail may be too rare to be met: {weaker}",)
    return ()


def _most(setting: Setting) -> int:
    """Draws with noise that there is time for, a multiple of ``STEP``."""
    count = WORK // (setting.vocab**2 * min(setting.dim, setting.vocab))
    return STEP * max(1, min(count, MOST) // STEP)


def _outcome(draw: DrawnFacts, scores: TokenScores, asked: Asked) -> Outcomes:
    """Accuracy, lock-on and recall of one draw."""
    located = locate(scores.tokens, scores.mark, draw.facts)
    right = _answered(draw, located, asked.without) if asked.recall else AnswerShares(0.0, 0.0)
    return np.array([right.accuracy, float(draw.frequencies @ located.lock), right.recall])


def _answered(draw: DrawnFacts, located: PlaceChances, without: tuple[str, ...]) -> AnswerShares:
    """Without interference every fact is right that was located, without coverage also if
    unseen."""
    facts = draw.facts
    if "coverage" in without:  # every label is seen once
        facts = facts._replace(counts=np.maximum(facts.counts, 1.0))
    hits, wrong = located_counts(located, facts, draw.generator(2))
    if "interference" in without:
        right = (hits > 0).astype(float)
        accuracy = float(draw.frequencies @ (located.lock * right))
        return AnswerShares(accuracy, float(right.mean()))
    return answer(located, hits, wrong, facts, draw.frequencies)


def attention_scores(
    draw: DrawnFacts, vector: AttentionVector, without: tuple[str, ...] = (), *, noisy: bool = True
) -> TokenScores:
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
        return TokenScores(tokens, mark)
    noises = [noise for name, noise in vector.noises.items() if name not in without]
    if not {"value noise", "key noise"} & {*without}:
        noises.append(vector.shared_noise)
    standard = draw.generator(1).standard_normal(size)
    noise = square_root(sum(noises, start=np.zeros((size, size)))) @ standard
    return TokenScores(tokens + facts.tokens @ noise, mark + float(facts.trigger @ noise))


def square_root(covariance: Square) -> Square:
    """The symmetric root, which does not depend on how eigenvectors are chosen; rounding below zero
    is zero."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


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
    pairs = len(own) * (len(own) - 1)
    wrong = (np.sum(logits**2) - np.sum(np.diag(logits) ** 2)) / pairs
    return float(np.mean(own**2)), float(wrong)


def _ledger(setting: Setting, drawn: list[dict[str, float]]) -> dict[str, Term]:
    """Terms of step 2 in units of the squared mark, interference of the squared right logit; means
    over draws, NaN without a unit."""
    mean = {name: float(np.mean([sizes[name] for sizes in drawn])) for name in drawn[0]}
    units = {
        **dict.fromkeys((*MEANS, *NOISES), mean["mark"]),
        "interference": mean["right"],
        "coverage": 1.0,
    }
    formulas, terms = leading_formulas(label_choice(setting)), {}
    for name in NAMES:
        size = mean[name] / units[name] if units[name] else math.nan
        outcome = "lock_on" if name in (*MEANS, *NOISES) else "recall"
        terms[name] = Term(size, outcome, sp.latex(formulas[name]), CHAPTER)
    return terms


def label_choice(setting: Setting) -> str:
    """Which labels of :mod:`recallbook_theory.sampled.unequal_terms` the setting has, every
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
        "own sequence": symbolic.own_sequence(bias) ** 2,
        **symbolic.noises(bias),
        "coverage": sp.exp(-N * symbolic.f),
        "interference": wrong,
    }
