"""Where predictions hold: random settings over all that a ``Setting`` allows, simulated until the
error is small.

``python -m recallbook table error_map STORE`` simulates what the file lacks; several can share the
work with ``--part 0/2`` and ``--part 1/2``, each with a file of its own. ``--export`` joins the
files, adds the predictions and writes the table that ships with the package."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from multiprocessing import Pool
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from recallbook.arguments import check_size
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.caveats import doubts
from recallbook.theory.prediction import predict
from recallbook.training.simulation import simulate
from recallbook_studies.prediction_errors import CALLABLES, QUANTITIES, TOLERANCES, anywhere

load = partial(load_results, "error_map")  # the committed rows
COUNT = 2400  # settings of the committed map
FIRST_SEED = 4 * 10**8  # seeds of the map are used nowhere else
FEWEST, MOST = 32, 500  # seeds of a setting; with fewer than 32 a rare failure would go unseen
AT_LEAST = 8  # seeds of a setting that takes long
ENOUGH = 0.006  # standard error at which a setting has seeds enough
SECONDS = 3.5  # after these no new seed is begun
TEST = 2000  # fresh sequences a seed


def random_setting(index: int) -> Setting:
    """The setting of this number."""
    return anywhere(np.random.default_rng([11, check_size("index", index, smallest=0)]))


def as_setting(row: dict[str, Any]) -> Setting:
    """The setting of a row of the table: sizes as integers, callables by their names."""
    fields: dict[str, Any] = {
        name: int(row[name]) for name in ("vocab", "seq_len", "dim", "samples")
    }
    if not pd.isna(row.get("width")):
        activation = str(row["activation"])
        fields |= {"width": int(row["width"]), "activation": CALLABLES.get(activation, activation)}
    return Setting(
        **fields,
        embeddings=str(row["embeddings"]),
        trigger_in_values=bool(row["trigger_in_values"]),
    )


def outcomes(index: int) -> Iterator[list[float]]:
    """Outcomes of the setting of this number, seed after seed; its seeds are used nowhere else."""
    setting = random_setting(index)
    dtype = (
        torch.float64 if setting.width is None else torch.float32
    )  # products with features take most of the time
    for seed in range(FIRST_SEED + MOST * index, FIRST_SEED + MOST * (index + 1)):
        outcome = simulate(setting, seed, test_samples=TEST, dtype=dtype)
        yield [getattr(outcome, name) for name in QUANTITIES]


def simulated(index: int) -> dict[str, Any]:
    """Means over seeds with their standard errors.

    Seeds are added until every standard error is at most ``ENOUGH``; the first ``FEWEST`` always
    run, or ``AT_LEAST`` where they take long."""
    started, rows = time.perf_counter(), []
    for row in outcomes(index):
        rows.append(row)
        late = time.perf_counter() - started > SECONDS
        if len(rows) >= (AT_LEAST if late else FEWEST) and (late or _errors(rows).max() <= ENOUGH):
            break
    found = dict(zip(QUANTITIES, np.mean(rows, axis=0).tolist(), strict=True))
    errors = {f"{name}_error": float(e) for name, e in zip(QUANTITIES, _errors(rows), strict=True)}
    return {
        "index": index,
        **described(random_setting(index)),
        "seeds": len(rows),
        **found,
        **errors,
    }


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
    for name, allowed in TOLERANCES.items():
        difference = (frame[f"predicted_{name}"] - frame[name]).abs()
        judged[f"off_{name}"] = difference > allowed + 2 * frame[f"{name}_error"]
    return judged


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is predicted for them now."""
    sizes = dict.fromkeys(("index", "vocab", "seq_len", "dim", "samples", "seeds"), "int32")
    return with_predictions(frame.astype({**sizes, "width": "Int32"}))
