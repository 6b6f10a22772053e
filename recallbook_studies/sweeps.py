"""The sweeps and row tables of the chapters, which the command line runs by name."""

from __future__ import annotations

from recallbook_studies import error_map, grids
from recallbook_studies.ch05 import terms_alone
from recallbook_studies.ch06 import certificates, lengths, sandwich
from recallbook_studies.ch07 import features, phase
from recallbook_studies.ch09 import (
    accuracy_sizes,
    capacities,
    envelope,
    four_corners,
    fresh_map,
    geometry,
    label_frequencies,
    large_sizes,
    largest,
    lock_on_sizes,
    mlp_sizes,
    one_step,
    quantiles,
)
from recallbook_studies.ch11 import (
    error_sizes,
    real_tables,
    remedies,
    structure,
    thresholds,
    unequal_map,
)
from recallbook_studies.ch12 import (
    between_map,
    between_others,
    between_sizes,
    capacity,
    order,
    oscillation,
    runs,
    sizes,
    trained_map,
    tuning,
)
from recallbook_studies.explorer import cases, table as explorer
from recallbook_studies.running.catalogue import RowTable, Sweep
from recallbook_studies.running.point import Point


def trial() -> list[Point]:
    """A few points that take seconds."""
    sizes = {"vocab": 64, "seq_len": 16, "dim": 32, "samples": (64, 256, 1024)}
    return grids.points(grids.settings(**sizes, trigger_in_values=grids.FLAGS), range(4), 1000)


