r"""Which term asks for the width: critical width over the plane of $N$ and $L$, with the binding
term.

The plane takes minutes, so it is committed: ``python -m recallbook table mlp_phase STORE`` makes it
anew."""

from __future__ import annotations

from typing import Any

from recallbook.setting import Setting
from recallbook_theory.critical import WIDEST, critical_width
from recallbook_theory.prediction import phase

VOCAB, ACCURACY = 256, 0.9
PANELS: dict[str, tuple[str, int, bool]] = {  # activation, d, trigger in the values
    "he3 without trigger": ("he3", 64, False),
    "relu without trigger": ("relu", 128, False),
    "he3 with trigger": ("he3", 160, True),
}


def sizes(panel: str, ratio: int, seq_len: int) -> dict[str, Any]:
    """Give the fields of a cell's setting but its width; ``ratio`` is N over V."""
    activation, dim, trigger = PANELS[panel]
    fields = {"vocab": VOCAB, "seq_len": seq_len, "dim": dim, "samples": ratio * VOCAB}
    return {**fields, "activation": activation, "trigger_in_values": trigger}


def row(panel: str, ratio: int, seq_len: int) -> dict[str, Any]:
    """Predict the critical width, infinite where none is enough, and the term that binds there, or
    at the widest if none is."""
    fields = sizes(panel, ratio, seq_len)
    width = critical_width(**fields, accuracy=ACCURACY, warn=False)
    return {"width": width, "term": phase(Setting(**fields, width=int(min(width, WIDEST))))}
