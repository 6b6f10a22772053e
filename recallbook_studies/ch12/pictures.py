r"""Figures and tables of chapter 12: the ladder, training in time, and what fails where."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import ticker
from matplotlib.axes import Axes
from torch import nn

from recallbook_studies import grids
from recallbook_studies.ch12 import ladder_laws, runs, sizes, tuning
from recallbook_studies.ch12.rungs import LADDER, RUNGS
from recallbook_studies.ch12.training import BATCH, STEPS, TEST, train
from recallbook_studies.ch12.updates import BETAS, EPSILON, MOMENTUM, WARM_UP
from recallbook_studies.plotting import COLOURS, MARKERS, plain_ticks, plot_lying, style_of
from recallbook_studies.tables import significant

NAMES = [rung.name for rung in LADDER]
SYMBOLS = {"seq_len": "L", "dim": "d", "vocab": "V"}
OFFSET = 0.17  # between two levels on one line
LEVELS = (0.5, 0.9)


def draw_ladder(axes: Sequence[Axes], frame: pd.DataFrame) -> None:
    """One line for each rung: critical N at the base, then its exponents in L, d and V at accuracy
    one half.

    Four axes. Points: measured, 95 % over seeds; black bars: predicted for three steps.
    """
    draw_critical(axes[0], frame)
    predicted = ladder_laws.predicted_exponents().set_index(["marked_values", "size"])["predicted"]
    fits = ladder_laws.fitted(frame).set_index(["size", "rung"])
    for ax, size in zip(axes[1:], ("seq_len", "dim", "vocab"), strict=True):
        bars = [predicted[RUNGS[name].marked_values, size] for name in NAMES]
        ax.plot(bars, range(len(NAMES)), "|", color="black", ms=10, mew=2)
        ends = fits.loc[size].loc[NAMES, ["exponent", "low", "high"]]
        plot_lying(ax, ends, range(len(NAMES)), 0)
        ax.axvline(0, color="black", linewidth=0.8, linestyle=":")
        ax.set(xlabel=f"exponent in ${SYMBOLS[size]}$")
        ax.xaxis.set_major_locator(ticker.MultipleLocator(1.0 if size == "dim" else 0.5))
        ax.tick_params("x", labelsize=8)


def draw_critical(ax: Axes, frame: pd.DataFrame) -> None:
    """Critical N for accuracy 1/2 and 0.9 at the base; beyond the rung's grid an arrow at its
    end."""
    base = ladder_laws.at_base(frame)
    last = base.groupby("rung")["samples"].max()
    for index, level in enumerate(LEVELS):
        table = _with_theory(base, level).loc[NAMES].replace(np.inf, np.nan)
        places = np.arange(len(NAMES)) + OFFSET * (1 if level > 0.5 else -1)
        ax.plot(table["predicted"], places, "|", color="black", ms=7, mew=2)
        plot_lying(ax, table[["critical", "low", "high"]], places, index)
        beyond = last[NAMES].where(table["critical"].isna())
        ax.plot(beyond, places, ">", color=COLOURS[index])
        covered = ladder_laws.coverage(sizes.VOCAB, level)
        ax.axvline(covered, color=COLOURS[index], linewidth=1, linestyle=":")
    ax.set(xscale="log", xlabel=r"$N$ for accuracy 0.5, 0.9", ylim=(len(NAMES) - 0.5, -0.5))
    ax.set_yticks(range(len(NAMES)), NAMES)
    plain_ticks(ax, (32, 64, 128, 256, 512, 1024))
    ax.tick_params("x", labelsize=8)


def _with_theory(frame: pd.DataFrame, level: float) -> pd.DataFrame:
    """Critical N by rung, measured and predicted."""
    table = ladder_laws.with_theory(ladder_laws.critical(frame, level=level), level)
    return table.set_index("rung")


def draw_histories(axes: Sequence[Axes], table: pd.DataFrame, names: Sequence[str]) -> None:
    """Lock-on, recall and accuracy while the named rungs train, one axis each; bands are two
    standard errors."""
    columns = {
        "lock_on": "lock-on",
        "recall": "recall",
        "accuracy": "accuracy",
        "marker_attention": "marker seen",
    }
    for ax, name in zip(axes, names, strict=True):
        part = table[table["rung"] == name].set_index("step")
        for index, (column, label) in enumerate(columns.items()):
            line, error = part[column], 2 * part[f"{column}_error"]
            if line.notna().any():
                ax.plot(line, **style_of(index), ms=3, label=label)
                ax.fill_between(
                    part.index, line - error, line + error, color=COLOURS[index], alpha=0.2, lw=0
                )
        ax.set(title=name, xlabel="step", ylim=(0, 1.02))


def law_rows(held: pd.DataFrame) -> list[dict[str, str]]:
    """Each law: up to which rung it holds, from which it fails, and at how many later ones it holds
    again."""
    rows = []
    for law, values in held.items():
        first, names = _first_failure(values), [*values.index, "–"]
        upto = "the end" if first == len(values) else names[first - 1] if first else "not at first"
        again = str(len(later(values)) or "–")
        rows.append(
            {"law": str(law), "holds up to": upto, "fails from": names[first], "again at": again}
        )
    return rows


def later(values: pd.Series) -> list[str]:
    """The rungs at which one law holds again after it has failed."""
    return [str(name) for name in values.index[_first_failure(values) :] if values[name]]


def _first_failure(values: pd.Series) -> int:
    """Number of rungs before the first at which a law fails."""
    return next((place for place, value in enumerate(values) if not value), len(values))


def critical_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The ladder's figures as rows: critical N at both levels, and the factor to what is predicted
    for three steps."""
    base = ladder_laws.at_base(frame)
    tables = {level: _with_theory(base, level) for level in LEVELS}
    rows = []
    for name in dict.fromkeys(frame["rung"]):
        row: dict[str, Any] = {"rung": name}
        for level, table in tables.items():
            found = table.loc[name]
            row[f"N for {level}"] = interval(found)
            row["predicted" + " " * (level > 0.5)] = significant(found["predicted"])
        rows.append(row)
    return rows


