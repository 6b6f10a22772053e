"""Where a sweep runs: this process, a pool of them, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any

from recallbook.arguments import check_size, not_allowed


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
        If Dask is not installed.
    OSError
        If nothing answers at the address.
    """
    if scheduler is not None:
        try:
            from distributed import Client
        except ImportError:
            raise not_allowed(
                "scheduler", scheduler, "left out without Dask: pip install distributed"
            ) from None
        client: Any = Client(scheduler, timeout=10)  # type: ignore[no-untyped-call]
        with client:
            yield client.get_executor()
    elif workers > 1:
        with process_pool(workers) as pool:
            yield pool
    else:
        yield None
