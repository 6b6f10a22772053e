"""The table of the page on which a reader moves the sizes.

``python -m recallbook table explorer STORE`` predicts what the store lacks; several can share the
work with ``--part 0/2`` and ``--part 1/2``, each with a store of its own. ``STORE... --export``
joins them and writes the page's scripts and its still picture; without stores, only what needs no
new prediction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import make_interp_spline

from recallbook.theory.prediction import predict, predicted_lock_on
from recallbook.theory.symbolic.expressions import Array
from recallbook_studies.ch12 import trained
from recallbook_studies.explorer import cases as of, scripts, still, stored
from recallbook_studies.explorer.splines import Spline, packed, through

# the page is no part of the wheel
FOLDER = Path(__file__).resolve().parents[2] / "book" / "_static" / "explorer"
QUANTITIES = ("accuracy", "lock_on", "recall")
ENDS = 1e-7, 1 - 1e-9  # chances beyond are all the same to a reader
ROUGH = 1e-5, 1 - 1e-5  # the same where nodes are few: a curve that turns less
HEAD = "(window.explorer = window.explorer || {}).data = "


# Rows


def predicted(index: int) -> dict[str, Any]:
    """The row of a case."""
    case = of.cases()[index]
    if case.part == "lock":  # a tenth of the work
        lock_on = predicted_lock_on(case.sizes.setting, warn=False)
        return {"index": index, "accuracy": np.nan, "lock_on": lock_on, "recall": np.nan}
    if case.part == "held":
        recall = trained.share_beyond(case.sizes.vocab, case.load, case.sizes.samples)
        return {"index": index, "accuracy": np.nan, "lock_on": np.nan, "recall": recall}
    found = predict(case.sizes.setting, without=(case.without,) if case.without else (), warn=False)
    return {"index": index, **{name: float(getattr(found, name)) for name in QUANTITIES}}


def joined(rows: pd.DataFrame) -> pd.DataFrame:
    """All rows, in order, each beside its case."""
    described = [{"part": c.part, "without": c.without, **c.sizes._asdict()} for c in of.cases()]
    return pd.DataFrame(described).join(rows.set_index("index"))


# Splines


def bent(chance: Any, ends: tuple[float, float] = ENDS) -> Array:
    r"""$\log(-\log(1-p))$: smooth in the logarithms of the sizes, and near $\log p$ where $p$ is
    small."""
    return np.asarray(np.log(-np.log1p(-np.clip(chance, *ends))))


def chance(bent: Array) -> Array:
    """The inverse of :func:`bent`."""
    return np.asarray(-np.expm1(-np.exp(bent)))


def smooth(rows: pd.DataFrame) -> dict[str, Array]:
    """What is interpolated: lock-on; answers where attention has located the token; recall less
    what lock-on gives."""
    located = np.clip(rows["lock_on"].to_numpy(float), ENDS[0], 1)
    return {
        "lock_on": bent(rows["lock_on"]),
        "answered": bent(rows["accuracy"] / located),
        "recalled": bent(rows["recall"]) - np.log(located),
    }


def outcomes(smooth: Mapping[str, Array]) -> dict[str, Array]:
    """The inverse of :func:`smooth`."""
    lock_on = chance(smooth["lock_on"])
    recall = chance(smooth["recalled"] + np.log(lock_on))
    return {"accuracy": lock_on * chance(smooth["answered"]), "lock_on": lock_on, "recall": recall}


def grid_spline(part: str, **fields: Any) -> Spline:
    """Through values on a grid, in the order of its cases."""
    axes = of.AXES[part]
    shape = tuple(map(len, axes.values()))
    return through(
        {name: np.log(nodes) for name, nodes in axes.items()},
        {name: at_shares(np.reshape(values, shape), part) for name, values in fields.items()},
    )


def at_shares(values: Array, part: str) -> Array:
    """Values ``(vocab, ..., share)`` at the shares asked for; numbers of sequences were made
    whole, and are at least one."""
    found = np.empty_like(values)
    shares = of.AXES[part]["share"]
    for i, vocab in enumerate(of.AXES[part]["vocab"]):
        samples, first = np.unique(
            [of.samples_of(int(vocab), share) for share in shares], return_index=True
        )
        spline = make_interp_spline(np.log(samples / vocab), values[i][..., first], k=3, axis=-1)
        found[i] = spline(np.log(np.maximum(shares, 1 / vocab)))
    return found


def gains(rows: pd.DataFrame, main: Spline) -> Spline:
    """What is added to the bent accuracy where a term is removed."""
    plain = bent(outcomes(main.at(points(rows, main)))["accuracy"])
    gain = pd.Series(bent(rows["accuracy"]) - plain).groupby(rows["without"].to_numpy())
    return grid_spline("without", **{name: found.to_numpy() for name, found in gain})


def points(rows: pd.DataFrame, spline: Spline) -> Array:
    """Coordinates of settings on a spline's axes; those of nodes are not moved outside by
    rounding."""
    share = np.clip(rows["samples"] / rows["vocab"], of.SHARES[0], of.SHARES[-1])
    found = rows.assign(share=share, ratio=rows["width"] / rows["dim"])
    return np.asarray(np.log(found[list(spline.axes)].to_numpy(float)))


Tables = Sequence[Mapping[str, Spline]]  # without and with the trigger in the values


def fitted(frame: pd.DataFrame) -> Tables:
    """All splines."""
    found: list[dict[str, Spline]] = []
    for _, rows in frame.groupby("trigger_in_values"):
        of_part = dict(iter(rows.groupby("part")))
        main = grid_spline("grid", **smooth(of_part["grid"]))
        tables = {"main": main, "without": gains(of_part["without"], main)}
        for kind, lock in of_part["lock"].groupby("activation"):
            tables[f"lock {kind}"] = grid_spline("lock", lock_on=bent(lock["lock_on"], ROUGH))
        for kind, neurons in of_part["neurons"].groupby("activation"):
            shape = tuple(map(len, of.AXES["neurons"].values()))
            tables[f"stored {kind}"] = grid_spline("neurons", noise=stored.noises(neurons, shape))
        if "held" in of_part:
            tables["held"] = grid_spline("held", recalled=bent(of_part["held"]["recall"]))
            tables["lacks"] = lacks()
        found.append(tables)
    return found


def lacks() -> Spline:
    """What one fact takes of a matrix trained to the end, by the number of tokens."""
    found = [trained.distance(trained.sample(vocab)[0]) for vocab in of.VOCABS]
    moments = {name: np.array([getattr(at, name)() for at in found]) for name in ("mean", "var")}
    return through({"vocab": np.log(of.VOCABS)}, moments)


# The page's files


def data(frame: pd.DataFrame) -> dict[str, Any]:
    """What the page's script holds."""
    tables = fitted(frame)
    content = [{name: packed(spline) for name, spline in parts.items()} for parts in tables]
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
    content = {**load(), **scripts.facts()} if rows is None else data(joined(rows))
    comment = "// Predictions of rb.predict, made by the command in `provenance`; do not edit.\n"
    (FOLDER / "data.js").write_text(f"{comment}{HEAD}{json.dumps(content)};\n", encoding="utf-8")
    (FOLDER / "formulas.js").write_text(scripts.formulas(), encoding="utf-8")
    still.draw(FOLDER / "still.svg")
