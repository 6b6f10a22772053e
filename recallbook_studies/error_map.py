"""Where predictions hold: random settings over all that a ``Setting`` allows, simulated until the
error is small.

``python -m recallbook table error_map STORE`` simulates what the file lacks; several can share the
work with ``--part 0/2`` and ``--part 1/2``, each with a file of its own. ``--export`` joins the
files, adds the predictions and writes the table that ships with the package."""

from __future__ import annotations

import math
import time
from functools import partial
from multiprocessing import Pool
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from recallbook.arguments import check_size
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.caveats import doubts
from recallbook.theory.prediction import predict
from recallbook_studies.prediction_errors import (
    CALLABLES,
    QUANTITIES,
    TOLERANCES,
    anywhere,
    outcomes,
)

load = partial(load_results, "error_map")  # the committed rows
COUNT = 2400  # settings of the committed map
FIRST_SEED = 4 * 10**8  # seeds of the map are used nowhere else
FEWEST, MOST = 32, 500  # seeds of a setting; with fewer than 32 a rare failure would go unseen
AT_LEAST = 8  # seeds of a setting that takes long
ENOUGH = 0.006  # standard error at which a setting has seeds enough
SECONDS = 3.5  # after these no new seed is begun
TEST = 2000  # fresh sequences a seed
FIELDS = tuple(Setting.__dataclass_fields__)


def random_setting(index: int) -> Setting:
    """The setting of this number."""
    return anywhere(np.random.default_rng([11, check_size("index", index, smallest=0)]))


def as_setting(row: dict[str, Any]) -> Setting:
    """The setting of a row of a map: callables by their names, what is missing by default."""
    fields = {name: row[name] for name in FIELDS if name in row and not pd.isna(row[name])}
    activation = fields.get("activation")
    return Setting(
        **fields | ({"activation": CALLABLES.get(activation, activation)} if activation else {})
    )


def seeds_of(index: int) -> range:
    """Seeds of the setting of this number, used nowhere else."""
    return range(FIRST_SEED + MOST * index, FIRST_SEED + MOST * (index + 1))


def simulated(index: int) -> dict[str, Any]:
    """Means over seeds with their standard errors.

    Seeds are added until every standard error is at most ``ENOUGH``; the first ``FEWEST`` always
    run, or ``AT_LEAST`` where they take long."""
    started, rows = time.perf_counter(), []
    for row in outcomes(random_setting(index), seeds_of(index), TEST):
        rows.append(row)
        late = time.perf_counter() - started > SECONDS
        if len(rows) >= (AT_LEAST if late else FEWEST) and (late or _errors(rows).max() <= ENOUGH):
            break
    fields = {"index": index, **described(random_setting(index)), "seeds": len(rows)}
    return fields | means_and_errors(rows)


def off_by(row: dict[str, Any], name: str) -> float:
    """By how much prediction and simulation differ beyond the tolerance and two standard errors, of
    both together where the prediction has one."""
    error = math.hypot(row[f"{name}_error"], row.get("predicted_error", 0.0))
    return float(abs(row[f"predicted_{name}"] - row[name]) - TOLERANCES[name] - 2 * error)


def means_and_errors(rows: list[list[float]]) -> dict[str, float]:
    """Mean over seeds of each of ``QUANTITIES``, and its standard error."""
    found = dict(zip(QUANTITIES, np.mean(rows, axis=0).tolist(), strict=True))
    errors = zip(QUANTITIES, _errors(rows).tolist(), strict=True)
    return found | {f"{name}_error": error for name, error in errors}


def _errors(rows: list[list[float]]) -> NDArray[np.float64]:
    return np.asarray(np.std(rows, axis=0, ddof=1) / len(rows) ** 0.5)


def described(setting: Setting) -> dict[str, Any]:
    """The setting as fields of a row; the inverse of :func:`as_setting`."""
    names = {function: name for name, function in CALLABLES.items()}
    fields = ("vocab", "seq_len", "dim", "samples", "width", "embeddings", "trigger_in_values")
    activation = names.get(setting.activation, setting.activation) if setting.width else None  # type: ignore[arg-type]
    return {**{name: getattr(setting, name) for name in fields}, "activation": activation}


def predicted(row: dict[str, Any]) -> dict[str, float]:
    """What :func:`recallbook.predict` says about a row's setting."""
    found = predict(as_setting(row), warn=False)
    return {f"predicted_{name}": getattr(found, name) for name in QUANTITIES}


def with_predictions(frame: pd.DataFrame, workers: int = 2) -> pd.DataFrame:
    """The simulated rows beside what is predicted for them now."""
    rows = frame.to_dict("records")
    with Pool(workers) as pool:
        found = list(tqdm(pool.imap(predicted, rows, chunksize=8), total=len(rows)))
    return frame.assign(**pd.DataFrame(found, index=frame.index))


def judged() -> pd.DataFrame:
    """The map with ``model``, the names of the ``doubts`` that apply, and by outcome whether it is
    ``off_``.

    Off: prediction and simulation differ by more than the tolerance and two standard errors.
    """
    frame = load()
    settings = [as_setting(row) for row in frame.to_dict("records")]
    found = [
        {d.name for d in doubts(s, p)}
        for s, p in zip(settings, frame["predicted_lock_on"], strict=True)
    ]
    judged = frame.assign(doubts=found, doubted=[bool(names) for names in found])
    judged["model"] = np.where(frame["width"].isna(), "Attention-only", "Attention-MLP")
    rows = frame.to_dict("records")
    for name in QUANTITIES:
        judged[f"off_{name}"] = [off_by(row, name) > 0 for row in rows]
    return judged


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is predicted for them now."""
    sizes = dict.fromkeys(("index", "vocab", "seq_len", "dim", "samples", "seeds"), "int32")
    return with_predictions(frame.astype({**sizes, "width": "Int32"}))
