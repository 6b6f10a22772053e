"""The draws that the stepper of chapter 3 computes with: `python book/stepper_draws.py` writes
them.

JavaScript cannot draw numpy's streams, so embeddings and sequences are shipped, in as many digits
as the page's numbers need to agree with `rb.three_steps` to 1e-9.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

import recallbook as rb

FILE = Path(__file__).parent / "_static" / "stepper" / "draws.js"
LARGEST = rb.Setting(vocab=16, seq_len=8, dim=20, samples=512, trigger_in_values=False)
SEEDS = range(5)
FRESH = 200  # sequences that ask


def letters(numbers: torch.Tensor) -> str:
    """Numbers below 36 as one character each."""
    return "".join("0123456789abcdefghijklmnopqrstuvwxyz"[n] for n in numbers.flatten().tolist())


def rounded(table: torch.Tensor) -> list[float]:
    return [float(f"{number:.12g}") for number in table.flatten().tolist()]


def script() -> str:
    """The file's text."""
    draws = []
    for seed in SEEDS:
        problem = rb.draw(LARGEST, seed)
        fresh = problem.fresh(FRESH)
        tables = {
            "Z": problem.input_embeddings,
            "U": problem.output_embeddings,
            "trigger": problem.trigger,
            "query": problem.query,
        }
        texts = {
            "facts": problem.permutation,
            "tokens": problem.tokens,
            "positions": problem.positions,
            "freshTokens": fresh.tokens,
            "freshPositions": fresh.positions,
        }
        draws.append(
            {name: rounded(table) for name, table in tables.items()}
            | {name: letters(numbers) for name, numbers in texts.items()}
        )
    sizes = {"V": LARGEST.vocab, "L": LARGEST.seq_len, "d": LARGEST.dim, "N": LARGEST.samples}
    content = json.dumps({"sizes": sizes, "draws": draws}, separators=(",", ":"))
    return f"// Written by book/stepper_draws.py.\nconst STEPPER_DRAWS = {content};\n"


if __name__ == "__main__":
    FILE.write_text(script(), encoding="utf-8")