SWEEPS: dict[str, Sweep] = {
    "trial": Sweep("a few points that take seconds, to try the commands", trial),
    "one_step": Sweep(
        "facts decoded from the gradient at initialisation, against N d^2 / (L V^2)",
        one_step.points,
    ),
    "lock_on": Sweep("critical N for lock-on against d, L and V", lock_on_sizes.points),
    "label_frequencies": Sweep(
        "accuracy where label frequencies bind, against N d / V^2", label_frequencies.points
    ),
    "geometry": Sweep("orthogonal against random embeddings", geometry.points),
    "envelope": Sweep("critical N along d and along L: wall, slope, floor", envelope.points),
    "four_corners": Sweep("critical N at small and large d and L", four_corners.points),
    "large_sizes": Sweep(
        "V to 8192, three decades of N, d to 1024, L to 1024 and beyond V", large_sizes.points
    ),
    "mlp_sizes": Sweep("Attention-MLP: width and activation", mlp_sizes.points),
    "accuracy": Sweep(
        "critical N for accuracy 0.9 against d, and against L at two vocabularies",
        accuracy_sizes.points,
    ),
    "capacity": Sweep(
        "the largest V for accuracy 0.9 against N, d and L, and with an MLP", capacities.points
    ),
    "sandwich": Sweep(
        "critical N for accuracy 0.9 where the proved N is known too", sandwich.points
    ),
    "zipf_threshold": Sweep("the exponent at which Zipf's law breaks lock-on", thresholds.points),
    "zipf_larger": Sweep("the same at V to 4096, L to 256", thresholds.larger_points),
    "zipf_error": Sweep(
        "error under Zipf's law against N and d, with perfect attention", error_sizes.points
    ),
    "remedies_many": Sweep(
        "remedies for unequal facts, 200 seeds: bias, weights, balance", remedies.points
    ),
}
ROW_TABLES: dict[str, RowTable] = {
    "terms_alone": RowTable(
        "draws of settings in which one term of the scores is large",
        lambda: range(len(terms_alone.CASES)),
        terms_alone.row,
        "case",
        finish=terms_alone.finish,
        suffix=".parquet",
    ),
    "certificates": RowTable(
        "what is proved for random problems, and simulated",
        lambda: range(certificates.COUNT),
        certificates.row,
        "index",
        finish=certificates.finish,
        suffix=".parquet",
        empty="activation width",
    ),
    "sufficient": RowTable(
        "N that is proved to suffice, and accuracy there", sandwich.keys, sandwich.row, "case"
    ),
    "critical_sizes": RowTable(
        "predicted critical N for accuracy 0.9",
        accuracy_sizes.keys,
        accuracy_sizes.row,
        accuracy_sizes.SIZES,
        empty="critical critical_50 critical_99",
    ),
    "lengths": RowTable(
        "the length up to which critical N does not depend on it",
        lengths.keys,
        lengths.row,
        ["vocab", "ratio"],
    ),
    "capacities": RowTable(
        "predicted capacity: the largest V for accuracy 0.9",
        capacities.keys,
        capacities.row,
        capacities.SIZES,
        empty="capacity_50 capacity_99",
    ),
    "mlp_exponents": RowTable(
        "how the number of facts that fit grows with d and with m",
        lambda: list(features.EXPONENTS),
        features.exponent_row,
        "case",
    ),
    "mlp_phase": RowTable(
        "critical width over the plane of N and L, and the term that binds",
        phase.keys,
        lambda key: phase.cell(*key),
        ["panel", "ratio", "seq_len"],
        digits=None,
        empty="width",
    ),
    "error_map": RowTable(
        "predictions against simulation at random settings",
        lambda: range(error_map.COUNT),
        error_map.simulated,
        "index",
        finish=error_map.finish,
        suffix=".parquet",
        empty="activation width",
    ),
    "largest": RowTable(
        "sizes for a GPU: V to 65536, L to 1024",
        largest.keys,
        largest.row,
        ["case", "seed"],
        devices=True,
    ),
    "quantiles": RowTable(
        "predicted quantiles over draws against simulation",
        quantiles.keys,
        quantiles.row,
        empty="width",
    ),
    "fresh_map": RowTable(
        "a fresh test of predictions: settings and seeds that nothing was fitted to",
        fresh_map.keys,
        fresh_map.row,
        ["kind", "index"],
        finish=error_map.finish,
        suffix=".parquet",
    ),
    "unequal_error_map": RowTable(
        "the map of errors with facts that are not equal",
        lambda: range(unequal_map.COUNT),
        unequal_map.simulated,
        "index",
        finish=unequal_map.finish,
        suffix=".parquet",
        empty="other_zipf",
    ),
    "unequal_structure": RowTable(
        "structured embeddings beside isotropic ones", structure.keys, structure.row
    ),
    "real_tables": RowTable(
        "embeddings of language models, words and ions, beside random tables",
        real_tables.keys,
        real_tables.row,
        list(real_tables.TableCase._fields),
    ),
    "survives": RowTable(
        "the ladder: every rung at every shape and N",
        lambda: list(runs.every()),
        runs.row,
        together=len(sizes.SEEDS),
        suffix=".parquet",
        devices=True,
        empty="attention loss",
    ),
    "survives_tuning": RowTable(
        "rate and decay of the ladder's rungs, for each number of steps",
        lambda: list(tuning.every()),
        tuning.row,
        together=len(tuning.SEEDS),
        suffix=".parquet",
        devices=True,
    ),
    "survives_order": RowTable(
        "when lock-on comes",
        order.keys,
        order.row,
        together=len(sizes.SEEDS),
        empty="step_lock_on",
    ),
    "survives_oscillation": RowTable(
        "whether overlap makes longer training oscillate", oscillation.keys, oscillation.row
    ),
    "survives_capacity": RowTable(
        "how many facts a rung can hold",
        lambda: [c.key for c in capacity.cases()],
        capacity.row,
        empty="error next next_error next_recall recall",
    ),
    "survives_map": RowTable(
        "predictions for training to the end against small random settings",
        lambda: range(trained_map.COUNT),
        trained_map.row,
        "index",
        finish=trained_map.predicted,
    ),
    "between_map": RowTable(
        "predictions for several value steps at random settings",
        lambda: range(between_map.COUNT),
        between_map.row,
        "index",
    ),
    "between_sizes": RowTable(
        "the least d after one to sixteen value steps",
        between_sizes.keys,
        between_sizes.row,
        ["vocab", "dim", "unit"],
        devices=True,
    ),
    "between_others": RowTable(
        "several value steps under other conditions",
        between_others.keys,
        between_others.row,
        ["kind", "dim", "share", "unit"],
        empty="lock_on_1 lock_on_2 lock_on_4 lock_on_8 lock_on_16 least predicted recall_64"
        " predicted_64 end",
    ),
    "explorer": RowTable(
        "the page on which a reader moves the sizes",
        lambda: range(len(cases.cases())),
        explorer.predicted,
        "index",
        together=1000,
        write=explorer.export,
        empty="accuracy lock_on recall",
    ),
}
