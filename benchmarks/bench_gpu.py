"""Three steps and `evaluate` on a GPU beside the CPU, both in float32, with all threads of the CPU.

`python benchmarks/bench_gpu.py`: seconds of each at two sizes, the larger needing 8 GiB of memory."""

from __future__ import annotations

import time

import torch

import recallbook as rb

SIZES = {(4096, 64, 256, 65536): 3, (32768, 256, 512, 1_000_000): 1}  # and how often


def seconds(work, repeats: int) -> float:
    """Least wall time of some calls; the first ones, at the smaller size, warm the GPU up."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    if not torch.cuda.is_available():
        print("bench_gpu.py: there is no CUDA device on this machine.")
        return
    print(f"{torch.cuda.get_device_name()} beside {torch.get_num_threads()} threads of the CPU")
    print(f"{'':44}{'CPU':>10}{'GPU':>10}{'ratio':>8}")
    for (vocab, seq_len, dim, samples), repeats in SIZES.items():
        setting = rb.Setting(
            vocab=vocab, seq_len=seq_len, dim=dim, samples=samples, trigger_in_values=False
        )
        here = rb.draw(setting, 0, dtype=torch.float32)
        problems = (here, here.to(device="cuda"))
        trained = [rb.three_steps(problem) for problem in problems]
        for name in ("three steps", "evaluate"):
            works = [
                (lambda p=p: rb.three_steps(p))
                if name == "three steps"
                else (lambda p=p, w=w: rb.evaluate(p, w))
                for p, w in zip(problems, trained, strict=True)
            ]
            cpu, gpu = (seconds(work, repeats) for work in works)
            title = f"{name}, V={vocab} L={seq_len} d={dim} N={samples}"
            print(f"{title:44}{cpu:8.3f} s{gpu:8.3f} s{cpu / gpu:8.1f}", flush=True)


if __name__ == "__main__":
    main()
