"""The table of the page on which a reader moves the sizes.

``python -m recallbook table explorer STORE`` predicts what the store lacks; several can share the
work with ``--part 0/2`` and ``--part 1/2``, each with a store of its own. ``STORE... --export``
joins them and writes the page's scripts; without stores, only what needs no
new prediction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recallbook_studies.explorer import cases as of, scripts
from recallbook_studies.explorer.grids import packed
from recallbook_theory import trained
from recallbook_theory.prediction import predict, predicted_lock_on
from recallbook_theory.symbolic.expressions import Array

# the page is no part of the wheel
FOLDER = Path(__file__).resolve().parents[2] / "book" / "_static" / "explorer"
QUANTITIES = ("accuracy", "lock_on", "recall")
ENDS = 1e-7, 1 - 1e-9  # chances beyond are all the same to a reader
ROUGH = 1e-5, 1 - 1e-5  # the same where nodes are few
HEAD = "(window.explorer = window.explorer || {}).data = "


# Rows

SIZES = " ".join(of.Sizes._fields)


def keys() -> Iterator[dict[str, Any]]:
    """Every case with its place, as columns."""
    for index, case in enumerate(of.cases()):
        part = {"part": case.part, "without": case.without, "load": case.load}
        yield {"index": index, **part, **case.sizes._asdict()}


def row(index: int, **_: Any) -> dict[str, Any]:
    """The row of a case; its other columns keep rows of other cases apart."""
    case = of.cases()[index]
    if case.part == "lock":  # a tenth of the work
        lock_on = predicted_lock_on(case.sizes.setting, warn=False)
        return {"accuracy": np.nan, "lock_on": lock_on, "recall": np.nan}
    if case.part == "held":
        recall = trained.share_beyond(case.sizes.vocab, case.load, case.sizes.samples)
        return {"accuracy": np.nan, "lock_on": np.nan, "recall": recall}
    found = predict(case.sizes.setting, without=(case.without,) if case.without else (), warn=False)
    return {name: float(getattr(found, name)) for name in QUANTITIES}


# Tables


def bent(chance: Any, ends: tuple[float, float] = ENDS) -> Array:
    r"""$\log(-\log(1-p))$: smooth in the logarithms of the sizes, and near $\log p$ where $p$ is
    small."""
    return np.asarray(np.log(-np.log1p(-np.clip(chance, *ends))))


def smooth(rows: pd.DataFrame) -> dict[str, Array]:
    """What is interpolated: lock-on; answers where attention has located the token; recall less
    what lock-on gives."""
    located = np.clip(rows["lock_on"].to_numpy(float), ENDS[0], 1)
    return {
        "lock_on": bent(rows["lock_on"]),
        "answered": bent(rows["accuracy"] / located),
        "recalled": bent(rows["recall"]) - np.log(located),
    }


def on_grid(part: str, **fields: Any) -> dict[str, Any]:
    """Values on a grid, in the order of its cases, packed; those along the axis of shares are at
    the shares asked for, because numbers of sequences were made whole."""
    axes = of.AXES[part]
    shape, shares = tuple(map(len, axes.values())), np.log(axes["share"])
    found = {name: np.reshape(values, shape) for name, values in fields.items()}
    for values in found.values():
        for place, vocab in enumerate(axes["vocab"]):
            whole = [of.samples_of(int(vocab), share) / vocab for share in axes["share"]]
            along = partial(np.interp, shares, np.log(whole))
            values[place] = np.apply_along_axis(along, -1, values[place])
    return packed(axes, found)


def gains(rows: pd.DataFrame, grid: pd.DataFrame) -> dict[str, Any]:
    """What is added to the bent accuracy where a term is removed, by term, at nodes of the main
    grid."""
    sizes = ["vocab", "seq_len", "dim", "samples"]
    plain = grid.drop_duplicates(sizes).set_index(sizes)["accuracy"]
    gain = bent(rows["accuracy"]) - bent(plain.loc[pd.MultiIndex.from_frame(rows[sizes])])
    return {
        str(name): part.to_numpy()
        for name, part in pd.Series(gain).groupby(rows["without"].to_numpy())
    }


def tabulated(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """All tables, without and with the trigger in the values."""
    found = []
    for _, rows in frame.groupby("trigger_in_values"):
        parts = dict(iter(rows.groupby("part")))
        tables = {
            "main": on_grid("grid", **smooth(parts["grid"])),
            "without": on_grid("without", **gains(parts["without"], parts["grid"])),
        }
        for kind in of.ACTIVATIONS:
            lock, neurons = (
                parts[name].query("activation == @kind") for name in ("lock", "neurons")
            )
            tables[f"lock {kind}"] = on_grid("lock", lock_on=bent(lock["lock_on"], ROUGH))
            tables[f"recall {kind}"] = on_grid("neurons", recall=bent(neurons["recall"], ROUGH))
        if "held" in parts:
            tables["held"] = on_grid("held", recalled=bent(parts["held"]["recall"]))
            tables["lacks"] = lacks()
        found.append(tables)
    return found


def lacks() -> dict[str, Any]:
    """What one fact takes of a matrix trained to the end, by the number of tokens."""
    found = [trained.distance(trained.sample(vocab)[0]) for vocab in of.VOCABS]
    moments = {name: np.array([getattr(at, name)() for at in found]) for name in ("mean", "var")}
    return packed({"vocab": of.VOCABS}, moments)


# The page's files


def data(frame: pd.DataFrame) -> dict[str, Any]:
    """What the page's script holds."""
    content = tabulated(frame)
    provenance = {
        "command": "python -m recallbook table explorer STORE, then --export STORE",
        "version": version("recallbook"),
        "predictions": len(frame),
        "tables_sha256": digest(content),
    }
    return {"provenance": provenance, **scripts.facts(), "tables": content}


def digest(tables: Any) -> str:
    """Of the packed tables."""
    return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()


def load() -> dict[str, Any]:
    """The committed content of the page's script."""
    text = (FOLDER / "data.js").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text[text.index(HEAD) + len(HEAD) :].rstrip().rstrip(";"))
    return loaded


def export(rows: pd.DataFrame | None) -> None:
    """Write what the page loads; without rows the tables stay, and only what is made from
    expressions is new."""
    content = {**load(), **scripts.facts()} if rows is None else data(rows)
    comment = "// Predictions of rb.predict, made by the command in `provenance`; do not edit.\n"
    (FOLDER / "data.js").write_text(f"{comment}{HEAD}{json.dumps(content)};\n", encoding="utf-8")
    (FOLDER / "formulas.js").write_text(scripts.formulas(), encoding="utf-8")
