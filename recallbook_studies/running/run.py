"""Many points on draws that they share, on one core or on a cluster, kept in a store that survives
being killed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, as_completed
from dataclasses import asdict
from functools import cache, partial
from typing import Any

import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import check_flag, not_allowed
from recallbook.data.task import Problem
from recallbook.training.descent import three_steps
from recallbook.training.evaluation import evaluate
from recallbook_studies.running.archive import table
from recallbook_studies.running.paired import PairedDraws, Task, cut
from recallbook_studies.running.point import OUTCOMES, Point, unique
from recallbook_studies.running.store import Result, Store


def measure(point: Point, problem: Problem) -> dict[str, float | None]:
    """``accuracy``, ``lock_on`` and ``recall`` of one point on its own draw; ``None`` where not
    measured."""
    if point.method != "three_steps":
        from recallbook_theory.bounds.decoding import decoded

        return dict(zip(OUTCOMES, (None, None, decoded(problem, method=point.method)), strict=True))
    return asdict(evaluate(problem, three_steps(problem), point.test_samples))


def run_sweep(
    points: Iterable[Point],
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    *,
    retry: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Simulate what the store lacks, and return all of it.

    Points of one $(V,L,\text{seed})$ share sequences, drawn once in a task and reused over $N$, $d$
    and $m$ (:class:`~recallbook_studies.running.paired.PairedDraws`). Results depend neither on the executor nor on
    what else is in the sweep.

    Parameters
    ----------
    points : iterable of Point
        Repeated ones are run once.
    executor : concurrent.futures.Executor or None
        Where tasks run: a process pool, Dask's ``Client.get_executor()``, or any other; ``None`` is
        in this process.
    store : path or None
        SQLite file, written by this process only; made if missing. What is there is not run again,
        so a sweep that was killed goes on where it was. ``None`` keeps nothing.
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
        If workers, or the scheduler, died: what finished is stored.
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
    wanted = unique(points)
    with Store(store) as kept:
        done = kept.keys(retry)
        missing = [point for point in wanted if point.key not in done]
        tasks = cut(missing)
        with tqdm(total=len(missing), unit="point", disable=not progress, smoothing=0.05) as bar:

            def record(results: list[Result]) -> None:
                kept.add(results)
                bar.update(len(results))

            if executor is None:
                for task in tasks:
                    for result in _results(task):
                        record([result])
            else:
                _elsewhere(tasks, executor, record)
        return table(kept.get(wanted))


def run_task(task: Task) -> list[Result]:
    """Every point of a task, in order. What a worker runs."""
    return list(_results(task))


def _results(task: Task) -> Iterator[Result]:
    """The results of a task, one by one. One thread: rounding then depends on nothing else."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for group in task:
            settings = [point.setting for point in group]
            draws = cache(partial(PairedDraws, settings, group[0].seed))
            for point in group:
                yield attempt(
                    point,
                    lambda point=point, draws=draws: measure(point, draws().problem(point.setting)),  # type: ignore[misc]
                )
    finally:
        torch.set_num_threads(threads)


def attempt(point: Any, make: Callable[[], Any]) -> Result:
    """What becomes of a point, or of a row's key: whatever goes wrong belongs into the table, and
    the run goes on."""
    started = time.perf_counter()
    outcome = error = None
    try:
        outcome = make()
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    return Result(point, outcome, error, time.perf_counter() - started)


def _problem(future: Future[list[Result]]) -> BaseException | None:
    """What became of a finished task instead of results; a scheduler that died leaves it
    cancelled."""
    try:
        return future.exception()
    except CancelledError as cancelled:
        return cancelled


def _elsewhere(
    tasks: list[Task], executor: Executor, record: Callable[[list[Result]], None]
) -> None:
    """Record tasks in the order in which they finish; left early, cancel the rest and record what
    has finished.

    A task that never came back, because its worker died, is no result: the others go on, then it is
    reported."""
    under_way = {executor.submit(run_task, task) for task in tasks}
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
            f"{len(lost)} of {len(tasks)} tasks were lost with their workers; all others are stored, so run it again"
        ) from lost[0]
