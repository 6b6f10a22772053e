"""What the command line runs: sweeps, and tables made row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from recallbook.arguments import not_allowed
from recallbook_studies.running.archive import read_table
from recallbook_studies.running.committed import write_whole
from recallbook_studies.running.point import Point


class Sweep(NamedTuple):
    """What a sweep shows, and its points."""

    shows: str
    points: Callable[[], list[Point]]


@dataclass(frozen=True)
class RowTable:
    """A committed table whose rows are made one by one, in a CSV file that can be stopped and
    resumed.

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
        A divided run is divided into so many rows that follow each other, because they are made at
        once.
    digits : int or None
        Significant digits of a CSV table; ``None`` writes all.
    finish : callable or None
        What is done to all rows before they are written.
    suffix : str
        ``".csv"`` or ``".parquet"``.
    devices : bool
    write : callable or None
        Takes the stores, where what is exported is not a table that ships with the package.
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
    write: Callable[[Sequence[Path]], None] | None = None

    def keys_in(self, frame: pd.DataFrame) -> list[Any]:
        """The key of every row of a frame."""
        return list(frame.set_index(self.column).index)

    def fill(self, store: Path, part: slice = slice(None), **device: Any) -> None:
        """Make the rows of a part that the store lacks; each is written as soon as it is there."""
        keys, size = self.keys(), self.together
        groups = [keys[start : start + size] for start in range(0, len(keys), size)]
        done = set(self.keys_in(pd.read_csv(store))) if store.exists() else set()
        for key in tqdm([key for group in groups[part] for key in group if key not in done]):
            made = self.row(key, **device)
            rows = pd.DataFrame(made if isinstance(made, list) else [made])
            rows.to_csv(store, mode="a", header=not store.exists(), index=False)

    def export(self, stores: Sequence[Path], file: Path) -> None:
        """Write the rows of several stores, or without any those of the file, as one table in
        order.

        Raises
        ------
        ValueError
            If a row is missing.
        """
        frame = pd.concat([read_table(store) for store in stores or [file]], ignore_index=True)
        order = {key: place for place, key in enumerate(self.keys())}
        if missing := len(order.keys() - set(self.keys_in(frame))):
            allowed = f"files with all {len(order)} rows; {missing} are missing: make them first"
            raise not_allowed("store", [str(store) for store in stores], allowed)
        places = np.argsort([order[key] for key in self.keys_in(frame)], kind="stable")
        frame = frame.iloc[places].reset_index(drop=True)
        frame = frame if self.finish is None else self.finish(frame)
        digits = None if self.digits is None else f"%.{self.digits}g"

        def write(path: Path) -> None:
            if self.suffix == ".parquet":
                frame.to_parquet(path, compression="zstd", index=False)
            else:
                frame.to_csv(path, index=False, float_format=digits, lineterminator="\n")

        write_whole({file: write})
