"""Committed results, written: sorted Parquet, and where it comes from; and a sample of its rows
simulated again."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from recallbook.arguments import check_rate, check_seed, check_size, not_allowed
from recallbook.data.streams import SCHEME
from recallbook_studies.running.archive import load_results, table
from recallbook_studies.running.point import OUTCOMES, Point, digest, from_frame, unique
from recallbook_studies.running.run import run_sweep
from recallbook_studies.running.store import Store

PACKAGES = ("recallbook", "numpy", "torch", "pandas", "pyarrow")
# of which provenance tells: every package
ROOT = Path(__file__).parents[2]  # of a checkout
CODE = ("recallbook*", ":(exclude)recallbook_studies/running/results")
EXACT = 1e-9  # a sum of shares 1/k has this many digits, whatever the order in which it was added


def write_whole(writers: Mapping[Path, Callable[[Path], Any]]) -> None:
    """Write files of one folder, and then put all in place: where that fails, what was there before
    is there still."""
    with TemporaryDirectory(dir=next(iter(writers)).parent, prefix=".export-") as folder:
        for file, write in writers.items():
            write(Path(folder) / file.name)
        for file in writers:
            os.replace(Path(folder) / file.name, file)


def export(
    name: str,
    points: Iterable[Point],
    store: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    command: str,
) -> list[Path]:
    """Write ``name.parquet`` and ``name.json`` (provenance) into ``folder``.

    The same rows give the same bytes, whatever the order in which they were computed.

    Raises
    ------
    ValueError
        If points are missing from the store, or the store is no store.
    OSError
        If there is no such folder, or it cannot be written to, or is full.
    """
    wanted = unique(points)
    with Store(store, new=False) as kept:
        results = kept.get(wanted)
    if missing := len(wanted) - len(results):
        allowed = f"a store with all {len(wanted)} points; {missing} are missing: run the sweep"
        raise not_allowed("store", str(store), allowed)
    frame = in_order(table(results))
    versions = {package: version(package) for package in PACKAGES}
    record = {
        "name": name,
        "command": command,
        "rows": len(frame),
        "failed": int(frame["error"].notna().sum()),
        "data": data_hash(frame),
        "seconds": round(sum(result.seconds for result in results)),
        "scheme": SCHEME,
        "versions": {**versions, "python": platform.python_version()},
        "machine": platform.machine(),
        **commit(),
    }
    text = json.dumps(record, indent=2) + "\n"
    parquet, provenance = paths = [Path(folder) / f"{name}.{kind}" for kind in ("parquet", "json")]
    write_whole(
        {
            parquet: lambda path: frame.to_parquet(path, compression="zstd", index=False),
            provenance: lambda path: path.write_text(text, encoding="utf-8"),
        }
    )
    return paths


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows sorted by all fields of their points."""
    return frame.sort_values(Point.names(), kind="stable", ignore_index=True)


def data_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of all points with their outcomes, independent of the order of rows and of the file
    format."""
    measured = frame[[*OUTCOMES, "error"]].astype(object)
    outcomes = measured.where(measured.notna(), None)
    rows = zip(from_frame(frame), outcomes.to_numpy().tolist(), strict=True)
    lines = sorted(point.key + json.dumps(outcome) for point, outcome in rows)
    return digest("\n".join(lines))


def commit(root: Path = ROOT) -> dict[str, Any]:
    """Name the commit of the packages' code, and whether code or tables differ from it or are not
    in it.

    Nothing outside a checkout. Results do not count, since whoever exports them is changing them.
    """

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout.strip()

    try:
        head = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=all", "--", *CODE)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": head, "changed": bool(changed)}


def recomputed(name: str, count: int = 4, seed: int = 0, seconds: float = 0.3) -> pd.DataFrame:
    """A random sample of committed rows, simulated again, with ``same``: whether outcomes agree.

    Three steps and decoders count: a fraction is the same within :data:`EXACT`, on every processor,
    since ties go by a rule and not by rounding. A message of failure is the same to the letter.
    Only points of at most so many estimated ``seconds`` are in the sample. Rows keep their index in
    the results.

    Raises
    ------
    ValueError
        If there are no such results, or not so many such points.
    """
    frame = load_results(name)
    points = from_frame(frame)
    check_rate("seconds", seconds)
    cheap = [row for row, point in enumerate(points) if point.cost <= seconds]
    if check_size("count", count) > len(cheap):
        allowed = f"at most {len(cheap)}, the number of points of {seconds} s"
        raise not_allowed("count", count, allowed)
    drawn = np.random.default_rng(check_seed("seed", seed)).choice(cheap, count, replace=False)
    chosen = np.sort(drawn)
    again = run_sweep([points[row] for row in chosen]).set_index(chosen)
    return again.assign(same=agree(frame.loc[chosen], again))


def agree(stored: pd.DataFrame, again: pd.DataFrame) -> pd.Series:
    """Row by row, whether outcomes and errors are the same, as :func:`recomputed` says."""
    said = stored["error"].fillna("") == again["error"].fillna("")
    before, after = (frame[list(OUTCOMES)].to_numpy(float) for frame in (stored, again))
    near = np.isclose(before, after, rtol=0, atol=EXACT, equal_nan=True)
    return said & near.all(axis=1)
