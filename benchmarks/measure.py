"""Time and peak memory of one function, in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """Best time of one call in seconds, and the memory that the calls needed above what stood
    before, in MiB."""

    seconds: float
    mebibytes: float


def cost(
    prepare: Callable[[], Any], work: Callable[[Any], Any], repeats: int, threads: int = 1
) -> Cost:
    """Run ``work(prepare())`` in a fresh process. Peak memory of a process never falls, so each
    needs its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measured, (prepare, work, repeats, threads))


def _measured(prepare, work, repeats, threads) -> Cost:
    import torch

    torch.set_num_threads(threads)
    subject = prepare()
    before = _peak()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work(subject)
        times.append(time.perf_counter() - start)
    return Cost(min(times), _peak() - before)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
