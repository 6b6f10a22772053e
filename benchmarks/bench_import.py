"""What starting costs: CPU time of the first prediction of a session, and of the command, over that
of ``import torch``, which neither needs. The least of some fresh processes each."""

from __future__ import annotations

import resource
import subprocess
import sys

TIMES = 5
SIZES = {"vocab": 256, "seq_len": 32, "dim": 128, "samples": 2048}
SETTING = ", ".join(f"{name}={size}" for name, size in SIZES.items())
WORDS = " ".join(f"--{name.replace('_', '-')} {size}" for name, size in SIZES.items())
CASES = {
    "import torch": ["-c", "import torch"],
    "import recallbook": ["-c", "import recallbook"],
    "first rb.predict": ["-c", f"import recallbook as rb; rb.predict(rb.Setting({SETTING}))"],
    "python -m recallbook predict": ["-m", "recallbook", "predict", *WORDS.split()],
}


def seconds(*arguments: str) -> float:
    """CPU time of a fresh Python with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    found = {name: min(seconds(*case) for _ in range(TIMES)) for name, case in CASES.items()}
    for name, value in found.items():
        print(f"{name:30} {value:5.2f} s  {value / found['import torch']:5.2f} of import torch")
