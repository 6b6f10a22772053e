r"""Checks of claims about the task, embeddings and what they hold, training, and the MLP."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pandas as pd
import torch

from recallbook.claims.findings import CONFIRMED, LONG, OUT, PARTLY, REFUTED, SHORT, Finding, ends, facts_held, fitted
from recallbook.data import baselines, coherence
from recallbook.data.task import draw
from recallbook.experiments.lower_bounds import estimators
from recallbook.experiments.scaling import longer_training, mlp_sizes
from recallbook.memories.expressions import coherence_floor, n
from recallbook.model.transformer import RecallTransformer
from recallbook.setting import Setting
from recallbook.sweeps.archive import load_results
from recallbook.theory.symbolic.expressions import d
from recallbook.training.descent import descend, initial_gradient


def two_problems() -> Finding:
    """Facts without their place, and a place without its fact."""
    bag, chance = baselines.bag_of_words_accuracy(256, 32), 1 / 256
    text = f"V = 256, L = 32: accuracy {bag:.3f} with all facts and no place, {chance:.3f} with the place and no fact"
    return Finding(text, CONFIRMED if max(bag, chance) < 0.1 else REFUTED)


def attention_locates() -> Finding:
    """Does attention end on the informative position?"""
    rows = load_results("large_sizes").query("vocab == 256 and seq_len == 256 and dim == 256 and not trigger_in_values")
    found = rows.groupby("samples")["lock_on"].mean()
    text = "V = L = d = 256: lock-on " + ", ".join(f"{x:.2f} at N = {n}" for n, x in found.items())
    return Finding(text, CONFIRMED if found.iloc[-1] > 0.99 else REFUTED)


def interference() -> Finding:
    """Overlaps of embeddings when there are more tokens than dimensions."""
    overlaps, floor = coherence.cosines(256, 128, 0), float(coherence_floor().subs({n: 256, d: 128}))
    text = (
        f"V = 256, d = 128: a typical overlap is {overlaps.std():.2f}; no choice of directions gets below {floor:.2f}"
    )
    return Finding(text, CONFIRMED if overlaps.std() > floor > 0 else REFUTED)


def nearly_orthogonal() -> Finding:
    """Squared overlaps of one token with all others, for random and for orthogonal embeddings."""
    sums = {
        name: 2 * (coherence.cosines(256, dim, 0, law) ** 2).sum() / 256
        for name, (law, dim) in {
            "random, d = V": ("gaussian", 256),
            "random, d = 16 V": ("gaussian", 4096),
            "orthogonal, d = V + 2": ("orthogonal", 258),
        }.items()
    }
    text = "squared overlaps of a token with all others: " + ", ".join(f"{k}: {abs(x):.2f}" for k, x in sums.items())
    return Finding(text, PARTLY if sums["orthogonal, d = V + 2"] < 1e-9 and sums["random, d = V"] > 0.5 else CONFIRMED)


def superposition() -> Finding:
    """More facts than dimensions?"""
    text = ", ".join(f"{facts_held(d)} facts in d = {d}" for d in (128, 1024))
    good = all(facts_held(d) > d for d in (128, 1024))
    text += "; orthogonal embeddings: at most d (predicted at accuracy 0.99, simulated at d = 128)"
    return Finding(text, CONFIRMED if good else REFUTED)


def nearly_optimal() -> Finding:
    """Sums of outer products against the curve drawn over trained memories."""
    ratios = [dim**2 / facts_held(dim) / math.log(facts_held(dim)) for dim in (128, 1024)]
    text = f"d²/(n log n) = {ratios[0]:.1f} and {ratios[1]:.1f} at d = 128 and 1024; curve over trained memories: 1.3"
    return Finding(text, PARTLY if min(ratios) > 2 * 1.3 else CONFIRMED)


def smaller_dim_stores_less() -> Finding:
    """Does a smaller d raise capacity, in facts or in bits a parameter?"""
    facts, bits = [facts_held(d) for d in (128, 1024)], [estimators.densest(d)[0] for d in (64, 256)]
    text = f"facts held: {facts[0]} at d = 128, {facts[1]} at d = 1024"
    text += f"; bits a parameter: {bits[0]:.2f} at d = 64, {bits[1]:.2f} at d = 256 (predicted)"
    return Finding(text, REFUTED if facts[0] < facts[1] and bits[0] < bits[1] else PARTLY)


# Training


def order_of_steps() -> Finding:
    """At zero weights only the value matrix has a gradient."""
    problem = draw(Setting(vocab=64, seq_len=16, dim=32, samples=512, **OUT), 0)
    model = RecallTransformer(problem)
    loss = torch.nn.functional.cross_entropy(model(problem.tokens, problem.positions), problem.labels)
    slope = float(torch.autograd.grad(loss, model.key_query)[0].abs().max())
    value = float(initial_gradient(problem).abs().max())
    return Finding(f"largest gradient at zero: {value:.4f} in the values, {slope:.4f} in the attention")


@cache
def first_and_last(seeds: int = 4) -> pd.DataFrame:
    """Cosine of attention vector and trigger, and its length, after 2 steps and after 200."""
    rows = []
    for seed in range(seeds):
        problem = draw(Setting(vocab=64, seq_len=16, dim=32, samples=512, **OUT), seed)
        model = RecallTransformer(problem)
        for steps in (2, 198):
            descend(model, problem, steps, eta=30, gamma=5)
            w = model.key_query.data @ problem.query
            cosine = torch.cosine_similarity(w, problem.trigger, dim=0)
            rows.append({"steps": steps, "cosine": float(cosine), "length": float(w.norm())})
    return pd.DataFrame(rows).groupby("steps").mean()


def early_direction() -> Finding:
    """Is the direction of attention there early, and amplified later?"""
    found = first_and_last()
    cosine, length = found["cosine"], found["length"]
    text = f"cosine of attention vector and trigger {cosine[2]:.2f} after 2 steps, {cosine[198]:.2f} after 200; "
    text += f"length {length[2]:.2f}, then {length[198]:.0f}"
    return Finding(text, CONFIRMED if cosine[2] > 0.9 and length[198] > 100 * length[2] else PARTLY)


def early_decides() -> Finding:
    """Is what three steps cannot locate lost for longer training?"""
    table = longer_training.critical(load_results("longer_training"))
    table = table.pivot(index=["seq_len", "dim"], columns="training", values="critical")
    ratio = table["three steps"] / table["one batch"]
    text = f"N for lock-on 1/2, three steps over 300: {ratio.min():.1f} to {ratio.max():.0f} in {len(ratio)} settings"
    return Finding(text, REFUTED if ratio.min() > 1 else PARTLY)


def oscillation() -> Finding:
    """Largest rise of the loss in one step, random and orthogonal embeddings, two rates."""
    rises = {}
    for law, dim in (("gaussian", 16), ("orthogonal", 66)):
        for factor in (1, 30):
            problem = draw(Setting(vocab=64, seq_len=32, dim=dim, samples=256, embeddings=law, **OUT), 0)
            rate: dict[str, Any] = {"eta": 20.0 * factor, "gamma": 3.0 * factor}
            loss = descend(RecallTransformer(problem), problem, 100, **rate)["loss"]
            rises[law, factor] = max(0.0, float(loss.diff().max()))
    random, ideal = ([rises[law, f] for f in (1, 30)] for law in ("gaussian", "orthogonal"))
    text = (
        f"largest rise of the loss in a step: random {random[0]:.0f} at a small rate, {random[1]:.0f} at one 30 times"
    )
    text += f" larger; orthogonal {ideal[0]:.0f} and {ideal[1]:.0f}"
    return Finding(text, PARTLY if random[0] == 0 < random[1] and max(ideal) == 0 else REFUTED)


def longer_scaling() -> Finding:
    """Exponents after three steps and after 300 on the same batch."""
    short, long = fitted(SHORT), fitted(LONG)
    text = "; ".join(f"{s}^ {ends(short[n])}, then {ends(long[n])}" for n, s in (("dim", "d"), ("seq_len", "L")))
    apart = long["dim"].low > short["dim"].high or long["seq_len"].high < short["seq_len"].low
    kept = long["dim"].high < 0 < long["seq_len"].low
    verdict = PARTLY if apart and kept else CONFIRMED if kept else REFUTED
    return Finding("exponents of N for lock-on, three steps, then 300: " + text, verdict)


# Width


def width_helps() -> Finding:
    """Recall against width for two activations."""
    table = mlp_sizes.means(mlp_sizes.large(load_results("mlp_sizes")), "recall")
    recall = table.set_index(["activation", "features"])["mean"]
    text = f"V = 1024, d = 64, recall: no MLP {recall['none', 64]:.2f}"
    for name, words in (("he3", "cubic Hermite"), ("relu", "ReLU")):
        text += f"; {words} " + ", ".join(f"{recall[name, m]:.2f} at m = {m}" for m in (256, 1024, 4096))
    cubic = recall["he3", 4096] > recall["none", 64] + 0.1
    return Finding(text, PARTLY if cubic and recall["relu", 4096] < recall["none", 64] else CONFIRMED)


def width_at_small_dim() -> Finding:
    """Recall at d = 32 with and without an MLP, trigger out of and in the values."""
    results = load_results("mlp_sizes")
    found = {
        flag: mlp_sizes.means(mlp_sizes.small(results, flag), "recall")
        .query("samples == 8192")
        .set_index(["activation", "features"])["mean"]
        for flag in (False, True)
    }
    text = "V = 256, d = 32, recall without MLP, ReLU, cubic Hermite (m = 4096): "
    cells = [(found[f]["none", 32], found[f]["relu", 4096], found[f]["he3", 4096]) for f in (False, True)]
    text += "; ".join(
        ", ".join(f"{x:.2f}" for x in row) + f" with the trigger {where} the values"
        for row, where in zip(cells, ("out of", "in"), strict=True)
    )
    return Finding(text, PARTLY if cells[0][2] > 0.9 and cells[0][1] < cells[0][0] + 0.05 else CONFIRMED)


def mlp_harder() -> Finding:
    """Recall and lock-on with an MLP, over those without."""
    results = load_results("mlp_sizes")
    recall = mlp_sizes.means(mlp_sizes.large(results), "recall").set_index(["activation", "features"])["mean"]
    locks = mlp_sizes.means(mlp_sizes.small(results, False), "lock_on").query("samples == 512")
    locks = locks.set_index(["activation", "features"])["mean"]
    text = f"V = 1024, d = 64, recall: no MLP {recall['none', 64]:.2f}, m = 4096 with ReLU {recall['relu', 4096]:.2f}, "
    text += f"with a cubic Hermite {recall['he3', 4096]:.2f}; V = 256, d = 32, N = 512, lock-on: no MLP "
    text += f"{locks['none', 32]:.2f}, m = 4096 with a quadratic Hermite {locks['he2', 4096]:.2f}"
    harder = recall["relu", 4096] < recall["none", 64] < recall["he3", 4096]
    return Finding(text, PARTLY if harder else CONFIRMED if recall["he3", 4096] < recall["none", 64] else REFUTED)
