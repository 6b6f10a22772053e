"""Many rows, on one core or on a cluster, kept in a store that survives being killed."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Executor, Future, as_completed
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import Device, check_flag, check_size, not_allowed
from recallbook.data.task import draw
from recallbook.result import OUTCOMES
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.running.archive import typed
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.running.point import NAMES, Key, Point, from_values
from recallbook_studies.running.pool import executor_for
from recallbook_studies.running.store import Result, Store
from recallbook_theory.prediction import predict

Work = Callable[[Sequence[Key]], list[Result]]


def measure(point: Point, device: Device = "cpu") -> dict[str, float]:
    """``accuracy``, ``lock_on`` and ``recall`` of one point; of a decoder ``recall`` alone."""
    problem = draw(point.setting, point.seed, device=device)
    if point.method != "three_steps":
        from recallbook_theory.bounds.decoding import decoded

        return {"recall": decoded(problem, method=point.method)}
    return asdict(evaluate(problem, three_steps(problem), point.test_samples))


def measured(device: Device = "cpu", **fields: Any) -> dict[str, float]:
    """The outcomes of the point with these fields."""
    return measure(from_values(fields), device)


def sweep(name: str, shows: str, empty: str = "", **how: Any) -> RowTable:
    """The table of a sweep: a row for each point, whose fields are its key; ``empty`` are outcomes that
    some points do not have."""
    return RowTable(
        name,
        shows,
        measured,
        " ".join(NAMES),
        empty=f"width other_zipf error {empty}",
        near=1e-9,  # a sum of shares 1/k has these digits, whatever the order in which it was added
        finish=typed,
        kind="results",
        **how,
    )


def run_sweep(
    points: Iterable[Point],
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    *,
    workers: int = 1,
    predicted: bool = False,
    retry: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Simulate what the store lacks, and return all of it.

    Results depend neither on the executor nor on what else is in the sweep.

    Parameters
    ----------
    points : iterable of Point
        Repeated ones are run once.
    executor : concurrent.futures.Executor or None
        Where points run: a process pool, Dask's ``Client.get_executor()``, or any other; ``None`` is
        in this process.
    store : path or None
        SQLite file, written by this process only; made if missing. What is there is not run again,
        so a sweep that was killed goes on where it was. ``None`` keeps nothing.
    workers : int
        In place of an executor: so many processes, which end with this one. A script that asks for more
        than one needs the usual ``if __name__ == "__main__":``.
    predicted : bool
        Add what :func:`recallbook.predict` says of each setting: ``predicted_accuracy`` and so on.
    retry : bool
        Run failed points again. Without it a failure stays a row with its error.
    progress : bool
        Show a bar with the rate and the time left.

    Returns
    -------
    pandas.DataFrame
        One row for each point, in their order: the point's fields, ``accuracy``, ``lock_on``,
        ``recall`` (missing where not measured) and ``error``, the message of a point that failed.

    Raises
    ------
    ValueError
        If a point is not a :class:`Point`, or the store is another file, damaged, or of another
        version.
    RuntimeError
        If no worker came up; or workers, or the scheduler, died: what finished is stored.
    StoreFault
        An OSError: what the disk, or another process, did to the store; what was stored before is
        kept.

    Examples
    --------
    >>> from recallbook import Setting
    >>> frame = run_sweep([Point(Setting(vocab=16, seq_len=4, dim=8, samples=n), seed=0) for n in (50, 5000)])
    >>> frame["lock_on"].tolist()
    [0.70185, 0.94265]
    """
    if executor is not None and not isinstance(executor, Executor):
        raise not_allowed(
            "executor", executor, "a concurrent.futures.Executor, or None for this process"
        )
    retry, progress = check_flag("retry", retry), check_flag("progress", progress)
    predicted = check_flag("predicted", predicted)
    if check_size("workers", workers) > 1 and executor is not None:
        raise not_allowed("workers", workers, "left out beside an executor")
    table, given = sweep("points", "points of a caller"), points
    if isinstance(points, Iterable) and getattr(points, "ndim", 1) != 0:
        given = list(points)
    if not isinstance(given, list) or not all(isinstance(point, Point) for point in given):
        raise not_allowed("points", given, "a list, or another iterable, of recallbook.Point alone")
    keys = [table.key_of(point.values) for point in dict.fromkeys(given)]
    with Store(store, table.kind) as kept, executor_for(workers) as pool:
        missing = kept.missing(keys, retry)
        fill(table, missing, kept, executor or pool, progress=progress)
        results = kept.get(keys)
    rows = [{**r.key.fields, **(r.outcome or {}), "error": r.error} for r in results]
    frame = typed(pd.DataFrame(rows))
    if predicted:
        settings = [point.setting for point in dict.fromkeys(given)]
        guesses = {setting: predict(setting, warn=False) for setting in dict.fromkeys(settings)}
        for name in OUTCOMES:
            frame[f"predicted_{name}"] = [getattr(guesses[s], name) for s in settings]
    return frame


