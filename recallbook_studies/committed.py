"""Committed results, written: sorted Parquet, a small CSV to look at, and where they come from; and
a sample of their rows simulated again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recallbook.arguments import check_rate, check_seed, check_size, not_allowed
from recallbook.data.streams import SCHEME
from recallbook.sweeps.archive import FOLDER, load_results, table
from recallbook.sweeps.point import LATER_FIELDS, OUTCOMES, Point, from_frame, unique
from recallbook.sweeps.run import run_sweep
from recallbook.sweeps.store import Store

PACKAGES = ("recallbook", "numpy", "torch", "pandas", "pyarrow")
CODE = (
    "recallbook",
    "recallbook_studies",
    ":(exclude)recallbook/sweeps/results",
)  # of which provenance tells
EXACT = 1e-9  # a sum of shares 1/k has this many digits, whatever the order in which it was added


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


def provenance(name: str) -> dict[str, Any]:
    """The command that made committed results, versions, and hashes of the points and of the
    data."""
    record: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return record


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


def commit(root: Path = Path(__file__).parents[1]) -> dict[str, Any]:
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


def recomputed(name: str, count: int = 4, seed: int = 0, seconds: float = 0.3) -> pd.DataFrame:
    """A random sample of committed rows, simulated again, with ``same``: whether outcomes agree.

    Three steps and decoders count: a fraction is the same within :data:`EXACT`, on every processor,
    since ties go by a rule and not by rounding. (Hundreds of steps of gradient descent amplify
    rounding; no committed sweep has them.) A message of failure is the same to the letter. Only
    points of at most so many estimated ``seconds`` are in the sample. Rows keep their index in the results.

    Raises
    ------
    ValueError
        If there are no such results, or not so many such points.
    """
    frame = load_results(name)
    points = from_frame(frame)
    check_rate("seconds", seconds)
    cheap = [i for i, point in enumerate(points) if point.cost <= seconds]
    if check_size("count", count) > len(cheap):
        raise not_allowed(
            "count", count, f"at most {len(cheap)}, the number of points of {seconds} s"
        )
    chosen = np.sort(
        np.random.default_rng(check_seed("seed", seed)).choice(cheap, count, replace=False)
    )
    again = run_sweep([points[i] for i in chosen]).set_index(chosen)
    return again.assign(same=agree(frame.loc[chosen], again))


def agree(stored: pd.DataFrame, again: pd.DataFrame) -> pd.Series:
    """Row by row, whether outcomes and errors are the same, as :func:`recomputed` says."""
    same = (stored["error"].fillna("") == again["error"].fillna("")).to_numpy(bool)
    for outcome in OUTCOMES:
        before, after = stored[outcome].to_numpy(float), again[outcome].to_numpy(float)
        near = np.abs(after - before) <= EXACT
        same &= near | (np.isnan(before) & np.isnan(after))
    return pd.Series(same, index=stored.index)
