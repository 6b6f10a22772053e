"""Committed results: tables that ship with the package."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import pandas as pd

from recallbook.arguments import not_allowed
from recallbook.result import OUTCOMES
from recallbook.setting import LATER
from recallbook_studies.running.point import NAMES

FOLDER = resources.files("recallbook_studies.running") / "results"
SWEEP = [*NAMES, *OUTCOMES, "error"]  # columns of a sweep


def load_results(name: str) -> pd.DataFrame:
    """Read a committed table from inside the package: of a sweep, with a row for each point, or any
    other.

    Columns of a sweep are those of :func:`recallbook.run_sweep`. The other tables, such as
    ``survives``, are as the experiment wrote them.

    Raises
    ------
    ValueError
        If there is no table of this name; lists the names there are.

    Examples
    --------
    >>> load_results("lock_on")["seed"].nunique()
    30
    """
    files = {**sweeps(), **tables()}
    if not isinstance(name, str) or name not in files:
        listed = f"a sweep with committed results, {[*sweeps()]}, or another table, {[*tables()]}"
        raise not_allowed("name", name, listed)
    with resources.as_file(files[name]) as path:
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return typed(frame) if name in sweeps() else frame


def sweeps() -> dict[str, Traversable]:
    """Find the committed tables of sweeps, by name: files."""
    return _files(FOLDER)


def tables() -> dict[str, Traversable]:
    """Find the committed tables that are no sweep's, by name: files."""
    return _files(FOLDER / "tables")


def _files(folder: Traversable) -> dict[str, Traversable]:
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {Path(f.name).stem: f for f in files if f.name.endswith((".csv", ".parquet"))}


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Give a sweep's results the columns ``SWEEP`` in their types. A field that came after the table is
    at its default; columns that no point has any more are left out."""
    later = {name: value for name, value in LATER.items() if name not in frame.columns}
    numbers = dict.fromkeys(("zipf", "other_zipf", *OUTCOMES), "float64")
    kinds = {"width": "Int64", **numbers, "error": "string"}
    return frame.assign(**later).reindex(columns=SWEEP).astype(kinds)
