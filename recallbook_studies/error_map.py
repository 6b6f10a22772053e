"""Where predictions hold: random settings over all that a ``Setting`` allows, simulated until the
error is small.

``python -m recallbook table error_map STORE`` simulates what the file lacks; several can share the
work with ``--part 0/2`` and ``--part 1/2``, each with a file of its own. ``--export`` joins the
files, adds the predictions and writes the table that ships with the package."""

from __future__ import annotations

import time
from multiprocessing import Pool
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.caveats import doubts
from recallbook_studies.prediction_errors import (
    CALLABLES,
    QUANTITIES,
    anywhere,
    excess,
    means_and_errors,
    outcomes,
    predictions,
)

COUNT = 2400  # settings of the committed map
FIRST_SEED = 4 * 10**8  # seeds of the map are used nowhere else
FEWEST, MOST = 32, 500  # seeds of a setting; with fewer than 32 a rare failure would go unseen
AT_LEAST = 8  # seeds of a setting that takes long
ENOUGH = 0.006  # standard error at which a setting has seeds enough
SECONDS = 3.5  # after these no new seed is begun
TEST = 2000  # fresh sequences a seed
FIELDS = tuple(Setting.__dataclass_fields__)
INTEGERS = dict.fromkeys(("index", "vocab", "seq_len", "dim", "samples", "seeds"), "int32")


def load() -> pd.DataFrame:
    """The committed rows, with their ``model``."""
    frame = load_results("error_map")
    return frame.assign(model=np.where(frame["width"].isna(), "Attention-only", "Attention-MLP"))


def random_setting(index: int) -> Setting:
    """The setting of this number."""
    return anywhere(np.random.default_rng([11, index]))


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
    started, rows, setting = time.perf_counter(), [], random_setting(index)
    for row in outcomes(setting, seeds_of(index), TEST):
        rows.append(row)
        late = time.perf_counter() - started > SECONDS
        if len(rows) < (AT_LEAST if late else FEWEST):
            continue
        errors = means_and_errors(rows)
        if late or max(errors[f"{name}_error"] for name in QUANTITIES) <= ENOUGH:
            break
    return {"index": index, **described(setting), "seeds": len(rows), **means_and_errors(rows)}


def described(setting: Setting) -> dict[str, Any]:
    """The setting as fields of a row; the inverse of :func:`as_setting`."""
    names = {function: name for name, function in CALLABLES.items()}
    fields = ("vocab", "seq_len", "dim", "samples", "width", "embeddings", "trigger_in_values")
    activation = names.get(setting.activation, setting.activation) if setting.width else None  # type: ignore[arg-type]
    return {**{name: getattr(setting, name) for name in fields}, "activation": activation}


def predicted(row: dict[str, Any]) -> dict[str, Any]:
    """What is predicted for the setting of a row of a map."""
    return predictions(as_setting(row))


def judged(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """A map, by default the committed one, with the names of the ``doubts`` that apply, whether
    there are any, by outcome whether it is ``off_``, and whether it is ``off`` in any.

    Off: prediction and simulation differ by more than the tolerance and two standard errors.
    """
    frame = load() if frame is None else frame
    rows = frame.to_dict("records")
    found = [{d.name for d in doubts(as_setting(row), row["predicted_lock_on"])} for row in rows]
    off = {f"off_{name}": excess(frame, name) > 0 for name in QUANTITIES}
    off["off"] = np.any(list(off.values()), axis=0)
    return frame.assign(doubts=found, doubted=list(map(bool, found)), **off)


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is predicted for them now."""
    frame = frame.astype({**INTEGERS, "width": "Int32"})
    with Pool(2) as pool:
        found = pool.imap(predicted, frame.to_dict("records"), chunksize=8)
        guesses = pd.DataFrame(tqdm(found, total=len(frame)), index=frame.index)
    return frame.assign(**guesses[[f"predicted_{name}" for name in QUANTITIES]])
