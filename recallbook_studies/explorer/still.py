"""What a reader without JavaScript sees: the running setting against the number of sequences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recallbook.setting import Setting
from recallbook.theory.prediction import predict
from recallbook_studies.plotting import COLOUR_OF
from recallbook_studies.running.point import OUTCOMES

RUNNING = Setting(vocab=256, seq_len=128, dim=96, samples=2048, trigger_in_values=False)


def curve(samples: list[int]) -> pd.DataFrame:
    """Predictions for the running setting with so many sequences."""
    found = [predict(replace(RUNNING, samples=count), warn=False) for count in samples]
    return pd.DataFrame(
        {"samples": samples, **{name: [getattr(f, name) for f in found] for name in OUTCOMES}}
    )


def draw(file: Path) -> None:
    """Write the picture."""
    found = curve(sorted({round(2**k) for k in np.arange(2, 18.1, 0.5)}))
    with mpl.rc_context(
        {"svg.hashsalt": "explorer", "svg.fonttype": "none", "font.family": "sans-serif"}
    ):
        figure = Figure(figsize=(6.4, 4), layout="constrained")
        axis = figure.subplots()
        for name, dashes in zip(OUTCOMES, ("-", "--", ":"), strict=True):
            axis.semilogx(
                found["samples"],
                found[name],
                dashes,
                color=COLOUR_OF[name],
                label=name.replace("_", "-"),
                lw=2,
            )
        axis.axvline(RUNNING.samples, color="0.7", lw=4, zorder=0)
        axis.set(xlabel="training sequences N", ylabel="share", ylim=(0, 1.02))
        axis.legend()
        figure.savefig(file, metadata={"Date": None, "Creator": None})
