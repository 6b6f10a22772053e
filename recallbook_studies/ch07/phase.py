r"""Which term asks for the width: critical width over the plane of $N$ and $L$, with the binding
term.

The plane takes minutes, so it is committed: ``python -m recallbook table mlp_phase STORE`` makes it
anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from recallbook.setting import Setting
from recallbook_studies.plotting import COLOUR_OF
from recallbook_theory.critical import WIDEST, critical_width
from recallbook_theory.prediction import phase

VOCAB, ACCURACY = 256, 0.9
PANELS: dict[str, tuple[str, int, bool]] = {  # activation, d, trigger in the values
    "he3 without trigger": ("he3", 64, False),
    "relu without trigger": ("relu", 128, False),
    "he3 with trigger": ("he3", 160, True),
}


def setting(panel: str, ratio: int, seq_len: int, width: float) -> Setting:
    """The setting of a cell at a width."""
    activation, dim, trigger = PANELS[panel]
    return Setting(
        vocab=VOCAB,
        seq_len=seq_len,
        dim=dim,
        samples=ratio * VOCAB,
        width=int(width),
        activation=activation,
        trigger_in_values=trigger,
    )


def row(panel: str, ratio: int, seq_len: int) -> dict[str, Any]:
    """Critical width, infinite where none is enough, and the term that binds there, or at the
    widest if none is."""
    activation, dim, trigger = PANELS[panel]
    width = critical_width(
        VOCAB,
        seq_len,
        dim,
        ratio * VOCAB,
        ACCURACY,
        warn=False,
        activation=activation,
        trigger_in_values=trigger,
    )
    term = phase(setting(panel, ratio, seq_len, min(width, WIDEST)))
    return {"width": width, "term": term}


def draw_panel(ax: Axes, cells: pd.DataFrame, terms: list[str]) -> None:
    """One panel: colour is the binding term, the number $md/1000$."""
    (panel,) = cells["panel"].unique()
    term = cells.pivot(index="seq_len", columns="ratio", values="term").map(terms.index)
    width = cells.pivot(index="seq_len", columns="ratio", values="width")
    colours = ListedColormap([COLOUR_OF[term] for term in terms])
    ax.imshow(term, cmap=colours, vmin=0, vmax=len(terms) - 1, origin="lower", alpha=0.55)
    for (i, j), m in np.ndenumerate(width.to_numpy()):
        text = f"{m * PANELS[panel][1] / 1000:.0f}" if np.isfinite(m) else "\u221e"
        ax.text(j, i, text, ha="center", va="center")
    ax.set_xticks(range(len(width.columns)), [str(n) for n in width.columns])
    ax.set_yticks(range(len(width.index)), [str(n) for n in width.index])
    ax.set(xlabel="$N/V$", title=f"{panel}, $d={PANELS[panel][1]}$")
    ax.grid(False)
