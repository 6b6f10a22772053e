r"""When facts can be recalled: step 3 with perfect attention, critical sizes, and what a finite $\eta$ removes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
import torch
from numpy.typing import NDArray

from recallbook import symbolic
from recallbook.descent import three_steps
from recallbook.embeddings import draw_embeddings
from recallbook.evaluation import evaluate, simulate
from recallbook.experiments.rates import trigger_score
from recallbook.setting import Setting
from recallbook.symbolic import locking, retrieval
from recallbook.task import Problem, draw
from recallbook.theory import critical_samples, predict
from recallbook.ties import credit, tolerance

SEEDS = range(8)
TEST = 1000  # fresh sequences a seed
PLANE_SAMPLES, PLANE_DIMS = (128, 384, 1152, 3456, 8192), (24, 40, 64, 128)
CRITICAL_DIMS, CRITICAL_LENGTHS = (96, 128, 192, 256, 512, 1024, 2048), (16, 256)
LENGTHS = (4, 64, 128)  # beside those of CRITICAL_LENGTHS
ETAS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8)  # in units of L V
MAP_ETAS, MAP_SATURATIONS = (0.03, 0.1, 0.3, 1.0, 3.0), (0.3, 1.0, 2.0, 4.0, 10.0, 30.0, 100.0)

Array = NDArray[np.float64]


# Step 3 alone: perfect attention


def fact_counts(setting: Setting, seed: int) -> NDArray[np.int64]:
    """How often each fact occurs in a batch: multinomial with equal chances."""
    chances = np.full(setting.vocab, 1 / setting.vocab)
    return np.random.default_rng([seed, setting.vocab]).multinomial(setting.samples, chances)


def count_rule(setting: Setting, seed: int) -> Array:
    r"""What orthogonal embeddings recall of each fact, from counts alone; a tie among k counts 1/k.

    Asked for $v$, label $k$ has a logit in proportion to $n_k(\mathbf 1\{k=v\}+\tau)$, up to a shared constant.
    """
    counts = fact_counts(setting, seed)
    logits = np.diag(counts) + setting.trigger_in_values * counts
    return credit(torch.from_numpy(logits), torch.arange(setting.vocab), 0).numpy()


def lookup(setting: Setting, seed: int) -> dict[str, Array]:
    r"""Logits of $W=\sum_vf_v\tilde u_v(z_v+\tau t)^\top$ asked for every token, by origin; rows ask, columns answer.

    The batch enters through the counts $Nf_v$ alone, multinomial with equal chances; relabelled so that $\pi$ is the
    identity. The entries ``right`` (on the diagonal) and the four origins of a wrong logit (off it) sum to the logits.
    """
    vocab, tau = setting.vocab, float(setting.trigger_in_values)
    tables = draw_embeddings(setting, seed)
    trigger = tables.trigger.reshape(-1)
    frequency = fact_counts(setting, seed) / setting.samples
    asked = tables.input + tau * trigger  # (V, d), one row for each question
    overlap = asked @ tables.input.T  # h_v . z_j
    shared = tau * asked @ trigger  # theta_v
    labels = tables.output @ (tables.output - tables.output.mean(axis=0)).T  # u_k . (u_j - mean)
    weight = frequency * overlap  # (V, V): of fact j when v is asked
    other = weight * (1 - np.eye(vocab))
    own_fact = other * np.diag(labels)
    own_label = (np.diag(weight) + shared * (frequency - 1 / vocab))[:, None] * labels.T
    common = shared[:, None] * (labels @ (frequency - 1 / vocab))
    common = common - (shared * (frequency - 1 / vocab))[:, None] * labels.T
    return {
        "right": own_label * np.eye(vocab),
        "label frequencies": common,
        "interference": other @ labels.T - own_fact,
        "label overlap": own_label * (1 - np.eye(vocab)),
        "own fact": own_fact,
    }


def perfect_recall(setting: Setting, seed: int) -> float:
    """Fraction of facts recalled with perfect attention."""
    return float(np.mean(recalled(setting, seed)))


def recalled(setting: Setting, seed: int) -> Array:
    """What is recalled of each fact with perfect attention; a tie among k, up to rounding, counts 1/k."""
    logits = np.sum(list(lookup(setting, seed).values()), axis=0)
    slack = tolerance(torch.float64) * float(np.abs(logits).max())
    return credit(torch.from_numpy(logits), torch.arange(setting.vocab), slack).numpy()


def measured_squares(setting: Setting, seed: int) -> dict[str, float]:
    r"""Mean square of a wrong logit by origin, over $1/V^2$: the squared right logit at equal frequencies.

    ``label overlap`` is over the measured mean square of the right logit, since it is proportional to it.
    """
    parts = lookup(setting, seed)
    wrong = ~np.eye(setting.vocab, dtype=bool)
    found = {name: float(np.mean(parts[name][wrong] ** 2)) * setting.vocab**2 for name in retrieval.mean_squares()}
    found["label overlap"] /= float(np.mean(np.diag(parts["right"]) ** 2)) * setting.vocab**2
    return found


def predicted_squares(setting: Setting) -> dict[str, float]:
    """The same from :func:`recallbook.symbolic.retrieval.mean_squares`."""
    sizes = dict(zip(locking.SIZES, _sizes(setting), strict=True))
    return {name: float(term.subs(sizes)) for name, term in retrieval.mean_squares().items()}


def squares(settings: Iterable[Setting], seeds: Iterable[int] = SEEDS) -> pd.DataFrame:
    """Measured mean squares, one row for each setting, seed and origin."""
    seeds = list(seeds)
    rows = [
        {"samples": s.samples, "dim": s.dim, "seed": seed, "origin": name, "square": value}
        for s in settings
        for seed in seeds
        for name, value in measured_squares(s, seed).items()
    ]
    return pd.DataFrame(rows)


def _sizes(setting: Setting) -> tuple[float, ...]:
    known = {locking.V: setting.vocab, locking.N: setting.samples, locking.L: setting.seq_len, locking.d: setting.dim}
    return tuple(float(known.get(symbol, setting.trigger_in_values)) for symbol in locking.SIZES)


# Estimates


def conditions(tau: int) -> dict[str, sp.Expr]:
    r"""Each origin of noise alone, at its leading order: its mean square times $2\log V$, 1 where it costs about half.

    The largest of $V$ standard normal variables is about $\sqrt{2\log V}$; leading order is large $N/V$ and $V/d$.
    """
    big = sp.Symbol("s", positive=True)
    leading = {}
    for name, term in retrieval.mean_squares().items():
        scaled = term.subs({locking.tau: tau, locking.V: locking.V * big, locking.N: locking.N * big**2})
        order = sp.limit(sp.log(scaled) / sp.log(big), big, sp.oo) if scaled != 0 else 0
        first = sp.limit(scaled / big**order, big, sp.oo) if scaled != 0 else sp.Integer(0)
        leading[name] = sp.simplify(2 * sp.log(locking.V) * first)
    return leading


def frequency_constant() -> float:
    r"""Smallest $c$ for which $2\min_vn_v>\max_vn_v$ at $N=cV\log V$, as $V\to\infty$: $1/(1-\frac e2\log2)$.

    Poisson tails: the smallest count is $a\mu$ with $c(1-a+a\log a)=1$, the largest $2a\mu$ with
    $c(1-2a+2a\log2a)=1$. Equal rates give $a=\frac e4$. Ours.
    """
    return 1 / (1 - math.e / 2 * math.log(2))


def all_counts_near(vocab: int, samples: int, draws: int = 200, seed: int = 0) -> float:
    r"""Fraction of draws in which $2\min_vn_v>\max_vn_v$."""
    counts = np.random.default_rng(seed).multinomial(samples, np.full(vocab, 1 / vocab), size=draws)
    return float(np.mean(2 * counts.min(axis=1) > counts.max(axis=1)))


# Accuracy over planes of settings


def plane(trigger_in_values: bool, seeds: Iterable[int] = SEEDS, device: str = "cpu") -> pd.DataFrame:
    """Predicted and simulated accuracy over number of sequences and dimension, one row for each seed."""
    rows: list[dict[str, Any]] = []
    seeds = list(seeds)
    for dim in PLANE_DIMS:
        for samples in PLANE_SAMPLES:
            setting = Setting(128, 16, dim, samples, trigger_in_values=trigger_in_values)
            predicted = predict(setting).accuracy
            for seed in seeds:
                outcome = simulate(setting, seed, test_samples=TEST, device=device)
                row = {"dim": dim, "samples": samples, "seed": seed, "predicted": predicted}
                rows.append({**row, "accuracy": outcome.accuracy})
    return pd.DataFrame(rows)


def critical(
    trigger_in_values: bool,
    dims: Iterable[int] = CRITICAL_DIMS,
    lengths: Iterable[int] = CRITICAL_LENGTHS,
    vocab: int = 256,
) -> pd.DataFrame:
    """Predicted critical number of sequences for accuracy 0.9."""
    lengths = list(lengths)
    rows = [
        {
            "dim": dim,
            "seq_len": length,
            "samples": critical_samples(vocab, length, dim, trigger_in_values=trigger_in_values),
        }
        for dim in dims
        for length in lengths
    ]
    return pd.DataFrame(rows)


def outcomes(settings: Iterable[Setting], seeds: Iterable[int] = SEEDS) -> pd.DataFrame:
    """Simulated lock-on, recall and accuracy, one row for each setting and seed."""
    seeds = list(seeds)
    rows = []
    for setting in settings:
        shape = {"dim": setting.dim, "seq_len": setting.seq_len, "samples": setting.samples}
        rows += [{**shape, "seed": seed, **asdict(simulate(setting, seed, test_samples=TEST))} for seed in seeds]
    return pd.DataFrame(rows)


def largest_law(frame: pd.DataFrame, trigger_in_values: bool, vocab: int = 256) -> Array:
    """The largest of coverage, label frequencies and lock-on, as a number of sequences, for each row of ``frame``."""
    dim, length = frame["dim"].to_numpy(float), frame["seq_len"].to_numpy(float)
    lock = np.sqrt(2 * np.log(length)) * length * np.maximum(length * vocab**0.5, vocab) / dim**1.5
    frequencies = 2 * vocab * (vocab + dim) * math.log(vocab) / dim * trigger_in_values
    return np.maximum(np.maximum(lock, frequencies), vocab * math.log(10))


def at_critical(frame: pd.DataFrame, trigger_in_values: bool, seeds: Iterable[int] = SEEDS) -> pd.DataFrame:
    """Simulated accuracy at the critical numbers of :func:`critical`, where they are finite."""
    return outcomes(
        [
            Setting(256, row.seq_len, row.dim, int(row.samples), trigger_in_values=trigger_in_values)
            for row in frame[np.isfinite(frame["samples"])].itertuples()
        ],
        seeds,
    )


def critical_dim(vocab: int, trigger_in_values: bool, accuracy: float = 0.9, samples: int = 2**31 - 1) -> int:
    """Smallest dimension with this predicted recall at perfect attention and practically unlimited data."""

    def reached(dim: int) -> bool:
        return predict(Setting(vocab, 1, dim, samples, trigger_in_values=trigger_in_values)).recall >= accuracy

    low, high = 16, 32
    while not reached(high):
        low, high = high, 2 * high
    while high > low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def double_role(dims: Iterable[int], samples: int = 2048, seq_len: int = 128, vocab: int = 128) -> pd.DataFrame:
    r"""Predicted lock-on (learnability) and recall with perfect attention (superposition) against $d$, $\tau=0$."""
    rows = []
    for dim in dims:
        shared: Any = {"vocab": vocab, "dim": dim, "samples": samples, "trigger_in_values": False}
        full, alone = predict(Setting(seq_len=seq_len, **shared)), predict(Setting(seq_len=1, **shared))
        rows.append({"dim": dim, "lock_on": full.lock_on, "recall": alone.recall, "accuracy": full.accuracy})
    return pd.DataFrame(rows)


# Finite rates


rate = sp.Symbol("x", nonnegative=True)  # eta / (L V)


def shared_square() -> sp.Expr:
    r"""$N\|W_V^{(2)}t\|^2/\gamma^2$ at $x=\eta/(LV)$, $|t|=1$, $\tau=1$: what every question reads. Ours.

    In the limit it is $N|g|^2=1+\frac{1+N/V}d$ for $g=\tilde U^\top\delta f+\sum_vf_v(z_v^\top t)\tilde u_v$. The
    predictions of step 1 turn $g$ into $g-xB\,(ag+e)$ with $B=\tilde U^\top\tilde U$, $a=1+L/V$ (trigger and mean
    embedding), and $e$ from the other tokens of each sequence, $N|e|^2=\frac{L-1}d$. The eigenvalues of $B$ have mean
    $\beta=V/d$ and, weighted by themselves, moments $\beta(1+y)$ and $\beta^2(1+3y+y^2)$, $y=d/V$.
    """
    size, samples, length, dim = locking.V, locking.N, locking.L, locking.d
    y, limit = dim / size, 1 + (1 + samples / size) / dim
    first, second = size / dim * (1 + y), (size / dim) ** 2 * (1 + 3 * y + y**2)
    a = 1 + length / size
    return limit * (1 - 2 * a * rate * first + (a * rate) ** 2 * second) + rate**2 * second * (length - 1) / dim


def best_eta(setting: Setting) -> float:
    r"""The minimum of :func:`shared_square`, in units of $LV$."""
    (best,) = sp.solve(sp.diff(shared_square(), rate), rate)
    return float(symbolic.numeric(best, *locking.SIZES)(*_sizes(setting)))


def shared_squares(setting: Setting, etas: Any) -> Array:
    r"""The values of :func:`shared_square` at these $\eta$, in units of $LV$."""
    function = symbolic.numeric(shared_square(), rate, *locking.SIZES)
    return function(np.asarray(etas, dtype=float), *_sizes(setting))


def in_the_limit(setting: Setting, seed: int) -> tuple[Problem, float, float]:
    """A draw, what the mark adds to a score in the early-phase limit, and the accuracy there."""
    problem = draw(setting, seed)
    limit = three_steps(problem)
    return problem, trigger_score(problem, limit), evaluate(problem, limit, TEST).accuracy


def finite_eta(setting: Setting, seeds: Iterable[int] = SEEDS, etas: Iterable[float] = ETAS) -> pd.DataFrame:
    r"""Three steps with the trigger in the values, finite $\eta$ and saturated attention.

    ``shared`` is $N\|W_V^{(2)}t\|^2/(\gamma^2|t|^4)$, without the part $W_V^{(1)}/\gamma$.
    """
    rows = []
    etas = list(etas)
    for seed in seeds:
        problem, score, base = in_the_limit(setting, seed)
        for ratio in etas:
            eta = ratio * setting.seq_len * setting.vocab
            gamma = 1e4 / (eta * score)
            weights = three_steps(problem, eta, gamma)
            stored = (weights.value2 - weights.value1) / gamma @ problem.trigger
            shared = float(setting.samples * (stored @ stored) / (problem.trigger @ problem.trigger) ** 2)
            gain = evaluate(problem, weights, TEST).accuracy - base
            rows.append({"eta": ratio, "seed": seed, "shared": shared, "gain": gain})
    return pd.DataFrame(rows)


def rate_map(trigger_in_values: bool, seeds: Iterable[int] = range(4)) -> pd.DataFrame:
    r"""Accuracy at finite $\eta$ and $\gamma$ minus that of the limit, at $V=128$, $L=16$, $d=64$, $N=2048$."""
    rows = []
    setting = Setting(128, 16, 64, 2048, trigger_in_values=trigger_in_values)
    for seed in seeds:
        problem, score, base = in_the_limit(setting, seed)
        for ratio in MAP_ETAS:
            for saturation in MAP_SATURATIONS:
                eta = ratio * setting.seq_len * setting.vocab
                gamma = saturation * math.log(setting.seq_len) / (eta * score)
                accuracy = evaluate(problem, three_steps(problem, eta, gamma), TEST).accuracy
                rows.append({"eta": ratio, "saturation": saturation, "seed": seed, "gain": accuracy - base})
    return pd.DataFrame(rows)
