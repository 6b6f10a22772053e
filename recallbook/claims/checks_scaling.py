r"""Checks of claims about scalings, orthogonal embeddings, and the table of critical N."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from recallbook.analysis import critical, product_law
from recallbook.claims.findings import (
    CONFIRMED,
    LABELS,
    LOCKS,
    LONG,
    ONE,
    OUT,
    PARTLY,
    REFUTED,
    Finding,
    corners,
    ends,
    facts_held,
    fitted,
    laws,
    powers,
    rough,
)
from recallbook.data import baselines
from recallbook.experiments.scaling import large_sizes, lock_on_sizes
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.prediction import critical_samples, phase
from recallbook.training.simulation import simulate

# Scalings


def product_of_three() -> Finding:
    """Lock-on follows a product in N, d, L; does accuracy?"""
    found, table = fitted(LOCKS), corners("accuracy", True)["critical"]
    ratio = table[128, 256] / table[128, 8]
    text = f"lock-on: N ∝ d^ {ends(found['dim'])} · L^ {ends(found['seq_len'])}; accuracy with the trigger in the "
    text += f"values: L from 8 to 256 changes N by a factor {ratio:.2f}"
    product = found["dim"].high < 0 < found["seq_len"].low
    return Finding(text, PARTLY if product and ratio < 1.5 else CONFIRMED if product else REFUTED)


def product_of_d_and_l() -> Finding:
    """N ~ d L has exponent +1 in d: is it in any interval?"""
    found, text = powers("dim", LOCKS, LABELS, ONE, LONG)
    below = all(x.high < 0 for x in found.values())
    return Finding(
        text, REFUTED if below else CONFIRMED if any(x.low <= 1 <= x.high for x in found.values()) else PARTLY
    )


def memorised() -> Finding:
    """If N were the number of facts that fit: its exponent in d."""
    power = math.log(facts_held(1024) / facts_held(128)) / math.log(8)
    return Finding(f"facts that a sum of outer products holds grow as d^{power:.1f} (predicted); L is not in it")


def vocabulary_harder() -> Finding:
    """Exponents of N in V."""
    found, text = powers("vocab", LOCKS, LABELS, ONE)
    return Finding(text, CONFIRMED if all(x.low > 0 for x in found.values()) else PARTLY)


def length_harder() -> Finding:
    """Exponents of N in L, and accuracy where it does not see L."""
    table = laws("accuracy")["critical"]["gaussian, d = 258"]
    text = f"exponent of N in L: lock-on {ends(fitted(LOCKS)['seq_len'])}; N for accuracy 1/2, V = 256, d = 258: "
    text += ", ".join(f"{rough(n)} at L = {length}" for length, n in table.items())
    sees = fitted(LOCKS)["seq_len"].low > 0 and table[256] > 2 * table[16]
    return Finding(text, PARTLY if sees and table[64] < 1.5 * table[16] else CONFIRMED if sees else REFUTED)


def length_sign() -> Finding:
    """Does a longer sequence lower the N that is needed?"""
    return Finding(powers("seq_len", LOCKS, ONE, LONG)[1])


def thresholds() -> Finding:
    """Predicted N for accuracy 0.9 against d at one V and L."""
    found = {dim: critical_samples(256, 16, dim, **OUT) for dim in (64, 96, 128, 512, 1024)}
    text = "V = 256, L = 16, predicted N for accuracy 0.9: "
    text += ", ".join(f"{rough(n)} at d = {dim}" for dim, n in found.items())
    ends_of_d = math.isinf(found[64]) and found[1024] > 0.9 * found[512]
    return Finding(text, PARTLY if ends_of_d and fitted(LOCKS)["dim"].high < 0 else CONFIRMED)


def length_for_reviews() -> Finding:
    """V and L in lock-on, and L in accuracy."""
    found, table = fitted(LOCKS), corners("accuracy", False)["critical"]
    factors = [table[dim, 256] / table[dim, 8] for dim in (128, 512)]
    text = f"lock-on: N ∝ V^ {ends(found['vocab'])} · L^ {ends(found['seq_len'])}; accuracy: L from 8 to 256 costs "
    text += f"a factor {factors[0]:.1f} at d = 128 and {factors[1]:.1f} at d = 512"
    powers = found["vocab"].low > 0 and found["seq_len"].low > 0
    return Finding(text, PARTLY if powers and factors[0] > 2 * factors[1] else CONFIRMED if powers else REFUTED)


def larger_dim_helps() -> Finding:
    """Exponents of N in d."""
    found, text = powers("dim", LOCKS, LABELS, ONE)
    return Finding(text, CONFIRMED if all(x.high < 0 for x in found.values()) else PARTLY)


def more_data_helps() -> Finding:
    """Recall against N at two dimensions."""
    rows = large_sizes.grid(load_results("large_sizes"), "three decades of N").query("not trigger_in_values")
    recall = rows.groupby(["dim", "samples"])["recall"].mean()
    first, last = rows["samples"].min(), rows["samples"].max()
    text = f"V = 256, L = 4, recall at N = {first} and {last}: "
    text += ", ".join(f"{recall[d, first]:.2f} and {recall[d, last]:.2f} at d = {d}" for d in (16, 256))
    gain = {d: recall[d, last] - recall[d, first] for d in (16, 256)}
    return Finding(text, PARTLY if gain[16] < 0.02 and gain[256] > 0.2 else CONFIRMED)


def exact_recall() -> Finding:
    """All facts with fewer dimensions than tokens, and whether N can replace d."""
    runs = [simulate(Setting(vocab=256, seq_len=16, dim=192, samples=16384, **OUT), seed).recall for seed in range(5)]
    enough = critical_samples(256, 16, 64, **OUT)
    text = f"V = 256, d = 192, N = 16384: all facts in {sum(r == 1 for r in runs)} of 5 draws; "
    text += f"d = 64: predicted N for accuracy 0.9 is {enough:.0f}".replace("inf", "infinite")
    return Finding(text, PARTLY if min(runs) == 1 and math.isinf(enough) else CONFIRMED if min(runs) == 1 else REFUTED)


def coverage() -> Finding:
    """Chance that V log V sequences show all facts."""
    samples = round(256 * math.log(256))
    chance = baselines.seen_distribution(256, samples)[-1]
    return Finding(f"V = 256: N = {samples} sequences show all facts with probability {chance:.2f}")


def long_sequences() -> Finding:
    """Lock-on at and beyond L = V."""
    rows = large_sizes.grid(load_results("large_sizes"), "sequences longer than the vocabulary")
    found = rows.query("dim == 256 and samples == 16384 and not trigger_in_values").groupby("seq_len")["lock_on"].mean()
    text = "V = d = 256, N = 16384: lock-on " + ", ".join(f"{x:.2f} at L = {n}" for n, x in found.items())
    return Finding(text)


def named_noise() -> Finding:
    """Which of our noises binds, by settings."""
    shape = {"long, d < V": (128, 64, 2048), "short, d < V": (16, 64, 4096), "d = 2 V": (16, 512, 1024)}
    names = (
        f"{name}: {phase(Setting(vocab=256, seq_len=seq_len, dim=dim, samples=samples, **OUT))}"
        for name, (seq_len, dim, samples) in shape.items()
    )
    return Finding("our ledger, term that costs most accuracy: " + ", ".join(names))


# Orthogonal embeddings


def optimism() -> Finding:
    """Critical N of random over that of orthogonal embeddings at equal d."""
    lock, accuracy = (laws(outcome)["ratio"]["gaussian, d = 258"] for outcome in ("lock_on", "accuracy"))
    inside = laws("accuracy", True)["ratio"]["gaussian, d = 258"]
    text = f"N random over orthogonal, d = 258, V = 256: accuracy {accuracy[16]:.2f} at L = 16, {accuracy[256]:.1f} at "
    text += (
        f"L = 256; lock-on {lock[256]:.1f} at L = 256; with the trigger in the values accuracy {inside[16]:.1f} and "
    )
    text += f"{inside[256]:.1f}"
    return Finding(text, PARTLY if accuracy[256] > 2 and accuracy[16] < 1.1 else CONFIRMED)


def _growth(law: str, outcome: str = "lock_on") -> float:
    table = laws(outcome)["critical"][law]
    return math.log(table[256] / table[64]) / math.log(4)


def orthogonal_separates() -> Finding:
    """How N grows with L for orthogonal embeddings."""
    low, high = laws("lock_on").loc[("orthogonal, d = 258", 64)], laws("lock_on").loc[("orthogonal, d = 258", 256)]
    accuracy = laws("accuracy")["critical"]["orthogonal, d = 258"]
    text = f"orthogonal, V = 256: N for lock-on {rough(low.critical)} at L = 64, {rough(high.critical)} at L = 256; "
    text += f"for accuracy {rough(accuracy[64])} and {rough(accuracy[256])}"
    return Finding(text, PARTLY if high.low > low.high else CONFIRMED)


def interference_multiplies() -> Finding:
    """How N grows with L for random and orthogonal embeddings of the same dimension."""
    powers = [_growth(law) for law in ("gaussian, d = 258", "orthogonal, d = 258")]
    text = f"d = 258, L from 64 to 256: N for lock-on grows as L^{powers[0]:.1f} with random embeddings, "
    text += f"L^{powers[1]:.1f} with orthogonal ones"
    return Finding(text, CONFIRMED if powers[0] > powers[1] + 1 else PARTLY)


def inseparable() -> Finding:
    """Distance from a product of a function of d and a function of L."""
    rows = lock_on_sizes.sizes(load_results("lock_on"), False)
    test, table = (
        product_law.separability(rows, "dim", "seq_len"),
        lock_on_sizes.critical(load_results("lock_on"), False, False),
    )
    left = math.exp(float(np.abs(test.interaction.to_numpy()).max())) - 1
    span = table["critical"].max() / table["critical"].min()
    text = f"lock-on: p = {test.p_value:.3f} for an exact product; what a product misses is at most {left:.0%}, "
    text += f"while N varies by a factor {rough(span)}"
    return Finding(text, PARTLY if left < 0.5 else CONFIRMED)


# The table of critical N


def table_order() -> Finding:
    """Low, high, low, moderate?"""
    tables = {flag: corners("accuracy", flag)["critical"] for flag in (False, True)}
    order = [(128, 8), (128, 256), (512, 8), (512, 256)]
    holds = {f: max(t[128, 8], t[512, 8]) < t[512, 256] < t[128, 256] for f, t in tables.items()}
    text = "; ".join(
        f"trigger {'in' if flag else 'out of'} the values: " + ", ".join(f"{rough(table[c])}" for c in order)
        for flag, table in tables.items()
    )
    verdict = CONFIRMED if all(holds.values()) else PARTLY if any(holds.values()) else REFUTED
    return Finding("N for accuracy 1/2, V = 512, in the order of the table, " + text, verdict)


def table_match() -> Finding:
    """Our predictions against our observations in the corners."""
    found = pd.concat([corners("accuracy", flag) for flag in (False, True)])
    ratio = found["predicted"] / found["critical"]
    return Finding(f"our predicted over our observed N, eight corners: {ratio.min():.2f} to {ratio.max():.2f}")


def numerics_match() -> Finding:
    """Our exponents, measured and predicted."""
    table = lock_on_sizes.critical(load_results("lock_on"), False)
    ours = critical.table_exponents(table, ["dim", "seq_len"])
    found = fitted(LOCKS)
    text = f"ours, lock-on: d^ {ends(found['dim'])} measured, {ours['dim']:.2f} predicted; "
    text += f"L^ {ends(found['seq_len'])}, {ours['seq_len']:.2f}"
    return Finding(text.replace("-", "−").replace("lock−on", "lock-on"))
