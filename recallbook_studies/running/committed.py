"""Committed results, written, with where they come from; and a sample of their rows made again."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recallbook.arguments import check_seed, check_size, not_allowed
from recallbook.setting import LATER
from recallbook_studies.running.archive import load_results, sweeps, tables
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.running.point import Key, digest
from recallbook_studies.running.run import fill
from recallbook_studies.running.store import Result, Store

PACKAGES = ("recallbook", "numpy", "torch", "pandas", "pyarrow")
# of which provenance tells: every package
ROOT = Path(__file__).parents[2]  # of a checkout
CODE = ("recallbook*", ":(exclude)recallbook_studies/running/results")


def export(
    table: RowTable,
    store: str | os.PathLike[str] | None,
    folder: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write the rows of a store as the table's file, and ``NAME.json`` (provenance) beside it; without
    a store its committed rows, with what is computed from them.

    The same rows give the same bytes, whatever the order in which they were made.

    Parameters
    ----------
    table : RowTable
    store : path or None
    folder : path or None
        By default the committed table's.

    Raises
    ------
    ValueError
        If a file is no store of the table, a row is missing or failed, or columns are
        not those of the committed table, or lack values.
    OSError
        If there is no such folder, or it cannot be written to, or is full.
    """
    if table.write and store is None:
        table.write(None)
        return []
    file = {**sweeps(), **tables()}.get(table.name)
    known = load_results(table.name) if file else pd.DataFrame()
    if store is None and not {*known} - {*table.key_columns.split()}:
        raise not_allowed("store", store, "one of its rows: the committed file has only its key")
    results = [] if store is None else stored(table, store)
    frame = known if store is None else table.frame(results)
    frame = table.finish(frame) if table.finish else frame
    gaps = (frame.isna() | frame.isin([np.inf, -np.inf])).any()
    odd = {*gaps.index[gaps]} - {*table.empty.split()}
    if {*known} - {*table.key_columns.split()}:
        odd |= {*frame} ^ {*known}
    if odd:
        allowed = (
            "those of the committed table (leave only its key there if they are to change), and "
            "finite unless among `empty`"
        )
        raise not_allowed("columns", odd, allowed)
    if table.write:
        table.write(frame)
        return []
    frame = frame[[*known, *(name for name in frame if name not in known)]]
    suffix = Path(file.name).suffix if file else ".parquet"
    target = Path(str(file)).parent if folder is None and file else Path(folder or ".")
    digits = None if table.digits is None else f"%.{table.digits}g"
    if suffix == ".csv":
        text = frame.to_csv(index=False, float_format=digits, lineterminator="\n")
        content, frame = text.encode(), pd.read_csv(StringIO(text))  # as rounded
    else:
        content = frame.to_parquet(None, compression="zstd", index=False)
    written = {f"{table.name}{suffix}": content}
    if store is not None:
        record = provenance(table, frame, results)
        written[f"{table.name}.json"] = (json.dumps(record, indent=2) + "\n").encode()
    for name, content in written.items():
        (target / name).write_bytes(content)
    return [target / name for name in written]


def stored(table: RowTable, path: str | os.PathLike[str]) -> list[Result]:
    """The results of all keys in a store, as :func:`export` takes them."""
    keys = table.keys()
    with Store(path, table.kind or table.name, new=False) as store:
        results, missing = store.get(keys), len(store.missing(keys))
    failed = [f"{result.key.canonical}: {result.error}" for result in results if result.error]
    if missing or failed or len({tuple(result.outcome) for result in results}) != 1:
        allowed = (
            f"one with all {len(keys)} rows, all with the same columns and none that failed; "
            f"{missing} are missing: make them first; failed: {failed[:1]}"
        )
        raise not_allowed("store", str(path), allowed)
    return results


def provenance(table: RowTable, frame: pd.DataFrame, results: Sequence[Result]) -> dict[str, Any]:
    """What is known of where a table comes from."""
    versions = {package: version(package) for package in PACKAGES}
    name, of_sweep = table.name, ("sweep {0}", "export {0}")
    calls = of_sweep if table.kind == "results" else ("table {0} STORE", "table {0} STORE --export")
    return {
        "name": name,
        "command": " && ".join("python -m recallbook " + call.format(name) for call in calls),
        "rows": len(frame),
        "data": data_hash(frame),
        "seconds": round(sum(result.seconds for result in results)),
        "scheme": table.scheme,
        "versions": {**versions, "python": platform.python_version()},
        "machine": platform.machine(),
        **commit(),
    }


def data_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of all rows as CSV, independent of their order, of the file's format, and of fields
    that came later and have their defaults."""
    later = {name: value for name, value in LATER.items() if name in frame}
    default = [name for name, v in later.items() if (frame[name].isna() | (frame[name] == v)).all()]
    kept = frame.drop(columns=default)
    return digest("\n".join(sorted(kept.to_csv(index=False).splitlines())))


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


def recomputed(table: RowTable, count: int = 4, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A random sample of committed rows and the same made again, with ``same``: whether they agree
    within :attr:`RowTable.near`.

    Rows keep their index in the results.

    Raises
    ------
    ValueError
        If there are no such results, or not so many rows.
    RuntimeError
        If a row fails.
    """
    keys = table.keys()
    if check_size("count", count) > len(keys):
        raise not_allowed("count", count, f"at most {len(keys)}, the number of its rows")
    rng = np.random.default_rng(check_seed("seed", seed))
    chosen = [keys[place] for place in sorted(rng.choice(len(keys), count, replace=False))]
    return again(table, chosen)


def again(table: RowTable, keys: Sequence[Key]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The committed rows of these keys and the same made again, as :func:`recomputed` gives them."""
    frame, columns = load_results(table.name), table.key_columns.split()
    names = [table.key_of(row).canonical for row in frame[columns].to_dict("records")]
    old = frame.iloc[[names.index(key.canonical) for key in keys]]
    with Store(None) as store:
        fill(table, keys, store)
        results = store.get(keys)
    for result in results:
        if result.error:
            raise RuntimeError(f"{result.key.canonical}: {result.error}")
    new = table.frame(results).drop(columns=columns).set_axis(old.index)
    return old, new.assign(same=agree(old, new, table.near))


def agree(old: pd.DataFrame, new: pd.DataFrame, near: float) -> pd.Series:
    """Row by row, whether the columns of the second are those of the first: numbers as ``near``, of
    themselves or of the largest in the column, and of 1 if that is larger."""
    same = pd.Series(True, index=old.index)
    for name, made in new.items():
        kept = old[str(name)]
        if pd.api.types.is_float_dtype(kept) or pd.api.types.is_float_dtype(made):
            pair = kept.to_numpy(float, na_value=np.nan), made.astype(float).to_numpy()
            largest = np.abs(np.nan_to_num(pair[0], posinf=0, neginf=0)).max(initial=0)
            least = near * min(1.0, largest) + 1e-15  # also where all numbers of a column are small
            same &= np.isclose(*pair, rtol=near, atol=least, equal_nan=True)
        else:
            same &= (kept == made) | (kept.isna() & made.isna())
    return same
