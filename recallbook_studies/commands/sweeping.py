"""The commands ``sweep``, ``export``, ``recompute`` and ``table``: run large experiments, and keep
their results."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from recallbook.arguments import (
    check_choice,
    check_device,
    check_optional,
    check_size,
    not_allowed,
)
from recallbook_studies.running.archive import FOLDER, load_results
from recallbook_studies.running.catalogue import RowTable, Sweep
from recallbook_studies.running.committed import export, recomputed
from recallbook_studies.running.point import OUTCOMES, Point
from recallbook_studies.running.pool import executor_for
from recallbook_studies.running.run import run_sweep
from recallbook_studies.running.store import Store
from recallbook_studies.sweeps import ROW_TABLES, SWEEPS


def listed(kind: str, known: Mapping[str, Sweep | RowTable]) -> str:
    """What can be named, and what each shows."""
    width = max(map(len, known))
    return "\n".join([f"{kind}:", *(f"  {name:{width}}  {x.shows}" for name, x in known.items())])


def add(commands: Any, shape: dict[str, Any]) -> str:
    """Add the commands on sweeps and tables to the parser's; return what they run."""
    sweeps, row_tables = listed("sweeps", SWEEPS), listed("tables", ROW_TABLES)
    add_sweeps(commands, {**shape, "epilog": f"{sweeps}\n\n{shape['epilog']}"})
    add_table(commands, {**shape, "epilog": f"{row_tables}\n\n{shape['epilog']}"})
    return f"{sweeps}\n\n{row_tables}\n"


STORE = "SQLite file with the results (default: NAME.sqlite in this folder)"
SWEEP = """\
    Simulate every point of a sweep that the store lacks. A sweep can be stopped, or killed, at any moment: the same
    command goes on where it was. Failed points are kept with their error and not run again without --retry."""
EXPORT = """\
    Write NAME.parquet (one row for each point, sorted) and NAME.json (the command, versions and hashes) from a store
    that has every point of the sweep."""
RECOMPUTE = """\
    Simulate rows of committed results again and print those that differ, with both values. Exit status 1 if any
    does. What counts as the same is said in recallbook_studies.running.committed.recomputed."""
TABLE = """\
    Make the rows of a table that the store lacks, one by one. It can be stopped, or killed, at any moment: the same
    command goes on where it was. Failed rows are kept with their error and not made again without --retry.

    With --export write the table that ships with the package, from stores that have every row once between them, with
    the columns that it has already, and finite but in columns that may be empty. Without any store, what is computed
    from its rows (predictions) is made anew."""


def _add(commands: Any, run: Any, says: str, text: str, shape: dict[str, Any]) -> Any:
    """The parser of one command, named as what runs it, on something that has a name."""
    name = run.__name__.removeprefix("_")
    parser = commands.add_parser(name, help=says, description=textwrap.dedent(text), **shape)
    parser.add_argument("name", metavar="NAME", help="which; they are listed below")
    parser.set_defaults(run=run)
    return parser


def add_sweeps(commands: Any, shape: dict[str, Any]) -> None:
    """Add the commands on sweeps to the parser's."""
    sweep = _add(commands, _sweep, "run a sweep", SWEEP, shape)
    dask = "run on the Dask cluster with this scheduler instead"
    workers = "worker processes (default: 1, this process)"
    limit = "stop after K more points (default: all)"
    sweep.add_argument("--store", metavar="FILE", help=STORE)
    sweep.add_argument("--workers", type=int, metavar="N", default=1, help=workers)
    sweep.add_argument("--scheduler", metavar="ADDRESS", help=dask)
    sweep.add_argument("--limit", type=int, metavar="K", help=limit)
    sweep.add_argument("--retry", action="store_true", help="run failed points again")
    out = _add(commands, _export, "export results", EXPORT, shape)
    folder = "where to write (default: the current folder)"
    dask = "the scheduler that the sweep ran on, for the record"
    out.add_argument("--store", metavar="FILE", help=STORE)
    out.add_argument("--to", metavar="FOLDER", default=".", help=folder)
    out.add_argument("--scheduler", metavar="ADDRESS", help=dask)
    again = _add(commands, _recompute, "check committed results", RECOMPUTE, shape)
    count, seed = "how many rows, drawn at random (default: 24)", "which are drawn (default: 0)"
    seconds = "only rows estimated at most so long (default: 1)"
    again.add_argument("--count", type=int, metavar="K", default=24, help=count)
    again.add_argument("--seed", type=int, metavar="S", default=0, help=seed)
    again.add_argument("--seconds", type=float, metavar="T", default=1.0, help=seconds)