def constant_rows() -> list[dict[str, str]]:
    """Every constant of training from "tuned rates" on, as the code has it: tuned, or the same for
    all."""
    rows = {
        "learning rate, weight decay": f"tuned together on {len(tuning.SEEDS)} seeds",
        "decays tried": ", ".join(f"{decay:g}" for decay in tuning.DECAYS),
        "AdamW": f"betas {BETAS[0]:g} and {BETAS[1]:g}, epsilon {EPSILON:g}",
        "gradient descent, layers": f"momentum {MOMENTUM:g}; decay in the gradient",
        "schedule": f"warm-up over {WARM_UP:.0%} of the steps, half a cosine",
        "steps": f"{STEPS}; {runs.LONGER} and {runs.LONGEST} at the base, too",
        "batch": f"{BATCH} of N, every epoch in a new order",
        "start, book's attention": "zero",
        "start, library's attention": "Xavier uniform; output uniform to 1/√d",
        "start, linear maps": "uniform to 1/√(inputs), biases too",
        "start, embeddings": "as drawn, N(0, 1/d); positions 0",
        "layer norm": f"before each part, at the end; epsilon {nn.LayerNorm(1).eps:g}",
        "dropout, smoothing, clipping": "none",
        "precision": str(inspect.signature(train).parameters["dtype"].default).removeprefix(
            "torch."
        ),
        "test": f"{TEST} fresh sequences",
    }
    return [{"constant": name, "value": value} for name, value in rows.items()]


