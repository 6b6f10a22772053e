"""What the command line runs: sweeps, and tables made row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from recallbook.arguments import not_allowed
from recallbook_studies.running.archive import read_table
from recallbook_studies.running.committed import write_whole
from recallbook_studies.running.point import Point, digest
from recallbook_studies.running.run import attempt
from recallbook_studies.running.store import Result, Store, as_text


class Sweep(NamedTuple):
    """What a sweep shows, and its points."""

    shows: str
    points: Callable[[], list[Point]]


class RowKey(NamedTuple):
    """The key of a table's row, as JSON for the store and as :attr:`RowTable.row` takes it."""

    canonical: str
    value: Any


@dataclass(frozen=True)
class RowTable:
    """A committed table whose rows are made one by one and kept in a store, so that a run can be
    stopped and resumed.

    Parameters
    ----------
    shows : str
        What it shows.
    keys : callable
        All keys, in the order of the table.
    row : callable
        The row of a key, a mapping, or a list of them; with ``devices`` it takes ``device=``, too.
    column : str or list of str
        The column, or columns, that hold the key.
    together : int
        So many keys that follow each other are stored in one transaction and never divided, because
        their rows are made at once, or fast.
    digits : int or None
        Significant digits of a CSV table; ``None`` writes all.
    finish : callable or None
        What is done to all rows before they are written.
    suffix : str
        ``".csv"`` or ``".parquet"``.
    devices : bool
    write : callable or None
        Takes all rows, or ``None`` without a store, where what is exported is not a table that ships
        with the package.
    empty : str
        Columns, with blanks between, in which a value may be missing or infinite.
    """

    shows: str
    keys: Callable[[], Sequence[Any]]
    row: Callable[..., Any]
    column: str | list[str] = "key"
    together: int = 1
    digits: int | None = 6
    finish: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    suffix: str = ".csv"
    devices: bool = False
    write: Callable[[pd.DataFrame | None], None] | None = None
    empty: str = ""

    def fill(
        self, store: Store, part: slice = slice(None), retry: bool = False, **device: Any
    ) -> list[Result]:
        """Make the rows of a part that the store lacks, or those, too, that failed if ``retry``.

        What is made together is stored as soon as it is there, or what there is of it where it is
        stopped; an error is stored in place of a row, and is a result of its key."""
        done, size = store.keys(retry), self.together
        keys = [RowKey(as_text(key), key) for key in self.keys()]
        groups = [keys[start : start + size] for start in range(0, len(keys), size)]
        missing = [[k for k in group if digest(k.canonical) not in done] for group in groups[part]]
        with tqdm(total=sum(map(len, missing)), desc=store.kind, unit="row") as bar:
            for group in missing:
                store.add(attempt(k, partial(self.row, k.value, **device)) for k in group)
                bar.update(len(group))
        return store.get(chain(*missing))

    def stored(self, name: str, stores: Sequence[str]) -> pd.DataFrame:
        """The rows of all keys in several stores of the table of this name.

        Raises
        ------
        ValueError
            If a file is no store of the table, a row failed, a key is there twice (in two stores, or
            because one is named twice), or rows have different columns.
        """
        found: dict[str, Any] = {}
        for path in stores:
            with Store(path, name, new=False) as store:
                for key, outcome, error, _ in store.everything():
                    if error or key in found:
                        said = f"each row once and none that failed; {key}: {error or 'twice'}"
                        raise not_allowed("store", path, said)
                    found[key] = outcome if isinstance(outcome, list) else [outcome]
        rows = [*chain(*found.values())]
        if len({*map(tuple, rows)}) != 1:
            raise not_allowed("store", stores, "rows, all with the same columns")
        return pd.DataFrame(rows)

    def whole(self, frame: pd.DataFrame, stores: Sequence[str]) -> pd.DataFrame:
        """What is made of the rows, in the order of their keys; ``ValueError`` if one is missing or
        is none of the table's, or lacks a column."""
        keys = list(self.keys())
        try:
            rows = frame.set_index(self.column, drop=False)
            if odd := {*keys} ^ {*rows.index}:
                said = f"all {len(keys)} rows; {len(odd)} are missing or unknown, as {min(map(repr, odd))}"
                raise not_allowed("store", stores, said)
            frame = rows.loc[keys].reset_index(drop=True)
            return frame if self.finish is None else self.finish(frame)
        except KeyError as lacking:
            raise not_allowed("store", stores, f"rows of the table: {lacking}") from lacking

    def export(self, name: str, stores: Sequence[str], file: Path) -> None:
        """Write the rows of several stores, or without any those of the file, as one table.

        Raises
        ------
        ValueError
            As :meth:`stored` and :meth:`whole`; if columns are not those of the file, where there is
            one; or if a value is missing or infinite in a column that may not be ``empty``.
        """
        if self.write and not stores:
            self.write(None)
            return
        frame = self.whole(self.stored(name, stores) if stores else read_table(file), stores)
        gaps = (frame.isna() | frame.isin([np.inf, -np.inf])).any()
        odd = {*gaps.index[gaps]} - {*self.empty.split()}
        if stores and file.exists():
            odd |= {*frame} ^ {*read_table(file)}
        if odd:
            said = f"those of {file.name} (remove that if they are to change), finite unless among `empty`"
            raise not_allowed("columns", odd, said)
        if self.write:
            self.write(frame)
            return
        digits = None if self.digits is None else f"%.{self.digits}g"
        write: Any = partial(frame.to_csv, float_format=digits, lineterminator="\n")
        if self.suffix == ".parquet":
            write = partial(frame.to_parquet, compression="zstd")
        write_whole({file: partial(write, index=False)})
