r"""How far a prediction of equal facts is typically off, beyond sampling: not derived, but fitted on
the committed map of errors (``book/error_model.py``), and tested on another one in
chapter 9.

The root mean square of the miss is $\exp\sum_f w_f\,f$, with weights for each outcome, with and
without an MLP, in ``expected_errors.csv`` beside this module. A feature $f$ is a product of
:func:`variables`; sizes beyond those of the map count as its last ones."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from recallbook.result import OUTCOMES
from recallbook.setting import Setting
from recallbook_theory import hermite

FOLDER = files("recallbook_theory")
TABLE = "expected_errors.csv"
LARGE = 0.03  # a prediction warns above this
# sizes of the map
VOCABS, DIMS, RATIOS = (24, 1024), (3, 10240), (0.5, 300)  # the last N/V
FEWEST_TOKENS, FEWEST_DIMS = 60, 12  # errors grow below
SMALL = 0.05  # least logarithm's $p(1-p)$
NEARLY = 0.1  # variance that is small


class ActivationShape(NamedTuple):
    """What errors depend on in an activation: the shares of its variance that are not linear, near
    zero and at unit variance, and half the logarithm of the kurtosis there."""

    even: float
    curved: float
    tails: float


@lru_cache(maxsize=64)
def shape(activation: hermite.Phi) -> ActivationShape:
    """The shape of an activation; of a constant one 0."""
    xi, weights = hermite.normal_rule()

    def nonlinear_share_and_kurtosis(variance: float) -> tuple[float, float]:
        image = hermite.values(activation, math.sqrt(variance) * xi)
        image = image - weights @ image
        square = max(float(weights @ image**2), 1e-300)
        return 1 - float(weights @ (image * xi)) ** 2 / square, float(
            weights @ image**4
        ) / square**2

    (even, _), (curved, kurtosis) = map(nonlinear_share_and_kurtosis, (NEARLY, 1.0))
    return ActivationShape(even, curved, math.log(max(kurtosis, 1.0)) / 2)


def variables(setting: Setting, outcomes: Mapping[str, float], name: str) -> dict[str, float]:
    """What the features for one of the ``outcomes`` are products of, by name: with logarithms of
    sizes, the share's and lock-on's deviation."""
    V = math.log(np.clip(setting.vocab, *VOCABS))
    d = math.log(np.clip(setting.dim, *DIMS))
    L = min(math.log(setting.seq_len), V + math.log(1.2))
    values = {
        "1": 1.0,
        "V": V,
        "d": d,
        "L": L,
        "N/V": math.log(np.clip(setting.samples / setting.vocab, *RATIOS)),
        "tau": float(setting.trigger_in_values),
        "L/V": max(L - V, -3.0),
        "lengths": math.sqrt(setting.law.length_variance(setting.dim)),
        "few tokens": min(V, math.log(FEWEST_TOKENS)),
        "few dimensions": min(d, math.log(FEWEST_DIMS)),
        "alone": float(setting.seq_len == 1),
    }
    for key, outcome in (("own", name), ("lock", "lock_on")):
        share = min(max(outcomes[outcome], 0.0), 1.0)
        values |= {key: share, f"scatter {key}": math.log(share * (1 - share) + 1e-3) / 2}
    if setting.width is not None:
        m = math.log(setting.width)
        values |= {"m": m, "narrow": min(m - math.log(setting.dim), 0.0)}
        values |= shape(setting.activation)._asdict()
    return values


def product(given: Mapping[str, float], feature: str) -> float:
    """A feature's value."""
    return math.prod(given[name] for name in feature.split(" * "))


@cache
def weights(mlp: bool, table: str = TABLE) -> dict[str, dict[str, float]]:
    """For each outcome the weights of its features, by name."""
    with (FOLDER / table).open(encoding="utf-8") as file:
        part = [row for row in csv.DictReader(file) if row["mlp"] == str(mlp)]
    return {
        name: {row["feature"]: float(row[name]) for row in part if row[name]} for name in OUTCOMES
    }


def expected_errors(
    setting: Setting, outcomes: Mapping[str, float], table: str = TABLE, **more: float
) -> dict[str, float]:
    """The expected error of each of these outcomes, which are predicted for a setting with equal
    facts; lock-on must be among them. ``more`` variables where the ``table`` of weights has more."""
    errors = {}
    for name in outcomes:
        of_name = weights(setting.width is not None, table)[name]
        given = variables(setting, outcomes, name) | more
        errors[name] = math.exp(sum(w * product(given, f) for f, w in of_name.items()))
    return errors
