r"""Figures of chapter 11: where lock-on breaks, and the error that rare facts leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from recallbook.setting import Setting, fact_frequencies
from recallbook_studies.ch11 import error_sizes, thresholds
from recallbook_studies.ch11.breaking import broken_share
from recallbook_studies.intervals import over_seeds
from recallbook_studies.plotting import COLOURS, MARKERS, plain_ticks, plot_intervals
from recallbook_studies.running.point import OUTCOMES

GRID = np.linspace(0.2, 1.4, 49)  # exponents of a predicted line


def draw_lock_on_by_exponent(ax: Axes, sweep: pd.DataFrame, setting: Setting) -> None:
    """Lock-on against the exponent at the setting's vocabulary: measured, and 1 less
    :func:`broken_share`."""
    part = sweep[(sweep["vocab"] == setting.vocab) & ~sweep["trigger_in_values"]]
    for index, (length, rows) in enumerate(part.groupby("seq_len")):
        mean = over_seeds(rows, ["zipf"], "lock_on", within=(0, 1))
        plot_intervals(ax, mean, "zipf", f"$L={length}$", index, linestyle="none")
        sizes = replace(setting, seq_len=int(length), samples=thresholds.SAMPLES * setting.vocab)
        line = [1 - broken_share(replace(sizes, zipf=float(exponent))) for exponent in GRID]
        ax.plot(GRID, line, color=COLOURS[index], linewidth=1)
    ax.set(xlabel="exponent $\\alpha$", ylabel="lock-on")
    ax.legend(fontsize=9)


def critical_rows(broken: pd.DataFrame) -> list[dict[str, Any]]:
    r"""The exponents of :func:`thresholds.critical`, with $Lp_1$ where lock-on is one half."""
    rows = []
    for case in broken.to_dict("records"):
        sizes: dict[str, Any] = {name: int(case[name]) for name in thresholds.SIZES}
        top = fact_frequencies(Setting(**sizes, zipf=case["simulated"]))[0]
        row = {"V": sizes["vocab"], "L": sizes["seq_len"], "d": sizes["dim"]}
        row |= {"τ": int(case["trigger_in_values"])}
        row["measured"] = f"{case['simulated']:.2f} [{case['low']:.2f}, {case['high']:.2f}]"
        rows.append({**row, "law": case["predicted"], "L p₁": sizes["seq_len"] * top})
    return rows


def draw_errors(axes: Mapping[str, Axes], table: pd.DataFrame) -> None:
    """Error of recall against N at one exponent, with an axis for each of the loss weights; all N
    at every d."""
    for weights, ax in axes.items():
        part = table[(table["loss_weights"] == weights) & table["dim"].isin(error_sizes.DIMS)]
        for index, (dim, rows) in enumerate(part.groupby("dim")):
            plot_intervals(ax, rows, "samples", f"$d={dim}$", index, linestyle="none")
            ax.plot(rows["samples"], rows["predicted"], color=COLOURS[index], linewidth=1)
        once = part.drop_duplicates("samples")
        ax.plot(
            once["samples"], once["uncovered"], color="black", linestyle="--", label="never seen"
        )
        ax.set(xscale="log", yscale="log", xlabel="sequences $N$", title=f"{weights} weights")
        plain_ticks(ax, error_sizes.SAMPLES, [0.02, 0.1, 0.3, 1])


def draw_diagonal(axes: np.ndarray, rows: pd.DataFrame, titles: Mapping[str, str]) -> None:
    """Simulated against predicted outcomes: one row of axes for each of
    ``OUTCOMES``, one column for each change of ``titles``, a colour for each table."""
    for outcome, line in zip(OUTCOMES, axes, strict=True):
        for ax, (change, title) in zip(line, titles.items(), strict=True):
            part = rows[rows["change"] == change]
            for index, (name, one) in enumerate(part.groupby("table", sort=False)):
                half = one[f"{outcome}_half"]
                ax.errorbar(
                    one[f"{outcome}_predicted"],
                    one[outcome],
                    yerr=half,
                    linestyle="none",
                    linewidth=0.5,
                    markersize=3,
                    label=name,
                    color=COLOURS[index],
                    marker=MARKERS[index],
                )
            ax.plot([0, 1], [0, 1], color="black", linewidth=1)
            ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
            ax.set_title(f"{outcome.replace('_', '-')}, {title}", fontsize=11)
