"""Committed results: tables that ship with the package."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import pandas as pd

from recallbook.arguments import not_allowed
from recallbook.setting import LATER
from recallbook_studies.running.point import OUTCOMES, Point
from recallbook_studies.running.store import Result

FOLDER = resources.files("recallbook_studies.running") / "results"


def load_results(name: str) -> pd.DataFrame:
    """Read a committed table from inside the package: of a sweep, with a row for each point, or any
    other.

    Columns of a sweep are those of :func:`recallbook.run_sweep`;
    :func:`~recallbook_studies.running.point.from_frame` turns its rows into points, to simulate them again.
    The other tables, such as ``survives``, are as the experiment wrote them.

    Raises
    ------
    ValueError
        If there is no table of this name; lists the names there are.

    Examples
    --------
    >>> load_results("lock_on")["seed"].nunique()
    30
    """
    others = tables()
    if name not in [*names(), *others]:
        listed = f"a sweep with committed results, {names()}, or another table, {list(others)}"
        raise not_allowed("name", name, listed)
    if name in others:
        with resources.as_file(others[name]) as path:
            return read_table(path)
    with resources.as_file(FOLDER / f"{name}.parquet") as path:
        return typed(pd.read_parquet(path, engine="pyarrow"))


def read_table(file: Path) -> pd.DataFrame:
    """Read a CSV or Parquet file."""
    return pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)


def tables() -> dict[str, Traversable]:
    """Find the committed tables that are no sweep's, by name: files."""
    files = sorted((FOLDER / "tables").iterdir(), key=lambda file: file.name)
    return {Path(file.name).stem: file for file in files}


def names() -> list[str]:
    """Names of all sweeps with committed results."""
    return sorted(
        Path(file.name).stem for file in FOLDER.iterdir() if file.name.endswith(".parquet")
    )


def table(results: Iterable[Result]) -> pd.DataFrame:
    """One row for each result, with the same columns and types whatever is in them."""
    names = [*Point.names(), *OUTCOMES, "error"]
    rows = [{**r.point.values, **(r.outcome or {}), "error": r.error} for r in results]
    return typed(pd.DataFrame(rows, columns=names))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of results in their types, also where a column is empty, or the table older than a
    field; what no point has any more, such as an empty column of rates, is left out."""
    frame = frame.assign(
        **{name: value for name, value in LATER.items() if name not in frame.columns}
    )
    numbers = dict.fromkeys(("zipf", "other_zipf", *OUTCOMES), "float64")
    columns = [*Point.names(), *OUTCOMES, "error"]
    return frame[columns].astype({"width": "Int64", **numbers, "error": "string"})
