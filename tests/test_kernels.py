"""`make test-kernels` really runs other kernels, and says so when a number differs."""

import json

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


@pytest.mark.slow
def test_every_set_reaches_the_libraries_and_moves_last_digits():
    seen = {name: json.loads(kernels.run(kernels.SETS[name], ["-c", PROBE]).stdout) for name in kernels.usable()}
    assert len(seen) >= 3
    for name, found in seen.items():
        chosen = kernels.SETS[name]
        assert found["torch"] == chosen["ATEN_CPU_CAPABILITY"].upper()
        assert found["threads"] == int(chosen["OMP_NUM_THREADS"])
    # if all kernels gave the same bits, `all equal` would say nothing
    for product in ("numpy product", "torch product"):
        assert len({found[product] for found in seen.values()}) > 1, product


def test_a_difference_is_told(monkeypatch, capsys):
    monkeypatch.setattr(kernels, "chapters", lambda *_: ("9 cells of 1 chapters", ""))
    monkeypatch.setattr(kernels, "sweeps", lambda *_: ("2 rows of 1 sweeps", ""))
    assert kernels.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(kernels.usable()) and [line for line in lines if "all equal" not in line] == []
    monkeypatch.setattr(kernels, "sweeps", lambda *_: ("2 rows of 1 sweeps", "row 7: accuracy: stored 0.1, now 0.2\n"))
    assert kernels.main([]) == 1
    printed = capsys.readouterr().out
    assert "DIFFERENT" in printed and "row 7" in printed and "all equal" not in printed