def budget_rows(names: Sequence[str], budgets: Sequence[int], level: float) -> list[dict[str, str]]:
    """Critical N at the base after each number of steps, and epochs at the first of them."""
    tables = {steps: _critical(ladder_laws.at_base(runs.load(steps)), level) for steps in budgets}
    rows = []
    for name in names:
        row = {"rung": name}
        for steps, table in tables.items():
            row[f"{steps:,} steps"] = interval(table.loc[name]) if name in table.index else "–"
        needed = tables[budgets[0]].loc[name, "critical"]
        finite = math.isfinite(needed) and RUNGS[name].steps == "many"
        row["epochs"] = f"{budgets[0] * min(BATCH, needed) / needed:.0f}" if finite else "–"
        rows.append(row)
    return rows


def _critical(frame: pd.DataFrame, level: float) -> pd.DataFrame:
    return ladder_laws.critical(frame, level=level).set_index("rung")


def _by_samples(frame: pd.DataFrame) -> dict[str, float]:
    """Mean accuracy at each N."""
    means = frame.groupby("samples")["accuracy"].mean()
    return {f"N = {count}": mean for count, mean in means.items()}


def _seen(vocab: int, row: dict[str, Any]) -> dict[str, Any]:
    """What coverage leaves at each N of a row."""
    counts = [name for name in row if name.startswith("N =")]
    found = {name: ladder_laws.seen(vocab, int(name.split()[-1])) for name in counts}
    return {"rung": "coverage", **found}


def large_rows() -> list[dict[str, Any]]:
    """The large shape: mean accuracy at each N, critical N, after two numbers of steps; and what
    coverage leaves."""
    rows: list[dict[str, Any]] = []
    for steps in (STEPS, runs.LONGER):
        frame = grids.at(runs.load(steps), vocab=sizes.LARGE.vocab)
        tables = {f"N for {level}": _critical(frame, level) for level in LEVELS}
        for name in sizes.LARGE_RUNGS:
            row = {"rung": name, "steps": str(steps), **_by_samples(grids.at(frame, rung=name))}
            rows.append(row | {key: interval(table.loc[name]) for key, table in tables.items()})
    vocab = sizes.LARGE.vocab
    needed = {f"N for {level}": ladder_laws.coverage(vocab, level) for level in LEVELS}
    covered = {key: significant(count) for key, count in needed.items()}
    return [*rows, {**_seen(vocab, rows[0]), "steps": "", **covered}]


def interval(found: pd.Series) -> str:
    """A critical N with its interval, two digits each; ∞ beyond the grid, 0 below it."""
    ends = (
        f" [{significant(found['low'])}, {significant(found['high'])}]" if found["low"] > 0 else ""
    )
    return significant(found["critical"]) + ends


def price_rows(names: Sequence[str], shape: sizes.Shape = sizes.BASE) -> list[dict[str, Any]]:
    """Accuracy at one shape by weight decay and N, with what coverage leaves: mean over seeds."""
    frame = grids.at(runs.load(tuned=False), **shape._asdict())
    rows = [
        {"rung": name, "decay": f"{decay:g}", **_by_samples(cell)}
        for name in names
        for decay, cell in grids.at(frame, rung=name).groupby("decay")
    ]
    return [*rows, {**_seen(shape.vocab, rows[0]), "decay": ""}]


def draw_capacity(ax: Axes, table: pd.DataFrame, outer: Sequence[tuple[int, float]]) -> None:
    """Facts held at recall 0.9 against d: trained matrices with all or some facts in the loss, and
    outer products."""
    lines = {"all": "trained, all facts", "some": "trained, some of 1024"}
    for index, (asked, label) in enumerate(lines.items()):
        plain = {"rung": "AdamW", "steps": table["steps"].min(), "decay": 0}
        part = grids.at(table[table["facts"] > 0], asked=asked, **plain).sort_values("dim")
        middle = np.sqrt(part["facts"] * part["next"])
        ax.plot(part["dim"], middle, **style_of(index), label=label)
    label = "outer products (chapter 2)"
    ax.plot(*zip(*outer, strict=True), color="black", marker=MARKERS[2], label=label)
    ax.set(xscale="log", yscale="log", xlabel="$d$", ylabel="facts held")
    plain_ticks(ax, [dim for dim, _ in outer])
    ax.legend(fontsize=8)
