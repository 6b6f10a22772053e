r"""Checks of claims about the task, the overlap of embeddings, and training."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import torch
from scipy import stats

from recallbook.analysis import examination
from recallbook.analysis.intervals import Interval, over_seeds, seed_interval
from recallbook.data.task import draw
from recallbook.model.transformer import RecallTransformer
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.symbolic.expressions import d
from recallbook.training.descent import initial_gradient
from recallbook.training.simulation import simulate
from recallbook_studies.ch01 import baselines
from recallbook_studies.ch02.retrieval import coherence_floor, n
from recallbook_studies.ch03 import rates as three_rates
from recallbook_studies.ch09 import geometry, longer_training
from recallbook_studies.ch10 import early_training
from recallbook_studies.ch12 import ladder_laws as ladder, runs as ladder_runs
from recallbook_studies.claims.findings import (
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
    said,
    signed,
)

RUNNING = Setting(vocab=256, seq_len=128, dim=96, samples=2048, **OUT)

# Task and model


def _two_problems() -> SimpleNamespace:
    """Accuracy with all facts and no place, with the place and no fact, and of the model that does
    both."""
    both = seed_interval(
        [simulate(RUNNING, seed, test_samples=2000).accuracy for seed in range(10)]
    )
    facts = baselines.bag_of_words_accuracy(RUNNING.vocab, RUNNING.seq_len)
    return SimpleNamespace(facts=facts, place=1 / RUNNING.vocab, both=both)


@decided_by(
    _two_problems,
    "Confirmed if either problem solved alone scores less than half of what both score together (lower end of the"
    " interval): then neither comes with the other.",
)
def two_problems(found: SimpleNamespace) -> Finding:
    """Facts without their place, and a place without its fact."""
    text = f"V = 256, L = 128, d = 96, N = 2048: all facts and no place {found.facts:.3f}, the place and no fact "
    text += f"{found.place:.3f}, three steps {ends(found.both)}"
    few = sum(x < found.both.low / 2 for x in (found.facts, found.place))
    return Finding(text, (REFUTED, PARTLY, CONFIRMED)[few])


def _largest_samples() -> pd.DataFrame:
    """Lock-on at the largest N of every setting without MLP in five committed sweeps, with its
    interval."""
    sizes = ["vocab", "seq_len", "dim", "embeddings", "trigger_in_values"]
    parts = [
        load_results(name)
        for name in ("lock_on", "four_corners", "geometry", "large_sizes", "accuracy")
    ]
    table = over_seeds(
        pd.concat(parts).drop_duplicates([*sizes, "samples", "seed"]),
        [*sizes, "samples"],
        "lock_on",
    )
    return table.sort_values("samples").groupby(sizes).tail(1)


@decided_by(
    _largest_samples,
    "Attention is on a position when its largest weight is there in more than half of fresh sequences, by the"
    " whole interval: more often than on all others together. Confirmed if so in every setting.",
)
def attention_locates(found: pd.DataFrame) -> Finding:
    """Does attention end on the informative position?"""
    there = found["low"] > 0.5
    text = f"largest weight on the informative position in most sequences, at the largest N tried: in {there.sum()} of"
    text += f" {len(found)} settings (V = {found['vocab'].min()} to {found['vocab'].max()})"
    if (short := found[~there]).size:
        text += f"; not with L = {short['seq_len'].min()} to {short['seq_len'].max()} at d = {short['dim'].max()}, "
        text += f"N up to {short['samples'].max()}"
    return Finding(text, CONFIRMED if there.all() else PARTLY if there.mean() > 0.5 else REFUTED)


# Overlap


def _interference() -> SimpleNamespace:
    """Typical overlap, what no choice of directions avoids, and lock-on of orthogonal minus random
    embeddings."""
    typical = seed_interval([examination.cosines(256, 128, seed).std() for seed in range(10)])
    rows = geometry.labelled(
        load_results("geometry").query("seq_len == 256 and dim == 258 and not trigger_in_values")
    )
    means = rows.groupby(["embeddings", "seed"])["lock_on"].mean().unstack(0)
    lost = seed_interval(means["orthogonal"] - means["gaussian"])
    return SimpleNamespace(
        typical=typical, floor=float(coherence_floor().subs({n: 256, d: 128})), lost=lost
    )


@decided_by(
    _interference,
    "Confirmed if overlaps are at least as large as the floor for this d and V, and if orthogonal embeddings of"
    " the same dimension, which have none, lock on more often on the same draws: an overlap that costs nothing"
    " would be no interference.",
)
def interference(found: SimpleNamespace) -> Finding:
    """Overlaps of embeddings when there are more tokens than dimensions, and what they cost."""
    text = f"V = 256, d = 128: a typical overlap is {found.typical.mean:.3f}; no choice of directions gets below "
    text += f"{found.floor:.3f}; lock-on, V = L = 256, d = 258, mean over eleven N: orthogonal minus random "
    text += signed(found.lost)
    large, costly = found.typical.low >= found.floor, found.lost.low > 0
    return Finding(text, CONFIRMED if large and costly else PARTLY if large or costly else REFUTED)


def _nearly_orthogonal() -> dict[str, Interval]:
    laws = {
        "random, d = V": ("gaussian", 256),
        "random, d = 16 V": ("gaussian", 4096),
        "orthogonal, d = V + 2": ("orthogonal", 258),
    }
    return {
        name: seed_interval(
            [2 * (examination.cosines(256, dim, seed, law) ** 2).sum() / 256 for seed in range(5)]
        )
        for name, (law, dim) in laws.items()
    }


@decided_by(
    _nearly_orthogonal,
    "Nearly orthogonal: the squared overlaps of a token with all others sum to less than a tenth of its own"
    " square, so that all of them together are a small part. Confirmed if only d far above V gets there, true only"
    " where if chosen directions get there at d = V.",
)
def nearly_orthogonal(found: dict[str, Interval]) -> Finding:
    """Squared overlaps of one token with all others, for random and for orthogonal embeddings."""
    text = "squared overlaps of a token with all others, V = 256: "
    text += ", ".join(f"{name}: {abs(x.mean):.2f}" for name, x in found.items())
    near = {name: x.high < 0.1 for name, x in found.items()}
    needs = not near["random, d = V"] and near["random, d = 16 V"]
    return Finding(
        text, REFUTED if not needs else PARTLY if near["orthogonal, d = V + 2"] else CONFIRMED
    )


# Three steps


def _slopes() -> tuple[float, float]:
    """Largest gradients at zero weights, in the values and in the attention."""
    problem = draw(Setting(vocab=64, seq_len=16, dim=32, samples=512, **OUT), 0)
    model = RecallTransformer(problem)
    loss = torch.nn.functional.cross_entropy(
        model(problem.tokens, problem.positions), problem.labels
    )
    slope = float(torch.autograd.grad(loss, model.key_query)[0].abs().max())
    return float(initial_gradient(problem).abs().max()), slope


@decided_by(_slopes)
def order_of_steps(found: tuple[float, float]) -> Finding:
    """At zero weights only the value matrix has a gradient."""
    return Finding(
        "largest gradient at zero: {:.4f} in the values, {:.4f} in the attention".format(*found)
    )


def _rates() -> SimpleNamespace:
    """Accuracy gained by a finite first rate, by (trigger in the values, rate over LV); attention
    by second rate."""
    gains = {}
    for flag in (False, True):
        table = three_rates.over_eta(flag, range(5))
        for eta in (0.1, 10.0):
            gains[flag, eta] = seed_interval(table.loc[table["eta"] == eta, "gain"])
    table = three_rates.over_gamma(False, range(5))
    shares = {
        rate: seed_interval(table.loc[table["saturation"] == rate, "attention"])
        for rate in (0.1, 10.0)
    }
    return SimpleNamespace(gains=gains, attention=shares)


@decided_by(
    _rates,
    "Whether both rates have to be so. The second has to be large if at a small one less than half of the"
    " attention is on the informative token, and more than half at a large one. The first has to be near zero if a"
    " tenth of LV and ten times LV, which no one calls near zero, never gain accuracy over the limit. Confirmed if"
    " both, true only where if one.",
)
def rates(found: SimpleNamespace) -> Finding:
    """Three steps with a small and a large second rate, and with first rates that are not near
    zero."""
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
    """Late minus early cosine with the trigger, with its interval, and growth of the vector's
    length, by setting."""
    runs = early_training.over_sizes(early_training.load())
    runs = runs.assign(
        missing=runs["cosine_late"] - runs["cosine_early"], growth=runs["length_late"]
    )
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
    by_samples = {int(count): part for count, part in there.groupby(found["samples"])}
    text = f"V = 64, L = 16 to 64, d = 16 to 64, six draws: direction there after 3 steps in {there.sum()} of "
    text += f"{len(found)} settings; by N: "
    text += ", ".join(
        f"{part.sum()} of {part.size} at {count}" for count, part in by_samples.items()
    )
    text += f"; the vector grows at least {found['growth'].min():.0f}-fold"
    return Finding(text, CONFIRMED if there.all() else PARTLY if there.any() else REFUTED)


def _rescued() -> SimpleNamespace:
    """Of the runs without lock-on after three steps the share with lock-on after 300, by N; runs
    with it, and still."""
    runs = early_training.over_sizes(early_training.load())
    failed, late = runs["lock_on_early"] < 0.5, runs["lock_on_late"] > 0.9
    shares = {}
    for count, part in late[failed].groupby(runs["samples"]):
        found = seed_interval(
            part.groupby(runs["seed"]).mean()
        )  # runs of one seed share their draws
        shares[int(count)] = Interval(found.mean, max(found.low, 0), min(found.high, 1))
    kept = int((~failed & late).sum())
    return SimpleNamespace(
        failed=int(failed.sum()), shares=shares, locked=int((~failed).sum()), kept=kept
    )


@decided_by(
    _rescued,
    "One algorithm, one run: lock-on after 3 and after 300 steps, each N by itself. The first steps decide if of the"
    " runs that have not locked on by then (less than half of the sequences) at most one in twenty does later (above"
    " 0.9): an exception. Confirmed if so at every N; refuted if at every N more than half do, by the whole interval;"
    " true only where in between.",
)
def early_decides(found: SimpleNamespace) -> Finding:
    """Is what three steps cannot locate lost for longer training?"""
    text = f"V = 64, both matrices trained at once: of {found.failed} runs that had not locked on after 3 steps, the "
    text += "share that had after 300: " + said(
        *((f"N = {count}", x) for count, x in found.shares.items())
    )
    text += f"; of {found.locked} that had, {found.kept} still had"
    rare = all(x.high < 0.05 for x in found.shares.values())
    most = all(x.low > 0.5 for x in found.shares.values())
    return Finding(text, CONFIRMED if rare else REFUTED if most else PARTLY)


def _rises() -> pd.DataFrame:
    """Draws whose loss rises in some step, by law and factor of the rates; and the number of
    draws."""
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
    """Does the loss rise on the way, with random and with orthogonal embeddings of one
    dimension?"""
    table = found.set_index(["law", "factor"])
    chance = {}
    for rate in sorted(found["factor"].unique()):
        cells = [table.loc[(law, rate)] for law in ("gaussian, d = 66", "orthogonal, d = 66")]
        counts = [[int(c["sum"]), int(c["size"] - c["sum"])] for c in cells]
        chance[rate] = float(stats.fisher_exact(counts, alternative="greater").pvalue)
    largest = max(chance)
    text = f"V = 64, L = 32, N = 256, draws whose loss rises in 300 steps, at {', '.join(map(str, chance))} times the "
    text += "usual rates: " + "; ".join(
        f"{law}: "
        + ", ".join(str(n) for n in rows.sort_values("factor")["sum"])
        + f" of {rows['size'].max()}"
        for law, rows in found.groupby("law")
    )
    text += f"; random against orthogonal at d = 66 and {largest} times: p = {chance[largest]:.3f}"
    caused = [rate for rate, p in chance.items() if p < 0.01]
    verdict = REFUTED if not caused else CONFIRMED if min(chance) in caused else PARTLY
    return Finding(text, verdict)


RUNG = "many steps"  # of chapter 12: this model, hundreds of steps at the book's own rates
SIGNS = {"dim": -1, "seq_len": 1}  # of the exponents of N: more d helps, more L hinders


def _longer() -> SimpleNamespace:
    """Exponents of N for lock-on after 3 and 300 steps, and of N for accuracy 0.9 after many; N at
    twice the d."""
    larger = longer_training.labelled(load_results("longer_larger"))
    larger = larger[
        (larger["training"] == "one batch")
        & (larger["seq_len"] == 16)
        & larger["dim"].isin((64, 128))
    ]
    frame = ladder_runs.load()
    table = ladder.fitted(frame[frame["rung"] == RUNG], level=0.9).set_index("size")
    rung = {size: Interval(*table.loc[size, ["exponent", "low", "high"]]) for size in SIGNS}
    above = factor(larger, larger["dim"] == 128, "accuracy", 0.9)
    return SimpleNamespace(short=fitted(SHORT), long=fitted(LONG), rung=rung, above=above)


@decided_by(
    _longer,
    "Confirmed if the exponents after 300 steps lie in the intervals of those after three, in d and in L; true"
    " only where if the intervals lie apart but the directions stay (more d helps, more L hinders, also above coverage"
    f" and on the rung {RUNG!r} of chapter 12); refuted if a direction turns, by the whole interval.",
)
def longer_scaling(found: SimpleNamespace) -> Finding:
    """Exponents after three steps and after 300 on the same batch, and the directions at accuracy
    0.9."""
    text = "exponents of N for lock-on, V = 64, three steps, then 300: "
    names = {"dim": "d", "seq_len": "L"}
    text += "; ".join(
        f"{s}^ {ends(found.short[size])}, then {ends(found.long[size])}"
        for size, s in names.items()
    )
    text += f"; chapter 12, {RUNG!r}, accuracy 0.9: "
    text += ", ".join(f"{s}^ {ends(found.rung[size])}" for size, s in names.items())
    text += (
        "; V = 256, L = 16, accuracy 0.9 after 300 steps: d from 64 to 128 changes N by a factor "
    )
    text += ends(found.above)
    turned = found.above.low > 1 or any(_turned(line) for line in (found.long, found.rung))
    same = all(
        found.long[size].low <= found.short[size].mean <= found.long[size].high for size in SIGNS
    )
    return Finding(text, REFUTED if turned else CONFIRMED if same else PARTLY)


def _turned(exponents: dict[str, Interval]) -> bool:
    """Whether an exponent's whole interval has the sign that three steps do not have."""
    return any(
        (x.high if SIGNS[size] > 0 else -x.low) < 0
        for size, x in exponents.items()
        if size in SIGNS
    )
