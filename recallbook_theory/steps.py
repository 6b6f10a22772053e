r"""Between one value step and the end: what several full-batch value steps recall once attention has
locked.

A value step adds to $W_V$ the facts' residuals as they stand (eq-between-step, chapter 12). Without
a fact the matrix is a Gaussian reader of its embedding (the cavity); facts then follow
(eq-between-process, appendix of chapter 12), with noise (eq-between-noise) and memory
(eq-between-memory) that are means over facts: a sample of facts that shares one fresh draw of U
takes them step by step, so nothing is solved for. That labels overlap in the same way for all facts
is exact here; a weight b that is left out costs most. Both matrices are taken diagonal where
$S=U^\top U$ is, K as $\alpha S+\beta S^2$."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64
from tqdm import tqdm

from recallbook.arguments import not_allowed
from recallbook.memory_needs import NUMBER, Need, require_memory
from recallbook.setting import Setting
from recallbook_theory.equal import EqualFacts
from recallbook_theory.lock_on import NODE_WEIGHTS, Lock, lock
from recallbook_theory.symbolic.recall_terms import mean_squares
from recallbook_theory.theories import OUTCOMES, SILENT, Asked, Averages, Theory

LABELS, FEWEST_DRAWS = 1024, 2  # draws of output embeddings: so many labels in all, so many draws
LOGITS, FEWEST, MOST = 2**21, 1024, 4096  # of the sample of facts under one draw; its size
SPREAD, MANY_DRAWS, FEWEST_FACTS = 0.01, 16, 512  # where lock-on differs more from draw to draw
PROBED = 0.125  # the share of a sample whose responses are followed
LARGEST_VOCAB = 2**14
NO_LABEL = 1e-10  # of the largest eigenvalue of labels: what no label has a part in
NOISES = tuple(mean_squares())  # of step 3
# in units of ln V, where the best rate is looked for: down from the first or, if that is worse, up
RATES = (0.5, 0.25, 0.75, 1.0, 1.5)
# how far accuracy and recall are typically off, a root mean square over the map (`between_map`), by the
# first that applies: after more than SOON steps at a rate above SLOW ln V some facts are left and attention
# fails in some sequences, or in none; else, from 8 tokens on
FAST_STRAYS, FAST, TYPICAL = 0.1, 0.035, 0.015
SOON, SLOW, LEFT, LOCKED = 5, 0.4, 0.02, 0.97

Vectors = Float64[np.ndarray, "n d"]


@dataclass(frozen=True)
class ManySteps(Theory):
    """Equal facts after more than one value step; means over samples of facts."""

    value_steps: int
    rates: tuple[float, ...] | None = None
    sampled = True
    doubts = ()

    def needs(self, setting: Setting) -> list[Need]:
        """Logits of the sample, and what its facts remember of each step.

        Raises
        ------
        ValueError
            Where the process is not derived.
        """
        setting.require_equal("several value steps are derived for equal facts")
        if setting.width is not None:
            raise not_allowed(
                "width", setting.width, "None: several value steps are derived without the MLP"
            )
        if setting.trigger_in_values:
            allowed = "False: several value steps are derived without the trigger in the values"
            raise not_allowed("trigger_in_values", True, allowed)
        if setting.law.geometry not in ("normal", "spherical"):
            raise not_allowed(
                "embeddings",
                setting.embeddings,
                "'gaussian', 'sphere' or 'signs' with several value steps",
            )
        if setting.vocab > LARGEST_VOCAB:
            raise not_allowed(
                "vocab", setting.vocab, f"at most {LARGEST_VOCAB} with several value steps"
            )
        steps = 3 * self.value_steps + PROBED * self.value_steps**2
        numbers = samples(setting.vocab)[1] * (4 * setting.vocab + steps * setting.dim)
        return [Need(float(NUMBER * numbers), {"vocab": setting.vocab})]

    def averages(self, setting: Setting, asked: Asked = OUTCOMES) -> Averages:
        """Lock-on of the theory of one step; recall of the process, and its mean weighted by that."""
        require_memory(self.needs(setting), "a prediction")
        if not asked.recall:
            return EqualFacts().averages(setting, asked)
        if asked.level is not None:
            noiseless = EqualFacts().averages(setting, Asked(without=NOISES))
            if noiseless.accuracy < asked.level:
                return noiseless  # lock-on and coverage alone keep it there
        units = [x * math.log(setting.vocab) for x in RATES]
        tried = [self.rates] if self.rates else [(unit,) * self.value_steps for unit in units]
        reached = {}
        best = tried[0]
        with tqdm(desc="value steps", leave=False, disable=None, delay=SILENT) as progress:
            for rates in tried:
                reached[rates] = outcomes(setting, rates, progress)[-1]
                better = reached[rates][0] > reached[best][0]
                best = rates if better else best
                enough = asked.level is not None and reached[rates][0] >= asked.level
                # accuracy has one peak in the rate: it lies below the first, or before what is worse
                passed = {1: False, 2: better}.get(len(reached), not better)
                if enough or passed:
                    break
        accuracy, lock_on, recall = map(float, reached[best])
        error = math.sqrt(recall * (1 - recall) / math.prod(samples(setting.vocab)))
        said = f"rate={max(best):.3g} above {max(RATES)} ln V was not compared with simulation"
        remarks = (said,) if max(best) > max(units) else ()
        rate = best[0] if len({*best}) == 1 else best
        return Averages(accuracy, lock_on, recall, error, remarks=remarks, rate=rate)

    def expected_errors(self, setting: Setting, outcomes: Mapping[str, float]) -> dict[str, float]:
        """That of lock-on after one step; those of the others from the map."""
        fastest = max(self.rates or [math.inf]) / math.log(setting.vocab)
        left = LEFT < outcomes.get("recall", 0.0) < 1 - LEFT
        size = TYPICAL
        if self.value_steps > SOON and fastest > SLOW and left:
            size = FAST if outcomes["lock_on"] > LOCKED else FAST_STRAYS
        known = EqualFacts().expected_errors(setting, {"lock_on": outcomes["lock_on"]})
        return {name: known.get(name, size) for name in outcomes}

    def draws(self, setting: Setting, without: tuple[str, ...]) -> None:
        """Refuse: quantiles are of one value step.

        Raises
        ------
        ValueError
            Always.
        """
        raise not_allowed("value_steps", self.value_steps, "1: quantiles are of one value step")


def samples(vocab: int, spread: float = 0.0) -> tuple[int, int]:
    """Draws of embeddings and facts under each: more where they cost less, and more draws where
    their lock-on has a ``spread``."""
    facts = min(max(LOGITS // vocab, FEWEST), MOST)
    draws = min(max(LABELS // vocab, FEWEST_DRAWS), MANY_DRAWS)
    if spread <= SPREAD:
        return draws, facts
    return MANY_DRAWS, max(draws * facts // MANY_DRAWS, FEWEST_FACTS)


def outcomes(
    setting: Setting, rates: Sequence[float], progress: tqdm[Any] | None = None
) -> Float64[np.ndarray, "steps 3"]:
    """Predict accuracy, lock-on and recall after a value step at each of these rates.

    Each draw has a lock-on of its own, one of as many equal shares of all from the least to the
    largest; where attention fails one answer in V is right by luck."""
    points = lock(setting)
    draws, count = samples(setting.vocab, float(points.mean.std()))
    shares = (np.arange(draws) + 0.5) / draws * len(points.mean)
    by_draw = np.zeros((draws, len(rates), 3))
    for seed, point in enumerate(np.argsort(points.mean, kind="stable")[shares.astype(int)]):
        facts = FactSample(setting, points, point, count, seed)
        for step, rate in enumerate(rates):
            facts.step(rate)
            right = facts.right()
            answered = facts.locked * right + (1 - facts.locked) / setting.vocab
            by_draw[seed, step] = np.mean(answered), np.mean(points.token), np.mean(right)
            if progress is not None:
                progress.update()
    return np.asarray(by_draw.mean(axis=0))


class FactSample:
    """A sample of facts under one draw of output embeddings, and their process.

    The tables are turned to where the labels' Gram matrix is diagonal; the sample's labels repeat
    where V is below their number."""

    def __init__(self, setting: Setting, points: Lock, point: int, count: int, seed: int) -> None:
        vocab, dim, law = setting.vocab, setting.dim, setting.law
        self.rng = np.random.default_rng([12, seed])
        table = law.rows(self.rng.standard_normal((vocab, dim)))
        wide = dim > vocab  # the smaller of both Gram matrices has the spectrum
        spectrum, turn = np.linalg.eigh(table @ table.T if wide else table.T @ table)
        seen = spectrum > NO_LABEL * spectrum[-1]
        self.spectrum = spectrum[seen]
        turn = (turn * np.sign(turn[0]))[:, seen]  # whatever signs the routine gives
        self.labels = turn * np.sqrt(self.spectrum) if wide else table @ turn
        self.own = np.arange(count) % vocab
        lengths = (law.rows(self.rng.standard_normal((count, dim))) ** 2).sum(axis=1)
        self.lengths, self.others = lengths[:, None], vocab / dim
        levels = (self.rng.integers(len(points.token), size=count) + 0.5) / len(points.token)
        node = np.searchsorted(np.cumsum(NODE_WEIGHTS)[:-1], levels)  # scores of the facts' tokens
        self.locked = points.draw[point, node]
        self.shown, self.targets = self._targets(setting, points.draw_decoys[point, node])
        self.state = np.zeros((count, len(self.spectrum)))
        self.states: list[Vectors] = []
        self.pulls: list[Vectors] = []
        self.normals: list[Vectors] = []
        self.factors = np.zeros((0, 0, len(self.spectrum)))  # Cholesky's, of the noise over steps
        self.probes: list[Vectors] = []
        self.reactions: list[list[Vectors]] = []  # to each probe, from its step on

    def _targets(
        self, setting: Setting, decoys: Float64[np.ndarray, " n"]
    ) -> tuple[Vectors, Vectors]:
        """How often each fact's token is located, in units of N/V, and the embeddings of the labels
        asked there, added up: its own where it is informative, strays where it is a decoy."""
        vocab, many = setting.vocab, setting.samples
        right = self.rng.binomial(many, self.locked / vocab)[:, None]
        strays = self.rng.poisson(many / vocab * decoys[:, None], (len(decoys), vocab))
        shown = right + strays.sum(axis=1, keepdims=True)
        sums = right * self.labels[self.own] + strays @ self.labels
        return vocab / many * shown, vocab / many * sums

    def right(self) -> Bool[np.ndarray, " n"]:
        """Whether a fact's own label has the largest logit."""
        return np.asarray((self.state @ self.labels.T).argmax(axis=1) == self.own)

    def step(self, rate: float) -> None:
        """Move every fact by one value step at this rate (eq-between-process)."""
        chances = self.state @ self.labels.T
        chances -= chances.max(axis=1, keepdims=True)
        np.exp(chances, out=chances)
        chances /= chances.sum(axis=1, keepdims=True)
        pull = self.targets - self.shown * (chances @ self.labels)
        self.states.append(self.state)
        self.pulls.append(pull)
        doubt = self.shown[:, 0] * (1 - chances[np.arange(len(self.own)), self.own])
        noise = self._without_own(self._noise(), doubt)
        move = self.lengths * pull + np.sqrt(self.lengths) * noise
        for kernel, state in zip(
            self._memory(chances[: round(PROBED * len(chances))], rate), self.states, strict=True
        ):
            move += state * kernel
        self.state = self.state + rate * move

    def _noise(self) -> Vectors:
        """Noise of this step given that of earlier ones (eq-between-noise): one more row of Cholesky's factor, for
        each direction."""
        last, dim = self.pulls[-1], len(self.spectrum)
        wanted = [self.others * (self.lengths * y * last).mean(axis=0) for y in self.pulls]
        row = np.zeros((len(wanted), dim))
        for s, factor in enumerate(self.factors):
            row[s] = (wanted[s] - (row[:s] * factor[:s]).sum(axis=0)) / factor[s]
        left = wanted[-1] - (row[:-1] ** 2).sum(axis=0)
        row[-1] = np.sqrt(np.maximum(left, 1e-9 * wanted[-1]))
        before = np.pad(self.factors, ((0, 0), (0, 1), (0, 0)))
        self.factors = np.concatenate([before, row[None]])
        self.normals.append(self.rng.standard_normal(last.shape))
        return np.asarray(sum(x * r for x, r in zip(self.normals, row, strict=True)))

    def _without_own(self, noise: Vectors, doubt: Float64[np.ndarray, " n"]) -> Vectors:
        """Less of it along a fact's own label, which no other fact asks for."""
        own = self.labels[self.own]
        square = (own**2).sum(axis=1)
        variance = own**2 @ np.mean(self.lengths * self.pulls[-1] ** 2, axis=0) / square
        asked = np.mean(self.lengths[:, 0] * doubt**2) * square / len(self.labels)
        lost = 1 - np.sqrt(np.maximum(1 - asked / variance, 0))
        return np.asarray(noise - (lost * (own * noise).sum(axis=1) / square)[:, None] * own)

    def _memory(self, chances: Vectors, rate: float) -> list[Float64[np.ndarray, " d"]]:
        r"""$K_{ss'}$ of (eq-between-memory) for each step up to now, and the reactions to all probes one step on.

        A probe is a random field on each of some facts; its mean product with what it does to the
        pull is the diagonal of the response."""
        count = len(chances)
        lengths, shown = self.lengths[:count], self.shown[:count]
        self.probes.append(self.rng.standard_normal((count, len(self.spectrum))))
        self.reactions.append([np.zeros_like(self.probes[-1])])
        kernels, changes = [], []
        scale = self.spectrum / self.spectrum.mean()
        powers = np.column_stack([scale, scale**2])
        for s, (probe, reaction) in enumerate(zip(self.probes, self.reactions, strict=True)):
            field = reaction[-1] + (probe if s == len(self.probes) - 1 else 0)
            logits = field @ self.labels.T
            logits -= (chances * logits).sum(axis=1, keepdims=True)
            changes.append(-shown * ((chances * logits) @ self.labels))
            seen = self.others * (lengths * changes[-1] * probe).mean(axis=0)
            kernels.append(powers @ np.linalg.lstsq(powers, seen)[0])
        for s, (reaction, change) in enumerate(zip(self.reactions, changes, strict=True)):
            move = lengths * change
            for later, kernel in zip(reaction, kernels[s:], strict=True):
                move += later * kernel
            reaction.append(reaction[-1] + rate * move)
        return kernels
