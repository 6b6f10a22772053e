"""The model of expected errors (:mod:`recallbook_theory.expected_errors`), fitted on the committed
map, and the one of training to the end, fitted on its own map: ``python book/error_model.py`` writes
their weights into the package.

The chance of the misses of the map is made largest: normal, with the variance of the
model and that of the simulation added, and weights held small. Ten folds say by how much errors
outside of those fitted are larger; by this the model is widened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from recallbook_studies import error_map
from recallbook_studies.ch12 import trained_map
from recallbook_studies.error_map import QUANTITIES
from recallbook_theory import trained
from recallbook_theory.expected_errors import FOLDER, TABLE, product, variables
from recallbook_theory.symbolic.expressions import Array

FOLDS, PENALTY = 10, 0.5  # of squared weights of standardised features
LEAST = 1e-3  # standard error of a simulation that never failed
BOTH = (
    "V; d; L; N/V; tau; L/V; lengths; few tokens; few dimensions; alone; own; lock; scatter own;"
    " scatter lock; scatter own * scatter own; scatter lock * scatter lock; scatter own * d;"
    " scatter own * V; scatter own * L; scatter own * lock; scatter own * N/V; scatter own * lengths;"
    " scatter lock * d; scatter lock * V; scatter lock * L/V; scatter lock * N/V;"
    " scatter lock * lengths; lengths * d; lengths * L/V; lengths * tau; N/V * L/V"
).split("; ")
ALONE = ("tau * scatter lock; tau * L/V; L/V * L/V; N/V * own; N/V * tau").split("; ")
MLP = (
    "m; m * N/V; narrow; even; curved; tails; even * d; even * V; even * m; even * scatter lock; even * tau;"
    " even * L; even * N/V; narrow * scatter lock; narrow * even; narrow * m; tails * scatter own;"
    " tails * m; tails * d; tails * V; m * scatter own; m * scatter lock"
).split("; ")

TRAINED = (
    "load; load * load; near; N/V; L/V; alone; own; scatter own; V; N/V * L/V; load * N/V; load * L/V;"
    " near * N/V; near * L/V; near * scatter own"
).split("; ")
UNVARIED = 0.01  # least standard error of the few seeds of training


def features(mlp: bool, name: str) -> list[str]:
    """Names of the features for an outcome; of lock-on without those that it has twice."""
    every = [*BOTH, *(MLP if mlp else ALONE)]
    return [one for one in every if name != "lock_on" or "own" not in one]


def weights_of(columns: Array, miss: Array, error: Array) -> Array:
    """Weights of the columns, after that of 1, for misses and standard errors ``(rows,)``."""
    mean, deviation = columns.mean(axis=0), columns.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    X = np.column_stack([np.ones(len(columns)), (columns - mean) / deviation])

    def loss(weights: Array) -> tuple[float, Array]:
        square = np.exp(2 * np.clip(X @ weights, -12, 2))
        variance = square + error**2
        slope = X.T @ (square * (1 - miss**2 / variance) / variance)
        held = np.concatenate([[0.0], weights[1:]])
        value = (np.log(variance) + miss**2 / variance).sum() / 2 + PENALTY * held @ held
        return float(value), slope + 2 * PENALTY * held

    start = np.array([-4.5, *np.zeros(columns.shape[1])])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000}).x
    slopes = found[1:] / deviation
    return np.array([found[0] - slopes @ mean, *slopes])


def fitted(
    frame: pd.DataFrame, features: Callable[[bool, str], list[str]] = features
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The weights, a row a feature, and what ten folds expect of each setting of a map, by
    outcome."""
    expected = pd.DataFrame(0.0, frame.index, QUANTITIES)
    folds = np.random.default_rng(0).permutation(len(frame)) % FOLDS
    parts: list[pd.DataFrame] = []
    for mlp, part in frame.assign(fold=folds).groupby(frame["width"].notna()):
        found: dict[str, pd.Series] = {}
        for name in QUANTITIES:
            names = features(bool(mlp), name)
            columns = np.array([values(row, name, names) for row in part.to_dict("records")])
            miss = (part[f"predicted_{name}"] - part[name]).to_numpy()
            error = np.maximum(part[f"{name}_error"].to_numpy(), LEAST)
            for k in range(FOLDS):
                held = part["fold"].to_numpy() == k
                constant, *slopes = weights_of(columns[~held], miss[~held], error[~held])
                expected.loc[part.index[held], name] = np.exp(constant + columns[held] @ slopes)
            found[name] = pd.Series(weights_of(columns, miss, error), ["1", *names])
        order = found[QUANTITIES[0]].index
        parts.append(pd.DataFrame(found).reindex(order).assign(mlp=mlp).rename_axis("feature"))
    weights = pd.concat(parts).reset_index()[["mlp", "feature", *QUANTITIES]]
    wider = widening(frame, expected)
    weights.loc[weights["feature"] == "1", list(QUANTITIES)] += np.log(wider)
    return weights, expected * wider


def fitted_trained(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same of a map of training to the end."""
    errors = [f"{name}_error" for name in QUANTITIES]
    frame = frame.assign(width=None, **frame[errors].clip(lower=UNVARIED))
    weights, expected = fitted(frame, lambda mlp, name: TRAINED)
    return weights, expected.clip(upper=trained.MOST)


def values(row: dict[str, Any], name: str, names: list[str]) -> list[float]:
    """Values of features of a row."""
    outcomes = {quantity: row[f"predicted_{quantity}"] for quantity in QUANTITIES}
    given = variables(error_map.as_setting(row), outcomes, name)
    if "load" in row:
        given |= trained.variables(row["load"])
    return [product(given, one) for one in names]


def widening(frame: pd.DataFrame, expected: pd.DataFrame) -> float:
    """Root mean square of all misses beyond sampling over what is expected."""
    missed = sum(error_map.square_miss(frame, name).sum() for name in QUANTITIES)
    return float(np.sqrt(missed / (expected**2).to_numpy().sum()))


if __name__ == "__main__":
    of_training = fitted_trained(trained_map.rows(fresh=False))
    for file, (table, _) in {TABLE: fitted(error_map.load()), trained.TABLE: of_training}.items():
        table.to_csv(str(FOLDER / file), index=False, float_format="%.6g", lineterminator="\n")
