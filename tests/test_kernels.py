"""`make test-kernels` really runs other kernels, and says so when a number differs."""

import json
import subprocess
import sys

import kernels
import pytest

PROBE = """
import hashlib, json, numpy, torch
rng = numpy.random.default_rng(0)
a, b = rng.standard_normal((2, 300, 300))
digest = lambda table: hashlib.sha256(table.tobytes()).hexdigest()
print(json.dumps({
    "torch": torch.backends.cpu.get_cpu_capability(),
    "threads": torch.get_num_threads(),
    "numpy product": digest(a @ b),
    "torch product": digest((torch.from_numpy(a) @ torch.from_numpy(b)).numpy()),
    "torch sum": digest(torch.from_numpy(a).exp().sum(dim=0).numpy()),
}))
"""


@pytest.mark.nightly
def test_every_set_reaches_the_libraries_and_moves_last_digits():
    seen = {
        name: json.loads(
            kernels.run(
                kernels.SETS[name], sys.executable, "-c", PROBE, stdout=subprocess.PIPE
            ).stdout
        )
        for name in kernels.usable()
    }
    assert len(seen) >= 3
    for name, found in seen.items():
        chosen = kernels.SETS[name]
        assert found["torch"] == chosen["ATEN_CPU_CAPABILITY"].upper()
        assert found["threads"] == int(chosen["OMP_NUM_THREADS"])
    # if all kernels gave the same bits, `all equal` would say nothing
    for product in ("numpy product", "torch product"):
        assert len({found[product] for found in seen.values()}) > 1, product
