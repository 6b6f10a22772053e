"""The table of the page on which a reader moves the sizes.

``python -m recallbook table explorer STORE`` predicts what the store lacks. ``STORE --export``
writes the page's scripts; without a store, only what needs no new prediction."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.explorer import cases as of, scripts
from recallbook_theory import trained
from recallbook_theory.prediction import predict, predicted_lock_on
from recallbook_theory.symbolic.expressions import Array

# the page is no part of the wheel
FOLDER = Path(__file__).resolve().parents[2] / "book" / "_static" / "explorer"
QUANTITIES = ("accuracy", "lock_on", "recall")
UNIT = 0.002  # far below what a reader sees
LARGEST = 32767  # of a 16-bit integer
ENDS = 1e-7, 1 - 1e-9  # chances beyond are all the same to a reader
ROUGH = 1e-5, 1 - 1e-5  # the same where nodes are few
HEAD = "(window.explorer = window.explorer || {}).data = "


# Rows


def row(index: int, part: str, without: str, load: float, **fields: Any) -> dict[str, Any]:
    """The predictions of a case; its place keeps cases apart that whole numbers of sequences make
    equal."""
    setting = Setting(**fields)
    if part == "lock":  # a tenth of the work
        lock_on = predicted_lock_on(setting, warn=False)
        return {"accuracy": np.nan, "lock_on": lock_on, "recall": np.nan}
    if part == "held":
        recall = trained.share_beyond(setting.vocab, load, setting.samples)
        return {"accuracy": np.nan, "lock_on": np.nan, "recall": recall}
    prediction = predict(setting, without=(without,) if without else (), warn=False)
    return {name: float(getattr(prediction, name)) for name in QUANTITIES}


# Tables


def bent(chance: Any, ends: tuple[float, float] = ENDS) -> Array:
    r"""$\log(-\log(1-p))$: smooth in the logarithms of the sizes, and near $\log p$ where $p$ is
    small."""
    return np.asarray(np.log(-np.log1p(-np.clip(chance, *ends))))


def without_luck(rows: pd.DataFrame) -> pd.Series:
    """Accuracy less one answer in V where attention fails, which the page adds again."""
    return rows["accuracy"] - (1 - rows["lock_on"]) / rows["vocab"]


def smooth(rows: pd.DataFrame) -> dict[str, Array]:
    """What is interpolated: lock-on; answers where attention is on the token; recall less what
    lock-on gives."""
    attended = np.clip(rows["lock_on"].to_numpy(float), ENDS[0], 1)
    return {
        "lock_on": bent(rows["lock_on"]),
        "answered": bent(without_luck(rows) / attended),
        "recalled": bent(rows["recall"]) - np.log(attended),
    }


def packed(axes: Mapping[str, Sequence[float]], fields: Mapping[str, Array]) -> dict[str, Any]:
    """A table as the page's script holds it: sizes at the nodes of each axis, names of the fields,
    and their values ``(fields, nodes)``, whole multiples of a unit, 16 bit each, compressed, as
    text. The page interpolates between nodes linearly in the logarithms of the sizes."""
    whole = np.round(np.array([np.ravel(values) for values in fields.values()]) / UNIT)
    low, high = np.clip(whole, -LARGEST, LARGEST).astype("<i2").view("u1").reshape(-1, 2).T
    data = gzip.compress(low.tobytes() + high.tobytes(), 9, mtime=0)  # apart they compress better
    return {
        "axes": {name: list(nodes) for name, nodes in axes.items()},
        "fields": list(fields),
        "unit": UNIT,
        "data": base64.b64encode(data).decode("ascii"),
    }


def on_grid(part: str, **fields: Any) -> dict[str, Any]:
    """Values on a grid, in the order of its cases, packed; those along the axis of shares are at
    the shares asked for, because numbers of sequences were made whole."""
    axes = of.AXES[part]
    shape, shares = tuple(map(len, axes.values())), np.log(axes["share"])
    tables = {name: np.array(values).reshape(shape) for name, values in fields.items()}
    for values in tables.values():
        for place, vocab in enumerate(axes["vocab"]):
            whole = [of.samples_of(int(vocab), share) / vocab for share in axes["share"]]
            along = partial(np.interp, shares, np.log(whole))
            values[place] = np.apply_along_axis(along, -1, values[place])
    return packed(axes, tables)


def gains(rows: pd.DataFrame, grid: pd.DataFrame) -> dict[str, Any]:
    """What is added to the bent accuracy where a term is removed, by term, at nodes of the main
    grid."""
    sizes = ["vocab", "seq_len", "dim", "samples"]
    plain = without_luck(grid.drop_duplicates(sizes).set_index(sizes, drop=False))
    gain = bent(without_luck(rows)) - bent(plain.loc[pd.MultiIndex.from_frame(rows[sizes])])
    return {
        str(name): part.to_numpy()
        for name, part in pd.Series(gain).groupby(rows["without"].to_numpy())
    }


def tabulated(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """All tables, without and with the trigger in the values."""
    by_trigger = []
    for _, rows in frame.groupby("trigger_in_values"):
        parts = dict(iter(rows.groupby("part")))
        tables = {
            "main": on_grid("grid", **smooth(parts["grid"])),
            "without": on_grid("without", **gains(parts["without"], parts["grid"])),
        }
        for kind in of.ACTIVATIONS:
            lock, neurons = (
                parts[name][parts[name]["activation"] == kind] for name in ("lock", "neurons")
            )
            tables[f"lock {kind}"] = on_grid("lock", lock_on=bent(lock["lock_on"], ROUGH))
            tables[f"recall {kind}"] = on_grid("neurons", recall=bent(neurons["recall"], ROUGH))
        if "held" in parts:
            tables["held"] = on_grid("held", recalled=bent(parts["held"]["recall"]))
            tables["lacks"] = lacks()
        by_trigger.append(tables)
    return by_trigger


def lacks() -> dict[str, Any]:
    """What one fact takes of a matrix trained to the end, by the number of tokens."""
    taken = [trained.distance(trained.sample(vocab)[0]) for vocab in of.VOCABS]
    moments = {name: np.array([getattr(law, name)() for law in taken]) for name in ("mean", "var")}
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
