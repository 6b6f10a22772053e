r"""Where :func:`recallbook.predict_trained` holds: small random settings, the book's two matrices
trained by AdamW for 800 steps at the ladder's rate, without weight decay (chapter 12).

``python -m recallbook table survives_map STORE`` trains what the file lacks, ``--export`` writes
the table. The wider part was made on a GPU. :func:`row` with another seed trains a setting that nobody has seen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook_studies.ch12 import tuning
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_studies.error_map import QUANTITIES, as_setting, log_uniform, means_and_errors
from recallbook_studies.running.archive import load_results
from recallbook_theory import trained

load = partial(load_results, "survives_map")  # the committed rows
COUNT, SEEDS, WIDE_SEEDS = 528, 3, 10
SMALL = 208  # settings of few facts and short sequences; larger ones follow
STEPS, TEST, WIDE_TEST = 800, 1000, 256


def random_setting(index: int, seed: int = 0) -> Setting:
    """The setting of this number: V from 16 to 80, L from 1 to 10, d from 5 to 40, N from V/2 to
    16 V, each log-uniform, and either kind of values.

    From ``SMALL`` on V goes to 512 and L to 256; d to 2 V or, for half of them, to where the load
    is between 0.65 and 1.4."""
    rng = np.random.default_rng([13, seed, index])
    if index >= SMALL:
        return _wide(rng)
    vocab = round(log_uniform(rng, 16, 80))
    return Setting(
        vocab=vocab,
        seq_len=round(log_uniform(rng, 1, 10)),
        dim=round(log_uniform(rng, 5, 40)),
        samples=round(log_uniform(rng, vocab / 2, 16 * vocab)),
        trigger_in_values=bool(rng.integers(2)),
    )


def _wide(rng: np.random.Generator) -> Setting:
    vocab = round(log_uniform(rng, 16, 512))
    samples = round(log_uniform(rng, vocab / 2, 16 * vocab))
    seq_len, dim = round(log_uniform(rng, 1, 256)), round(log_uniform(rng, 5, 2 * vocab))
    marked = bool(rng.integers(2))
    setting = Setting(
        vocab=vocab, seq_len=seq_len, dim=dim, samples=samples, trigger_in_values=marked
    )
    if rng.integers(2):
        needed = trained.load(vocab, 1, vocab * trained.seen(setting))
        setting = replace(setting, dim=round((needed / log_uniform(rng, 0.65, 1.4)) ** 0.5))
    return setting


def row(index: int, seed: int = 0) -> dict[str, Any]:
    """One setting: means over seeds that are used nowhere else, and what is predicted."""
    setting = random_setting(index, seed)
    rung = RUNGS["trigger in the values" if setting.trigger_in_values else "AdamW"]
    first, count, test = 10**8 * (seed + 5) + SEEDS * index, SEEDS, TEST
    if index >= SMALL:
        first, count, test = first + 16 * 10**6 + (16 - SEEDS) * index, WIDE_SEEDS, WIDE_TEST
    found = train(
        rung,
        setting,
        range(first, first + count),
        rate=tuning.coarse(rung.name).rate,
        steps=STEPS,
        looks=1,
        test_samples=test,
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
