"""Where predictions hold: random settings over all that a ``Setting`` allows, simulated with 32 to
500 seeds until the error was small.

``python -m recallbook table error_map STORE`` simulates what the file lacks. ``--export`` adds
the predictions and writes the table that ships with the package.

Its key's columns are 2,400 settings, drawn once (``random_fields`` of commit 792917c6): any that is not
too costly, every size log-uniform, every choice possible, callables too; V from 24 to 1024, L to 1.2 V,
N from V/2 to 300 V, d from 8 to 10 V or, for half of them, around the dimension at which recall
changes; m from 0.3 d to 20 d."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import Device
from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.running.archive import load_results
from recallbook_theory.caveats import doubts, message
from recallbook_theory.prediction import predict, theory_of

CALLABLES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sin": torch.sin,
    "exp": torch.exp,
    "abs": torch.abs,
    "softplus": torch.nn.functional.softplus,
}
OFF = 0.03  # a miss above this beyond sampling
QUANTITIES = ("accuracy", "lock_on", "recall")
FIRST_SEED = 4 * 10**8  # seeds of the map are used nowhere else
MOST = 500  # seeds of a setting, at most
TEST = 2000  # fresh sequences a seed
FIELDS = tuple(Setting.__dataclass_fields__)
INTEGERS = dict.fromkeys(("index", "vocab", "seq_len", "dim", "samples", "seeds"), "int32")


def load() -> pd.DataFrame:
    """The committed rows, with their ``model``."""
    frame = load_results("error_map")
    return frame.assign(model=np.where(frame["width"].isna(), "Attention-only", "Attention-MLP"))


def as_setting(row: dict[str, Any]) -> Setting:
    """The setting of a row of a map: callables by their names, what is missing by default."""
    fields = {name: row[name] for name in FIELDS if name in row and not pd.isna(row[name])}
    if "activation" in fields:
        fields["activation"] = CALLABLES.get(fields["activation"], fields["activation"])
    if "width" in fields:
        fields["width"] = int(fields["width"])  # a column with gaps may hold floats
    return Setting(**fields)


def seeds_of(index: int) -> range:
    """Seeds of the setting of this number, used nowhere else."""
    return range(FIRST_SEED + MOST * index, FIRST_SEED + MOST * (index + 1))


def outcomes(setting: Setting, seeds: Iterable[int]) -> Iterator[list[float]]:
    """Simulated ``QUANTITIES``, seed after seed."""
    # products with m features take most of the time
    dtype = torch.float64 if setting.width is None else torch.float32
    for seed in seeds:
        outcome = simulate(setting, seed, test_samples=TEST, dtype=dtype)
        yield [getattr(outcome, name) for name in QUANTITIES]


def means_and_errors(rows: list[list[float]]) -> dict[str, float]:
    """Mean over seeds of each of ``QUANTITIES``, and its standard error."""
    means, errors = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / len(rows) ** 0.5
    names = (*QUANTITIES, *(f"{name}_error" for name in QUANTITIES))
    return dict(zip(names, (*means.tolist(), *errors.tolist()), strict=True))


def predicted(row: dict[str, Any]) -> dict[str, float]:
    """What is predicted of each of ``QUANTITIES`` for the setting of a row, and the standard error
    of that."""
    prediction = predict(as_setting(row), warn=False)
    return {
        **{f"predicted_{name}": getattr(prediction, name) for name in QUANTITIES},
        "predicted_error": prediction.error,
    }


def square_miss(rows: pd.DataFrame, name: str) -> pd.Series:
    """Squared difference of prediction and simulation, less what sampling adds to it."""
    return (rows[f"predicted_{name}"] - rows[name]) ** 2 - rows[f"{name}_error"] ** 2


def excess(rows: pd.DataFrame, name: str) -> pd.Series:
    """By how much prediction and simulation differ beyond ``OFF`` and two standard errors, of
    both together where the prediction has one."""
    error = np.hypot(rows[f"{name}_error"], rows.get("predicted_error", 0.0))
    difference = rows[f"predicted_{name}"] - rows[name]
    return difference.abs() - OFF - 2 * error


def row(index: int, seeds: int, **fields: Any) -> dict[str, Any]:
    """Means over so many seeds of this number, of the setting with these fields."""
    return means_and_errors([*outcomes(as_setting(fields), seeds_of(index)[:seeds])])


def largest_row(case: int, seed: int, device: Device = "cpu", **fields: Any) -> dict[str, Any]:
    """Outcomes of a setting of the largest sizes with one seed: V from 8192 to 65536, L to 1024, d to
    2048, m to 32768, with N where lock-on or accuracy changes."""
    return asdict(simulate(as_setting(fields), seed, test_samples=2 * TEST, device=device))


def judged(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """A map, by default the committed one, with the error ``expected_`` of each outcome, if it is
    known, whether a prediction ``warns``, by outcome whether it is ``off_``, and whether it is
    ``off`` in any.

    Off: prediction and simulation differ by more than ``OFF`` and two standard errors.
    """
    frame = load() if frame is None else frame
    added = []
    for row in frame.to_dict("records"):
        setting = as_setting(row)
        theory = theory_of(setting)
        outcomes = {name: row[f"predicted_{name}"] for name in QUANTITIES}
        expected = theory.expected_errors(setting, outcomes) or {}
        said = message(setting, doubts(theory.doubts, setting), expected=expected)
        added.append({f"expected_{name}": size for name, size in expected.items()})
        added[-1]["warns"] = said is not None
    off = {f"off_{name}": excess(frame, name) > 0 for name in QUANTITIES}
    off["off"] = np.any(list(off.values()), axis=0)
    return frame.assign(**pd.DataFrame(added, frame.index), **off)


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is predicted for them now."""
    frame = frame.astype({**INTEGERS, "width": "Int32"})
    predictions = pd.DataFrame([predicted(row) for row in tqdm(frame.to_dict("records"))])
    return frame.assign(**predictions.drop(columns="predicted_error").set_index(frame.index))


def by_expected(judged: pd.DataFrame) -> pd.DataFrame:
    """Fifths of all outcomes of a map by their expected error: beside it the root mean square of
    what was missed beyond sampling."""
    squares = [
        {"expected": judged[f"expected_{name}"] ** 2, "missed": square_miss(judged, name)}
        for name in QUANTITIES
    ]
    every = pd.concat(map(pd.DataFrame, squares))
    means = every.groupby(pd.qcut(every["expected"], 5, labels=False)).mean()
    return np.sqrt(means.clip(lower=0))
