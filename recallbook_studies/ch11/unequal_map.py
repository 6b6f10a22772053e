"""Where predictions hold when facts are not equal: random settings of all that this allows,
simulated and predicted.

``python -m recallbook table unequal_error_map STORE`` simulates what the file lacks; ``--part 0/2``
shares the work. ``--export`` joins the files, adds the predictions and writes the table that ships
with the package. The last ``UNSEEN`` settings were predicted once, after everything else was fixed.

Lock-on is often all or nothing from draw to draw, so that few seeds may miss what happens rarely.
So where prediction and simulation differ by more than is allowed, the simulation gets ``AGAIN``
more seeds, and all count."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.embedding_laws import parse_law
from recallbook.setting import Setting
from recallbook_studies import error_map
from recallbook_studies.error_map import QUANTITIES, as_setting, excess, log_uniform, predicted
from recallbook_studies.running.archive import load_results
from recallbook_theory.prediction import theory_of

load = partial(load_results, "unequal_error_map")  # the committed rows
COUNT, UNSEEN = 240, 60  # settings, and how many of them, the last, are unseen
FIRST_SEED = 6 * 10**8  # seeds of the map are used nowhere else
MOST = 16  # seeds of a setting; fewer where they take long
AGAIN, SECOND_SEED = 64, 8 * 10**8  # more seeds where a setting is off
LARGEST_TOKENS = 10**6  # N L of one simulation


def random_setting(index: int) -> Setting:
    """The setting of this number: sizes log-uniform, every choice possible, but not all equal and
    isotropic."""
    rng = np.random.default_rng([13, index])

    def between(low: float, high: float) -> int:
        return round(log_uniform(rng, low, high))

    while True:
        vocab, seq_len, dim = between(64, 400), between(4, 128), between(12, 400)
        samples = between(vocab / 2, 200 * vocab)
        law = _law(rng, dim)
        without = parse_law(law, vocab, dim).geometry == "orthonormal"
        setting = Setting(
            vocab=vocab,
            seq_len=seq_len,
            dim=vocab + 2 if without else dim,
            samples=samples,
            embeddings=law,
            trigger_in_values=bool(rng.integers(2)),
            zipf=0.0 if rng.random() < 0.15 else round(rng.uniform(0.1, 2), 2),
            other_zipf=None if rng.random() < 0.6 else max(0.0, round(rng.uniform(-0.7, 1.5), 2)),
            balanced=bool(rng.random() < 0.2),
            loss_weights="inverse" if rng.random() < 0.3 else "equal",
            output_bias=("none", "calibrated", "trained")[rng.choice(3, p=(0.4, 0.25, 0.35))],
        )
        if samples * seq_len <= LARGEST_TOKENS and theory_of(setting).sampled:
            return setting


def _law(rng: np.random.Generator, dim: int) -> str:
    names = ("gaussian", "sphere", "orthogonal", "power_law", "clustered", "low_rank")
    name = names[rng.choice(6, p=(0.4, 0.1, 0.1, 0.15, 0.15, 0.1))]
    numbers = {
        "power_law": f"({rng.uniform(0.2, 1):.2f})",
        "clustered": f"({rng.integers(4, 33)}, {rng.uniform(0.1, 0.7):.2f})",
        "low_rank": f"({rng.integers(max(8, dim // 4), dim + 1)})",
    }
    return name + numbers.get(name, "")


def seeds_of(index: int, count: int) -> list[int]:
    """The first seeds of a setting: at most ``MOST`` of its own, then those of :func:`again`."""
    first, second = FIRST_SEED + MOST * index, SECOND_SEED + AGAIN * index
    return [*range(first, first + min(count, MOST)), *range(second, second + max(count - MOST, 0))]


def simulated(index: int) -> dict[str, Any]:
    """Means over seeds with their standard errors."""
    setting = random_setting(index)
    names = [name for name in error_map.FIELDS if name not in ("width", "activation")]
    fields = {name: getattr(setting, name) for name in names}
    found = error_map.measured(setting, seeds_of(index, MOST), MOST, error_map.EFFORT)
    return {"index": index, **fields, **found}


def again(row: dict[str, Any]) -> dict[str, Any]:
    """A row with all its own seeds and ``AGAIN`` more."""
    seeds = seeds_of(int(row["index"]), MOST + AGAIN)
    rows = list(error_map.outcomes(as_setting(row), seeds))
    return {**row, "seeds": len(rows), **error_map.means_and_errors(rows)}


def judged() -> pd.DataFrame:
    """The committed map with its doubts, whether a setting is ``unseen``, and what is ``off_``."""
    frame = error_map.judged(load())
    return frame.assign(unseen=frame["index"] >= COUNT - UNSEEN)


def finish(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with what is predicted for them now, simulated again where they are off."""
    rows = frame.to_dict("records")
    frame = pd.DataFrame([{**row, **predicted(row)} for row in rows])
    off = np.any([excess(frame, name) > 0 for name in QUANTITIES], axis=0)
    few = off & (frame["seeds"] <= MOST)
    rows = frame.to_dict("records")
    rows = [again(row) if more else row for row, more in zip(rows, few, strict=True)]
    return pd.DataFrame(rows).astype(error_map.INTEGERS)
