"""What the explorer adds to its table of predictions: several value steps.

`python book/explorer_steps.py` writes book/_static/explorer/steps.js, in about an hour."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

import recallbook as rb
from recallbook_studies.explorer import table
from recallbook_studies.explorer.grids import packed
from recallbook_theory import steps
from recallbook_theory.symbolic.expressions import Array

FILE = table.FOLDER / "steps.js"
STEPS = (2, 4, 8, 16, 32)
# Attention has locked, so recall depends on V, on the load and on how often a fact is seen.
VOCABS = (32, 128, 600, 4096)
LOADS = (0.1, 0.3, 0.7, 1.3, 2.2, 4.0, 9.0)  # d^2 / (V ln V)
SHARES = (0.5, 1.5, 4.0, 12.0, 100.0)  # N / V
FREQUENT = SHARES[3:]  # those of the largest vocabulary, whose rows are dear
DRAWS = 512  # labels in all of the draws behind a row, half of what rb.predict takes


def setting(vocab: int, load: float, share: float) -> rb.Setting:
    """At a node of the grid."""
    dim = max(3, round(math.sqrt(load * vocab * math.log(vocab))))
    samples = max(3, round(share * vocab))
    return rb.Setting(vocab=vocab, seq_len=1, dim=dim, samples=samples, trigger_in_values=False)


def gain(at: rb.Setting) -> Array:
    """What more value steps, at the best of their rates, add to the bent recall of one."""
    steps.LABELS, steps.FEWEST_DRAWS = DRAWS, 1
    rates = [x * math.log(at.vocab) for x in steps.RATES]
    found = [steps.outcomes(at, rate, STEPS[-1])[np.array(STEPS) - 1, 2] for rate in rates]
    one = rb.predict(at, warn=False).recall
    return table.bent(np.max(found, 0), table.ROUGH) - table.bent(one, table.ROUGH)


def gains() -> dict[str, Any]:
    """All of the grid, packed.

    Where facts are seen less often, the largest vocabulary differs from the one before by as much
    as at the least of its own shares."""
    found = np.empty((len(VOCABS), len(LOADS), len(SHARES), len(STEPS)))
    rare = len(SHARES) - len(FREQUENT)
    for v, load, s in np.ndindex(found.shape[:-1]):
        if v < len(VOCABS) - 1 or s >= rare:
            found[v, load, s] = gain(setting(VOCABS[v], LOADS[load], SHARES[s]))
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
    FILE.write_text(script(gains()), encoding="utf-8")
