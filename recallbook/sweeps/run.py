"""Many points on draws that they share, on one core or on a cluster, kept in a store that survives
being killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import connection
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from recallbook.arguments import check_flag, check_seed, check_size, not_allowed
from recallbook.data.streams import gaussian_table
from recallbook.data.task import Problem, Sequences, assemble, draw
from recallbook.embedding_laws import Table
from recallbook.setting import Setting
from recallbook.sweeps.point import LATER_FIELDS, OUTCOMES, Point, measure, unique
from recallbook.sweeps.store import Result, Store
from recallbook.training.early_phase import TABLE_NUMBERS, counts_pay


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool for :func:`recallbook.run_sweep`; its processes end when this one does, even if that
    is killed.

    They are started afresh, not forked: a copy of a process that has used torch's threads may hang.
    So a script that makes one needs the usual ``if __name__ == "__main__":``."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        check_size("workers", workers), mp_context=context, initializer=_start
    )


def _start() -> None:
    """Die at once on an interrupt from the keyboard, and with the parent, however that dies."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            connection.wait([parent.sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


@contextmanager
def executor_for(workers: int = 1, scheduler: str | None = None) -> Iterator[Executor | None]:
    """Dask at the address of its scheduler, a pool of processes, or ``None`` for one worker: this
    process.

    Raises
    ------
    ValueError
        If Dask is not installed, or nothing answers at the address.
    """
    workers = check_size("workers", workers)
    if scheduler is not None:
        try:
            from distributed import Client
        except ImportError:
            raise not_allowed(
                "scheduler", scheduler, 'left out without Dask: pip install "recallbook[cluster]"'
            ) from None
        try:
            client: Any = Client(scheduler, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as problem:
            raise not_allowed(
                "scheduler", scheduler, "the address of a Dask scheduler that answers"
            ) from problem
        with client:
            yield client.get_executor()
    elif workers > 1:
        with process_pool(workers) as pool:
            yield pool
    else:
        yield None


def shared_sequences(setting: Setting) -> tuple[tuple[str, Any], ...]:
    """The fields, by name, that two settings must share to have the same sequences up to their
    number."""
    return tuple(
        (name, getattr(setting, name))
        for name in ("vocab", "seq_len", "zipf", "other_zipf", "balanced")
    )


class PairedDraws:
    """Problems of one seed, vocabulary and sequence length, each equal to what
    :func:`recallbook.draw` gives.

    Sequences are drawn once, at the largest ``samples``; tokens are counted once for each
    ``samples``; Gaussian tables are drawn once, at the largest ``dim`` and ``width``. Every problem
    is a cut of these, equal bit for bit.

    Parameters
    ----------
    settings : iterable of Setting
        All with the same ``vocab``, ``seq_len`` and laws of tokens.
    seed : int

    Raises
    ------
    ValueError
        If there is no setting, or vocabularies, lengths or laws of tokens differ.
    """

    def __init__(self, settings: Iterable[Setting], seed: int) -> None:
        wanted = list(settings)
        sizes = {shared_sequences(setting) for setting in wanted}
        if len(sizes) != 1:
            raise not_allowed(
                "settings",
                sorted(map(str, sizes)),
                "settings of one vocab, one seq_len and one law of tokens",
            )
        self.seed = check_seed("seed", seed)
        self._sizes = sizes.pop()
        self._dim = max(setting.dim for setting in wanted)
        self._width = max(setting.width or 0 for setting in wanted)
        # one dimension is enough: sequences and facts do not depend on it
        longest = Setting(dim=1, samples=max(s.samples for s in wanted), **dict(self._sizes))
        self._longest = draw(longest, self.seed)
        self._tables: dict[str, Table] = {}
        self._counted: tuple[int, torch.Tensor] | None = None

    def problem(self, setting: Setting) -> Problem:
        """The problem of one of the settings, or of a smaller one; equal to ``draw(setting,
        seed)``."""
        fits = setting.samples <= len(self._longest.labels) and setting.dim <= self._dim
        fits = fits and (setting.width or 0) <= self._width
        if shared_sequences(setting) != self._sizes or not fits:
            raise not_allowed(
                "setting",
                setting,
                "one of the settings that the draws were made for, or a smaller one",
            )
        sequences = Sequences(*(part[: setting.samples] for part in self._longest.sequences))
        problem = assemble(setting, self.seed, sequences, self._longest.permutation, self._corner)
        if setting.vocab**2 <= TABLE_NUMBERS and counts_pay(problem):
            problem = replace(problem, label_counts=self._label_counts(sequences))
        return problem

    def _label_counts(self, sequences: Sequences) -> torch.Tensor:
        """Tokens counted under each label ``(V, V)``; kept until another number of sequences is
        asked for."""
        samples, vocab = len(sequences.labels), self._longest.setting.vocab
        if self._counted is None or self._counted[0] != samples:
            codes = sequences.labels[:, None] * vocab + sequences.tokens
            counts = torch.bincount(codes.flatten(), minlength=vocab**2).view(vocab, vocab)
            self._counted = samples, counts
        return self._counted[1]

    def _corner(self, seed: int, role: str, rows: int, columns: int) -> Table:
        """What ``gaussian_table`` gives, cut from a table drawn once."""
        if len(self._tables.get(role, ())) < rows:
            most = self._width if role == "mlp_weights" else rows
            self._tables[role] = gaussian_table(seed, role, most, self._dim)
        return np.ascontiguousarray(self._tables[role][:rows, :columns])


SHORTEST, LONGEST = (
    5.0,
    30.0,
)  # estimated seconds of a task: small ones are joined, large ones are cut
Task = list[list[Point]]  # groups of points that share a draw


def run_sweep(
    points: Iterable[Point],
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    *,
    retry: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    r"""Simulate what the store lacks, and return all of it.

    Points of one $(V,L,\text{seed})$ share sequences, and those of one $N$ too share counts; each
    is drawn once in a task and reused over $d$, $m$ and the rates
    (:class:`~recallbook.sweeps.run.PairedDraws`). Results depend neither on the executor nor on
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
        done = kept.keys(failed=False if retry else None)
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


def table(results: Iterable[Result]) -> pd.DataFrame:
    """One row for each result, with the same columns and types whatever is in them."""
    names = [*Point.names(), *OUTCOMES, "error"]
    return typed(pd.DataFrame([result.row for result in results], columns=names))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of results in their types, also where a column is empty, or older than a field."""
    optional = dict.fromkeys(("width", "steps", "batch"), "Int64")
    numbers = dict.fromkeys(
        ("eta", "gamma", "zipf", "other_zipf", "embedding_rate", *OUTCOMES), "float64"
    )
    frame = frame.assign(
        **{name: value for name, value in LATER_FIELDS.items() if name not in frame.columns}
    )
    return frame[[*Point.names(), *OUTCOMES, "error"]].astype(
        {**optional, **numbers, "error": "string"}
    )


def cut(points: Iterable[Point]) -> list[Task]:
    """Tasks of :data:`SHORTEST` to :data:`LONGEST` estimated seconds, as far as points allow.

    A group shares vocabulary, length and seed. One that takes too long is cut at its largest
    ``samples`` first, where cutting costs least; groups that take less are joined."""
    groups: defaultdict[tuple[object, int], list[Point]] = defaultdict(list)
    for point in points:
        groups[shared_sequences(point.setting), point.seed].append(point)
    tasks: list[Task] = []
    joined: Task = []
    room = 0.0
    for group in groups.values():
        for part in _parts(sorted(group, key=lambda point: (point.setting.samples, point.key))):
            cost = sum(point.cost for point in part)
            if joined and cost > room:
                tasks.append(joined)
                joined = []
            if not joined:
                room = SHORTEST
            joined.append(part)
            room -= cost
    return [*tasks, joined] if joined else tasks


def _parts(points: list[Point]) -> Iterator[list[Point]]:
    """Runs of points, each of at most :data:`LONGEST` seconds, or of one point."""
    part: list[Point] = []
    seconds = 0.0
    for point in points:
        if part and seconds + point.cost > LONGEST:
            yield part
            part, seconds = [], 0.0
        part.append(point)
        seconds += point.cost
    yield part


def run_task(task: Task) -> list[Result]:
    """Every point of a task, in order. What a worker runs."""
    return list(_results(task))


def _results(task: Task) -> Iterator[Result]:
    """An error of a point becomes its result. One thread: rounding then depends on nothing else."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for group in task:
            draws: PairedDraws | None = None
            for point in group:
                started = time.perf_counter()
                outcome, error = None, None
                try:
                    draws = draws or PairedDraws([other.setting for other in group], point.seed)
                    outcome = measure(point, draws.problem(point.setting))
                except (
                    Exception
                ) as problem:  # whatever went wrong belongs into the table; the sweep goes on
                    error = f"{type(problem).__name__}: {problem}"
                yield Result(point, outcome, error, time.perf_counter() - started)
    finally:
        torch.set_num_threads(threads)


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
