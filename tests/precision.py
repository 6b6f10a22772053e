"""How far rounding is amplified by hundreds of steps: `python tests/precision.py [--rows K]`.

Committed rows of `remedies` that took many steps are trained again as drawn and in rotated
coordinates, which changes nothing but rounding. `run.DESCENDED` has to lie above what this
prints."""

from __future__ import annotations

import argparse
from dataclasses import asdict

import numpy as np
import torch
from disguises import rotated
from sampling import generator

import recallbook as rb
from recallbook.sweeps import run
from recallbook.sweeps.point import OUTCOMES, Point, from_frame


def ends(point: Point, problem: rb.Problem) -> np.ndarray:
    """Accuracy, lock-on and recall after the point's steps."""
    model = rb.RecallTransformer(problem)
    rb.descend(model, problem, point.steps, eta=point.eta, gamma=point.gamma, batch=point.batch)
    outcome = asdict(rb.evaluate(problem, model, point.test_samples))
    return np.array([outcome[name] for name in OUTCOMES])


def changes(rows: int) -> np.ndarray:
    """Changes under a rotation, ``(rows, 3)``, of random rows of gradient descent at
    d = 128."""
    points = [p for p in from_frame(rb.load_results("remedies")) if p.method == "descend"]
    hard = [p for p in points if p.optimizer == "gd" and p.setting.dim == 128]
    found = []
    for index in np.random.default_rng(0).choice(len(hard), rows, replace=False):
        point = hard[index]
        problem = rb.draw(point.setting, point.seed)
        other, _ = rotated(problem, problem.sequences, generator(1))
        found.append(np.abs(ends(point, problem) - ends(point, other)))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=60)
    rows = parser.parse_args().rows
    torch.set_num_threads(1)
    found = changes(rows)
    print(f"{rows} rows, d = 128, L = 16")
    for name, column in zip(OUTCOMES, found.T, strict=True):
        print(
            f"  {name:9s} largest change {column.max():.4f}; within 1e-9 in {np.mean(column <= run.EXACT):.0%}"
        )


if __name__ == "__main__":
    main()
