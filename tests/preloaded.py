"""A process that has imported the large libraries, and copies of it that run one module each.

A fresh interpreter spends seconds on torch, SciPy and SymPy before it comes to anything of ours. A copy of this one has
them already, and imports ours itself. It is copied before any library has made a thread.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import queue
import runpy
import subprocess
import sys
import traceback
from pathlib import Path

LIBRARIES = ("torch", "scipy.stats", "scipy.optimize", "sympy.stats", "pandas", "pyarrow", "pytest", "nbformat")


class Preloaded:
    """The process; :meth:`run` is ``python -m`` in a copy of it."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-P", __file__]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, **pipes)

    def run(self, arguments: list[str], folder: Path, environment: dict[str, str], output: Path) -> int:
        """The exit status; what is printed goes to the file ``output``."""
        job = {"arguments": arguments, "folder": str(folder), "environment": environment, "output": str(output)}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


_idle: queue.SimpleQueue[Preloaded] = queue.SimpleQueue()  # as many as ever ran at a time


def run(arguments: list[str], folder: Path, environment: dict[str, str], output: Path) -> int:
    """``python -m`` with these arguments, in that folder and environment: exit status."""
    try:
        process = _idle.get_nowait()
    except queue.Empty:
        process = Preloaded()
        atexit.register(process.close)
    status = process.run(arguments, folder, environment, output)
    _idle.put(process)
    return status


def _serve() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(arguments: list[str], folder: str, environment: dict[str, str], output: str) -> None:
    """As an interpreter that was started so; ends the process."""
    for descriptor, name, mode in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
        os.dup2(os.open(name, mode), descriptor)
    os.dup2(1, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = list(arguments)
    status: object = 0
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    _serve()