def add_table(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command on row tables to the parser's."""
    parser = _add(commands, _table, "make a table of rows", TABLE, shape)
    parser.add_argument("store", metavar="STORE", nargs="*", help="SQLite file of rows")
    device, part = "where to train, such as cuda (default: cpu)", "every Nth row from I on"
    parser.add_argument("--export", action="store_true", help="write the table that ships")
    parser.add_argument("--retry", action="store_true", help="make failed rows again")
    parser.add_argument("--part", type=_part, metavar="I/N", default=slice(None), help=part)
    parser.add_argument("--device", metavar="NAME", help=device)


def _part(text: str) -> slice:
    first, step = map(int, text.split("/"))
    if not 0 <= first < step:
        raise ValueError
    return slice(first, None, step)


_part.__name__ = "I/N, with I from 0 to below N,"  # as argparse complains


def _table(chosen: argparse.Namespace) -> int:
    table = ROW_TABLES[check_choice("name", chosen.name, tuple(ROW_TABLES))]
    if chosen.device is not None and not table.devices:
        raise not_allowed("device", chosen.device, "left out: this table is made on the CPU")
    device = {} if chosen.device is None else {"device": check_device("device", chosen.device)}
    torch.set_num_threads(1)
    if chosen.export:
        file = Path(str(FOLDER)) / "tables" / f"{chosen.name}{table.suffix}"
        table.export(chosen.name, chosen.store, file)
        return 0
    if len(chosen.store) != 1:
        raise not_allowed("store", chosen.store, "one file to fill")
    with Store(chosen.store[0], chosen.name) as kept:
        results = table.fill(kept, chosen.part, chosen.retry, **device)
    return _told([result.error for result in results])


def _told(errors: Collection[str | None]) -> int:
    """Count what is done and what failed; the exit status."""
    failed = Counter(filter(None, errors))
    print(f"{len(errors) - failed.total()} done, {failed.total()} failed")
    for error, count in failed.most_common():
        print(f"  {count} x {error}")
    return 1 if failed else 0


def _points_and_store(chosen: argparse.Namespace) -> tuple[list[Point], str]:
    points = SWEEPS[check_choice("name", chosen.name, tuple(SWEEPS))].points()
    return points, chosen.store or f"{chosen.name}.sqlite"


def _sweep(chosen: argparse.Namespace) -> int:
    points, store = _points_and_store(chosen)
    check_size("workers", chosen.workers)
    limit = check_optional(check_size, "limit", chosen.limit)
    with executor_for(chosen.workers, chosen.scheduler) as executor:
        with Store(store) as kept:
            done = kept.keys(chosen.retry)
        missing = [point for point in points if point.key not in done][:limit]
        said = f"{chosen.name}: {len(points)} points, {len(missing)} to do, stored in {store}"
        print(said, flush=True)
        frame = run_sweep(missing, executor, store, retry=chosen.retry, progress=True)
    return _told(frame["error"].fillna(""))


def _export(chosen: argparse.Namespace) -> int:
    points, store = _points_and_store(chosen)
    where = f" --scheduler {chosen.scheduler}" if chosen.scheduler else ""
    command = " && ".join(
        f"python -m recallbook {do} {chosen.name}{where}" for do in ("sweep", "export")
    )
    print(*export(chosen.name, points, store, chosen.to, command), sep="\n")
    return 0


def _recompute(chosen: argparse.Namespace) -> int:
    found = recomputed(chosen.name, chosen.count, chosen.seed, chosen.seconds)
    wrong = found[~found["same"]]
    stored = load_results(chosen.name).loc[wrong.index]
    if len(wrong):
        compared = [*OUTCOMES, "error"]
        both = stored[compared].compare(wrong[compared], result_names=("stored", "now"))
        print(both.to_string())
    print(f"{chosen.name}: {len(found)} rows recomputed, {len(wrong)} differ")
    return 1 if len(wrong) else 0
