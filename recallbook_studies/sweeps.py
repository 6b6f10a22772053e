"""The sweeps of the chapters, offered to the command line by the entry point
``recallbook.sweeps``."""

from __future__ import annotations

from recallbook.setting import Setting
from recallbook.sweeps.catalogue import Sweep
from recallbook.sweeps.point import Point
from recallbook_studies.ch06 import sandwich
from recallbook_studies.ch09 import (
    accuracy_sizes,
    envelope,
    four_corners,
    geometry,
    label_frequencies,
    large_sizes,
    lock_on_sizes,
    mlp_sizes,
    one_step,
)
from recallbook_studies.ch11 import error_sizes, remedies, remedies_rates, thresholds


def trial() -> list[Point]:
    """A few points that take seconds."""
    settings = [
        Setting(vocab=64, seq_len=16, dim=32, samples=n, trigger_in_values=flag)
        for n in (64, 256, 1024)
        for flag in (False, True)
    ]
    return [Point(setting, seed, test_samples=1000) for setting in settings for seed in range(4)]


SWEEPS = {
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
    "sandwich": Sweep(
        "critical N for accuracy 0.9 where the proved N is known too", sandwich.points
    ),
    "zipf_threshold": Sweep("the exponent at which Zipf's law breaks lock-on", thresholds.points),
    "zipf_larger": Sweep("the same at V to 4096, L to 256", thresholds.larger_points),
    "zipf_error": Sweep(
        "error under Zipf's law against N and d, with perfect attention", error_sizes.points
    ),
    "remedies": Sweep(
        "remedies for unequal facts at equal N: bias, weights, balance, more steps", remedies.points
    ),
    "remedies_many": Sweep(
        "the same in the limit, 200 seeds: draws that fail", remedies.many_points
    ),
    "remedies_rates": Sweep(
        "rates at which remedies for unequal facts are compared, tuned", remedies_rates.points
    ),
}
