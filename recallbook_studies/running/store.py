"""One SQLite file that holds what was computed: results of points, or the rows of one table, each under
the hash of its key.

Whatever is in the file was committed by one transaction, so a killed process leaves all finished
rows and nothing else; an empty file is a store that was killed while it was made. Every row carries
a checksum. A file that is not a store, or is damaged, is refused and not written to."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

from recallbook.arguments import not_allowed
from recallbook_studies.running.point import Key, digest

APPLICATION = 0x7265636C  # "recl", in the header of every store
VERSION = 1
TABLE = """CREATE TABLE "{kind}" (
    key TEXT PRIMARY KEY,  -- SHA-256 of the next column
    point TEXT NOT NULL,   -- canonical JSON of a point, or of the key of a table's row
    outcome TEXT,          -- JSON; NULL where it failed
    error TEXT,            -- why it failed
    seconds REAL NOT NULL,
    checksum TEXT NOT NULL -- SHA-256 of the columns before `seconds`
)"""
COLUMNS = "key, point, outcome, error, seconds, checksum"
SWEEP = "results"  # the kind of a sweep's store; a row table's is its name

# SQLite's primary codes of a file that is none, is damaged, or has no such table; of what SQLite did not say, 0
DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, 0}


class StoreFault(OSError):
    """The disk, a lock or another process came in the way; rows that were stored before are
    kept."""


class Result(NamedTuple):
    """What became of a row's key: an outcome, which JSON can hold, or an error, and how many seconds
    it took. The key has a ``canonical`` text, under whose hash it is stored."""

    key: Key
    outcome: Any
    error: str | None
    seconds: float


class Store:
    """Results by key in one SQLite file; ``None`` keeps them in memory. Use as a context manager.

    One process writes, and commits each batch at once. A second one may open the same file: each
    row is stored once.

    Parameters
    ----------
    path : str or Path or None
        Made if there is no such file, or an empty one.
    kind : str
        What it holds: ``"results"`` of points, or rows of the table of this name.
    new : bool
        Whether a file that is missing may be made.

    Raises
    ------
    ValueError
        If the file is not a store, is damaged, or is a store of another version or kind. It is left
        as it was.
    StoreFault
        From any method, where the disk, a lock or another process comes in the way: what happened,
        and how to go on.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, kind: str = SWEEP, *, new: bool = True
    ) -> None:
        self.path, self.kind = None if path is None else Path(path), kind
        if self.path is None:
            self._connection = sqlite3.connect(":memory:")
            _create(self._connection, kind)
            return
        with self._faults_named():
            exists = self.path.is_file()
            vacant = self.path.parent.is_dir() and "\n" not in str(path) and not self.path.exists()
            if not exists and not (new and vacant):
                allowed = (
                    "a file that is there (to export, make it first), or a new one, its path on one line and "
                    "in a folder that exists"
                )
                raise not_allowed("store", str(path), allowed)
            mode = "rw" if exists else "rwc"
            address = f"{self.path.absolute().as_uri()}?mode={mode}"
            self._connection = sqlite3.connect(address, uri=True, timeout=60)
            try:
                _check(self._connection, self.path, kind, new)
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def _faults_named(self) -> Iterator[None]:
        """Turn an error of SQLite or the disk into a :class:`StoreFault` of one line."""
        try:
            yield
        except (sqlite3.Error, OSError) as problem:
            code = getattr(problem, "sqlite_errorname", type(problem).__name__)
            said = f"{problem} ({code}): mend that and run it again; what the file has is kept"
            raise StoreFault(f"store {self.path}: {said}") from problem

    def missing(self, keys: Iterable[Key], retry: bool = False) -> list[Key]:
        """Those keys of which nothing is stored, or with ``retry`` nothing but a failure."""
        asked = list(keys)
        stored = {r.key.canonical for r in self.get(asked) if not (retry and r.error)}
        return [key for key in asked if key.canonical not in stored]

    def add(self, results: Iterable[Result]) -> None:
        """Store results in one transaction, or those that are made when making them is interrupted.
        A stored outcome stays; a stored failure is replaced."""
        rows = []
        try:
            for key, outcome, error, seconds in results:
                text = (
                    None if outcome is None else json.dumps(outcome, default=methodcaller("item"))
                )
                row = (digest(key.canonical), key.canonical, text, error)
                rows.append((*row, seconds, _checksum(*row)))
        finally:
            with self._faults_named(), self._connection:
                self._connection.executemany(
                    f'INSERT INTO "{self.kind}" AS old ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE '
                    "SET outcome = excluded.outcome, error = excluded.error, seconds = excluded.seconds, "
                    "checksum = excluded.checksum WHERE old.error IS NOT NULL",
                    rows,
                )

    def get(self, keys: Iterable[Key]) -> list[Result]:
        """Results of those keys that are there, in the order of ``keys``."""
        with self._faults_named():
            rows = self._connection.execute(
                f'SELECT point, outcome, error, seconds FROM "{self.kind}"'
            )
            held = {point: (json.loads(text or "null"), *rest) for point, text, *rest in rows}
        return [Result(key, *held[key.canonical]) for key in keys if key.canonical in held]


def _checksum(*columns: str | None) -> str:
    return digest(json.dumps(columns))


def _create(connection: sqlite3.Connection, kind: str) -> None:
    """Make an empty file a store, in one transaction, unless another process was quicker."""
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA schema_version").fetchone() == (0,):
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(TABLE.format(kind=kind))
    connection.commit()


def _check(connection: sqlite3.Connection, path: Path, kind: str, new: bool) -> None:
    """Refuse what is no store of this version and kind, or is damaged, reading only: its marks,
    SQLite's own check, its table, then every row's key, checksum and seconds. If ``new``, first make
    an empty file one: so is what a process left that was killed while it made it."""
    try:
        if new:
            _create(connection, kind)
        pragmas = "pragma_application_id, pragma_user_version, pragma_integrity_check(1)"
        marks = connection.execute(f"SELECT * FROM {pragmas}").fetchone()
        if marks != (APPLICATION, VERSION, "ok"):
            raise sqlite3.DatabaseError(
                f"its marks are {marks}, and would be {APPLICATION}, {VERSION} and 'ok'"
            )
        for key, point, outcome, error, seconds, checksum in connection.execute(
            f'SELECT {COLUMNS} FROM "{kind}"'
        ):
            # what is no finite number, is not 0 if multiplied by 0
            sound = (digest(point), _checksum(key, point, outcome, error), seconds * 0)
            if sound != (key, checksum, 0):
                raise sqlite3.DatabaseError(
                    f"row {key} does not match its checksum, or {seconds=} is no number"
                )
    except (sqlite3.DatabaseError, UnicodeError, TypeError, AttributeError) as problem:
        if getattr(problem, "sqlite_errorcode", 0) & 0xFF not in DAMAGED:
            raise
        said = " ".join(str(problem).split())
        allowed = f"a store that recallbook made, without damage and of {kind!r} ({said}): it was left as is"
        raise not_allowed("store", str(path), allowed) from problem
