"""What the figures that move hold (book/_static/moves): `python book/moves_data.py` writes it, in
minutes.

Predictions stand at the very places of the sliders, so that what a page shows is what the package
says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
import torch

import recallbook as rb
from recallbook_studies import laws
from recallbook_studies.ch05 import scores
from recallbook_studies.ch07 import features
from recallbook_theory.hermite import hermite_coefficients
from recallbook_theory.symbolic import expressions as symbols
from recallbook_theory.symbolic.expressions import numeric

FILE = Path(__file__).parent / "_static" / "moves" / "data.js"
V = 256
# Chapter 9
DIMS = (45, 52, 56, 60, 64, 76, 96, 112, 128, 152, 181, 215, 256, 304, 362, 431, 512)
LENGTHS = (8, 16, 32, 64, 128, 256, 512)
# Chapter 7
WIDTHS = (32, 64, 128, 256, 512, 1024, 2048)
NEURONS_DIM, ORDER = 32, 40
# Chapter 11
EXPONENTS = tuple(round(0.1 * k, 1) for k in range(15))
BIASES = ("none", "trained")
RANKS = sorted({round(1.17**k) for k in range(36) if 1.17**k <= V} | {V})


def wave(x: torch.Tensor) -> torch.Tensor:
    """The activation of chapter 7: sin(2x) without its linear Hermite part."""
    return torch.sin(2 * x) - 2 * math.exp(-2) * x


ACTIVATIONS = {name: name for name in ("linear", "relu", "gelu", "tanh", "he2", "he3")}
ACTIVATIONS |= {"wave": wave}


def digits(number: float, count: int = 4) -> float | None:
    """A number in few digits; none where it is infinite."""
    return float(f"{number:.{count}g}") if math.isfinite(number) else None


def critical(outcome: str, length: int, dim: int) -> float:
    """Critical N for one half of an outcome."""
    return float(rb.critical_samples(V, length, dim, 0.5, outcome=outcome, warn=False))


def product() -> dict[str, Any]:
    """Of chapter 9: critical N, by length and dimension."""
    half = numeric(laws.coverage(sp.Rational(1, 2)))({symbols.V: V})
    found = {"L": LENGTHS, "d": DIMS, "wall": laws.least_dim(V, 0.5), "coverage": digits(half)}
    for name in ("accuracy", "lock_on"):
        found[name] = [[digits(critical(name, n, k)) for k in DIMS] for n in LENGTHS]
    return found


def recall_of(activation: str, width: int) -> float:
    """Predicted recall of an MLP with perfect attention and unlimited data."""
    setting = features.alone(V, NEURONS_DIM, width, ACTIVATIONS[activation])
    return rb.predict(setting, warn=False).recall


def kernel(activation: str) -> list[float]:
    """Coefficients of the kernel over its value at 1, by power of the overlap."""
    squares = hermite_coefficients(ACTIVATIONS[activation], 1.0, ORDER) ** 2
    return [round(float(c), 5) for c in squares / squares.sum()]


def neurons() -> dict[str, Any]:
    """Of chapter 7: kernels and recall, by activation and width."""
    return {
        "m": WIDTHS,
        "d": NEURONS_DIM,
        "kernel": {name: kernel(name) for name in ACTIVATIONS},
        "recall": {n: [round(recall_of(n, m), 4) for m in WIDTHS] for n in ACTIVATIONS},
    }


def zipf(exponent: float, bias: str) -> rb.Setting:
    """The setting of chapter 11."""
    sizes = {"vocab": V, "seq_len": 16, "dim": 128, "samples": 2048, "trigger_in_values": False}
    return rb.Setting(**sizes, zipf=exponent, output_bias=bias)


def token_scores(exponent: float, bias: str) -> np.ndarray:
    """Scores of the tokens in one draw, over what the trigger adds, by rank."""
    problem = rb.draw(zipf(exponent, bias), seed=0)
    w = scores.attention_vector(problem)
    return (problem.input_embeddings @ w / (problem.trigger @ w)).numpy()[np.array(RANKS) - 1]


def frequent() -> dict[str, Any]:
    """Of chapter 11: scores by rank and lock-on, by bias and exponent."""
    every = {bias: [(exponent, bias) for exponent in EXPONENTS] for bias in BIASES}
    return {
        "alpha": EXPONENTS,
        "rank": RANKS,
        "scores": {
            b: [np.round(token_scores(*x), 3).tolist() for x in xs] for b, xs in every.items()
        },
        "lock_on": {
            b: [round(rb.predict(zipf(*x), warn=False).lock_on, 4) for x in xs]
            for b, xs in every.items()
        },
    }


def script() -> str:
    """The file's text."""
    content = {"product": product(), "neurons": neurons(), "frequent": frequent()}
    head = "// Written by book/moves_data.py.\n(window.moves = window.moves || { figures: {} }).data = "
    return f"{head}{json.dumps(content, separators=(',', ':'))};\n"


if __name__ == "__main__":
    FILE.write_text(script(), encoding="utf-8")
