"""Three steps with the MLP against the matrix products that cannot be avoided. One thread, float32,
early-phase limit.

Per sequence: one product with the input weights in each of steps 1 and 2 (features are too large to
keep), one with their transpose to pull step 2's gradient back, and one with the embeddings, which
is the cheapest way to its overlaps with L tokens; per label: the two products with the value
matrix; per located vector of step 3: two. Attention and activations come on top."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from measure import cost

import recallbook as rb

SETTINGS = {
    "V=512 L=64 d=128 m=512 N=8192": rb.Setting(
        vocab=512, seq_len=64, dim=128, samples=8192, width=512, trigger_in_values=True
    ),
    "V=512 L=64 d=128 m=2048 N=8192": rb.Setting(
        vocab=512, seq_len=64, dim=128, samples=8192, width=2048, trigger_in_values=True
    ),
    "V=1024 L=32 d=256 m=2048 N=32768": rb.Setting(
        vocab=1024, seq_len=32, dim=256, samples=32768, width=2048, trigger_in_values=True
    ),
}


def steps(problem: rb.Problem) -> None:
    rb.three_steps(problem)


def products(problem: rb.Problem) -> None:
    """The same numbers of multiplications, with nothing in between; in blocks that stay in
    cache."""
    weights, u = problem.mlp_weights, problem.output_embeddings
    count, width = problem.setting.samples, weights.shape[0]
    block = torch.ones(1024, weights.shape[1], dtype=problem.dtype)
    images = torch.ones(1024, width, dtype=problem.dtype)
    for _ in range(count // 1024):
        block @ weights.T
        block @ weights.T
        images @ weights
        block @ problem.input_embeddings.T
    by_label = torch.ones(problem.setting.vocab, width, dtype=problem.dtype)
    value = u.T @ by_label
    u @ value
    for _ in range(2):  # step 3: 2 V located vectors, features and their sum
        problem.input_embeddings @ weights.T
        u.T @ by_label


def main() -> None:
    print(f"{'':36}{'steps, s':>10}{'products, s':>13}{'ratio':>8}")
    for activation in ("relu", "gelu", "tanh"):
        for name, base in SETTINGS.items():
            setting = replace(base, activation=activation)
            prepare = partial(rb.draw, setting, 0, dtype=torch.float32)
            one, two = (cost(prepare, work, 3).seconds for work in (steps, products))
            print(f"{activation:5}{name:31}{one:10.3f}{two:13.3f}{one / two:8.2f}")


if __name__ == "__main__":
    main()
