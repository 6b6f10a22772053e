"""What the command line runs: sweeps, and tables made row by row."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
from recallbook_studies.running.store import Store, as_text


class Sweep(NamedTuple):
    """What a sweep shows, and its points."""

    shows: str
    points: Callable[[], list[Point]]


class Case(NamedTuple):
    """The key of a table's row, as JSON for the store and as :attr:`RowTable.row` takes it."""

    canonical: str
    key: Any


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
    empty : str or list of str
        Columns in which a value may be missing or infinite.
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
    empty: str | list[str] = ""

    def keys_in(self, frame: pd.DataFrame) -> list[Any]:
        """The key of every row of a frame."""
        return list(frame.set_index(self.column).index)

    def missing(
        self, store: Store, part: slice = slice(None), retry: bool = False
    ) -> list[list[Case]]:
        """The keys of a part that a store lacks, or whose rows failed if ``retry``; those that are
        stored together are one list."""
        done, size = store.keys(retry), self.together
        cases = [Case(as_text(key), key) for key in self.keys()]
        groups = [cases[start : start + size] for start in range(0, len(cases), size)]
        return [[c for c in group if digest(c.canonical) not in done] for group in groups[part]]

    def fill(self, store: Store, groups: Sequence[list[Case]], **device: Any) -> None:
        """Make rows, and store each group as soon as it is there, or what there is of it where it is
        stopped; an error is stored in place of its row."""
        with tqdm(total=sum(map(len, groups)), desc=store.kind, unit="row") as bar:
            for group in groups:
                store.add(attempt(c, partial(self.row, c.key, **device)) for c in group)
                bar.update(len(group))

    def stored(self, name: str, stores: Sequence[str]) -> pd.DataFrame:
        """The rows of several stores of the table of this name. A key may be in two of them if its
        rows are the same to the last digit.

        Raises
        ------
        ValueError
            If a store is there twice or is no store of the table, a row failed or differs between
            stores, or rows have different columns.
        """
        if len({*map(os.path.realpath, stores)}) < len(stores):
            raise not_allowed("store", stores, "each store once")
        found: dict[str, str | None] = {}
        for path in stores:
            with Store(path, name, new=False) as store:
                for key, (outcome, error, _) in store.texts().items():
                    if error is not None:
                        raise not_allowed("store", path, f"no failed row, as {key} is: {error}")
                    if found.setdefault(key, outcome) != outcome:
                        raise not_allowed("store", stores, f"one row of a key; two of {key} differ")
        made = [json.loads(outcome or "") for outcome in found.values()]
        rows = [row for part in made for row in (part if isinstance(part, list) else [part])]
        if len({*map(tuple, rows)}) > 1:
            raise not_allowed("store", stores, "rows of the same columns")
        return pd.DataFrame(rows)

    def whole(self, frame: pd.DataFrame, stores: Sequence[str]) -> pd.DataFrame:
        """What is made of the rows, in the order of their keys; ``ValueError`` if one is missing or
        is none of the table's, lacks a column, or has a value that is missing or infinite in a
        column that may not be ``empty``."""
        order = {key: place for place, key in enumerate(self.keys())}
        try:
            found = self.keys_in(frame)
            if odd := order.keys() ^ set(found):
                allowed = f"all {len(order)} rows and no other; {len(odd)} are missing or unknown, as {min(map(repr, odd))}"
                raise not_allowed("store", stores, allowed)
            places = np.argsort([order[key] for key in found], kind="stable")
            frame = frame.iloc[places].reset_index(drop=True)
            frame = frame if self.finish is None else self.finish(frame)
        except KeyError as lacking:
            raise not_allowed("store", stores, f"rows of the table: {lacking}") from lacking
        gaps = (
            (frame.isna() | frame.isin([np.inf, -np.inf])).any().drop(self.empty, errors="ignore")
        )
        if gaps.any():
            allowed = "finite, or named as what may be `empty` in the table"
            raise not_allowed("columns", [*gaps.index[gaps]], allowed)
        return frame

    def export(self, name: str, stores: Sequence[str], file: Path) -> None:
        """Write the rows of several stores, or without any those of the file, as one table.

        Raises
        ------
        ValueError
            As :meth:`stored` and :meth:`whole`; or if columns are not those of the file, where there
            is one.
        """
        if self.write:
            self.write(self.whole(self.stored(name, stores), stores) if stores else None)
            return
        frame = self.whole(self.stored(name, stores) if stores else read_table(file), stores)
        if stores and file.exists():
            odd = frame.columns.symmetric_difference(read_table(file).columns)
            if len(odd):
                allowed = f"those of {file.name}: remove that first if they are to change"
                raise not_allowed("columns", [*odd], allowed)
        digits = None if self.digits is None else f"%.{self.digits}g"

        def write(path: Path) -> None:
            if self.suffix == ".parquet":
                frame.to_parquet(path, compression="zstd", index=False)
            else:
                frame.to_csv(path, index=False, float_format=digits, lineterminator="\n")

        write_whole({file: write})
