r"""Checks of claims about training: its rates, its first steps, and what comes after them."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import torch
from scipy import stats

from recallbook.analysis.intervals import Interval, over_seeds, seed_interval
from recallbook.claims.findings import (
    CONFIRMED,
    LONG,
    OUT,
    PARTLY,
    REFUTED,
    SHORT,
    Finding,
    decided_by,
    ends,
    factor,
    fitted,
    signed,
)
from recallbook.data.task import draw
from recallbook.experiments.scaling import longer_training
from recallbook.experiments.three_steps import rates as three_rates
from recallbook.experiments.verdicts import early_training
from recallbook.model.transformer import RecallTransformer
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.training.descent import initial_gradient


class Slopes(NamedTuple):
    """Largest gradients at zero weights."""

    values: float
    attention: float


def _slopes() -> Slopes:
    problem = draw(Setting(vocab=64, seq_len=16, dim=32, samples=512, **OUT), 0)
    model = RecallTransformer(problem)
    loss = torch.nn.functional.cross_entropy(model(problem.tokens, problem.positions), problem.labels)
    slope = float(torch.autograd.grad(loss, model.key_query)[0].abs().max())
    return Slopes(float(initial_gradient(problem).abs().max()), slope)


@decided_by(_slopes)
def order_of_steps(found: Slopes) -> Finding:
    """At zero weights only the value matrix has a gradient."""
    return Finding(
        f"largest gradient at zero: {found.values:.4f} in the values, {found.attention:.4f} in the attention"
    )


class Rates(NamedTuple):
    """Accuracy gained by a finite first rate, by (trigger in the values, rate over LV); attention by second rate."""

    gains: dict[tuple[bool, float], Interval]
    attention: dict[float, Interval]


def _rates() -> Rates:
    gains = {}
    for flag in (False, True):
        table = three_rates.over_eta(flag, range(5))
        for eta in (0.1, 10.0):
            gains[flag, eta] = seed_interval(table.loc[table["eta"] == eta, "gain"])
    table = three_rates.over_gamma(False, range(5))
    shares = {rate: seed_interval(table.loc[table["saturation"] == rate, "attention"]) for rate in (0.1, 10.0)}
    return Rates(gains, shares)


@decided_by(
    _rates,
    "Whether both rates have to be so. The second has to be large if at a small one less than half of the"
    " attention is on the informative token, and more than half at a large one. The first has to be near zero if a"
    " tenth of LV and ten times LV, which no one calls near zero, never gain accuracy over the limit. Confirmed if"
    " both, true only where if one.",
)
def rates(found: Rates) -> Finding:
    """Three steps with a small and a large second rate, and with first rates that are not near zero."""
    small, large = (found.attention[rate] for rate in sorted(found.attention))
    text = f"V = 128, L = 16, d = 64, N = 4096: attention on the informative token {ends(small)} at a second rate a "
    text += f"tenth of what tips the softmax, {ends(large)} at ten times what does; accuracy gained over a first rate "
    text += "near zero: "
    text += ", ".join(
        f"{signed(x)} at {eta:g} LV with the trigger {'in' if flag else 'out of'} the values"
        for (flag, eta), x in found.gains.items()
    )
    second = small.high < 0.5 < large.low
    first = all(x.low <= 0 for x in found.gains.values())
    return Finding(text, CONFIRMED if first and second else PARTLY if first or second else REFUTED)


# The first steps and the last


def _directions() -> pd.DataFrame:
    """Late minus early cosine with the trigger, with its interval, and growth of the vector's length, by setting."""
    runs = early_training.over_sizes(early_training.load())
    runs = runs.assign(missing=runs["cosine_late"] - runs["cosine_early"], growth=runs["length_late"])
    runs["growth"] /= runs["length_early"]
    by = ["seq_len", "dim", "samples"]
    growth = runs.groupby(by, as_index=False)["growth"].min()
    return over_seeds(runs, by, "missing").merge(growth, on=by)


@decided_by(
    _directions,
    "The direction is there after three steps if its cosine with the trigger is within 0.1 of that after 300, by"
    " the whole interval: an angle that leaves the trigger's score nearly what it becomes. Later steps amplify if"
    " the vector grows tenfold. Confirmed if both hold in every setting.",
)
def early_direction(found: pd.DataFrame) -> Finding:
    """Is the direction of attention there early, and amplified later?"""
    there = (found["high"] < 0.1) & (found["growth"] > 10)
    share = there.groupby(found["samples"]).agg(["sum", "size"])
    text = f"V = 64, L = 16 to 64, d = 16 to 64, six draws: direction there after 3 steps in {there.sum()} of "
    text += f"{len(found)} settings; by N: " + ", ".join(f"{r.sum} of {r.size} at {n}" for n, r in _pairs(share))
    text += f"; the vector grows at least {found['growth'].min():.0f}-fold"
    return Finding(text, CONFIRMED if there.all() else PARTLY if there.any() else REFUTED)


class _Count(NamedTuple):
    sum: int
    size: int


