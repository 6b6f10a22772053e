"""`evaluate` beside its floor: the bare product of all values with all labels, with its maximum.
One thread, float32.

`python benchmarks/bench_evaluate.py [--full]`: seconds and memory above what stood before, of a
problem that locks on; `--full` takes V=32768, L=256, d=512, N=10^6 (4 GiB of memory, minutes), the
largest size that must run on a laptop."""

from __future__ import annotations

import sys
from functools import partial

import torch
from measure import cost

import recallbook as rb

SIZES = {
    "V=4096 L=64 d=256 N=65536": (4096, 64, 256, 65536),
    "V=8192 L=64 d=512 N=131072": (8192, 64, 512, 131072),
}
FULL = {"V=32768 L=256 d=512 N=10^6": (32768, 256, 512, 1_000_000)}
# of both, so that a product stays in a core's cache: the fastest of the bare products tried
BLOCK = 1024


def trained(sizes: tuple[int, int, int, int]):
    vocab, seq_len, dim, samples = sizes
    setting = rb.Setting(
        vocab=vocab, seq_len=seq_len, dim=dim, samples=samples, trigger_in_values=False
    )
    problem = rb.draw(setting, 0, dtype=torch.float32)
    return problem, rb.three_steps(problem)


def bare(subject) -> None:
    problem, weights = subject
    for values in torch.split(problem.input_embeddings, BLOCK):
        queries = values @ weights.value2.T
        for outputs in torch.split(problem.output_embeddings, BLOCK):
            (queries @ outputs.T).amax(dim=1)


def evaluate(subject) -> None:
    rb.evaluate(*subject)


def main() -> None:
    print(f"{'':32}{'bare product':>20}{'evaluate':>20}{'ratio':>8}")
    for title, sizes in (FULL if "--full" in sys.argv else SIZES).items():
        floor, ours = (cost(partial(trained, sizes), work, 3) for work in (bare, evaluate))
        columns = "".join(f"{one.seconds:9.2f} s {one.mebibytes:5.0f} MiB" for one in (floor, ours))
        print(f"{title:32}{columns}{ours.seconds / floor.seconds:8.2f}", flush=True)


if __name__ == "__main__":
    main()
