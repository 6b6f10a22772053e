"""Closed forms against the plain autograd loop: time, memory, and growth with N. One thread,
float32."""

from __future__ import annotations

from functools import partial

import torch
from measure import Cost, cost

import recallbook as rb

ETA, GAMMA = 10.0, 1e5
SPEED = rb.Setting(vocab=512, seq_len=64, dim=128, samples=8192, trigger_in_values=True)
MEMORY = rb.Setting(vocab=1024, seq_len=64, dim=256, samples=16384, trigger_in_values=True)


def limit(problem: rb.Problem) -> None:
    rb.three_steps(problem)


def finite(problem: rb.Problem) -> None:
    rb.three_steps(problem, ETA, GAMMA)


def autograd(problem: rb.Problem) -> None:
    rb.reference.three_steps(problem, ETA, GAMMA)


def measured(setting: rb.Setting, work, repeats: int) -> Cost:
    return cost(partial(rb.draw, setting, 0, dtype=torch.float32), work, repeats)


def compare(title: str, setting: rb.Setting) -> None:
    print(f"\n{title}: V={setting.vocab} L={setting.seq_len} d={setting.dim} N={setting.samples}")
    base = measured(setting, autograd, 2)
    print(f"{'':16}{'seconds':>10}{'MiB':>10}{'times faster':>14}{'memory ratio':>14}")
    for name, work, repeats in (
        ("autograd", autograd, 0),
        ("finite rates", finite, 5),
        ("limit", limit, 20),
    ):
        one = measured(setting, work, repeats) if repeats else base
        speed, memory = base.seconds / one.seconds, one.mebibytes / base.mebibytes
        print(f"{name:16}{one.seconds:10.4f}{one.mebibytes:10.0f}{speed:14.1f}{memory:14.3f}")


def growth() -> None:
    print("\nGrowth with N at V=512 L=64 d=128: seconds, and nanoseconds per token N*L")
    print(f"{'N':>10}{'limit':>10}{'ns':>8}{'finite':>10}{'ns':>8}")
    for samples in (4096 * 4**k for k in range(4)):
        setting = rb.Setting(
            vocab=512, seq_len=64, dim=128, samples=samples, trigger_in_values=True
        )
        times = [measured(setting, work, 3).seconds for work in (limit, finite)]
        cells = "".join(f"{t:10.4f}{1e9 * t / samples / 64:8.1f}" for t in times)
        print(f"{samples:>10}{cells}")


if __name__ == "__main__":
    compare("Speed", SPEED)
    compare("Memory", MEMORY)
    growth()
