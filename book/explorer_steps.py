"""What the explorer adds to its table of predictions: several value steps, exact numbers of the
settings to start from, and formulas of the noises.

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
import sympy as sp
from scipy.interpolate import make_interp_spline

import recallbook as rb
from recallbook.theory.symbolic.expressions import tau
from recallbook_studies.ch12 import between
from recallbook_studies.explorer import scripts, splines, table

FILE = table.FOLDER / "steps.js"
STEPS = (2, 4, 8, 16, 32)
# Attention has locked, so recall depends on V, on the load and on how often a fact is seen.
VOCABS = (32, 128, 600, 4096)
LOADS = (0.1, 0.3, 0.7, 1.3, 2.2, 4.0, 9.0)  # d^2 / (V ln V)
SHARES = (0.5, 1.5, 4.0, 12.0, 100.0)  # N / V
FREQUENT = SHARES[3:]  # those of the largest vocabulary, whose rows are dear
DRAWS = 512  # labels in all of the draws behind a row, half of what rb.predict takes
# Settings to start from (page.js), by what differs from the running one
START = {"vocab": 256, "seq_len": 128, "dim": 96, "samples": 2048, "trigger_in_values": False}
PRESETS: tuple[dict[str, Any], ...] = (
    {},
    {"dim": 192, "samples": 1024},
    {"vocab": 4096, "seq_len": 16, "dim": 512, "samples": 4096},
    {"trigger_in_values": True, "samples": 8192},
    {"width": 384, "activation": "he3"},
    {"vocab": 64, "seq_len": 8, "dim": 32, "samples": 256},
    {"learner": "trained"},
    {"value_steps": 16},
)


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
    nodes = [
        node
        for node in product(VOCABS, LOADS, SHARES)
        if node[0] < VOCABS[-1] or node[2] in FREQUENT
    ]
    for at in (setting(*node) for node in nodes):
        if (key := (at.vocab, at.dim, at.samples)) not in known:
            known[key] = row(at)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[key]) + "\n")
        found.append(known[key])
    return found


def gains(every: list[dict[str, Any]]) -> dict[str, Any]:
    """What more steps add to the bent recall of one, packed; dimensions were made whole.

    Where facts are seen less often, the largest vocabulary differs from the one before by as much
    as at the least of its own shares."""
    one, more = np.array([r["one"] for r in every]), np.array([r["more"] for r in every])
    found = table.bent(more, table.ROUGH) - table.bent(one, table.ROUGH)[:, None]
    many = len(LOADS) * len(FREQUENT)
    smaller = found[:-many].reshape(len(VOCABS) - 1, len(LOADS), len(SHARES), len(STEPS))
    largest = found[-many:].reshape(len(LOADS), len(FREQUENT), len(STEPS))
    rare = smaller[-1, :, : -len(FREQUENT)]
    rare = rare + (largest[:, :1] - smaller[-1, :, -len(FREQUENT), None])
    found = np.concatenate([smaller, np.concatenate([rare, largest], axis=1)[None]])
    for v, vocab in enumerate(VOCABS):
        loads = [setting(vocab, load, 1).dim ** 2 / (vocab * math.log(vocab)) for load in LOADS]
        through = make_interp_spline(np.log(loads), found[v], k=1)
        found[v] = through(np.clip(np.log(LOADS), np.log(loads[0]), np.log(loads[-1])))
    axes = {"vocab": np.log(VOCABS), "load": np.log(LOADS), "share": np.log(SHARES)}
    fields = {f"after {k}": found[..., i] for i, k in enumerate(STEPS)}
    return splines.packed(splines.through(axes, fields))


def exact(preset: dict[str, Any]) -> dict[str, Any]:
    """A setting to start from, and what the package predicts of it."""
    at = {**START, **preset}
    sizes = {name: value for name, value in at.items() if name not in ("learner", "value_steps")}
    there, steps = rb.Setting(**sizes), at.get("value_steps", 1)
    trained = "learner" in at
    found = (
        rb.predict_trained(there, warn=False)
        if trained
        else rb.predict(there, value_steps=steps, warn=False)
    )
    shares = {name: getattr(found, name) for name in table.QUANTITIES}
    if steps == 1 and not trained and there.width is None:
        phase = rb.phase(there)
        shares["without"] = rb.predict(there, without=(phase,), warn=False).accuracy
    return {"at": at, "shares": {name: round(float(x), 4) for name, x in shares.items()}}


def formulas() -> dict[str, str]:
    """MathML of the noises, without the trigger in the values: with it most take many lines."""
    plain = {name: sp.factor(size.subs(tau, 0)) for name, size in scripts.ledger().items()}
    return {name: sp.mathml(size, printer="presentation") for name, size in plain.items() if size}


def script(every: list[dict[str, Any]]) -> str:
    """The file's text."""
    entries = {"steps": gains(every), "exact": [*map(exact, PRESETS)], "mathml": formulas()}
    content = json.dumps(entries, ensure_ascii=False)
    return (
        f"// Written by book/explorer_steps.py.\nObject.assign(window.explorer.data, {content});\n"
    )


if __name__ == "__main__":
    FILE.write_text(script(rows(Path(sys.argv[1]))), encoding="utf-8")
