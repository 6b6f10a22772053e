"""Probability that the right logit is the largest, from the terms of
:mod:`recallbook.theory.symbolic.recall_terms`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from scipy.special import betainc, ndtr
from scipy.stats import binom

from recallbook.setting import Setting
from recallbook.theory.feature_kernels import (
    OVERLAP_WEIGHTS,
    STORED,
    Drawn,
    drawn_overlaps,
)
from recallbook.theory.lock_on import NODE_WEIGHTS, Lock
from recallbook.theory.symbolic import recall_terms as symbolic
from recallbook.theory.symbolic.expressions import Values, d as D, numeric
from recallbook.theory.values import (
    FAR,
    POINTS,
    Array,
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
    """How often the asked fact was located."""
    samples, vocab = setting.samples, setting.vocab
    if "coverage" in without:
        return np.full(2**POINTS, samples / vocab) * lock.token
    if samples / vocab > LARGEST_COUNT:
        mean = samples / vocab * lock.token
        return np.maximum(mean + np.sqrt(mean) * normal("count"), 0)
    located: Array = binom.ppf(uniform()["thinning"], fact_counts(samples, vocab), lock.token)
    return located


@lru_cache(maxsize=64)
def fact_counts(samples: int, vocab: int) -> Array:
    """How often the asked fact occurs in the batch, at every point."""
    counts: Array = binom.ppf(uniform()["count"], samples, 1 / vocab)
    return counts


def overlaps(setting: Setting, triggers: Array | None = None) -> Drawn:
    """Overlaps of the asked vector in feature space and their law, at every point; of linear
    features at these squared lengths of the trigger, if given."""
    tau, dim = int(setting.trigger_in_values), effective_dim(setting)
    if setting.width is not None:
        # two tokens at least, for a variance: with fewer than four facts it hardly enters
        stored = max(2, min(setting.vocab - 2, STORED))
        kind = {"activation": setting.activation, "tau": tau, "stored": stored}
        return drawn_overlaps(setting.law, setting.dim, setting.width, **kind)
    trigger = lengths(setting, "trigger") + np.zeros(2**POINTS) if triggers is None else triggers
    token = lengths(setting, "input")
    angle = np.sqrt(trigger * token) * cosine("overlap", dim)  # t . z_v
    square, shared = token + tau * (trigger + 2 * angle), tau * (trigger + angle)
    found = {
        symbolic.H: square,
        symbolic.theta: shared,
        symbolic.theta2: shared**2,
        symbolic.J: square / dim,
        symbolic.F: np.zeros_like(square),
        symbolic.B: square / dim,
        symbolic.again: token + tau * angle,
    }
    return Drawn(found, NORMAL, tau * trigger / dim)


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
    share, given = setting.samples / setting.vocab, sizes(setting)
    counts = {
        symbolic.n: located_counts(setting, lock, without),
        symbolic.mu: np.maximum(share * lock.mean, 1e-9),
        symbolic.nu: share**2 * lock.variance,
        symbolic.mislocated: setting.samples * (1 - lock.mean),
        symbolic.decoys: setting.samples * lock.decoys,
    }
    # in one dimension nothing is across: what this would vary is multiplied by d - 1
    scatter = float(numeric(symbolic.others_variance())(given)) if given[D] > 1 else 0.0
    across = gamma_variable("across", scatter)
    geometry = {
        symbolic.b: lengths(setting, "output"),
        symbolic.xi: normal("along"),
        symbolic.r: across,
    }
    switches = {symbol: float(name not in without) for name, symbol in symbolic.SWITCHES.items()}
    return {**given, **counts, **asked, **geometry, **switches}


def log_chance(setting: Setting, lock: Lock, values: Values, law: Array) -> Array:
    """Log of the probability that the right logit exceeds all others, at these values of the
    symbols."""
    terms = symbolic.recall_terms()
    # nothing is stored: all neurons may be silent
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = np.nan_to_num(numeric(terms.pull)(values), posinf=0.0, neginf=0.0)
    below = _all_below(
        numeric(terms.signal)(values),
        numeric(terms.noise)(values) + TINY,
        np.maximum(setting.samples / setting.vocab * lock.draw, 1e-9),
        own_mean=lambda k: numeric(symbolic.own_mean())({**values, symbolic.k: k}) * reach,
        own_variance=lambda k: (
            numeric(symbolic.own_variance())({**values, symbolic.k: k}) * reach**2
        ),
        law=law.T,
        dim=effective_dim(setting) if setting.law.geometry == "spherical" else FAR,
    )
    return np.asarray((setting.vocab - 1) * np.log(np.maximum(below, 1e-300)))


def _all_below(
    signal: Array,
    noise: Array,
    means: Array,
    *,
    own_mean: Callable[[Array | int], Array],
    own_variance: Callable[[Array | int], Array],
    law: Array,
    dim: float,
) -> Array:
    """Probability that one wrong logit stays below the right one, averaged over how often its fact
    was located.

    ``means`` ``(points, nodes)`` are the mean counts of the draw's tokens. A logit is normal, or a
    coordinate on the sphere of dimension ``dim``, around what its own fact adds; the ``law``
    ``(groups, points)`` of that is normal where it has no groups."""
    total, whole = np.zeros((len(law) or 1, len(signal))), np.zeros(len(signal))
    # count by count: what is at work fits into the fastest memory
    for count, chance in _own_counts(means):
        beyond, own = signal - own_mean(count), own_variance(count)
        if len(law):
            tilt = 1.0 if is_far(dim) else np.clip(1 - beyond**2 / (noise * dim), 0, 1)
            below = _below((beyond - tilt * np.sqrt(own) * law) / np.sqrt(noise), dim)
        elif is_far(dim):
            below = ndtr(beyond / np.sqrt(noise + own))
        else:
            # Given the stored vector, a label on the sphere is tilted towards it by its own
            # weight: exp(kappa c), averaged over a normal kappa, is exp(a c^2), which with the
            # sphere's (1 - c^2)^((d-3)/2) is that of fewer dimensions.
            half = np.maximum((dim / (1 + own / noise) - 1) / 2, 0.5)
            # (1 + coordinate) / 2 is a beta variable
            below = betainc(half, half, np.clip((1 + beyond / np.sqrt(dim * noise)) / 2, 0, 1))
        total += chance * below
        whole += chance
    if len(law):  # those of one draw are all there, each once: a product
        return np.asarray(np.exp(OVERLAP_WEIGHTS @ np.log(total / whole + TINY)))
    return np.asarray(total[0] / whole)


def _below(deviations: Array, dim: float) -> Array:
    """Probability to be less: of a normal variable, or of a coordinate on the sphere of this
    dimension."""
    if is_far(dim):
        return np.asarray(ndtr(deviations))
    half = coordinate_shape(dim)
    return np.asarray(betainc(half, half, np.clip((1 + deviations / math.sqrt(dim)) / 2, 0, 1)))


def _own_counts(means: Array) -> Iterator[tuple[Array | int, Array | float]]:
    """How often a wrong label's fact was located, and the chance of it at every point: a mixture of
    Poisson laws over the nodes; one law where all nodes agree."""
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
