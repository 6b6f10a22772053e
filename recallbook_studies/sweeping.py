"""The commands ``sweep``, ``export``, ``recompute`` and ``table``: run large experiments, and keep
their results."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from recallbook.arguments import (
    check_choice,
    check_device,
    check_optional,
    check_size,
    not_allowed,
)
from recallbook.sweeps.archive import FOLDER, load_results, tables
from recallbook.sweeps.point import OUTCOMES, Point, from_frame
from recallbook.sweeps.run import run_sweep
from recallbook.sweeps.store import Store
from recallbook_studies.catalogue import RowTable, Sweep
from recallbook_studies.committed import export, recomputed
from recallbook_studies.plan import add_plan
from recallbook_studies.pool import executor_for
from recallbook_studies.sweeps import ROW_TABLES, SWEEPS


def listed(**kinds: Mapping[str, Sweep | RowTable]) -> str:
    """What can be named, by kind, and what each shows."""
    width = max(len(name) for known in kinds.values() for name in known)
    lines = []
    for kind, known in kinds.items():
        lines += [
            f"{kind}:",
            *(f"  {name:{width}}  {one.shows}" for name, one in known.items()),
            "",
        ]
    return "\n".join(lines)


def add(commands: Any, shape: dict[str, Any]) -> str:
    """Add all commands to the parser's, which finds this by its entry point; return what they run."""
    end = shape["epilog"]
    add_plan(commands, shape)
    add_sweeps(commands, {**shape, "epilog": f"{listed(sweeps=SWEEPS)}\n{end}"})
    add_table(commands, {**shape, "epilog": f"{listed(tables=ROW_TABLES)}\n{end}"})
    return listed(sweeps=SWEEPS, tables=ROW_TABLES)


STORE = (str, "FILE", None, "SQLite file with the results (default: NAME.sqlite in this folder)")


def _add(commands: Any, name: str, says: str, text: str, shape: dict[str, Any]) -> Any:
    """The parser of one command on something that has a name."""
    parser = commands.add_parser(name, help=says, description=textwrap.dedent(text), **shape)
    kind = "table" if name == "table" else "sweep"
    parser.add_argument("name", metavar="NAME", help=f"which {kind}; they are listed below")
    return parser


def add_sweeps(commands: Any, shape: dict[str, Any]) -> None:
    """Add the commands on sweeps to the parser's."""
    text = """\
        Simulate every point of a sweep that the store lacks. A sweep can be stopped, or killed, at any moment: the
        same command goes on where it was. Failed points are kept with their error and not run again without --retry."""
    sweep = _add(commands, "sweep", "run a sweep", text, shape)
    sweep.options(
        {
            "store": STORE,
            "workers": (int, "N", 1, "worker processes (default: 1, this process)"),
            "scheduler": (
                str,
                "ADDRESS",
                None,
                "run on the Dask cluster with this scheduler instead",
            ),
            "limit": (int, "K", None, "stop after K more points (default: all)"),
        }
    )
    sweep.flags({"retry": "run failed points again"})
    sweep.set_defaults(run=_sweep)
    text = """\
        Write NAME.parquet (one row for each point, sorted), NAME.csv (means over seeds) and NAME.json (the command,
        versions and hashes) from a store that has every point of the sweep."""
    out = _add(commands, "export", "export results", text, shape)
    folder = "where to write (default: the current folder)"
    out.options({"store": STORE, "to": (str, "FOLDER", ".", folder)})
    out.set_defaults(run=_export)
    text = """\
        Simulate rows of committed results again and print those that differ, with both values. Exit status 1 if any
        does. What counts as the same is said in recallbook_studies.committed.recomputed."""
    again = _add(commands, "recompute", "check committed results", text, shape)
    again.options(
        {
            "count": (int, "K", 24, "how many rows, drawn at random (default: 24)"),
            "seed": (int, "S", 0, "which rows are drawn (default: 0)"),
            "seconds": (float, "T", 1.0, "only rows estimated at most so long (default: 1)"),
        }
    )
    again.set_defaults(run=_recompute)


def add_table(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command on row tables to the parser's."""
    text = """\
        Make the rows of a table that the file STORE lacks, one by one; it can be stopped at any moment, and the same
        command goes on where it was. With --export write the table that ships with the package from one or several such
        files; without any, what is computed from its rows (predictions) is made anew."""
    parser = _add(commands, "table", "make a table of rows", text, shape)
    parser.add_argument("store", metavar="STORE", nargs="*", type=Path, help="CSV file of rows")
    parser.flags({"export": "write the table that ships"})
    parser.options(
        {
            "part": (_part, "I/N", slice(None), "every Nth row from I on"),
            "device": (str, "NAME", None, "where to train, such as cuda (default: cpu)"),
        }
    )
    parser.set_defaults(run=_table)


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
    torch.set_num_threads(1)
    if chosen.export:
        file = tables().get(chosen.name, FOLDER / "tables" / f"{chosen.name}{table.suffix}")
        write = table.write or partial(table.export, file=Path(str(file)))
        write(chosen.store)
    elif len(chosen.store) == 1:
        device = {} if chosen.device is None else {"device": check_device("device", chosen.device)}
        table.fill(chosen.store[0], chosen.part, **device)
    else:
        raise not_allowed("store", [*map(str, chosen.store)], "one file to fill")
    return 0


def _points(name: str) -> list[Point]:
    return SWEEPS[check_choice("name", name, tuple(SWEEPS))].points()


def _sweep(chosen: argparse.Namespace) -> int:
    points = _points(chosen.name)
    store = chosen.store or f"{chosen.name}.sqlite"
    check_size("workers", chosen.workers)
    limit = check_optional(check_size, "limit", chosen.limit)
    with Store(store) as kept:
        done = kept.keys(failed=False if chosen.retry else None)
    missing = [point for point in points if point.key not in done][:limit]
    said = f"{chosen.name}: {len(points)} points, {len(missing)} to do, stored in {store}"
    print(said, flush=True)
    with executor_for(chosen.workers, chosen.scheduler) as executor:
        frame = run_sweep(missing, executor, store, retry=chosen.retry, progress=True)
    failed = frame["error"].dropna()
    print(f"{len(frame) - len(failed)} done, {len(failed)} failed")
    for error, count in failed.value_counts().items():
        print(f"  {count} x {error}")
    return 1 if len(failed) else 0


def _export(chosen: argparse.Namespace) -> int:
    points = _points(chosen.name)
    command = " && ".join(f"python -m recallbook {do} {chosen.name}" for do in ("sweep", "export"))
    store = chosen.store or f"{chosen.name}.sqlite"
    print(*export(chosen.name, points, store, chosen.to, command), sep="\n")
    return 0


def _recompute(chosen: argparse.Namespace) -> int:
    found = recomputed(chosen.name, chosen.count, chosen.seed, chosen.seconds)
    wrong = found[~found["same"]]
    stored = load_results(chosen.name).loc[wrong.index]
    points = from_frame(stored)
    for row, point in zip(wrong.index, points, strict=True):
        print(f"row {row}: {point.canonical}")
        for outcome in (*OUTCOMES, "error"):
            before, after = stored.loc[row, outcome], wrong.loc[row, outcome]
            if not (pd.isna(before) and pd.isna(after)) and str(before) != str(after):
                print(f"  {outcome}: stored {before}, now {after}")
    print(f"{chosen.name}: {len(found)} rows recomputed, {len(wrong)} differ")
    return 1 if len(wrong) else 0
