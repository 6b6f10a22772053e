"""The model of expected errors (:mod:`recallbook.theory.expected_errors`), fitted on the committed
map: ``python book/error_model.py`` writes its weights into the package.

The chance of the misses of the map is made largest: normal, with the variance of the
model and that of the simulation added, and weights held small. Ten folds say by how much errors
outside of those fitted are larger; by this the model is widened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from recallbook.theory.expected_errors import WEIGHTS, product, variables
from recallbook.theory.symbolic.expressions import Array
from recallbook_studies import error_map
from recallbook_studies.error_map import QUANTITIES

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


def fitted(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The weights, a row a feature, and what ten folds expect of each setting of a map, by
    outcome."""
    rows, expected = frame.to_dict("records"), pd.DataFrame(0.0, frame.index, QUANTITIES)
    fold = np.random.default_rng(0).permutation(len(frame)) % FOLDS
    parts: list[dict[str, Any]] = []
    for mlp in (False, True):
        part = frame["width"].notna().to_numpy() == mlp
        table: dict[str, dict[str, Any]] = {}
        for name in QUANTITIES:
            names = features(mlp, name)
            columns = np.array([_columns(row, name, names) for row in rows])
            miss = (frame[f"predicted_{name}"] - frame[name]).to_numpy()
            error = np.maximum(frame[f"{name}_error"].to_numpy(), LEAST)
            for k in range(FOLDS):
                rest, held = part & (fold != k), part & (fold == k)
                constant, *slopes = weights_of(columns[rest], miss[rest], error[rest])
                expected.loc[held, name] = np.exp(constant + columns[held] @ slopes)
            found = weights_of(columns[part], miss[part], error[part])
            for feature, weight in zip(["1", *names], found, strict=True):
                table.setdefault(feature, {"mlp": mlp, "feature": feature})[name] = weight
        parts += table.values()
    weights = pd.DataFrame(parts)[["mlp", "feature", *QUANTITIES]]
    wider = widening(frame, expected)
    weights.loc[weights["feature"] == "1", list(QUANTITIES)] += np.log(wider)
    return weights, expected * wider


def _columns(row: dict[str, Any], name: str, names: list[str]) -> list[float]:
    """Values of features of a row; 0 for those of the MLP where there is none."""
    outcomes = {quantity: row[f"predicted_{quantity}"] for quantity in QUANTITIES}
    given = variables(error_map.as_setting(row), outcomes, name)
    return [product(given, one) if set(one.split(" * ")) <= set(given) else 0.0 for one in names]


def widening(frame: pd.DataFrame, expected: pd.DataFrame) -> float:
    """Root mean square of all misses beyond sampling over what is expected."""
    missed = sum(error_map.square_miss(frame, name).sum() for name in QUANTITIES)
    return float(np.sqrt(missed / (expected**2).to_numpy().sum()))


if __name__ == "__main__":
    table, _ = fitted(error_map.load())
    table.to_csv(str(WEIGHTS), index=False, float_format="%.6g", lineterminator="\n")
