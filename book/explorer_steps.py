"""What the explorer adds to its table of predictions: several value steps.

`python book/explorer_steps.py ROWS` predicts what the file ROWS lacks (JSON, one row a line; an
hour, can be stopped); when it is complete, it writes book/_static/explorer/steps.js."""

from __future__ import annotations

import json
import math
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import recallbook as rb
from recallbook_studies.ch12 import between
from recallbook_studies.explorer import table
from recallbook_studies.explorer.grids import packed

FILE = table.FOLDER / "steps.js"
STEPS = (2, 4, 8, 16, 32)
# Attention has locked, so recall depends on V, on the load and on how often a fact is seen.
VOCABS = (32, 128, 600, 4096)
LOADS = (0.1, 0.3, 0.7, 1.3, 2.2, 4.0, 9.0)  # d^2 / (V ln V)
SHARES = (0.5, 1.5, 4.0, 12.0, 100.0)  # N / V
FREQUENT = SHARES[3:]  # those of the largest vocabulary, whose rows are dear
DRAWS = 512  # labels in all of the draws behind a row, half of what rb.predict takes


def nodes() -> list[tuple[int, float, float]]:
    """The grid: vocabularies, loads and shares."""
    every = product(VOCABS, LOADS, SHARES)
    return [node for node in every if node[0] < VOCABS[-1] or node[2] in FREQUENT]


def setting(vocab: int, load: float, share: float) -> rb.Setting:
    """At a node of the grid."""
    dim = max(3, round(math.sqrt(load * vocab * math.log(vocab))))
    samples = max(3, round(share * vocab))
    return rb.Setting(vocab=vocab, seq_len=1, dim=dim, samples=samples, trigger_in_values=False)


def row(at: rb.Setting) -> dict[str, Any]:
    """Recall after one value step, and after more at the best of their rates."""
    between.LABELS, between.FEWEST_DRAWS = DRAWS, 1
    rates = [x * math.log(at.vocab) for x in between.RATES]
    found = [between.outcomes(at, rate, STEPS[-1])[np.array(STEPS) - 1, 2] for rate in rates]
    one = rb.predict(at, warn=False).recall
    return {
        "V": at.vocab,
        "d": at.dim,
        "N": at.samples,
        "one": one,
        "more": np.max(found, 0).tolist(),
    }


def rows(path: Path) -> list[dict[str, Any]]:
    """All of the grid, in order; those that the file lacks are added to it."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    known = {(r["V"], r["d"], r["N"]): r for r in map(json.loads, lines)}
    found = []
    for at in (setting(*node) for node in nodes()):
        if (key := (at.vocab, at.dim, at.samples)) not in known:
            known[key] = row(at)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[key]) + "\n")
        found.append(known[key])
    return found


def gains(every: list[dict[str, Any]]) -> dict[str, Any]:
    """What more steps add to the bent recall of one, packed.

    Where facts are seen less often, the largest vocabulary differs from the one before by as much
    as at the least of its own shares."""
    found = np.empty((len(VOCABS), len(LOADS), len(SHARES), len(STEPS)))
    for (vocab, load, share), known in zip(nodes(), every, strict=True):
        place = VOCABS.index(vocab), LOADS.index(load), SHARES.index(share)
        more, one = (table.bent(known[name], table.ROUGH) for name in ("more", "one"))
        found[place] = more - one
    rare = len(SHARES) - len(FREQUENT)
    apart = found[-1, :, rare] - found[-2, :, rare]
    found[-1, :, :rare] = found[-2, :, :rare] + apart[:, None]
    axes = {"vocab": VOCABS, "load": LOADS, "share": SHARES}
    return packed(axes, {f"after {k}": found[..., i] for i, k in enumerate(STEPS)})


def script(steps: dict[str, Any]) -> str:
    """The file's text."""
    return (
        "// Written by book/explorer_steps.py.\n"
        f"window.explorer.data.steps = {json.dumps(steps)};\n"
    )


if __name__ == "__main__":
    FILE.write_text(script(gains(rows(Path(sys.argv[1])))), encoding="utf-8")
