"""Initial-gradient estimators against the information bound, its assumptions measured, and what
gets around it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp

from recallbook.bounds import information, information_terms as terms
from recallbook.bounds.decoding import METHODS, decoded, feature_moments
from recallbook.data.embeddings import Embeddings, draw_embeddings
from recallbook.data.task import draw
from recallbook.model.ties import credit
from recallbook.setting import Setting
from recallbook.theory.symbolic.expressions import L, N, V, d, m, numeric
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.ch02.associative import predicted_recall
from recallbook_studies.ch08 import lattice
from recallbook_studies.intervals import fitted_slope, seed_interval

SEEDS = range(10)
# where V << N << LV, as far as small sizes go
BASE = {"vocab": 96, "seq_len": 128, "dim": 64}
# values of a size, and the leading exponent of the bound's N in it
ALONG = {
    "dim": ((48, 58, 70, 84), -2.0),
    "seq_len": ((48, 96, 192, 384), 1.0),
    "vocab": ((72, 90, 112, 140), 2.0),
}
STEPS, FACTOR = 14, 2**0.5

Array = NDArray[np.float64]


# What the chapter says of the bound


def direction_count(width: bool = False) -> sp.Expr:
    r"""$D$: ranks of the centred labels that occur, at most $N$, and of the centred features."""
    features = m if width else d
    return sp.Min(d, V - 1, N) * sp.Min(features, V - 1)


@cache
def direction_need() -> sp.Expr:
    r"""The $D$ at which so many nats are available."""
    return sp.solve(terms.available() - terms.information, terms.directions)[0]


def leading() -> sp.Expr:
    r"""$Nd^2$ for all facts at its leading order: $1\ll d<V$, large $V$ and $L$, $V\ll N\ll LV$."""
    return 2 * L * V**2 * (sp.log(V) - 1)


# The observation


def _inverse_root(matrix: Array) -> Array:
    """Inverse square root of a symmetric matrix on its range."""
    values, vectors = np.linalg.eigh(matrix)
    keep = values > values[-1] * 1e-10
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))


def coordinates(tables: Embeddings, counts: NDArray[np.int64]) -> tuple[Array, Array]:
    r"""$a_k$ with $\sum_kf_ka_ka_k^\top=I$ and $b_v$ with $\frac1V\sum_vb_vb_v^\top=I$, rows, given
    label counts."""
    labels = tables.output - tables.output.mean(axis=0)
    tokens = tables.input - tables.input.mean(axis=0)
    frequency = counts / counts.sum()
    left = _inverse_root(labels.T @ (frequency[:, None] * labels))
    return labels @ left, tokens @ _inverse_root(tokens.T @ tokens / len(tokens))


def label_counts(setting: Setting, generator: np.random.Generator) -> NDArray[np.int64]:
    """Multinomial counts of the labels."""
    setting.require_equal("counts are drawn with equal chances")
    return generator.multinomial(setting.samples, np.full(setting.vocab, 1 / setting.vocab))


def observed(
    setting: Setting, seed: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], Array, Array]:
    """Label counts, and the :func:`coordinates` of one draw of embeddings given them."""
    counts = label_counts(setting, generator)
    return counts, *coordinates(draw_embeddings(setting, seed), counts)


# The bound, checked where it can be computed


def signal_energy(setting: Setting, seed: int) -> tuple[float, float]:
    r"""$\frac1D\mathbb E_{\pi}\|M\|^2$ given embeddings and label counts, and its bound
    $\frac{N+V-1}{(L-1)(V-1)}$."""
    counts, labels, tokens = observed(setting, seed, np.random.default_rng([seed, 2]))
    frequency = counts / setting.samples
    square = np.sum(frequency[:, None] ** 2 * labels**2) * np.mean(np.sum(tokens**2, axis=1))
    # two different tokens have b_v . b_w = -1/(V-1) times their mean square length, on average
    mean = -np.mean(np.sum(tokens**2, axis=1)) / (setting.vocab - 1)
    cross = np.sum((frequency @ labels) ** 2) - np.sum(frequency[:, None] ** 2 * labels**2)
    energy = setting.samples / (setting.seq_len - 1) * (square + mean * cross)
    size = min(setting.dim, setting.vocab - 1) ** 2
    bound = (setting.samples + setting.vocab - 1) / ((setting.seq_len - 1) * (setting.vocab - 1))
    return energy / size, bound


def mutual_information(setting: Setting, seed: int, draws: int = 200) -> float:
    r"""$I(\pi;\text{observation})$ in nats for one draw of embeddings and label counts, over all
    $V!$ permutations."""
    generator = np.random.default_rng([seed, 3])
    counts, labels, tokens = observed(setting, seed, generator)
    weighted = (
        (counts / setting.samples)[:, None]
        * labels
        * math.sqrt(setting.samples / (setting.seq_len - 1))
    )
    orders = np.array(list(itertools.permutations(range(setting.vocab))))
    means = np.einsum("ka,pkb->pab", weighted, tokens[orders]).reshape(len(orders), -1)
    squares = np.sum(means**2, axis=1)
    gaps = []
    for _ in range(draws):
        truth = generator.integers(len(orders))
        seen = means[truth] + generator.standard_normal(means.shape[1])
        logs = means @ seen - squares / 2
        gaps.append(logs[truth] - logsumexp(logs))
    return math.lgamma(setting.vocab + 1) + float(np.mean(gaps))


# Estimators


def accuracies(
    settings: Iterable[Setting], seeds: Iterable[int] = SEEDS, methods: Iterable[str] = METHODS
) -> pd.DataFrame:
    r"""Fraction of facts each estimator finds, one row for each setting, seed and method.

    ``allowed`` is the largest mean fraction that the bound permits."""
    rows = []
    seeds, methods = list(seeds), list(methods)
    for setting in settings:
        common = {name: getattr(setting, name) for name in ("vocab", "seq_len", "dim", "samples")}
        sizes = {**common, "width": setting.width}
        common["allowed"] = information.maximum_accuracy(**sizes)
        for seed in seeds:
            problem = draw(setting, seed)
            rows += [
                {**common, "seed": seed, "method": m, "accuracy": decoded(problem, m)}
                for m in methods
            ]
    return pd.DataFrame(rows)


def threshold(
    sizes: dict[str, Any], seed: int, method: str = "refined", level: float = 0.5
) -> float:
    r"""The number of sequences at which an estimator first finds that fraction of the facts, for
    one seed.

    Upwards from half the bound's value in steps of ``FACTOR``; between two steps interpolated in
    the logarithm. Infinite if the last of ``STEPS`` is not enough."""
    start, before, last = (
        information.information_samples(**sizes, accuracy=level) / 2,
        math.nan,
        0.0,
    )
    for step in range(STEPS):
        samples = max(1, round(start * FACTOR**step))
        setting = Setting(**sizes, samples=samples, trigger_in_values=False)
        now = decoded(draw(setting, seed), method)
        if now >= level:
            part = (level - last) / (now - last)
            return samples if step == 0 else before ** (1 - part) * samples**part
        before, last = samples, now
    return math.inf


def minimum_dim(
    vocab: int,
    seq_len: int,
    samples: int,
    accuracy: float = 1.0,
    *,
    width: int | None = None,
    reading_error: float = 1.0,
) -> float:
    r"""The information bound solved for $d$, as a real number; infinite where even $d=V-1$ is too
    little.

    With $D=2I/\log(1+\frac1c\frac{N+V-1}{(L-1)(V-1)})$: $d=\sqrt D$, or $\frac DN$ where that is
    more; with the MLP $d=D/\min(m,V-1)$, which must be at most $N$."""
    nats = information.required_information(vocab, accuracy)
    if seq_len == 1 or nats == 0:
        return 0.0
    sizes = {
        V: vocab,
        N: samples,
        L: seq_len,
        terms.information: nats,
        terms.reading: reading_error,
    }
    need = float(numeric(direction_need())(sizes))
    if width is None:
        dim, most = max(math.sqrt(need), need / samples), vocab - 1
    else:
        dim, most = need / min(width, vocab - 1), min(vocab - 1, samples)
    return dim if dim <= most else math.inf


def exponents(seeds: Iterable[int] = SEEDS, level: float = 0.5) -> pd.DataFrame:
    """Exponents of thresholds with intervals over seeds, those of the bound over the same sizes,
    and leading ones."""
    rows = []
    seeds = list(seeds)
    for size, (values, leading) in ALONG.items():
        grid = [{**BASE, size: value} for value in values]
        found = np.array([[threshold(one, seed, level=level) for one in grid] for seed in seeds])
        bound = np.array([information.information_samples(**one, accuracy=level) for one in grid])
        fit = fitted_slope(values, found)
        slope = np.polyfit(np.log(values), np.log(bound), 1)[0]
        gap = seed_interval(np.exp(np.log(found / bound).mean(axis=1)))
        row = {"size": size, "measured": fit.mean, "low": fit.low, "high": fit.high}
        row |= {"bound": slope, "leading": leading}
        row |= {"gap": gap.mean, "gap_low": gap.low, "gap_high": gap.high}
        rows.append(row)
    return pd.DataFrame(rows)


# With the MLP


def feature_spectrum(setting: Setting, seed: int, draws: int) -> NDArray[np.floating]:
    r"""Signal over noise in each direction of the features, largest first, ``(min(m, V-1),)``.

    Eigenvalues of $\Gamma^{-1}\Sigma_\mu$: scatter of the mean features given the informative
    token, over their scatter around these means, by
    :func:`recallbook.bounds.decoding.feature_moments` from ``draws`` sets of other tokens and as
    many sequences a token. The bound takes each of them to be $\frac1{L-1}$."""
    found = feature_moments(draw(setting, seed), draws, draws * setting.vocab)
    between = np.cov(found.means.numpy().T, bias=True)
    whitener = _inverse_root(found.covariance.numpy() - between)
    values = np.linalg.eigvalsh(whitener.T @ between @ whitener)[::-1]
    return values[: min(setting.feature_dim, setting.vocab - 1)]


# The way around


def lattice_runs(
    settings: Iterable[Setting], bits: Iterable[int], seeds: Iterable[int] = range(6)
) -> pd.DataFrame:
    """Whether lattice reduction finds every count, and the fraction of facts read off, by binary
    digits."""
    rows, bits = [], list(bits)
    for setting, seed in itertools.product(settings, seeds):
        problem = draw(setting, seed)
        truth = lattice.count_table(problem)
        truth = truth - truth.min(axis=0)
        for digits in bits:
            found = lattice.lattice_counts(problem, digits)
            right = float(credit(torch.from_numpy(found.T), problem.permutation, 0).mean())
            row = {"dim": setting.dim, "bits": digits, "seed": seed}
            rows.append({**row, "exact": float(np.array_equal(found, truth)), "right": right})
    return pd.DataFrame(rows)


# Looking at the data again


def against_three_steps(settings: Iterable[Setting], seeds: Iterable[int] = SEEDS) -> pd.DataFrame:
    """Facts recalled by three steps, and by each estimator from the initial gradient, on the same
    draws."""
    rows = []
    for setting, seed in itertools.product(settings, seeds):
        problem = draw(setting, seed)
        outcome = evaluate(problem, three_steps(problem), 1000)
        row = {"seq_len": setting.seq_len, "samples": setting.samples, "seed": seed}
        steps = {"three steps": outcome.recall, "lock_on": outcome.lock_on}
        rows.append(row | steps | {method: decoded(problem, method) for method in METHODS})
    return pd.DataFrame(rows)


def bits_per_parameter(vocab: int, dim: int, recall: float) -> float:
    r"""Bits that name the recalled facts, over the $d^2$ entries of the value matrix."""
    return information.required_information(vocab, recall) / math.log(2) / dim**2


def densest(dim: int) -> tuple[float, int, float]:
    """Most bits a parameter of a sum of outer products over numbers of facts, as predicted: bits,
    facts and recall.

    What step 3 stores with perfect attention, unlimited data and the trigger not in the values.
    """
    found = []
    for facts in np.unique(np.geomspace(2 * dim, dim**2, 40).astype(int)).tolist():
        recall = predicted_recall(facts, dim)
        if recall > 1 / facts:
            found.append((bits_per_parameter(facts, dim, recall), facts, recall))
    return max(found)
