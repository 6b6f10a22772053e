"""What the command line runs: committed tables, each with what makes a row of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from recallbook.data.streams import SCHEME
from recallbook_studies.running.archive import load_results
from recallbook_studies.running.point import Key, canonical, plain
from recallbook_studies.running.store import Result


@dataclass(frozen=True)
class RowTable:
    """A committed table whose rows are made again from their own columns, and kept in a store, so
    that a run can be stopped and resumed.

    Parameters
    ----------
    name : str
    shows : str
        What it shows, a line for the list of tables.
    row : callable
        Takes the key's columns by name, and gives the other columns of the row, a mapping; with a
        parameter ``device`` it can be made on a GPU.
    key_columns : str
        Columns of the committed table, with blanks between, that say what is measured: they are the
        list of what there is to run.
    together : str
        Key columns of which one call of ``row`` takes a list each, and gives a list of mappings: rows
        that follow each other and agree in all other key columns are made at once.
    empty : str
        Columns in which a value may be missing or infinite; elsewhere that is a failure.
    digits : int or None
        Significant digits of a CSV table; ``None`` writes all.
    near : float
        How near a number comes to the committed one when its row is made again.
    finish : callable or None
        What is done to all rows before they are written.
    write : callable or None
        Takes all rows, or ``None`` without a store, where what is exported is not a table that ships
        with the package.
    listed : callable or None
        Gives the keys, as mappings, where no committed table has them.
    kind : str
        What its stores say they hold; by default its name, and ``"results"`` for every sweep.
    scheme : int or str
        Version of what makes a row, part of every key: give another where rows change though key
        columns do not, and the rows of two versions never mix.
    """

    name: str
    shows: str
    row: Callable[..., Any]
    key_columns: str
    together: str = ""
    empty: str = ""
    digits: int | None = 6
    near: float = 2e-5
    finish: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    write: Callable[[pd.DataFrame | None], None] | None = None
    listed: Callable[[], Iterable[Mapping[str, Any]]] | None = None
    kind: str = ""
    scheme: int | str = SCHEME

    @property
    def devices(self) -> bool:
        """Whether rows can be made elsewhere than on the CPU."""
        return "device" in inspect.signature(self.row).parameters

    def keys(self) -> list[Key]:
        """Read the keys of all rows, in their order."""
        if self.listed is not None:
            return [self.key_of(fields) for fields in self.listed()]
        committed = load_results(self.name)[self.key_columns.split()]
        return [self.key_of(fields) for fields in committed.to_dict("records")]

    def key_of(self, fields: Mapping[Any, Any]) -> Key:
        """The key with these columns of a row."""
        known = {name: plain(fields[name]) for name in self.key_columns.split()}
        return Key(canonical(known, self.scheme), known)

    def groups(self, keys: Iterable[Key]) -> list[list[Key]]:
        """Split keys into groups whose rows are made at once, by ``together``."""
        if not self.together:
            return [[key] for key in keys]
        alike = [name for name in self.key_columns.split() if name not in self.together.split()]
        by = groupby(keys, lambda key: [key.fields[name] for name in alike])
        return [[*group] for _, group in by]

    def frame(self, results: Iterable[Result]) -> pd.DataFrame:
        """Table the results, none of which failed: columns of the key, then the others."""
        return pd.DataFrame([{**result.key.fields, **result.outcome} for result in results])
