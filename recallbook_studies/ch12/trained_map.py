r"""Where :func:`recallbook.predict_trained` holds: small random settings, the book's two matrices
trained by AdamW for 800 steps at the ladder's rate, without weight decay (chapter 12).

``python -m recallbook table survives_map STORE`` trains what the file lacks, ``--export`` writes
the table. :func:`row` with another seed trains a setting that nobody has seen."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.ch12 import trained, tuning
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_studies.error_map import QUANTITIES, as_setting, log_uniform, means_and_errors
from recallbook_studies.running.archive import load_results

load = partial(load_results, "survives_map")  # the committed rows
COUNT, SEEDS = 208, 3
STEPS, TEST = 800, 1000


def random_setting(index: int, seed: int = 0) -> Setting:
    """The setting of this number: V from 16 to 80, L from 1 to 10, d from 5 to 40, N from V/2 to
    16 V, each log-uniform, and either kind of values."""
    rng = np.random.default_rng([13, seed, index])
    vocab = round(log_uniform(rng, 16, 80))
    return Setting(
        vocab=vocab,
        seq_len=round(log_uniform(rng, 1, 10)),
        dim=round(log_uniform(rng, 5, 40)),
        samples=round(log_uniform(rng, vocab / 2, 16 * vocab)),
        trigger_in_values=bool(rng.integers(2)),
    )


def row(index: int, seed: int = 0) -> dict[str, Any]:
    """One setting: means over seeds that are used nowhere else, and what is predicted."""
    setting = random_setting(index, seed)
    rung = RUNGS["trigger in the values" if setting.trigger_in_values else "AdamW"]
    first = 10**8 * (seed + 5) + SEEDS * index
    found = train(
        rung,
        setting,
        range(first, first + SEEDS),
        rate=tuning.pair_of(rung).rate,
        steps=STEPS,
        looks=1,
        test_samples=TEST,
    ).outcomes
    sizes = ("vocab", "seq_len", "dim", "samples", "trigger_in_values")
    return {
        "index": index,
        **{name: getattr(setting, name) for name in sizes},
        **means_and_errors(found[list(QUANTITIES)].to_numpy().tolist()),
    }


def predicted(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is predicted for them now, their load, and whether they are ``doubted``."""
    settings = [as_setting(row) for row in frame.to_dict("records")]
    found = pd.DataFrame([trained.predict_trained(one, warn=False) for one in settings])
    return frame.assign(
        **found.set_index(frame.index).add_prefix("predicted_"),
        load=[trained.load(s.vocab, s.dim, s.vocab * trained.seen(s)) for s in settings],
        doubted=[bool(trained.doubts(one)) for one in settings],
    )
