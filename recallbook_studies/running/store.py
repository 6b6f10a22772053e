"""One SQLite file that holds the results of a sweep: a row for each point, under the hash of the
point.

Whatever is in the file was committed by one transaction, so a killed process leaves all finished
rows and nothing else. Every row carries a checksum. A file that is not a store, or is damaged, is
refused and not written to."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from recallbook.arguments import not_allowed
from recallbook_studies.running.point import OUTCOMES, Point

APPLICATION = 0x7265636C  # "recl", in the header of every store
VERSION = 1
TABLE = """CREATE TABLE results (
    key TEXT PRIMARY KEY,  -- SHA-256 of the point
    point TEXT NOT NULL,   -- canonical JSON
    outcome TEXT,          -- JSON; NULL where the point failed
    error TEXT,            -- why it failed
    seconds REAL NOT NULL,
    checksum TEXT NOT NULL -- SHA-256 of the columns before `seconds`
)"""
COLUMNS = "key, point, outcome, error, seconds, checksum"
Outcomes = dict[str, float | None]


# by SQLite's primary code, what happened and how to go on; all other codes say that the file is
# damaged
FAULTS = {
    sqlite3.SQLITE_FULL: "the disk is full: make room and run it again",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written, or is full: make room and run it again",
    sqlite3.SQLITE_READONLY: "it may not be written: change its permissions, or name another file",
    sqlite3.SQLITE_PERM: "it may not be opened: change its permissions, or name another file",
    sqlite3.SQLITE_CANTOPEN: "it could not be opened: look at its folder and permissions",
    sqlite3.SQLITE_BUSY: "another process holds it: wait until that has ended and run it again",
    sqlite3.SQLITE_LOCKED: "another process holds it: wait until that has ended and run it again",
}
GONE = "it was deleted, moved or replaced while it was in use, its rows with it: run it again, from the file that is there"
KEPT = "rows stored before are kept"


class StoreFault(OSError):
    """The disk, a lock or another process came in the way; rows that were stored before are
    kept."""


class Result(NamedTuple):
    """What became of one point: an outcome or an error, and how many seconds it took."""

    point: Point
    outcome: Outcomes | None
    error: str | None
    seconds: float

    @property
    def row(self) -> dict[str, Any]:
        """The point's fields, the outcome's (``None`` where it failed), and ``error``."""
        return {
            **self.point.values,
            **(self.outcome or dict.fromkeys(OUTCOMES)),
            "error": self.error,
        }


class Store:
    """Results by key in one SQLite file; ``None`` keeps them in memory. Use as a context manager.

    One process writes, and commits each batch at once. A second one may open the same file: each
    row is stored once.

    Parameters
    ----------
    path : str or Path or None
        Made if there is no such file.

    Raises
    ------
    ValueError
        If the file is not a store, is damaged, or is a store of another version. It is left as it
        was.
    StoreFault
        From any method, where the disk, a lock or another process comes in the way: what happened,
        and how to go on.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is None:
            self._connection = sqlite3.connect(":memory:")
            _create(self._connection)
            return
        with self._told():
            if not self.path.exists():
                _make(self.path)
            if not self.path.is_file():
                raise not_allowed("store", str(path), "a file")
            self._connection = sqlite3.connect(
                self.path.absolute().as_uri() + "?mode=rw", uri=True, timeout=60
            )
            try:
                _check(self._connection, self.path)
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in one line what the disk or another process did."""
        try:
            yield
        except (sqlite3.Error, OSError) as problem:
            raise StoreFault(f"store {self.path}: {_what_happened(problem)}") from problem

    def keys(self, *, failed: bool | None = None) -> set[str]:
        """Keys of all rows, or of those that did or did not fail."""
        condition = {None: "", True: " WHERE error IS NOT NULL", False: " WHERE error IS NULL"}[
            failed
        ]
        with self._told():
            return {
                key for (key,) in self._connection.execute("SELECT key FROM results" + condition)
            }

    def add(self, results: Iterable[Result]) -> None:
        """Store results in one transaction. A stored outcome stays; a stored failure is
        replaced."""
        rows = []
        for point, outcome, error, seconds in results:
            text = None if outcome is None else json.dumps(outcome, sort_keys=True)
            row = (point.key, point.canonical, text, error)
            rows.append((*row, seconds, _checksum(*row)))
        with self._told(), self._connection:
            self._connection.executemany(
                f"INSERT INTO results ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "outcome = excluded.outcome, error = excluded.error, seconds = excluded.seconds, "
                "checksum = excluded.checksum WHERE results.error IS NOT NULL",
                rows,
            )

    def get(self, points: Iterable[Point]) -> list[Result]:
        """Results of those points that are there, in the order of ``points``."""
        query = "SELECT outcome, error, seconds FROM results WHERE key = ?"
        found = []
        with self._told():
            for point in points:
                row = self._connection.execute(query, (point.key,)).fetchone()
                if row is not None:
                    outcome, error, seconds = row
                    found.append(
                        Result(
                            point, None if outcome is None else json.loads(outcome), error, seconds
                        )
                    )
        return found


def _code(problem: BaseException) -> int:
    """SQLite's extended code; 0 where there is none."""
    return int(getattr(problem, "sqlite_errorcode", 0))


def _what_happened(problem: sqlite3.Error | OSError) -> str:
    if isinstance(problem, OSError):
        return f"{problem.strerror or problem}: mend that and run it again; {KEPT}"
    if _code(problem) == sqlite3.SQLITE_READONLY_DBMOVED:
        return GONE
    damaged = f"it was damaged while it was in use ({problem}): start another"
    return (
        f"{FAULTS[_code(problem) & 0xFF]}; {KEPT}" if _code(problem) & 0xFF in FAULTS else damaged
    )


def _checksum(*columns: str | None) -> str:
    return hashlib.sha256(json.dumps(columns).encode()).hexdigest()


def _create(connection: sqlite3.Connection) -> None:
    connection.executescript(
        f"BEGIN; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {TABLE}; COMMIT;"
    )


def _make(path: Path) -> None:
    """Make an empty store under another name and link it, so that ``path`` is never half a
    store."""
    if not path.parent.is_dir():
        raise not_allowed("store", str(path), "a file in a folder that exists")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".store-") as folder:
        connection = sqlite3.connect(Path(folder) / "new")
        _create(connection)
        connection.close()
        try:
            os.link(Path(folder) / "new", path)
        except FileExistsError:  # another process was quicker
            pass
        except OSError:  # a file system without hard links
            os.replace(Path(folder) / "new", path)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what is no store of this version or is damaged, reading only: its marks, SQLite's own
    check, then every row's checksum and key."""
    try:
        pragmas = ("application_id", "user_version", "integrity_check(1)")
        marks = [connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
        if marks != [APPLICATION, VERSION, "ok"]:
            raise sqlite3.DatabaseError(
                f"marked {marks} in place of {[APPLICATION, VERSION, 'ok']}"
            )
        for key, point, outcome, error, _, checksum in connection.execute(
            f"SELECT {COLUMNS} FROM results"
        ):
            if (
                hashlib.sha256(point.encode()).hexdigest() != key
                or _checksum(key, point, outcome, error) != checksum
            ):
                raise sqlite3.DatabaseError(f"row {key} does not match its checksum")
    except (sqlite3.DatabaseError, UnicodeError, TypeError, AttributeError) as problem:
        if _code(problem) & 0xFF in FAULTS:
            raise
        found = " ".join(str(problem).split())
        allowed = f"a store that recallbook made, without damage ({found}): it was left as is"
        raise not_allowed("store", str(path), allowed) from problem
