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
from recallbook_studies.ch09 import geometry
from recallbook_studies.ch12 import histories, ladder_laws, order, oscillation as oscillations, runs
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

LATE = "many steps"  # of chapter 12: this model, 400 steps at the book's own rates
LAWS = ("gaussian", "orthogonal")


def _directions() -> SimpleNamespace:
    """Runs of the rung of many steps with lock-on half of the way after three, by N; mean weight on
    the informative token when lock-on is there, and at the end."""
    times = order.load().query("rung == @LATE")
    early = (times["step_lock_on"] <= 3).groupby(times["samples"]).agg(["sum", "size"])
    curve = histories.load().query("rung == @LATE")
    first, last = curve[curve["lock_on"] > 0.9].iloc[0], curve.iloc[-1]
    return SimpleNamespace(
        early=early, at=int(first["step"]), weights=(first["attention"], last["attention"])
    )


@decided_by(
    _directions,
    "The direction is there after three steps if lock-on has come half of the way from chance to 1 by then. Later"
    " steps amplify if the weight on the informative token is below a quarter when attention has locked on, and above"
    " three quarters at the end. Confirmed if every run has the direction and later steps amplify.",
)
def early_direction(found: SimpleNamespace) -> Finding:
    """Is the direction of attention there early, and amplified later?"""
    text = "V = 64, L = 8, d = 32, 400 steps: lock-on half of the way after 3 steps, by N: "
    text += ", ".join(
        f"{count} of {size} at {n}" for n, count, size in found.early.itertuples(name=None)
    )
    few, most = found.weights
    text += f"; at N = 256 the weight on the informative token is {few:.2f} after {found.at} steps and {most:.2f} at "
    text += "the end"
    there = (found.early["sum"] == found.early["size"]).tolist()
    there.append(few < 0.25 and most > 0.75)
    return Finding(text, CONFIRMED if all(there) else PARTLY if any(there) else REFUTED)


def _rescued() -> SimpleNamespace:
    """Of the draws without lock-on after three steps the share with lock-on after 400, below N = V
    and from there on; draws with it, and still."""
    by = ["vocab", "seq_len", "dim", "samples", "seed"]
    table = runs.load().pivot(index=by, columns="rung", values="lock_on")
    table = table[["three steps", LATE]].dropna().reset_index()
    failed, late = table["three steps"] < 0.5, table[LATE] > 0.9
    fewer = (table["samples"] < table["vocab"]).map({True: "N < V", False: "N ≥ V"})
    shares = {}
    for name, part in late[failed].groupby(fewer):
        found = seed_interval(
            part.groupby(table["seed"]).mean()
        )  # runs of one seed share their draws
        shares[str(name)] = Interval(found.mean, max(found.low, 0), min(found.high, 1))
    kept = int((~failed & late).sum())
    return SimpleNamespace(
        failed=int(failed.sum()), shares=shares, locked=int((~failed).sum()), kept=kept
    )


@decided_by(
    _rescued,
    "The same draws: lock-on after three steps in the limit, and after 400 at the book's rates, below N = V and from"
    " there on. The first steps decide if of the draws that three steps do not lock on (less than half of the"
    " sequences) at most one in twenty does later (above 0.9): an exception. Confirmed if so for both; refuted if for"
    " both more than half do, by the whole interval; true only where in between.",
)
def early_decides(found: SimpleNamespace) -> Finding:
    """Is what three steps cannot locate lost for longer training?"""
    text = f"chapter 12, every shape: of {found.failed} draws without lock-on after three steps, the share that has it "
    text += "after 400: " + said(*found.shares.items())
    text += f"; of {found.locked} with it, {found.kept} still have it"
    rare = all(x.high < 0.05 for x in found.shares.values())
    most = all(x.low > 0.5 for x in found.shares.values())
    return Finding(text, CONFIRMED if rare else REFUTED if most else PARTLY)


def _falls() -> pd.DataFrame:
    """Runs whose accuracy falls on the way, by law and factor of the rate, with fixed embeddings."""
    table = oscillations.load().query("rung == 'AdamW'")
    return table[["embeddings", "factor", "oscillate", "runs"]]


@decided_by(
    _falls,
    "Training oscillates if accuracy falls by more than 0.1 below its best on the way. Overlap is the cause where"
    " random embeddings oscillate in more runs than orthogonal ones of the same d = 68, at the same rate (Fisher's"
    " exact test, one-sided, p below 0.01, since several rates are tried). Confirmed if so at the tuned rate, true only"
    " where if at larger ones, refuted if nowhere.",
)
def oscillation(found: pd.DataFrame) -> Finding:
    """Does accuracy fall on the way, with random and with orthogonal embeddings of one
    dimension?"""
    chance, parts = {}, []
    for factor, cells in found.set_index("embeddings").groupby("factor"):
        counts = [(cells.at[law, "oscillate"], cells.at[law, "runs"]) for law in LAWS]
        split = [[int(fall), int(of - fall)] for fall, of in counts]
        chance[factor] = float(stats.fisher_exact(split, alternative="greater").pvalue)
        (one, of), (other, _) = counts
        parts.append(f"{one} and {other} of {of} at {factor} times the rate")
    text = "V = 64, d = 68, N = 512, AdamW, runs that oscillate, random and orthogonal: "
    text += ", ".join(parts) + f"; p = {chance[max(chance)]:.4f} at {max(chance)} times"
    caused = [rate for rate, p in chance.items() if p < 0.01]
    verdict = REFUTED if not caused else CONFIRMED if min(chance) in caused else PARTLY
    return Finding(text, verdict)


SIGNS = {"dim": -1, "seq_len": 1}  # of the exponents of N: more d helps, more L hinders


def _longer() -> SimpleNamespace:
    """Exponents of N for accuracy one half after three and 400 steps, and for 0.9 after 400."""
    frame = runs.load()
    table = ladder_laws.fitted(frame[frame["rung"] == LATE], level=0.9).set_index("size")
    rung = {size: Interval(*table.loc[size, ["exponent", "low", "high"]]) for size in SIGNS}
    return SimpleNamespace(short=fitted(SHORT), long=fitted(LONG), rung=rung)


@decided_by(
    _longer,
    "Confirmed if the exponents after 400 steps have those after three in their intervals, in d and in L; true"
    " only where if they lie apart but the directions stay (more d helps, more L hinders, also at accuracy 0.9);"
    " refuted if a direction turns, by the whole interval.",
)
def longer_scaling(found: SimpleNamespace) -> Finding:
    """Exponents after three steps and after 400 at the book's rates."""
    text = "exponents of N for accuracy 1/2, V = 64, three steps, then 400: "
    names = {"dim": "d", "seq_len": "L"}
    text += "; ".join(
        f"{s}^ {ends(found.short[size])}, then {ends(found.long[size])}"
        for size, s in names.items()
    )
    text += "; for 0.9 after 400: "
    text += ", ".join(f"{s}^ {ends(found.rung[size])}" for size, s in names.items())
    turned = any(_turned(line) for line in (found.long, found.rung))
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
