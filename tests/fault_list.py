"""Every fault of a sweep, for real, and whether all rows equal an undisturbed run: `python tests/fault_list.py`.

A full disk (a tmpfs of its own, which needs root), a killed parent, worker and Dask scheduler, a deleted and a damaged
store. Each prints what was said, how many rows were kept, and whether the resumed sweep has the same rows. Minutes.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import recallbook as rb
from recallbook.sweeps import run
from recallbook.sweeps.run import executor_for
from recallbook.sweeps.store import Store

SETTINGS = [rb.Setting(vocab=64, seq_len=16, dim=24, samples=4000 + n, trigger_in_values=False) for n in range(20)]
POINTS = [rb.Point(setting, seed, test_samples=4000) for setting in SETTINGS for seed in range(4)]


def child(store, *how):
    return subprocess.Popen([sys.executable, __file__, str(store), *map(str, how)], stderr=subprocess.PIPE, text=True)


def wait_for_rows(store, at_least=2):
    until = time.time() + 600  # a busy machine
    while time.time() < until:
        try:
            with Store(store) as kept:
                if len(kept.keys()) >= at_least:
                    return
        except (ValueError, OSError):
            pass
        time.sleep(0.05)
    raise TimeoutError("no rows were stored")


def said(process):
    lines = [line for line in process.communicate(timeout=1200)[1].splitlines() if line.startswith("said: ")]
    return lines[-1] if lines else f"ended with status {process.returncode}"


def workers_of(process):
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], capture_output=True, text=True)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "spawn_main" in line]


def killed_parent(store):
    process = child(store, "1")
    wait_for_rows(store)
    process.kill()
    return said(process)


def killed_worker(store):
    process = child(store, "2")
    wait_for_rows(store)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    return said(process)


def killed_scheduler(store):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard"]
    work = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler, worker = subprocess.Popen(dask, **quiet), subprocess.Popen(work, **quiet)
    try:
        process = child(store, "1", address)
        wait_for_rows(store)
        scheduler.kill()
        return said(process)
    finally:
        for other in (scheduler, worker):
            other.kill()


def deleted_store(store):
    process = child(store, "1")
    wait_for_rows(store)
    store.unlink()
    return said(process)


def damaged_store(store):
    run.run_sweep(POINTS[:30], store=store)
    content, generator = bytearray(store.read_bytes()), random.Random(0)
    for _ in range(40):
        content[generator.randrange(4096, len(content))] ^= 255
    store.write_bytes(content)
    found = said(child(store, "1"))
    store.unlink()  # the only way on, which the refusal says
    return found


def full_disk(store):
    place = store.parent / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "none", place], capture_output=True).returncode:
        return "not tried: a tmpfs needs root"
    try:
        found = said(child(place / store.name, "1"))
        store.write_bytes((place / store.name).read_bytes())
        return found
    finally:
        subprocess.run(["umount", place], check=True)


def main():
    undisturbed = run.run_sweep(POINTS)
    wrong = 0
    for fault in (full_disk, killed_parent, killed_worker, killed_scheduler, deleted_store, damaged_store):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "s.sqlite"
            words = fault(store)
            with Store(store) as kept:
                rows = len(kept.keys())
            same = run.run_sweep(POINTS, store=store).equals(undisturbed)
            wrong += not same
            print(f"{fault.__name__}: {words}; {rows} of {len(POINTS)} rows kept; all rows as undisturbed: {same}")
    return wrong


if __name__ == "__main__" and len(sys.argv) > 1:
    try:
        with executor_for(int(sys.argv[2]), *sys.argv[3:]) as executor:
            run.SHORTEST = 0.2
            rb.run_sweep(POINTS, executor, sys.argv[1])
    except (ValueError, OSError, RuntimeError) as problem:
        sys.exit(f"said: {type(problem).__name__}: {problem}")
elif __name__ == "__main__":
    sys.exit(main())
