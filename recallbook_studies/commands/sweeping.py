"""The commands ``sweep`` (or ``table``), ``export`` and ``recompute``: run large experiments, and
keep their results."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from recallbook.arguments import (
    check_choice,
    check_device,
    check_optional,
    check_size,
    not_allowed,
)
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.running.committed import export, recomputed
from recallbook_studies.running.pool import executor_for
from recallbook_studies.running.run import fill
from recallbook_studies.running.store import Store
from recallbook_studies.sweeps import ROW_TABLES, SWEEPS

TABLES = SWEEPS | ROW_TABLES


def listed() -> str:
    """What can be named, and what each shows."""
    width = max(map(len, TABLES))
    lines = (f"  {name:{width}}  {table.shows}" for name, table in TABLES.items())
    return "\n".join(["sweeps and tables:", *lines])


STORE = "SQLite file with the results (default: NAME.sqlite in this folder)"
SWEEP = """\
    Make every row of a sweep, or of another table, that the store lacks. It can be stopped, or killed, at any
    moment: the same command goes on where it was. Failed rows are kept with their error and not made again without
    --retry.

    With --export write the table that ships with the package, as the command export does; without a store, what is
    computed from its rows (predictions) is made anew."""
EXPORT = """\
    Write NAME.parquet or NAME.csv and NAME.json (the command, versions and hashes) from a store that has every row,
    with the columns that it has already, and finite but in columns that may be empty."""
RECOMPUTE = """\
    Make rows of committed results again (of a sweep in a second each, the largest in twenty) and print those that
    differ, with both values. Exit status 1 if any does.
    What counts as the same is said in recallbook_studies.running.committed.recomputed."""


def add(commands: Any, shape: dict[str, Any]) -> str:
    """Add the commands on sweeps and tables to the parser's; return what they run."""
    shape = {**shape, "epilog": f"{listed()}\n\n{shape['epilog']}"}
    sweep = _add(commands, _sweep, "run a sweep, or make a table", SWEEP, shape, aliases=["table"])
    sweep.add_argument("store", metavar="STORE", nargs="?", help=STORE)
    workers, dask = (
        "worker processes (default: 1, this process)",
        "run on this Dask cluster instead",
    )
    sweep.add_argument("--workers", type=int, metavar="N", help=workers)
    sweep.add_argument("--scheduler", metavar="ADDRESS", help=dask)
    device = "where to compute, such as cuda (default: cpu)"
    sweep.add_argument("--device", metavar="NAME", help=device)
    sweep.add_argument("--retry", action="store_true", help="make failed rows again")
    sweep.add_argument("--export", action="store_true", help="write the table that ships")
    out = _add(commands, _export, "export results", EXPORT, shape)
    out.add_argument("store", metavar="STORE", nargs="?", help=STORE)
    folder = "where to write (default: the current folder)"
    out.add_argument("--to", metavar="FOLDER", help=folder)
    again = _add(commands, _recompute, "check committed results", RECOMPUTE, shape)
    count, seed = "how many rows, drawn at random (default: 24)", "which are drawn (default: 0)"
    again.add_argument("--count", type=int, metavar="K", default=24, help=count)
    again.add_argument("--seed", type=int, metavar="S", default=0, help=seed)
    return listed() + "\n"


def _add(commands: Any, run: Any, says: str, text: str, shape: dict[str, Any], **more: Any) -> Any:
    """Add the parser of one command, named as what runs it, on something that has a name."""
    name = run.__name__.removeprefix("_")
    text = textwrap.dedent(text)
    parser = commands.add_parser(name, help=says, description=text, **shape, **more)
    parser.add_argument("name", metavar="NAME", help="which; they are listed below")
    parser.set_defaults(run=run)
    return parser


def _table(chosen: argparse.Namespace) -> RowTable:
    return TABLES[check_choice("name", chosen.name, tuple(TABLES))]


def _store(chosen: argparse.Namespace) -> str:
    return chosen.store or f"{chosen.name}.sqlite"


def _sweep(chosen: argparse.Namespace) -> int:
    table = _table(chosen)
    if chosen.export:
        for name in ("workers", "scheduler", "device", "retry"):
            if getattr(chosen, name):
                raise not_allowed(name, getattr(chosen, name), "left out with --export")
        export(table, chosen.store)
        return 0
    store = _store(chosen)
    if chosen.scheduler and chosen.workers is not None:
        raise not_allowed("workers", chosen.workers, "left out with --scheduler")
    if chosen.device is not None and not table.devices:
        raise not_allowed("device", chosen.device, "left out: this table is made on the CPU")
    device = check_optional(check_device, "device", chosen.device)
    workers = 1 if chosen.workers is None else check_size("workers", chosen.workers)
    keys = table.keys()
    with executor_for(workers, chosen.scheduler) as executor:
        with Store(store, table.kind or table.name) as kept:
            missing = kept.missing(keys, chosen.retry)
            said = f"{table.name}: {len(keys)} rows, {len(missing)} to do, stored in {store}"
            print(said, flush=True)
            fill(table, missing, kept, executor, progress=True, device=device)
            return _told([result.error for result in kept.get(keys)])


def _told(errors: list[str | None]) -> int:
    """Count what is done and what failed, now or before; the exit status."""
    failed = Counter(filter(None, errors))
    print(f"{len(errors) - failed.total()} done, {failed.total()} failed")
    for error, count in failed.most_common():
        print(f"  {count} x {error}")
    return 1 if failed else 0


def _export(chosen: argparse.Namespace) -> int:
    table = _table(chosen)
    if table.write and chosen.to is not None:
        raise not_allowed("to", chosen.to, f"left out: what {table.name} writes has its place")
    to = Path(chosen.to or ".")
    if not to.is_dir():
        raise not_allowed("to", chosen.to, "a folder that is there")
    print(*export(table, _store(chosen), to), sep="\n")
    return 0


def _recompute(chosen: argparse.Namespace) -> int:
    table = _table(chosen)
    stored, made = recomputed(table, chosen.count, chosen.seed)
    wrong = made[~made["same"]].drop(columns="same")
    if len(wrong):
        both = stored.loc[wrong.index, [*wrong]].compare(wrong, result_names=("stored", "now"))
        print(both.to_string())
    print(f"{table.name}: {len(made)} rows recomputed, {len(wrong)} differ")
    return 1 if len(wrong) else 0
