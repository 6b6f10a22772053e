r"""Where :func:`recallbook.predict_trained` holds: small random settings, the book's two matrices
trained by AdamW for 800 steps at the ladder's rate, without weight decay (chapter 12).

``python -m recallbook table survives_map STORE`` trains what the file lacks, ``--export`` writes
the table. ``python -m recallbook_studies.ch12.trained_map --seed 7 --settings 20`` draws settings
that nobody has seen, trains them and prints what is off."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.trained import predict_trained
from recallbook_studies.ch12 import tuning
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import train
from recallbook_studies.error_map import as_setting
from recallbook_studies.prediction_errors import QUANTITIES, excess, log_uniform, means_and_errors

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
        rate=tuning.pair_of(rung)["rate"],
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
    """The rows with what is predicted for them now."""
    found = [predict_trained(as_setting(row), warn=False) for row in frame.to_dict("records")]
    return frame.assign(**pd.DataFrame(found, index=frame.index).add_prefix("predicted_"))


def main(arguments: list[str] | None = None) -> None:
    """Command line: draw, train, compare, print."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}")
    for name, default in (("seed", 1), ("settings", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args(arguments)
    frame = predicted(pd.DataFrame([row(i, chosen.seed) for i in range(chosen.settings)]))
    print(frame.round(3).to_string(index=False))
    for name in QUANTITIES:
        print(f"{name}: {(excess(frame, name) > 0).sum()} of {len(frame)} off")


if __name__ == "__main__":
    main()