def fill(
    table: RowTable,
    keys: Sequence[Key],
    store: Store,
    executor: Executor | None = None,
    *,
    progress: bool = False,
    device: Device | None = None,
) -> None:
    """Make the rows of these keys and store them: where it is stopped, what was made is stored. An
    error is stored in place of a row."""
    # a worker is sent what makes a row, and not what is done with all rows
    given = {} if device is None else {"device": device}
    work = partial(attempt, replace(table, finish=None, write=None, listed=None), given)
    bar = tqdm(total=len(keys), desc=table.name, unit="row", disable=not progress, smoothing=0.05)

    def record(results: list[Result]) -> None:
        store.add(results)
        bar.update(len(results))

    with bar:
        if executor is None:
            for group in table.groups(keys):
                record(work(group))
        else:
            _on_executor(work, table.groups(keys), executor, record)


def attempt(table: RowTable, given: dict[str, Any], group: Sequence[Key]) -> list[Result]:
    """Make the rows of a ``group`` of keys with one call of ``table.row``, which gets what is ``given``
    too. An error becomes the result of all of them, so that the run goes on. One thread: rounding
    then depends on nothing else."""
    started, threads = time.perf_counter(), torch.get_num_threads()
    torch.set_num_threads(1)
    several = {name: [key.fields[name] for key in group] for name in table.together.split()}
    outcomes: list[tuple[Any, str | None]]
    try:
        rows = table.row(**{**group[0].fields, **several}, **given)
        outcomes = [(row, lacking(table, row)) for row in (rows if several else [rows])]
        if len(outcomes) != len(group):
            raise ValueError(f"{len(outcomes)} rows where {len(group)} were asked for")
    except Exception as problem:
        outcomes = [(None, f"{type(problem).__name__}: {problem}")] * len(group)
    finally:
        torch.set_num_threads(threads)
    seconds = (time.perf_counter() - started) / len(group)
    return [
        Result(key, None if error else row, error, seconds)
        for key, (row, error) in zip(group, outcomes, strict=True)
    ]


def lacking(table: RowTable, row: dict[str, Any]) -> str | None:
    """Name the columns that are missing or not finite in a row and not among ``empty``, as an error; else
    ``None``."""
    known = {name: value for name, value in row.items() if name not in table.empty.split()}
    odd = [
        name
        for name, value in known.items()
        if value in (None, math.inf, -math.inf) or value != value
    ]
    return f"ArithmeticError: missing or not finite: {', '.join(odd)}" if odd else None


def _problem(future: Future[Any]) -> BaseException | None:
    """What became of a finished task instead of results; a scheduler that died leaves it
    cancelled."""
    try:
        return future.exception()
    except CancelledError as cancelled:
        return cancelled


def _on_executor(
    work: Work,
    groups: Sequence[Sequence[Key]],
    executor: Executor,
    record: Callable[[list[Result]], None],
) -> None:
    """Record groups in the order in which they finish. On an interrupt cancel those that wait, and
    record what has finished.

    A group whose worker died has no result: the others go on, then RuntimeError counts them; or it
    says that no worker came up."""
    absent = _problem(executor.submit(list))
    if absent is not None:
        needed = "a script that starts them needs `if __name__ == '__main__':`"
        raise RuntimeError(f"no worker came up, and nothing was run: {needed}") from absent
    under_way = {executor.submit(work, group) for group in groups}
    lost: list[BaseException] = []
    try:
        for future in as_completed(list(under_way)):
            problem = _problem(future)
            if problem is None:
                record(future.result())
            else:
                lost.append(problem)
            under_way.remove(future)
    finally:
        for future in under_way:
            future.cancel()
        for future in under_way:
            if future.done() and _problem(future) is None:
                record(future.result())
    if lost:
        raise RuntimeError(
            f"{len(lost)} of {len(groups)} tasks were lost with their workers; all others are stored, so run it again"
        ) from lost[0]
