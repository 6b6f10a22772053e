r"""Capacity at 99 % of facts: memories trained to convergence, and memories written by one
gradient.

Large sizes take minutes, so all are committed; ``python -m
recallbook_studies.ch07.trained_memories`` makes them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib import resources

import numpy as np
import pandas as pd

from recallbook.sweeps.archive import FOLDER
from recallbook.theory.hermite import Phi
from recallbook.theory.search import bracket
from recallbook_studies.ch02.associative import predicted_recall, recalled
from recallbook_studies.ch02.trained_matrix import trained_recall
from recallbook_studies.ch07.features import alone, drawn, perfect_recall

SEEDS = list(range(8))
FACTS = (32, 64, 128, 256)
TRAINED = ("linear", "mlp", "random features")
ACCURACY = 0.99
DRAWN = {"linear": 1.3, "mlp": 0.35}  # curves of Nichani, Lee and Bietti: d^2, md over n log n
MULTIPLES = {  # d^2 or md over n log n, where each memory is tried
    "linear": (0.9, 1.0, 1.1, 1.2, 1.3, 1.5),
    "mlp": (0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.75),
    "random features": (1.0, 1.15, 1.3, 1.5, 1.8),
    "one gradient": (4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 15.0),
    "one gradient, MLP": (4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 26.0),
}
MIDDLE = {"mlp": 0.45, "random features": 1.3}  # d = m there
FILE = FOLDER / "trained_memories.csv"


def shape(memory: str, facts: int, multiple: float) -> tuple[int, int | None]:
    r"""$d$ and $m$ with $d^2$ or $md$ near ``multiple`` times $n\log n$.

    With a trained MLP $d$ is fixed by ``MIDDLE`` and $m$ moves; a one-shot MLP has $m=16d$.
    """
    total = multiple * facts * math.log(facts)
    if memory in ("linear", "one gradient"):
        return round(math.sqrt(total)), None
    if memory == "one gradient, MLP":
        dim = round(math.sqrt(total / 16))
        return dim, round(total / dim)
    dim = round(math.sqrt(MIDDLE[memory] * facts * math.log(facts)))
    return dim, round(total / dim)


def recall(
    memory: str, facts: int, dim: int, width: int | None, activation: Phi = "he3"
) -> list[float]:
    """Fraction of facts recalled, by seed, on the unit sphere."""
    if memory == "one gradient":
        return [float(np.mean(recalled(facts, dim, seed, "sphere"))) for seed in SEEDS]
    if memory == "one gradient, MLP":
        setting = alone(facts, dim, width, activation, embeddings="sphere")
        return [perfect_recall(drawn(setting, seed)) for seed in SEEDS]
    return list(trained_recall(memory, facts, dim, SEEDS, width=width))


def curve(memory: str, facts: Iterable[int] = FACTS, activation: Phi = "he3") -> pd.DataFrame:
    r"""Recall by number of facts and by ``size`` $=d^2$ or $md$, one row for each seed."""
    rows = []
    for n in facts:
        for multiple in MULTIPLES[memory]:
            dim, width = shape(memory, n, multiple)
            size = dim * (width or dim)
            found = recall(memory, n, dim, width, activation)
            rows += [
                {"facts": n, "size": size, "seed": s, "recall": r}
                for s, r in zip(SEEDS, found, strict=True)
            ]
    return pd.DataFrame(rows)


def committed() -> pd.DataFrame:
    """The committed curves of the trained memories, with a column ``memory``."""
    with resources.as_file(FILE) as path:
        return pd.read_csv(path)


def one_gradient_size(facts: int) -> float:
    r"""Predicted $d^2$ at which one gradient recalls ``ACCURACY`` of the facts in a linear memory
    on the sphere."""
    enough = bracket(lambda dim: predicted_recall(facts, dim, "sphere") >= ACCURACY, 3, smallest=3)
    return enough.high**2


def critical(frame: pd.DataFrame) -> pd.DataFrame:
    """Smallest size tried from which on recall stays at ``ACCURACY``, by number of facts and seed;
    missing if none."""
    rows = []
    for (facts, seed), part in frame.groupby(["facts", "seed"]):
        part = part.sort_values("size")
        falls = part["size"][part["recall"] < ACCURACY]
        enough = part["size"][part["size"] > (falls.max() if len(falls) else 0)]
        rows.append(
            {"facts": facts, "seed": seed, "size": float(enough.min()) if len(enough) else math.nan}
        )
    return pd.DataFrame(rows).assign(
        constant=lambda f: f["size"] / (f["facts"] * np.log(f["facts"]))
    )


if __name__ == "__main__":
    frames = [curve(memory).assign(memory=memory) for memory in TRAINED]
    with resources.as_file(FILE) as path:
        pd.concat(frames, ignore_index=True).to_csv(path, index=False, lineterminator="\n")
