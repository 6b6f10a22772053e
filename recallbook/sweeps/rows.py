"""Tables whose rows are made one by one: a CSV file that can be stopped and resumed, and its
command line."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable, Iterable, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import check_device


def extend(
    store: Path, name: str, keys: Iterable[Any], make: Callable[[Any], dict[str, Any]]
) -> None:
    """Make the rows that the store lacks, by the key in its column ``name``; each is written as
    soon as it is there."""
    done = set(pd.read_csv(store)[name]) if store.exists() else set()
    for key in tqdm([key for key in keys if key not in done]):
        row = make(key)
        new = not store.exists()
        with store.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)


def join(
    stores: Iterable[Path], name: str, keys: Iterable[Any], file: Traversable, digits: int = 6
) -> None:
    """Write the rows of several stores as one table, in the order of the keys in its column
    ``name``."""
    order = {key: index for index, key in enumerate(keys)}
    frame = pd.concat([pd.read_csv(store) for store in stores])
    frame = frame.sort_values(name, key=lambda found: found.map(order), ignore_index=True)
    whole = Path(f"{file}.new")  # a full disk must not leave half a table
    try:
        frame.to_csv(whole, index=False, float_format=f"%.{digits}g", lineterminator="\n")
        os.replace(whole, str(file))
    finally:
        whole.unlink(missing_ok=True)


def command_line(
    program: str,
    description: str | None,
    fill: Callable[..., None],
    export: Callable[[Sequence[Path]], None],
    arguments: list[str] | None = None,
    *,
    devices: bool = False,
) -> None:
    """``STORE`` fills a file, on one thread; ``--part i/n`` every n-th row from i on; ``--export``
    writes the table.

    ``fill`` takes the store and the part; with ``devices`` the device of ``--device``, too.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}", description=(description or "").split("\n")[0]
    )
    parser.add_argument(
        "store", type=Path, nargs="*", help="CSV file to which rows are added; several to export"
    )
    parser.add_argument(
        "--export", action="store_true", help="write the table that ships with the package"
    )
    parser.add_argument("--part", default="0/1", help="i/n: every n-th row from i on (default 0/1)")
    if devices:
        parser.add_argument(
            "--device", default="cpu", help="where to train, such as cuda (default cpu)"
        )
    chosen = parser.parse_args(arguments)
    first, step = map(int, chosen.part.split("/"))
    torch.set_num_threads(1)
    if chosen.export:
        export(chosen.store)
    else:
        more = {"device": check_device("device", chosen.device)} if devices else {}
        fill(chosen.store[0], slice(first, None, step), **more)


def keyed_table(
    program: str,
    description: str | None,
    keys: Sequence[str],
    make: Callable[[str], dict[str, Any]],
    file: Traversable,
    *,
    together: int = 1,
    arguments: list[str] | None = None,
) -> None:
    """The command line of a table whose rows have a name of their own in the column ``key``, in
    this order.

    Parts of a divided run are of ``together`` rows that follow each other, because they are made at
    once."""
    groups = [keys[start : start + together] for start in range(0, len(keys), together)]
    command_line(
        program,
        description,
        lambda store, part: extend(
            store, "key", [key for group in groups[part] for key in group], make
        ),
        lambda stores: join(stores, "key", keys, file),
        arguments,
    )
