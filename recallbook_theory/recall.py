"""Probability that the right logit is the largest, from the terms of
:mod:`recallbook_theory.symbolic.recall_terms`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from scipy.special import betainc, ndtr

from recallbook.setting import Setting
from recallbook_theory.feature_kernels import (
    OVERLAP_WEIGHTS,
    STORED,
    Drawn,
    drawn_overlaps,
)
from recallbook_theory.lock_on import NODE_WEIGHTS, Lock
from recallbook_theory.symbolic import recall_terms as symbolic
from recallbook_theory.symbolic.expressions import Array, Values, d as D, numeric
from recallbook_theory.values import (
    FAR,
    POINTS,
    binomial_quantile,
    coordinate_shape,
    cosine,
    effective_dim,
    gamma_variable,
    is_far,
    lengths,
    normal,
    sizes,
    uniform,
)

LARGEST_COUNT = 400.0  # mean count of a fact beyond which counts are taken as normal
NORMAL = np.zeros((1, 0))  # no groups: overlaps are normal, and their variance adds to the noise
THREE_POINTS = ((-1, 1 / 6), (0, 2 / 3), (1, 1 / 6))
NEGLIGIBLE = 1e-20  # chance of a count that is left out
TINY = 1e-30  # keeps 0/0 away where a fact was never seen and nothing interferes


def located_counts(setting: Setting, lock: Lock, without: tuple[str, ...] = ()) -> Array:
    """How often the asked fact was located, n at every point: a part of its Poisson count."""
    samples, vocab = setting.samples, setting.vocab
    if "coverage" in without:
        return np.full(2**POINTS, samples / vocab) * lock.token
    if samples / vocab > LARGEST_COUNT:
        mean = samples / vocab * lock.token
        return np.maximum(mean + np.sqrt(mean) * normal("count"), 0)
    return binomial_quantile(uniform()["thinning"], fact_counts(samples, vocab), lock.token)


@lru_cache(maxsize=64)
def fact_counts(samples: int, vocab: int) -> Array:
    """How often the asked fact occurs in the batch, at every point."""
    return binomial_quantile(uniform()["count"], samples, 1 / vocab)


def overlaps(setting: Setting) -> Drawn:
    r"""Overlaps of the asked vector $h=z_v+\tau t$ in feature space and their law, at every
    point."""
    tau, dim = int(setting.trigger_in_values), effective_dim(setting)
    if setting.width is not None:
        # two tokens at least, for a variance: with fewer than four facts it hardly enters
        stored = max(2, min(setting.vocab - 2, STORED))
        kind = {"activation": setting.activation, "tau": tau, "stored": stored}
        return drawn_overlaps(setting.law, setting.dim, setting.width, **kind)
    T = lengths(setting, "trigger") + np.zeros(2**POINTS)
    a = lengths(setting, "input")  # |z_v|^2
    c = np.sqrt(T * a) * cosine("overlap", dim)  # t . z_v
    H, theta = a + tau * (T + 2 * c), tau * (T + c)
    values = {
        symbolic.H: H,
        symbolic.theta: theta,
        symbolic.theta2: theta**2,
        symbolic.J: H / dim,
        symbolic.F: np.zeros_like(H),
        symbolic.B: H / dim,
        symbolic.again: a + tau * c,
    }
    return Drawn(values, NORMAL)


def chance_of_recall(setting: Setting, lock: Lock, without: tuple[str, ...] = ()) -> Array:
    """Probability that the right logit exceeds all V - 1 others, at every point."""
    drawn = overlaps(setting)
    values = recall_values(setting, lock, drawn.overlaps, without)
    return np.asarray(np.exp(log_chance(setting, lock, values, drawn.law)))


def recall_values(
    setting: Setting,
    lock: Lock,
    asked: Values,
    without: tuple[str, ...] = (),
) -> Values:
    """Values of all symbols of step 3, at every point."""
    mean, given = setting.samples / setting.vocab, sizes(setting)
    counts = {
        symbolic.n: located_counts(setting, lock, without),
        symbolic.mu: np.maximum(mean * lock.mean, 1e-9),
        symbolic.nu: mean**2 * lock.variance,
        symbolic.mislocated: setting.samples * (1 - lock.mean),
        symbolic.decoys: setting.samples * lock.decoys,
    }
    # in one dimension nothing is across: what this would vary is multiplied by d - 1
    variance = float(numeric(symbolic.others_variance())(given)) if given[D] > 1 else 0.0
    geometry = {
        symbolic.b: lengths(setting, "output"),
        symbolic.xi: normal("along"),
        symbolic.r: gamma_variable("across", variance),
    }
    switches = {symbol: float(name not in without) for name, symbol in symbolic.SWITCHES.items()}
    return {**given, **counts, **asked, **geometry, **switches}


def log_chance(setting: Setting, lock: Lock, values: Values, law: Array) -> Array:
    r"""Log probability that the right logit exceeds all others, $\log\Phi(\text{ratio})^{V-1}$
    (eq-power, chapter 6), at these values of the symbols.

    What a wrong label's own fact adds has the ``law`` ``(points, groups)``, and is normal where it
    has no groups. One comparison is averaged over the count $k$ of that fact."""
    terms = symbolic.recall_terms()
    # nothing is stored: all neurons may be silent
    with np.errstate(invalid="ignore", divide="ignore"):
        pull = np.nan_to_num(numeric(terms.pull)(values), posinf=0.0, neginf=0.0)
    signal, noise = numeric(terms.signal)(values), numeric(terms.noise)(values) + TINY
    own_mean, own_variance = numeric(symbolic.own_mean()), numeric(symbolic.own_variance())
    dim = effective_dim(setting) if setting.law.geometry == "spherical" else FAR

    total, whole = np.zeros((law.shape[1] or 1, len(signal))), np.zeros(len(signal))
    # count by count: what is at work fits into the fastest memory
    for k, chance in own_counts(setting, lock):
        given_count = {**values, symbolic.k: k}
        margin, own = signal - own_mean(given_count) * pull, own_variance(given_count) * pull**2
        total += chance * stays_below(margin, noise, own, law=law.T, dim=dim)
        whole += chance
    if law.shape[1]:  # those of one draw are all there, each once: a product
        below = np.exp(OVERLAP_WEIGHTS @ np.log(total / whole + TINY))
    else:
        below = total[0] / whole
    return np.asarray((setting.vocab - 1) * np.log(np.maximum(below, 1e-300)))


def stays_below(margin: Array, noise: Array, own: Array, *, law: Array, dim: float) -> Array:
    r"""Probability that one wrong logit stays below the right one: $\Phi(\text{ratio})$ of
    (eq-recall-ratio, chapter 6), or the same of a coordinate on the sphere of dimension ``dim``.

    ``margin`` is the signal less the mean of what the label's own fact adds, ``own`` the variance
    of that, with the deviations ``law`` ``(groups, points)``; ``noise`` that of all else."""
    if len(law):
        tilt = 1.0 if is_far(dim) else np.clip(1 - margin**2 / (noise * dim), 0, 1)
        return _below((margin - tilt * np.sqrt(own) * law) / np.sqrt(noise), dim)
    if is_far(dim):
        return np.asarray(ndtr(margin / np.sqrt(noise + own)))
    # Given the stored vector, a label on the sphere is tilted towards it by its own weight:
    # exp(kappa c), averaged over a normal kappa, is exp(a c^2), which with the sphere's
    # (1 - c^2)^((d-3)/2) is that of fewer dimensions.
    half = np.maximum((dim / (1 + own / noise) - 1) / 2, 0.5)
    # (1 + coordinate) / 2 is a beta variable
    return np.asarray(betainc(half, half, np.clip((1 + margin / np.sqrt(dim * noise)) / 2, 0, 1)))


def _below(deviations: Array, dim: float) -> Array:
    """Probability to be less: of a normal variable, or of a coordinate on the sphere of this
    dimension."""
    if is_far(dim):
        return np.asarray(ndtr(deviations))
    half = coordinate_shape(dim)
    return np.asarray(betainc(half, half, np.clip((1 + deviations / math.sqrt(dim)) / 2, 0, 1)))


def own_counts(setting: Setting, lock: Lock) -> Iterator[tuple[Array | int, Array | float]]:
    """How often a wrong label's fact was located, and the chance of it at every point: a mixture of
    Poisson laws over the nodes; one law where all nodes agree."""
    means = np.maximum(setting.samples / setting.vocab * lock.draw, 1e-9)
    largest = float(means.max())
    if largest > LARGEST_COUNT:  # counts as normal: three-point rule of the normal law
        mean = means @ NODE_WEIGHTS
        scatter = np.sqrt(3) * np.sqrt(mean + means**2 @ NODE_WEIGHTS - mean**2)
        yield from ((mean + scatter * step, chance) for step, chance in THREE_POINTS)
        return
    weights = NODE_WEIGHTS
    if np.ptp(means, axis=1).max() < 1e-3 * largest:
        means, weights = means[:, :1], np.ones(1)
    # of each law at the count reached; a product is far cheaper than an exponential
    term = np.exp(-means)
    for count in range(int(largest + 7 * math.sqrt(largest) + 8)):
        chance = term @ weights
        if chance.max() > NEGLIGIBLE:
            yield count, chance
        term *= means
        term /= count + 1
