"""The book on other processors, tried on this one: `make test-kernels`.

Linear algebra picks its routines by processor, and environment variables make it pick another
processor's: other orders of summation, other last digits. Every chapter is recomputed by nbval, and
rows of every committed sweep are simulated again, under each set of kernels; one line is printed
for each."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recallbook_studies.running import archive

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "notebooks").glob("*.ipynb"))
ROWS = 48  # of each sweep
SETS = tomllib.loads((ROOT / "tests" / "kernels.toml").read_text(encoding="utf-8"))
CHOSEN = tuple(dict.fromkeys(name for kernels in SETS.values() for name in kernels))


def usable() -> list[str]:
    """Sets that this processor can run: asking for AVX-512 where there is none ends the process."""
    cpu = Path("/proc/cpuinfo")
    flags = cpu.read_text(encoding="utf-8") if cpu.exists() else ""
    wanted = {"default": "", "avx2": "avx2", "avx512": "avx512f"}
    return [
        name for name, kernels in SETS.items() if wanted[kernels["ATEN_CPU_CAPABILITY"]] in flags
    ]


def run(kernels: dict[str, str], arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Python with these arguments and kernels; other settings of the same kind are taken away."""
    environment = {name: value for name, value in os.environ.items() if name not in CHOSEN}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, **kernels},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def chapters(kernels: dict[str, str], notebooks: list[str], workers: int) -> tuple[str, str]:
    """How many cells nbval compared, and what it printed if any differed."""
    nbval = "-m pytest -q --nbval -p no:cacheprovider --dist loadscope -n".split()
    done = run(kernels, [*nbval, str(workers), *notebooks])
    passed = re.search(r"(\d+) passed", done.stdout)
    count = f"{passed.group(1) if passed else 0} cells of {len(notebooks)} chapters"
    return count, "" if done.returncode == 0 else done.stdout[-6000:] + done.stderr[-2000:]


def sweeps(kernels: dict[str, str], rows: int, seed: int, workers: int) -> tuple[str, str]:
    """How many rows were recomputed, and what was printed for those that differed."""
    names = archive.names()
    calls = [
        ["-m", "recallbook", "recompute", name, "--count", str(rows), "--seed", str(seed)]
        for name in names
    ]
    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(lambda call: run(kernels, call), calls))
    wrong = "".join(one.stdout + one.stderr for one in done if one.returncode != 0)
    return f"{rows} rows of {len(names)} sweeps", wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("notebooks", nargs="*", default=NOTEBOOKS, help="chapters (default: all)")
    parser.add_argument(
        "--rows", type=int, default=ROWS, help=f"rows of each sweep (default: {ROWS})"
    )
    parser.add_argument("--seed", type=int, default=0, help="which rows (default: 0)")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("--only", help="one set of kernels, by the start of its name")
    chosen = parser.parse_args(arguments)
    names = [name for name in usable() if name.startswith(chosen.only or "")]
    if len(names) < 3 and not chosen.only:
        print(f"only {len(names)} sets of kernels run on this processor; three are needed")
        return 1
    failed = False
    for name in names:
        start = time.monotonic()
        counted, wrong = zip(
            chapters(SETS[name], chosen.notebooks, chosen.workers),
            sweeps(SETS[name], chosen.rows, chosen.seed, chosen.workers),
            strict=True,
        )
        minutes = (time.monotonic() - start) / 60
        verdict = "DIFFERENT" if any(wrong) else "all equal"
        print(f"{name:40}{'; '.join(counted)}: {verdict} ({minutes:.1f} min)", flush=True)
        print("".join(wrong), end="", flush=True)
        failed = failed or any(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
