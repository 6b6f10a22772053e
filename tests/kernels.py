"""The project on other processors, tried on this one: `make test-kernels`.

Linear algebra picks its routines by processor, and environment variables make it pick another
processor's: other orders of summation, other last digits. ``python tests/kernels.py TARGET ...``
makes these targets under each set of kernels.toml that this processor can run."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETS = tomllib.loads((ROOT / "tests" / "kernels.toml").read_text(encoding="utf-8"))
CHOSEN = {name for kernels in SETS.values() for name in kernels}


def usable() -> list[str]:
    """Sets that this processor can run: asking for AVX-512 where there is none ends the process."""
    cpu = Path("/proc/cpuinfo")
    flags = cpu.read_text(encoding="utf-8") if cpu.exists() else ""
    wanted = {"default": "", "avx2": "avx2", "avx512": "avx512f"}
    return [
        name for name, kernels in SETS.items() if wanted[kernels["ATEN_CPU_CAPABILITY"]] in flags
    ]


def main(*targets: str) -> int:
    """Make targets under every set, and say under which one failed."""
    failed = []
    # other settings of the same kind are taken away
    kept = {name: value for name, value in os.environ.items() if name not in CHOSEN}
    for name in usable():
        print(f"== {name}", flush=True)
        command = ["make", "--keep-going", *targets]
        done = subprocess.run(command, cwd=ROOT, env={**kept, **SETS[name]}, check=False)
        failed += [name] * (done.returncode != 0)
    print(f"{len(usable())} sets of kernels, at least three are needed; failed: {failed or 'none'}")
    return int(len(usable()) < 3 or bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
