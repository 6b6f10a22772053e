r"""The length up to which critical $N$ does not depend on it, by vocabulary and by distance from the
wall.

``python -m recallbook table lengths STORE`` makes it, and ``--export`` writes the table that
ships."""

from __future__ import annotations

from typing import Any

from recallbook.setting import Setting
from recallbook_studies.laws import least_dim
from recallbook_theory.critical import critical_samples
from recallbook_theory.prediction import predict
from recallbook_theory.search import bracket

LEVEL = 0.9
SHORT, MORE = 8, 1.1  # the length compared with, and the factor in critical N that counts


def row(vocab: int, ratio: float) -> dict[str, Any]:
    """The largest length at which :data:`MORE` times the critical N of :data:`SHORT` is enough, to
    a hundredth, at a ratio of d to that of the wall; no trigger in the values."""
    dim = round(ratio * least_dim(vocab, LEVEL))
    sizes: dict[str, Any] = {"vocab": vocab, "dim": dim, "trigger_in_values": False}
    samples = critical_samples(**sizes, seq_len=SHORT, accuracy=LEVEL, warn=False)

    def too_few(length: int) -> bool:
        setting = Setting(**sizes, seq_len=length, samples=round(MORE * samples))
        return predict(setting, warn=False).accuracy < LEVEL

    length = bracket(too_few, vocab // 8, smallest=SHORT, tolerance=0.01).low
    return {"dim": dim, "samples": samples, "length": length}