def _pairs(table: pd.DataFrame) -> list[tuple[int, _Count]]:
    return [(int(n), _Count(int(row["sum"]), int(row["size"]))) for n, row in table.iterrows()]


class Rescued(NamedTuple):
    """Runs without lock-on after three steps, the share of them with lock-on after 300; runs with it, and still."""

    failed: int
    share: Interval
    locked: int
    kept: int


def _rescued() -> Rescued:
    runs = early_training.over_sizes(early_training.load())
    failed, late = runs["lock_on_early"] < 0.5, runs["lock_on_late"] > 0.9
    share = seed_interval(late[failed].groupby(runs["seed"]).mean())  # runs of one seed share their draws
    return Rescued(int(failed.sum()), share, int((~failed).sum()), int((~failed & late).sum()))


@decided_by(
    _rescued,
    "One algorithm, one run: lock-on after 3 and after 300 steps. The first steps decide if of the runs that have"
    " not locked on by then (less than half of the sequences) at most one in twenty does later (above 0.9): an"
    " exception. Refuted if more than half do, by the whole interval; true only where in between.",
)
def early_decides(found: Rescued) -> Finding:
    """Is what three steps cannot locate lost for longer training?"""
    share = found.share
    text = (
        f"V = 64, both matrices trained at once: of {found.failed} runs that had not locked on after 3 steps, a share "
    )
    text += f"of {ends(share)} had after 300; of {found.locked} that had, {found.kept} still had"
    return Finding(text, CONFIRMED if share.high < 0.05 else REFUTED if share.low > 0.5 else PARTLY)


def _rises() -> pd.DataFrame:
    """Draws whose loss rises in some step, by law and factor of the rates; and the number of draws."""
    runs = early_training.by_law(early_training.load())
    return runs.groupby(["law", "factor"])["rises"].agg(["sum", "size"]).reset_index()


@decided_by(
    _rises,
    "The loss oscillates if it rises in some step. Overlap is the cause where random embeddings oscillate in more"
    " draws than orthogonal ones of the same d = 66, at the same rates (Fisher's exact test, one-sided, p below"
    " 0.01, since several rates are tried). Confirmed if so at the usual rates, true only where if at larger ones,"
    " refuted if nowhere.",
)
def oscillation(found: pd.DataFrame) -> Finding:
    """Does the loss rise on the way, with random and with orthogonal embeddings of one dimension?"""
    table = found.set_index(["law", "factor"])
    chance = {}
    for rate in sorted(found["factor"].unique()):
        cells = [table.loc[(law, rate)] for law in ("gaussian, d = 66", "orthogonal, d = 66")]
        counts = [[int(c["sum"]), int(c["size"] - c["sum"])] for c in cells]
        chance[rate] = float(stats.fisher_exact(counts, alternative="greater").pvalue)
    largest = max(chance)
    text = f"V = 64, L = 32, N = 256, draws whose loss rises in 300 steps, at {', '.join(map(str, chance))} times the "
    text += "usual rates: " + "; ".join(
        f"{law}: " + ", ".join(str(n) for n in rows.sort_values("factor")["sum"]) + f" of {rows['size'].max()}"
        for law, rows in found.groupby("law")
    )
    text += f"; random against orthogonal at d = 66 and {largest} times: p = {chance[largest]:.3f}"
    caused = [rate for rate, p in chance.items() if p < 0.01]
    verdict = REFUTED if not caused else CONFIRMED if min(chance) in caused else PARTLY
    return Finding(text, verdict)


class Longer(NamedTuple):
    """Exponents of N for lock-on after three and after 300 steps; above coverage, N at twice the d after 300."""

    short: dict[str, Interval]
    long: dict[str, Interval]
    above: Interval


def _longer() -> Longer:
    rows = longer_training.labelled(load_results("longer_larger"))
    rows = rows[(rows["training"] == "one batch") & (rows["seq_len"] == 16) & rows["dim"].isin((64, 128))]
    return Longer(fitted(SHORT), fitted(LONG), factor(rows, rows["dim"] == 128, "accuracy", 0.9))


@decided_by(
    _longer,
    "Confirmed if the exponents after 300 steps lie in the intervals of those after three, in d and in L; true"
    " only where if the intervals lie apart but the directions stay (more d helps, more L hinders, also more d"
    " above coverage); refuted if a direction turns.",
)
def longer_scaling(found: Longer) -> Finding:
    """Exponents after three steps and after 300 on the same batch, and the direction above coverage."""
    short, long = found.short, found.long
    text = "exponents of N for lock-on, V = 64, three steps, then 300: "
    text += "; ".join(f"{s}^ {ends(short[n])}, then {ends(long[n])}" for n, s in (("dim", "d"), ("seq_len", "L")))
    text += "; V = 256, L = 16, accuracy 0.9 after 300 steps: d from 64 to 128 changes N by a factor "
    text += f"{ends(found.above)}"
    kept = long["dim"].high < 0 < long["seq_len"].low and found.above.high < 1
    same = all(long[n].low <= short[n].mean <= long[n].high for n in ("dim", "seq_len"))
    return Finding(text, CONFIRMED if same and kept else PARTLY if kept else REFUTED)
