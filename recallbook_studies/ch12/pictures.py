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
from numpy.typing import NDArray
from torch import nn

from recallbook_studies import grids
from recallbook_studies.ch12 import ladder_laws, runs, sizes, tuning
from recallbook_studies.ch12.rungs import LADDER, RUNGS
from recallbook_studies.ch12.training import BATCH, STEPS, TEST, train
from recallbook_studies.ch12.updates import BETAS, EPSILON, MOMENTUM, WARM_UP
from recallbook_studies.plotting import COLOURS, MARKERS, plain_ticks
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
        for line, name in enumerate(NAMES):
            ax.plot(
                predicted[RUNGS[name].marked_values, size], line, "|", color="black", ms=10, mew=2
            )
            row = fits.loc[(size, name)]
            _point(ax, line, row[["exponent", "low", "high"]].to_numpy(float), 0)
        ax.axvline(0, color="black", linewidth=0.8, linestyle=":")
        ax.set(xlabel=f"exponent in ${SYMBOLS[size]}$")
        ax.xaxis.set_major_locator(ticker.MultipleLocator(1.0 if size == "dim" else 0.5))
        ax.tick_params("x", labelsize=8)


def draw_critical(ax: Axes, frame: pd.DataFrame) -> None:
    """Critical N for accuracy 1/2 and 0.9 at the base; beyond the rung's grid an arrow at its
    end."""
    base = ladder_laws.at_base(frame)
    for colour, level in enumerate(LEVELS):
        table = ladder_laws.with_theory(
            ladder_laws.critical(base, level=level), level=level
        ).set_index("rung")
        shift = OFFSET * (1 if level > 0.5 else -1)
        for line, name in enumerate(NAMES):
            row = table.loc[name]
            if np.isfinite(row["predicted"]):
                ax.plot(row["predicted"], line + shift, "|", color="black", ms=7, mew=2)
            if np.isfinite(row["critical"]):
                _point(ax, line + shift, row[["critical", "low", "high"]].to_numpy(float), colour)
            else:
                last = base.loc[base["rung"] == name, "samples"].max()
                ax.plot(last, line + shift, ">", color=COLOURS[colour])
        ax.axvline(
            ladder_laws.coverage(sizes.VOCAB, level),
            color=COLOURS[colour],
            linewidth=1,
            linestyle=":",
        )
    ax.set(
        xscale="log",
        xlabel=r"$N$ for accuracy 0.5, 0.9",
        yticks=range(len(NAMES)),
        yticklabels=NAMES,
    )
    ax.set_ylim(len(NAMES) - 0.5, -0.5)
    plain_ticks(ax, (32, 64, 128, 256, 512, 1024))
    ax.tick_params("x", labelsize=8)


def _point(ax: Axes, line: float, ends: NDArray[np.float64], index: int) -> None:
    """One point with its interval, lying; nothing where there is no number."""
    mean, low, high = ends
    if np.isfinite(mean):
        errors = np.nan_to_num([[mean - low], [high - mean]])
        style: dict[str, Any] = {"color": COLOURS[index], "marker": MARKERS[index]}
        ax.errorbar([mean], [line], xerr=errors, capsize=2, linestyle="none", **style)


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
        part = table[table["rung"] == name]
        for index, (column, label) in enumerate(columns.items()):
            if part[column].notna().any():
                low, high = (part[column] + sign * 2 * part[f"{column}_error"] for sign in (-1, 1))
                ax.plot(
                    part["step"],
                    part[column],
                    color=COLOURS[index],
                    marker=MARKERS[index],
                    ms=3,
                    label=label,
                )
                ax.fill_between(
                    part["step"], low, high, color=COLOURS[index], alpha=0.2, linewidth=0
                )
        ax.set(title=name, xlabel="step", ylim=(0, 1.02))


