r"""Checks of claims about lower bounds."""

from __future__ import annotations

from functools import cache

from recallbook.analysis.intervals import Interval, seed_interval
from recallbook.bounds import information
from recallbook.bounds.coverage import minimum_samples
from recallbook.claims.findings import CONFIRMED, LOCKS, OUT, PARTLY, REFUTED, Finding, ends, fitted
from recallbook.experiments.lower_bounds import estimators
from recallbook.experiments.scaling import one_step
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results


def bound_holds() -> Finding:
    """Does an estimator from one gradient cross the bound, at limited and at exact precision?"""
    found = one_step.memory(load_results("one_step"))
    samples = (found["information"] * found["seq_len"] * found["vocab"] ** 2 / found["dim"] ** 2).round()
    sizes = found[["vocab", "seq_len", "dim"]].assign(samples=samples).astype(int).to_dict("records")
    crossed = int((found["mean"] > [information.maximum_accuracy(**row) for row in sizes]).sum())
    setting = Setting(vocab=7, seq_len=2, dim=2, samples=90, **OUT)
    exact = seed_interval(estimators.lattice_runs([setting], (64,), range(8))["right"])
    allowed = information.maximum_accuracy(7, 2, 2, 90)
    text = (
        f"{crossed} of {len(found)} mean recalls cross our bound; from 64 exact binary digits lattice reduction finds "
    )
    text += f"{exact.mean:.2f} of the facts in 8 tiny draws, where a reader with an error may find {allowed:.2f}"
    evaded = exact.low > allowed
    return Finding(text, PARTLY if not crossed and evaded else CONFIRMED if not crossed else REFUTED)


@cache
def beyond_the_bound() -> tuple[Interval, float]:
    """Facts that three steps recall where the bound for one gradient allows fewer."""
    runs = estimators.against_three_steps([Setting(vocab=128, seq_len=64, dim=64, samples=1024, **OUT)], range(10))
    return seed_interval(runs["three steps"]), information.maximum_accuracy(128, 64, 64, 1024)


def any_method() -> Finding:
    """Do three steps obey the bound for one gradient?"""
    three, allowed = beyond_the_bound()
    text = f"V = 128, L = d = 64, N = 1024: three steps recall {ends(three)}, our bound for one gradient {allowed:.2f}"
    return Finding(text, REFUTED if three.low > allowed else PARTLY)


def intrinsic() -> Finding:
    """The bound's product, and a method outside its scope."""
    needs = [minimum_samples(64, 256, dim) for dim in (32, 66)]
    three, allowed = beyond_the_bound()
    text = (
        f"our bound, V = 64, L = 256: N ≥ {needs[0]:.0f} at d = 32, {needs[1]:.0f} from d = 63 on, orthogonal or not;"
    )
    text += f" three steps {three.mean:.2f} where it allows {allowed:.2f}"
    return Finding(text, PARTLY if needs[0] > needs[1] and three.low > allowed else CONFIRMED)


def same_order() -> Finding:
    """The best reader of one gradient against the bound, and exponents of three steps beside it."""
    found = estimators.exponents(range(4)).set_index(["of", "in"]).loc["samples"]
    gap, length = found["gap"], found.loc["seq_len"]
    text = f"best reader of one gradient needs {gap.min():.1f} to {gap.max():.1f} times the bound and grows as "
    text += f"L^ {ends(Interval(length.measured, length.low, length.high))}; three steps: L^ "
    text += f"{ends(fitted(LOCKS)['seq_len'])} for lock-on"
    tight = gap.max() < 4 and length.low < 1.2
    return Finding(text, PARTLY if tight and fitted(LOCKS)["seq_len"].low > length.high else CONFIRMED)
