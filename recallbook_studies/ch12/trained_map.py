r"""Where :func:`recallbook.predict_trained` holds: small random settings, the book's two matrices
trained by AdamW for 800 steps at the ladder's rate, without weight decay (chapter 12).

``python -m recallbook table survives_map STORE`` trains what the file lacks, ``--export`` writes
the table. The wider part was made on a GPU. Then come settings of long sequences and few
presentations (L > V/3, N < 6V, V to 90), and from ``FRESH`` on random ones to which nothing was
fitted."""

from __future__ import annotations

from typing import Any

import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.ch12 import ladder
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_studies.error_map import QUANTITIES, as_setting, means_and_errors
from recallbook_studies.running.archive import load_results
from recallbook_theory import trained

SEEDS, WIDE_SEEDS = 3, 10
SMALL = 208  # settings of few facts and short sequences; larger ones follow
FRESH = 628
STEPS, TEST, WIDE_TEST = 800, 1000, 256


def row(index: int, **fields: Any) -> dict[str, Any]:
    """Means over seeds that are used nowhere else."""
    setting = Setting(**fields)
    rung = RUNGS["trigger in the values" if setting.trigger_in_values else "AdamW"]
    first, count, test = 5 * 10**8 + SEEDS * index, SEEDS, TEST
    if index >= SMALL:
        first, count, test = first + 16 * 10**6 + (16 - SEEDS) * index, WIDE_SEEDS, WIDE_TEST
    found = train(
        rung,
        setting,
        range(first, first + count),
        rate=ladder.coarse(rung.name).rate,
        steps=STEPS,
        test_samples=test,
    ).outcomes
    return means_and_errors(found[list(QUANTITIES)].to_numpy().tolist())


def predicted(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is predicted for them now, the error ``expected_`` of each outcome, their load,
    and whether the prediction ``warns``."""
    settings = [as_setting(row) for row in frame.to_dict("records")]
    found = [trained.predict_trained(one, warn=False) for one in settings]
    given = [
        {
            **{f"predicted_{name}": getattr(one, name) for name in QUANTITIES},
            **{f"expected_{name}": getattr(one.expected_error, name) for name in QUANTITIES},
            "load": trained.load(s.vocab, s.dim, s.vocab * trained.seen(s)),
        }
        for one, s in zip(found, settings, strict=True)
    ]
    frame = frame.assign(**pd.DataFrame(given, frame.index))
    worse = frame[["expected_accuracy", "expected_recall"]].max(axis=1)
    return frame.assign(warns=worse > trained.LARGE)


def rows(fresh: bool) -> pd.DataFrame:
    """The committed rows to which the expected errors were fitted, or the ``fresh`` ones."""
    frame = load_results("survives_map")
    return frame[(frame["index"] >= FRESH) == fresh]