def law_rows(held: pd.DataFrame) -> list[dict[str, str]]:
    """Each law: up to which rung it holds, from which it fails, and at how many later ones it holds
    again."""
    rows = []
    for law, values in held.items():
        first = _first_failure(values)
        again = len(later(values))
        upto = (
            "not at first"
            if first == 0
            else "the end"
            if first == len(values)
            else str(values.index[first - 1])
        )
        fails = str(values.index[first]) if first < len(values) else "–"
        rows.append(
            {
                "law": str(law),
                "holds up to": upto,
                "fails from": fails,
                "again at": f"{again or '–'}",
            }
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
    tables = {
        level: ladder_laws.with_theory(
            ladder_laws.critical(base, level=level), level=level
        ).set_index("rung")
        for level in LEVELS
    }
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
    tables = {
        steps: ladder_laws.critical(ladder_laws.at_base(runs.load(steps)), level=level).set_index(
            "rung"
        )
        for steps in budgets
    }
    rows = []
    for name in names:
        row = {"rung": name}
        for steps, table in tables.items():
            row[f"{steps:,} steps"] = interval(table.loc[name]) if name in table.index else "–"
        needed = tables[budgets[0]].loc[name, "critical"]
        finite = math.isfinite(needed) and RUNGS[name].steps == "many"
        rows.append(
            row | {"epochs": f"{budgets[0] * min(BATCH, needed) / needed:.0f}" if finite else "–"}
        )
    return rows


def large_rows() -> list[dict[str, Any]]:
    """The large shape: mean accuracy at each N, critical N, after two numbers of steps; and what
    coverage leaves."""
    rows: list[dict[str, Any]] = []
    for steps in (STEPS, runs.LONGER):
        frame = runs.load(steps)
        frame = frame[frame["vocab"] == sizes.LARGE.vocab]
        tables = {
            level: ladder_laws.critical(frame, level=level).set_index("rung") for level in LEVELS
        }
        for name in sizes.LARGE_RUNGS:
            means = frame[frame["rung"] == name].groupby("samples")["accuracy"].mean()
            needed = {
                f"N for {level}": interval(table.loc[name]) for level, table in tables.items()
            }
            rows.append(
                {"rung": name, "steps": str(steps)}
                | {f"N = {n}": means[n] for n in means.index}
                | needed
            )
    seen = {
        name: ladder_laws.seen(sizes.LARGE.vocab, int(name.split()[-1]))
        for name in rows[0]
        if name.startswith("N =")
    }
    covered = {
        f"N for {level}": significant(ladder_laws.coverage(sizes.LARGE.vocab, level))
        for level in LEVELS
    }
    return [*rows, {"rung": "coverage", "steps": "", **seen, **covered}]


def interval(found: pd.Series) -> str:
    """A critical N with its interval, two digits each; ∞ beyond the grid, 0 below it."""
    ends = (
        f" [{significant(found['low'])}, {significant(found['high'])}]" if found["low"] > 0 else ""
    )
    return significant(found["critical"]) + ends


def price_rows(names: Sequence[str], shape: sizes.Shape = sizes.BASE) -> list[dict[str, Any]]:
    """Accuracy at one shape by weight decay and N, with what coverage leaves: mean over seeds."""
    frame = grids.at(runs.load(tuned=False), **shape._asdict())
    rows = []
    for name in names:
        part = frame[frame["rung"] == name]
        for decay, cell in part.groupby("decay"):
            means = cell.groupby("samples")["accuracy"].mean()
            rows.append(
                {"rung": name, "decay": f"{decay:g}"} | {f"N = {n}": means[n] for n in means.index}
            )
    seen = {
        name: ladder_laws.seen(shape.vocab, int(name.split()[-1]))
        for name in rows[0]
        if name.startswith("N")
    }
    return [*rows, {"rung": "coverage", "decay": "", **seen}]


def draw_capacity(ax: Axes, table: pd.DataFrame, outer: Sequence[tuple[int, float]]) -> None:
    """Facts held at recall 0.9 against d: trained matrices with all or some facts in the loss, and
    outer products."""
    for index, (asked, label) in enumerate(
        {"all": "trained, all facts", "some": "trained, some of 1024"}.items()
    ):
        plain = {"rung": "AdamW", "steps": table["steps"].min(), "decay": 0}
        part = grids.at(table[table["facts"] > 0], asked=asked, **plain).sort_values("dim")
        middle = np.sqrt(part["facts"] * part["next"])
        ax.plot(part["dim"], middle, color=COLOURS[index], marker=MARKERS[index], label=label)
    ax.plot(
        *zip(*outer, strict=True),
        color="black",
        marker=MARKERS[2],
        label="outer products (chapter 2)",
    )
    ax.set(xscale="log", yscale="log", xlabel="$d$", ylabel="facts held")
    plain_ticks(ax, [dim for dim, _ in outer])
    ax.legend(fontsize=8)
