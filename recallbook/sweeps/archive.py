"""Results that ship with the package: sorted Parquet, a small CSV to look at, and where they come
from."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import pandas as pd

from recallbook.arguments import not_allowed
from recallbook.data.streams import SCHEME
from recallbook.sweeps.point import LATER_FIELDS, OUTCOMES, Point, from_frame, unique
from recallbook.sweeps.store import Result, Store

PACKAGES = ("recallbook", "numpy", "torch", "pandas", "pyarrow")
CODE = (
    "recallbook",
    "recallbook_studies",
    ":(exclude)recallbook/sweeps/results",
)  # of which provenance tells
FOLDER = resources.files("recallbook.sweeps") / "results"


def load_results(name: str) -> pd.DataFrame:
    """Read a committed table from inside the package: of a sweep, with a row for each point, or any
    other.

    Columns of a sweep are those of :func:`recallbook.run_sweep`;
    :func:`~recallbook.sweeps.point.from_frame` turns its rows into points, to simulate them again.
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
    if name in others:
        with resources.as_file(others[name]) as path:
            return read_table(path)
    with resources.as_file(_file(name, "parquet")) as path:
        return typed(pd.read_parquet(path, engine="pyarrow"))


def read_table(file: Path) -> pd.DataFrame:
    """Read a CSV or Parquet file."""
    return pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)


def provenance(name: str) -> dict[str, Any]:
    """The command that made committed results, versions, and hashes of the points and of the
    data."""
    record: dict[str, Any] = json.loads(_file(name, "json").read_text(encoding="utf-8"))
    return record


def tables() -> dict[str, Traversable]:
    """Find the committed tables that are no sweep's, by name: files."""
    folders = [folder for folder in (FOLDER, FOLDER / "tables") if folder.is_dir()]
    files = {
        Path(file.name).stem: file
        for folder in folders
        for file in folder.iterdir()
        if file.is_file()
    }
    return {name: file for name, file in sorted(files.items()) if name not in names()}


def names() -> list[str]:
    """Names of all sweeps with committed results."""
    if not FOLDER.is_dir():
        return []
    return sorted(
        Path(file.name).stem for file in FOLDER.iterdir() if file.name.endswith(".parquet")
    )


def export(
    name: str,
    points: Iterable[Point],
    store: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    command: str,
) -> list[Path]:
    """Write ``name.parquet``, ``name.csv`` (means over seeds) and ``name.json`` (provenance) into
    ``folder``.

    The same rows give the same bytes, whatever the order in which they were computed. All three are
    written whole, and then put in place: where that fails, what was there before is there still.

    Raises
    ------
    ValueError
        If points are missing from the store, the store is no store, or there is no such folder.
    OSError
        If the folder cannot be written to, or is full.
    """
    wanted, folder = unique(points), Path(folder)
    if not folder.is_dir():
        raise not_allowed("folder", str(folder), "a folder that exists")
    if not Path(store).exists():
        raise not_allowed("store", str(store), "a file that exists: run the sweep first")
    with Store(store) as kept:
        results = kept.get(wanted)
    if len(results) < len(wanted):
        missing = len(wanted) - len(results)
        raise not_allowed(
            "store",
            str(store),
            f"a store with all {len(wanted)} points; {missing} are missing: run the sweep",
        )
    frame = in_order(table(results))
    record = {
        "name": name,
        "command": command,
        "rows": len(frame),
        "failed": int(frame["error"].notna().sum()),
        "points": points_hash(wanted),
        "data": data_hash(frame),
        "seconds": round(sum(result.seconds for result in results)),
        "scheme": SCHEME,
        "versions": {
            **{package: version(package) for package in PACKAGES},
            "python": platform.python_version(),
        },
        "machine": platform.machine(),
        **commit(),
    }
    paths = [folder / f"{name}.{kind}" for kind in ("parquet", "csv", "json")]
    unused = [
        name
        for name, value in LATER_FIELDS.items()
        if (frame[name].isna() | (frame[name] == value)).all()
    ]
    frame = frame.drop(columns=unused)  # as results were written before there were such fields
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as whole:
            parquet, csv, text = written = [Path(whole) / path.name for path in paths]
            frame.to_parquet(parquet, engine="pyarrow", compression="zstd", index=False)
            summary(frame).to_csv(csv, index=False, float_format="%.5g", lineterminator="\n")
            text.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            for path, place in zip(written, paths, strict=True):
                os.replace(path, place)
    except OSError as problem:
        what = f"export to {folder}: {problem.strerror or problem}"
        raise OSError(
            f"{what}; the store is whole: make room, or name another folder, and run it again"
        ) from problem
    return paths


def table(results: Iterable[Result]) -> pd.DataFrame:
    """One row for each result, with the same columns and types whatever is in them."""
    names = [*Point.names(), *OUTCOMES, "error"]
    return typed(pd.DataFrame([result.row for result in results], columns=names))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of results in their types, also where a column is empty, or older than a field."""
    optional = dict.fromkeys(("width", "steps", "batch"), "Int64")
    numbers = dict.fromkeys(
        ("eta", "gamma", "zipf", "other_zipf", "embedding_rate", *OUTCOMES), "float64"
    )
    frame = frame.assign(
        **{name: value for name, value in LATER_FIELDS.items() if name not in frame.columns}
    )
    return frame[[*Point.names(), *OUTCOMES, "error"]].astype(
        {**optional, **numbers, "error": "string"}
    )


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows sorted by all fields of their points."""
    return frame.sort_values(Point.names(), kind="stable", ignore_index=True)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, and the number of ``seeds``; columns that say nothing are left out."""
    fields = [name for name in Point.names() if name != "seed" and name in frame.columns]
    groups = frame.groupby(fields, dropna=False, sort=True)
    found = groups[list(OUTCOMES)].mean().assign(seeds=groups.size()).reset_index()
    return found.dropna(axis=1, how="all")


def points_hash(points: Iterable[Point]) -> str:
    """SHA-256 of the sorted keys of all points."""
    return hashlib.sha256("\n".join(sorted(point.key for point in points)).encode()).hexdigest()


def data_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of all points with their outcomes, independent of the order of rows and of the file
    format."""
    outcomes = (
        frame[[*OUTCOMES, "error"]].astype(object).where(frame[[*OUTCOMES, "error"]].notna(), None)
    )
    rows = zip(from_frame(frame), outcomes.to_numpy().tolist(), strict=True)
    lines = sorted(point.key + json.dumps(outcome) for point, outcome in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _file(name: str, kind: str) -> Any:
    if name not in names():
        listed = f"a sweep with committed results, {', '.join(names())}, or another table, {', '.join(tables())}"
        raise not_allowed("name", name, listed)
    return FOLDER / f"{name}.{kind}"


def commit(root: Path = Path(__file__).parents[2]) -> dict[str, Any]:
    """Name the commit of both packages' code, and whether code or tables differ from it or are not
    in it.

    Nothing outside a checkout. Results do not count, since whoever exports them is changing them.
    """
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True
        )
        changes = ["git", "status", "--porcelain", "--untracked-files=all", "--"]
        changed = subprocess.run(
            [*changes, *CODE], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": head.stdout.strip(), "changed": bool(changed.stdout.strip())}
