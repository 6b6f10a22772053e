"""The table of the page on which a reader moves the sizes.

``python -m recallbook table explorer STORE`` predicts what the file lacks; several can share the
work with ``--part 0/2`` and ``--part 1/2``, each with a file of its own. ``--export STORE...``
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
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from recallbook.theory.prediction import predict, predicted_lock_on
from recallbook_studies.explorer import cases as of, scripts, still
from recallbook_studies.explorer.splines import Spline, packed, through

Array = NDArray[np.float64]
# the page is no part of the wheel
FOLDER = Path(__file__).resolve().parents[2] / "book" / "_static" / "explorer"
QUANTITIES = ("accuracy", "lock_on", "recall")
LEAST, MOST = 1e-7, 1 - 1e-9  # chances beyond are all the same to a reader
HEAD = "(window.explorer = window.explorer || {}).data = "


# Rows


def predicted(index: int) -> dict[str, Any]:
    """The row of a case."""
    case = of.cases()[index]
    if case.part == "lock":  # a tenth of the work
        lock_on = predicted_lock_on(case.sizes.setting, warn=False)
        return {"index": index, "accuracy": np.nan, "lock_on": lock_on, "recall": np.nan}
    found = predict(case.sizes.setting, without=(case.without,) if case.without else (), warn=False)
    return {"index": index, **{name: float(getattr(found, name)) for name in QUANTITIES}}


def joined(stores: Sequence[Path]) -> pd.DataFrame:
    """All rows, each beside its case; fails where one lacks."""
    rows = pd.concat([pd.read_csv(store) for store in stores])
    rows = rows.drop_duplicates("index").set_index("index").loc[list(range(len(of.cases())))]
    described = [{"part": c.part, "without": c.without, **c.sizes._asdict()} for c in of.cases()]
    return pd.DataFrame(described).join(rows)


# Splines


def bent(chance: Any) -> Array:
    r"""$\log(-\log(1-p))$: smooth in the logarithms of the sizes, and near $\log p$ where $p$ is
    small."""
    return np.asarray(np.log(-np.log1p(-np.clip(chance, LEAST, MOST))))


def chance(bent: Array) -> Array:
    """The inverse of :func:`bent`."""
    return np.asarray(-np.expm1(-np.exp(bent)))


def smooth(rows: pd.DataFrame) -> dict[str, Array]:
    """What is interpolated: lock-on; answers where attention has located the token; recall less
    what lock-on gives."""
    located = np.clip(rows["lock_on"].to_numpy(float), LEAST, 1)
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
    shares = of.AXES[part]["share"]
    for i, vocab in enumerate(of.AXES[part]["vocab"]):
        samples, first = np.unique(
            [of.samples_of(int(vocab), share) for share in shares], return_index=True
        )
        spline = make_interp_spline(np.log(samples / vocab), values[i][..., first], k=3, axis=-1)
        values[i] = spline(np.log(np.maximum(shares, 1 / vocab)))
    return values


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
    found = []
    for _, rows in frame.groupby("trigger_in_values"):
        of_part = dict(iter(rows.groupby("part")))
        main = grid_spline("grid", **smooth(of_part["grid"]))
        alone = grid_spline("alone", recalled=bent(of_part["alone"]["recall"]))
        tables = {"main": main, "without": gains(of_part["without"], main), "alone": alone}
        for kind, lock in of_part["lock"].groupby("activation"):
            change = bent(lock["lock_on"]) - main.at(points(lock, main))["lock_on"]
            tables[f"lock {kind}"] = grid_spline("lock", change=change)
        for kind, neurons in of_part["neurons"].groupby("activation"):
            change = bent(neurons["recall"]) - alone.at(points(neurons, alone))["recalled"]
            tables[f"neurons {kind}"] = grid_spline("neurons", change=change)
        found.append(tables)
    return found


def with_neurons(
    tables: Mapping[str, Spline], rows: pd.DataFrame, plain: Mapping[str, Array], kind: str
) -> dict[str, Array]:
    """What :func:`smooth` gives with an MLP, from the same without.

    Recall changes as that of one token does, with as many sequences as attention locates."""
    lock, neurons, alone = (tables[name] for name in (f"lock {kind}", f"neurons {kind}", "alone"))
    lock_on = plain["lock_on"] + lock.at(points(rows, lock))["change"]
    before, after = (
        rows.assign(samples=rows["samples"] * chance(found))
        for found in (plain["lock_on"], lock_on)
    )
    change = neurons.at(points(after, neurons))["change"]
    change = change + alone.at(points(after, alone))["recalled"]
    change = change - alone.at(points(before, alone))["recalled"]
    located = np.log(chance(plain["lock_on"]) / chance(lock_on))
    return {
        "lock_on": lock_on,
        "answered": plain["answered"] + change,
        "recalled": plain["recalled"] + change + located,
    }


def interpolated(tables: Tables, rows: pd.DataFrame) -> pd.DataFrame:
    """What the page says of settings, one row each; with ``phase`` where they have no MLP."""
    parts = []
    kinds = rows["activation"].where(rows["width"].notna(), "")
    for (flag, kind), chosen in rows.groupby([rows["trigger_in_values"], kinds]):
        main = tables[flag]["main"]
        values = main.at(points(chosen, main))
        if kind:
            values = with_neurons(tables[flag], chosen, values, kind)
        found = pd.DataFrame(outcomes(values), index=chosen.index)
        if not kind:
            without = tables[flag]["without"]
            found["phase"] = pd.DataFrame(
                without.at(points(chosen, without)), index=chosen.index
            ).idxmax(axis=1)
        parts.append(found)
    return pd.concat(parts).loc[rows.index]


# Errors


def errors(tables: Tables, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Median, 99th percentile and largest difference from the predictions, by quantity."""
    found = interpolated(tables, rows)
    off = {name: (found[name] - rows[name]).abs() for name in QUANTITIES}
    shown = {"median": 0.5, "most": 0.99, "largest": 1}
    return {
        name: {word: float(f"{e.quantile(share):.2g}") for word, share in shown.items()}
        for name, e in off.items()
    }


# The page's files


def data(frame: pd.DataFrame) -> dict[str, Any]:
    """What the page's script holds."""
    tables = fitted(frame)
    content = [{name: packed(spline) for name, spline in parts.items()} for parts in tables]
    rows = frame[list(QUANTITIES)].to_numpy()
    check, wide = (frame[frame["part"] == part] for part in ("check", "width check"))
    provenance = {
        "command": "python -m recallbook table explorer STORE, then --export STORE",
        "version": version("recallbook"),
        "predictions": len(frame),
        "rows_sha256": hashlib.sha256(np.round(rows, 9).tobytes()).hexdigest(),
        "tables_sha256": digest(content),
        "checks": {"settings": len(check), **errors(tables, check)},
        "width_checks": {
            kind: {"settings": len(rows), **errors(tables, rows)}
            for kind, rows in wide.groupby("activation")
        },
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


def export(stores: Sequence[Path]) -> None:
    """Write what the page loads; without stores the tables stay, and only what is made from
    expressions is new."""
    content = data(joined(stores)) if stores else {**load(), **scripts.facts()}
    comment = "// Predictions of rb.predict, made by the command in `provenance`; do not edit.\n"
    (FOLDER / "data.js").write_text(f"{comment}{HEAD}{json.dumps(content)};\n", encoding="utf-8")
    (FOLDER / "formulas.js").write_text(scripts.formulas(), encoding="utf-8")
    still.draw(FOLDER / "still.svg")
