"""The sweeps and tables of the chapters, which the command line runs by name.

Their committed rows say what there is to run: rows are made again from their own columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from recallbook.setting import Setting
from recallbook_studies import error_map
from recallbook_studies.ch05 import cures
from recallbook_studies.ch06 import certificates, sandwich
from recallbook_studies.ch07 import phase
from recallbook_studies.ch09 import accuracy_sizes, capacities, quantiles
from recallbook_studies.ch11 import embedding_tables, unequal_map
from recallbook_studies.ch12 import (
    between,
    capacity,
    ladder,
    trained_map,
)
from recallbook_studies.explorer import table as explorer
from recallbook_studies.explorer.cases import FIELDS, cases
from recallbook_studies.running.catalogue import RowTable
from recallbook_studies.running.point import Point
from recallbook_studies.running.run import sweep


def trial() -> Iterator[dict[str, Any]]:
    """A few points that take seconds."""
    for samples, flag, seed in product((64, 256, 1024), (False, True), range(4)):
        sizes = Setting(vocab=64, seq_len=16, dim=32, samples=samples, trigger_in_values=flag)
        yield Point(sizes, seed, test_samples=1000).values


SHOWN = {
    "one_step": "facts decoded from the gradient at initialisation, against N d^2 / (L V^2)",
    "lock_on": "critical N for lock-on against d, L and V",
    "label_frequencies": "accuracy where label frequencies bind, against N d / V^2",
    "geometry": "orthogonal against random embeddings",
    "envelope": "critical N along d and along L: wall, slope, floor",
    "four_corners": "critical N at small and large d and L",
    "large_sizes": "V to 8192, three decades of N, d to 1024, L to 1024 and beyond V",
    "mlp_sizes": "Attention-MLP: width and activation",
    "accuracy": "critical N for accuracy 0.9 against d, and against L at two vocabularies",
    "capacity": "the largest V for accuracy 0.9 against N, d and L, and with an MLP",
    "sandwich": "critical N for accuracy 0.9 where the proved N is known too",
    "zipf_threshold": "the exponent at which Zipf's law breaks lock-on",
    "zipf_larger": "the same at V to 4096, L to 256",
    "zipf_error": "error under Zipf's law against N and d, with perfect attention",
    "remedies_many": "remedies for unequal facts, 200 seeds: bias, weights, balance",
}
TRIAL = sweep("trial", "a few points that take seconds, to try the commands", listed=trial)
DECODED = {"one_step": "accuracy lock_on"}  # what is not measured where facts are decoded
SWEEPS = {"trial": TRIAL} | {
    name: sweep(name, shows, DECODED.get(name, "")) for name, shows in SHOWN.items()
}
EQUAL = "vocab seq_len dim samples width embeddings trigger_in_values activation"
UNEQUAL = (
    "vocab seq_len dim samples embeddings trigger_in_values zipf other_zipf balanced loss_weights "
    "output_bias"
)
RUN = "rung vocab seq_len dim samples steps rate decay seed"
TRAINED = 0.05  # hundreds of steps amplify rounding
_TABLES = (
    RowTable(
        "certificates",
        "what is proved for random problems, and simulated",
        certificates.row,
        f"index {EQUAL} multiple",
        empty="activation width",
        finish=certificates.finish,
    ),
    RowTable(
        "sufficient",
        "N that is proved to suffice, and accuracy there",
        sandwich.row,
        "case vocab seq_len dim trigger_in_values embeddings accuracy",
    ),
    RowTable(
        "cures",
        "what removes the slope",
        cures.row,
        "cure vocab seq_len dim samples",
        empty="predicted_accuracy predicted_lock_on predicted_recall",
    ),
    RowTable(
        "critical_sizes",
        "predicted critical N for accuracy 0.9",
        accuracy_sizes.row,
        "trigger_in_values vocab seq_len dim",
        empty="critical critical_50 critical_99",
    ),
    RowTable(
        "capacities",
        "predicted capacity: the largest V for accuracy 0.9",
        capacities.row,
        "trigger_in_values out_of width samples dim seq_len",
        empty="capacity_50 capacity_99",
    ),
    RowTable(
        "mlp_phase",
        "critical width over the plane of N and L, and the term that binds",
        phase.row,
        "panel ratio seq_len",
        digits=None,
        empty="width",
        near=0.01,
    ),
    RowTable(
        "error_map",
        "predictions against simulation at random settings",
        error_map.row,
        f"index seeds {EQUAL}",
        empty="activation width",
        finish=error_map.finish,
    ),
    RowTable(
        "largest",
        "sizes for a GPU: V to 65536, L to 1024",
        error_map.largest_row,
        f"case seed {EQUAL}",
    ),
    RowTable(
        "quantiles",
        "predicted quantiles over draws against simulation",
        quantiles.row,
        "key vocab seq_len dim samples trigger_in_values zipf loss_weights",
        near=2.1 / quantiles.SEEDS,  # two draws may cross a quantile on another processor
    ),
    RowTable(
        "fresh_map",
        "a fresh test of predictions: settings and seeds that nothing was fitted to",
        error_map.row,
        f"kind index seeds {EQUAL}",
        empty="activation width",
        finish=error_map.finish,
    ),
    RowTable(
        "unequal_error_map",
        "the map of errors with facts that are not equal",
        unequal_map.row,
        f"index seeds {UNEQUAL}",
        empty="other_zipf",
        finish=unequal_map.finish,
    ),
    RowTable(
        "real_tables",
        "embeddings of language models, words and ions, beside random tables",
        embedding_tables.real_row,
        " ".join(embedding_tables.TableCase._fields),
    ),
    RowTable(
        "survives",
        "the ladder: every rung at every shape and N",
        partial(ladder.run, columns=("accuracy", "recall", "lock_on")),
        f"{RUN} zipf",
        together="seed",
        near=TRAINED,
    ),
    RowTable(
        "survives_tuning",
        "rate and decay of the ladder's rungs, for each number of steps",
        partial(ladder.run, columns=("accuracy",)),
        RUN,
        together="rate decay seed",
        near=TRAINED,
    ),
    RowTable(
        "survives_long",
        "the two matrices at lengths for which three steps need many sequences",
        partial(ladder.run, columns=("accuracy", "recall", "lock_on")),
        f"{RUN} centred",
        together="seed",
        near=TRAINED,
    ),
    RowTable(
        "survives_capacity",
        "how many facts a rung can hold",
        capacity.row,
        "rung dim steps decay rate",
        empty="error next next_error next_recall recall",
        near=0.01,
    ),
    RowTable(
        "survives_map",
        "predictions for training to the end against small random settings",
        trained_map.row,
        "index vocab seq_len dim samples trigger_in_values",
        finish=trained_map.predicted,
        near=TRAINED,
    ),
    RowTable(
        "between_map",
        "predictions for several value steps at random settings",
        between.map_row,
        "index vocab seq_len dim samples embeddings value_steps rate",
        near=2e-3,
    ),
    RowTable(
        "between_sizes",
        "the least d after one to sixteen value steps",
        between.sizes_row,
        "vocab dim unit",
        near=2e-3,
    ),
    RowTable(
        "explorer",
        "the page on which a reader moves the sizes",
        explorer.row,
        f"index part without load {FIELDS}",
        write=explorer.export,
        listed=cases,
        empty="accuracy lock_on recall width",
    ),
)
ROW_TABLES = {table.name: table for table in _TABLES}
